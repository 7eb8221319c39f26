package cliconfig

import (
	"errors"

	"github.com/tofureg/tofureg/auth"
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
	old := r.set.credentials[host]
	again := old != nil && old.place.File == r.file
	secret, has := value{kind: null, at: label.at}, false
	for _, it := range body.body {
		if it.name() == "token" {
			secret, has = it.value, true
		}
	}
	switch {
	case again && !has: // the blocks of one file complete each other
		c.token, c.err = old.token, old.err
	case secret.kind != text || secret.text == "":
		r.warn(secret.at, "the credentials of %s hold no token, and a credentials helper is not asked for one either", host.Display())
	default:
		if c.token, c.err = auth.NewToken(secret.text); c.err != nil {
			r.warn(secret.at, "the token of %s cannot be sent: %v", host.Display(), c.err)
		}
	}
	if again {
		r.warn(label.at, "the credentials of %s stand in line %d already; the last token counts", host.Display(), old.place.Line)
	}
	r.set.credentials[host] = c
}

// hostLabel parses the label of a block that is about a host. It is not repeated,
// because somebody may have put a token in its place.
func (r *fileReader) hostLabel(label name, block string) (svchost.Hostname, bool) {
	host, err := svchost.Parse(label.text)
	if e, ok := errors.AsType[*svchost.ParseError](err); ok {
		r.wrong(label.at, "the label of a block %q must be a hostname: %s", block, e.Reason)
	}
	return host, err == nil
}
