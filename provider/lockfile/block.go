package lockfile

// span is a part of the source.
type span struct{ start, stop int }

// A block is a provider block of the source.
type block struct {
	entry  Entry
	first  *block // the first block of the same provider, nil if this is the first
	whole  span   // whole lines, with the comments directly above
	label  token
	body   span // between the braces
	top    int  // start of the first line in the body
	inline bool // the body is in the line of the braces

	version, constraints, hashes *argument   // nil if missing
	extra                        []*argument // repetitions of these three
	other                        *argument   // the last unknown argument
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
	b := &block{label: label, whole: span{start: start}}
	if problem := p.body(b, open); problem != nil {
		return problem
	}
	if problem := p.endOfBlock(); problem != nil {
		return problem
	}
	b.whole.stop = p.pos
	if !p.interpret(b, name) {
		return nil
	}
	if first := p.blocks[b.entry.Provider]; first != nil {
		if b.first = first; !p.lenient || len(p.warnings) < maxProblems { // counting lines takes time
			line, _ := position(p.src, first.label.start)
			p.report(wrong(label.start, "provider %s is locked in line %d already", first.entry.Provider, line))
		}
		// Hashes in the other block must not be lost.
		first.entry.Unreadable = first.entry.Unreadable || len(first.entry.Hashes) == 0 && b.hashes != nil
		p.entries[first.entry.Provider] = first.entry
	} else {
		p.blocks[b.entry.Provider], p.entries[b.entry.Provider] = b, b.entry
	}
	if p.lenient {
		p.doc.blocks = append(p.doc.blocks, b)
	}
	return nil
}

// body reads from the opening brace to the closing brace.
func (p *parser) body(b *block, open token) *ParseError {
	b.body.start = open.end
	for n := 0; ; n++ {
		t, problem := p.significant()
		if problem != nil {
			return problem
		}
		if n == 0 {
			b.inline, b.top = t.kind != newline, p.pos
		}
		switch {
		case t.kind == newline:
			if n == 0 || !b.inline {
				continue
			}
			return wrong(t.start, "want \"}\" in this line, or the argument in a line of its own")
		case p.text(t) == "}":
			b.body.stop = t.start
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
		b.other = a
	case *slot != nil:
		p.report(wrong(name.start, "argument %q is set twice", p.text(name)))
		b.extra = append(b.extra, a)
	default:
		*slot = a
	}
	return nil
}
