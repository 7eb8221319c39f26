package lockfile

import "github.com/tofureg/tofureg/addrs"

// interpret fills in the entry of b. It returns false if b has no valid address.
func (p *parser) interpret(b *block, name token) bool {
	raw, problem := "", (*ParseError)(nil)
	if b.label.kind == quoted {
		raw, problem = unquote(p.text(b.label), b.label.start)
	} else {
		raw = p.text(b.label)
	}
	if problem != nil {
		p.report(problem)
		return false
	}
	address, err := addrs.ParseProvider(raw)
	if err == nil {
		err = lockable(address)
	}
	if err != nil {
		p.report(because(b.label.start, err))
		return false
	}
	if address.String() != raw {
		p.respell(wrong(b.label.start, "address %q must be written %q", raw, address))
	}
	b.entry.Provider = address
	if b.version == nil {
		p.report(wrong(name.start, "provider %s has no version", address))
	} else if v := value(p, b.version, addrs.ParseVersion); !b.versions {
		b.entry.Version = v
	}
	if b.constraints != nil { // for people, so it may be unreadable
		unexplained := p.unexplained
		b.entry.Constraints = value(p, b.constraints, addrs.ParseProviderConstraint)
		p.unexplained = unexplained
	}
	if b.hashes != nil {
		b.entry.Hashes = p.hashes(b.hashes)
	}
	return true
}

// value parses the text of a. It reports a problem and returns zero if the text is invalid.
func value[T interface{ String() string }](p *parser, a *argument, parse func(string) (T, error)) T {
	var zero T
	if a.first.kind != quoted || !a.single {
		p.report(wrong(a.value.start, "argument %q must be a text in double quotes", p.text(a.name)))
		return zero
	}
	raw, problem := unquote(p.text(a.first), a.first.start)
	if problem != nil {
		p.report(problem)
		return zero
	}
	v, err := parse(raw)
	if err != nil {
		p.report(because(a.value.start, err))
		return zero
	}
	if v.String() != raw {
		p.respell(wrong(a.value.start, "%s %q must be written %q", p.text(a.name), raw, v))
	}
	return v
}
