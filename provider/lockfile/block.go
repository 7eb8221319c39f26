package lockfile

import "github.com/tofureg/tofureg/addrs"

// span is a part of the source.
type span struct{ start, stop int }

// A block is a provider block of the source.
type block struct {
	entry  Entry
	first  *block // the first block of the same provider, nil if this is the first
	whole  span   // whole lines, with the comments directly above
	braced span   // from "provider" to the closing brace
	label  token
	inline bool // the body is in the line of the braces

	version, constraints, hashes *argument // nil if missing
	versions                     bool      // there are several
}

// An argument is NAME = VALUE.
type argument struct {
	name   token
	equals int
	value  span
	first  token // of the value
	single bool  // the value is one token or one pair of brackets
	line   span  // whole lines
}

// provider reads a provider block after the opening brace.
func (p *parser) provider(name, label, open token, start int) *ParseError {
	b := &block{label: label, whole: span{start: start}, braced: span{start: name.start}}
	elsewhere := p.unexplained
	p.unexplained = false
	if problem := p.body(b, open); problem != nil {
		return problem
	}
	if problem := p.endOfBlock(); problem != nil {
		return problem
	}
	b.whole.stop = p.pos
	if !p.interpret(b, name) {
		p.unexplained = true // of whichever provider this is
		return nil
	}
	first := p.blocks[b.entry.Provider]
	if first == nil {
		first, p.blocks[b.entry.Provider] = b, b
	} else if b.first = first; !p.lenient || len(p.warnings) < maxProblems { // counting lines takes time
		line, _ := position(p.src, first.label.start)
		p.report(wrong(label.start, "provider %s is locked in line %d already", first.entry.Provider, line))
	}
	if p.unexplained || b.first != nil {
		first.entry.Unreadable, first.entry.Hashes = true, nil
	}
	if first.entry.Version != b.entry.Version {
		first.entry.Version = addrs.Version{}
	}
	p.entries[first.entry.Provider] = first.entry
	p.unexplained = elsewhere
	if p.lenient {
		p.doc.blocks = append(p.doc.blocks, b)
	}
	return nil
}

// body reads from the opening brace to the closing brace.
func (p *parser) body(b *block, open token) *ParseError {
	for n := 0; ; n++ {
		t, problem := p.significant()
		if problem != nil {
			return problem
		}
		if n == 0 {
			b.inline = t.kind != newline
		}
		switch {
		case t.kind == newline:
			if n == 0 || !b.inline {
				continue
			}
			return wrong(t.start, "want \"}\" in this line, or the argument in a line of its own")
		case p.text(t) == "}":
			b.braced.stop = t.end
			return nil
		case t.kind == atEOF:
			return wrong(open.start, "unclosed block")
		case t.kind != ident, n > 0 && b.inline:
			return wrong(t.start, "an argument is expected here")
		}
		if problem := p.member(b, t); problem != nil {
			return problem
		}
	}
}

// member reads an argument or a nested block of a provider block.
func (p *parser) member(b *block, name token) *ParseError {
	t, problem := p.significant()
	if problem != nil {
		return problem
	}
	if t.kind != equals {
		_, open, problem := p.labels(t)
		if problem != nil {
			return problem
		}
		if b.inline {
			return wrong(name.start, "a block is not expected in the line of another one")
		}
		p.report(wrong(name.start, "block %q is not expected in a provider block", p.text(name)))
		return p.skip(open)
	}
	a, problem := p.argument(name, t, b.inline)
	if problem != nil {
		return problem
	}
	slot := map[string]**argument{"version": &b.version, "constraints": &b.constraints, "hashes": &b.hashes}[p.text(name)]
	switch {
	case slot == nil:
		p.report(wrong(name.start, "argument %q is not expected in a provider block", p.text(name)))
	case *slot != nil:
		p.report(wrong(name.start, "argument %q is set twice", p.text(name)))
		b.versions = b.versions || slot == &b.version
	default:
		*slot = a
	}
	return nil
}
