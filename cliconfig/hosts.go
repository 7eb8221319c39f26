package cliconfig

import (
	"encoding/json"
	"strconv"

	"github.com/tofureg/tofureg/disco"
)

// A host is the content of a host block.
type host struct {
	services *disco.Services
	place    Place
}

// hostBlock reads the services of a host. They replace discovery.
func (r *fileReader) hostBlock(label name, body value) {
	h, ok := r.hostLabel(label, "host")
	if !ok {
		return
	}
	services := map[disco.Service]any{}
	r.arguments("host", body, readers{"services": func(it item) {
		if !r.isArgument(it, true) {
			return
		}
		if it.value.kind != object {
			r.errorf(it.value.at, "\"services\" must be a block, not %s", it.value.kind)
		}
		for _, service := range it.value.body {
			if r.isArgument(service, true) {
				services[disco.Service(service.name())] = jsonValue(service.value)
			}
		}
	}})
	if old := r.set.hosts[h]; old != nil && old.place.File == r.file {
		r.warnf(label.at, "line %[2]d already has services of %[1]s; the last block is used", h.Display(), old.place.Line)
	}
	r.set.hosts[h] = &host{disco.NewServices(h, services), r.place(label.at)}
}

// jsonValue returns v as a value for encoding/json.
func jsonValue(v value) any {
	switch v.kind {
	case boolean:
		return v.text == "true"
	case null:
		return nil
	case number:
		return jsonNumber(v.text)
	case list:
		elements := make([]any, 0, len(v.list))
		for _, e := range v.list {
			elements = append(elements, jsonValue(e))
		}
		return elements
	case object:
		members := map[string]any{}
		for _, it := range v.body {
			members[it.name()] = jsonValue(it.value)
		}
		return members
	}
	return v.text
}

// jsonNumber returns a decimal number. JSON has no hexadecimal and octal numbers.
func jsonNumber(s string) any {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if _, err := json.Marshal(f); err == nil {
			return f
		}
	}
	return s
}
