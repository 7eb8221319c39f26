package cliconfig

import (
	"errors"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A credential is the content of a credentials block.
type credential struct {
	token auth.Token // zero if the block has no usable token
	err   error      // why the token cannot be used
	place Place
}

// credentialsBlock reads the credentials of a host. If the block has no token, the host
// has no token, and the helper is not run.
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
	case again && !has: // blocks of one file are merged
		c.token, c.err = old.token, old.err
	case secret.kind != text || secret.text == "":
		r.warnf(secret.at, "the credentials of %s have no token; the credentials helper is not run for this host", host.Display())
	default:
		if c.token, c.err = auth.NewToken(secret.text); c.err != nil {
			r.warnf(secret.at, "the token of %s cannot be sent: %v", host.Display(), c.err)
		}
	}
	if again {
		r.warnf(label.at, "line %[2]d already has credentials of %[1]s; the last token is used", host.Display(), old.place.Line)
	}
	r.set.credentials[host] = c
}

// hostLabel parses the hostname in a label. Errors do not repeat the label, which may be
// a misplaced token.
func (r *fileReader) hostLabel(label name, block string) (svchost.Hostname, bool) {
	host, err := svchost.Parse(label.text)
	if e, ok := errors.AsType[*svchost.ParseError](err); ok {
		r.errorf(label.at, "the label of a block %q must be a hostname: %s", block, e.Reason)
	}
	return host, err == nil
}
