package cliconfig

import (
	"encoding/json"
	"strconv"

	"github.com/tofureg/tofureg/disco"
)

// host is what a host block says.
type host struct {
	services *disco.Services
	place    Place
}

// hostBlock reads the services of a host, which is then not asked for them.
func (r *fileReader) hostBlock(label name, body value) {
	h, ok := r.hostLabel(label, "host")
	if !ok {
		return
	}
	services := map[disco.Service]any{}
	r.arguments("host", body, readers{"services": func(it item) {
		if !r.argument(it, true) {
			return
		}
		if it.value.kind != object {
			r.wrong(it.value.at, "\"services\" must be a block, not %s", it.value.kind)
		}
		for _, service := range it.value.body {
			if r.argument(service, true) {
				services[disco.Service(service.name())] = plain(service.value)
			}
		}
	}})
	if old := r.set.hosts[h]; old != nil && old.place.File == r.file {
		r.warn(label.at, "the services of %s stand in line %d already; the last ones count", h.Display(), old.place.Line)
	}
	r.set.hosts[h] = &host{disco.NewServices(h, services), r.place(label.at)}
}

// plain returns v as a value for encoding/json.
func plain(v value) any {
	switch v.kind {
	case boolean:
		return v.text == "true"
	case null:
		return nil
	case number:
		return plainNumber(v.text)
	case list:
		elements := make([]any, 0, len(v.list))
		for _, e := range v.list {
			elements = append(elements, plain(e))
		}
		return elements
	case object:
		members := map[string]any{}
		for _, it := range v.body {
			members[it.name()] = plain(it.value)
		}
		return members
	}
	return v.text
}

// plainNumber returns a number in the form of JSON, which has neither hexadecimal nor
// octal ones.
func plainNumber(s string) any {
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
