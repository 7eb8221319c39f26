package cliconfig

import (
	"errors"
	"maps"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A credential is what a credentials block says about a host.
type credential struct {
	token auth.Token // zero: there is none
	err   error      // why the token cannot be used
	place Place
}

// credentialsBlock reads the credentials of a host. The block counts even if it has no
// token: then the host has none, and no helper is asked.
func (r *fileReader) credentialsBlock(label name, body value) {
	host, ok := r.hostLabel(label, "credentials")
	if !ok {
		return
	}
	c := &credential{place: r.place(label.at)}
	secret := value{kind: null, at: label.at}
	for _, it := range body.body {
		if it.name() == "token" {
			secret = it.value
		}
	}
	switch {
	case secret.kind != text || secret.text == "":
		r.warn(secret.at, "the credentials of %s hold no token, and a credentials helper is not asked for one either", host.Display())
	default:
		if c.token, c.err = auth.NewToken(secret.text); c.err != nil {
			r.warn(secret.at, "the token of %s cannot be sent: %v", host.Display(), c.err)
		}
	}
	if old := r.set.credentials[host]; old != nil && old.place.File == r.file {
		r.warn(label.at, "the credentials of %s stand in line %d already; the last ones count", host.Display(), old.place.Line)
	}
	r.set.credentials[host] = c
	r.set.origin(setting("credentials", host.Display()), c.place)
}

// hostLabel parses the label of a block that is about a host. It is not repeated,
// because somebody may have put a token in its place.
func (r *fileReader) hostLabel(label name, block string) (svchost.Hostname, bool) {
	host, err := svchost.Parse(label.text)
	if err == nil {
		return host, true
	}
	reason := "it is none"
	if e, ok := errors.AsType[*svchost.ParseError](err); ok {
		reason = e.Reason
	}
	r.wrong(label.at, "the label of a block %q must be a hostname: %s", block, reason)
	return svchost.Hostname{}, false
}

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
	for _, it := range body.body {
		switch {
		case !it.is("services"):
			r.warn(it.at(), "unknown argument %s of a block \"host\" is ignored", shown(it.name()))
		case !r.argument(it, true):
		case it.value.kind != object:
			r.wrong(it.value.at, "\"services\" must be a block, not %s", it.value.kind)
		default:
			maps.Copy(services, r.services(it.value))
		}
	}
	s, err := disco.NewServices(h, services)
	if err != nil {
		r.because(label.at, err)
		return
	}
	if old := r.set.hosts[h]; old != nil && old.place.File == r.file {
		r.warn(label.at, "the services of %s stand in line %d already; the last ones count", h.Display(), old.place.Line)
	}
	r.set.hosts[h] = &host{s, r.place(label.at)}
	r.set.origin(setting("host", h.Display()), r.place(label.at))
}

func (r *fileReader) services(v value) map[disco.Service]any {
	services := map[disco.Service]any{}
	for _, it := range v.body {
		if r.argument(it, true) {
			services[disco.Service(it.name())] = plain(it.value)
		}
	}
	return services
}

// plain returns v as encoding/json would decode it. A number is left as a text, which
// is an error for the one who asks for the service.
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

// helper is what a credentials_helper block says.
type helper struct {
	name  string
	args  []string
	place Place
	path  string // of the program; empty: it was not found
}

// helperBlock reads the name and the arguments of a credentials helper.
func (r *fileReader) helperBlock(label name, body value) {
	h := &helper{name: label.text, place: r.place(label.at)}
	if !helperName(label.text) {
		r.wrong(label.at, "the label of a block \"credentials_helper\" must be the end of a program's name: letters, digits, hyphens and underscores")
		return
	}
	for _, it := range body.body {
		if !it.is("args") {
			r.warn(it.at(), "unknown argument %s of a block \"credentials_helper\" is ignored", shown(it.name()))
			continue
		}
		args, _ := r.texts(it)
		for _, a := range args {
			h.args = append(h.args, a.text)
		}
	}
	n := r.set.origin("credentials_helper", h.place)
	for i, old := range r.set.helpers {
		if old.name == h.name {
			r.set.helpers[i] = h
			return
		}
	}
	if r.set.helpers = append(r.set.helpers, h); n > 1 {
		r.wrong(label.at, "there is more than one credentials helper; the other one is at %s", r.set.helpers[0].place)
	}
}

// helperName reports whether s can be part of the name of a file.
func helperName(s string) bool {
	for _, c := range s {
		if !letter(c) && !digit(c) && c != '-' {
			return false
		}
	}
	return s != ""
}
