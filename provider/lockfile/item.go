package lockfile

import "strings"

// item reads an argument or a block after its name. start is its position with the comments
// above.
func (p *parser) item(name token, start int) *ParseError {
	t, problem := p.significant()
	if problem != nil {
		return problem
	}
	if t.kind == equals {
		p.report(wrong(name.start, "argument %q is not expected here; a lock file has provider blocks", p.text(name)))
		_, problem := p.argument(name, t, false)
		return problem
	}
	labels, open, problem := p.labels(t)
	if problem != nil {
		return problem
	}
	word := p.text(name)
	known := word == "provider" || word == "module"
	switch {
	case known && len(labels) != 1:
		p.report(wrong(name.start, "block %q has %d labels, want 1", word, len(labels)))
	case word == "provider":
		return p.provider(name, labels[0], open, start)
	case word == "module":
		p.warn(wrong(name.start, "locks for modules are ignored, as in the CLI"))
	default:
		p.report(wrong(name.start, "block %q is not expected here; a lock file has provider blocks", word))
	}
	return p.skip(open)
}

// significant returns the next token that is not a comment.
func (p *parser) significant() (token, *ParseError) {
	for {
		if t, problem := p.next(); problem != nil || t.kind != comment {
			return t, problem
		}
	}
}

// labels reads the labels of a block, from t to the brace.
func (p *parser) labels(t token) (labels []token, open token, problem *ParseError) {
	for {
		switch {
		case t.kind == quoted || t.kind == ident:
			labels = append(labels, t)
		case t.kind == opening && p.src[t.start] == '{':
			return labels, t, nil
		default:
			return nil, token{}, wrong(t.start, "a label in quotes or an opening brace is expected here")
		}
		if t, problem = p.significant(); problem != nil {
			return nil, token{}, problem
		}
	}
}

// endOfBlock reads the rest of the line of the closing brace, which must be empty.
func (p *parser) endOfBlock() *ParseError {
	t, problem := p.significant()
	if problem == nil && t.kind != newline && t.kind != atEOF {
		problem = wrong(t.start, "a new line is expected after this block")
	}
	return problem
}

// nest opens or closes a bracket if t does.
func (p *parser) nest(t token) *ParseError {
	switch t.kind {
	case opening:
		if len(p.brackets) == maxDepth {
			return wrong(t.start, "nested more than %d deep", maxDepth)
		}
		p.brackets = append(p.brackets, "}])"[strings.IndexByte("{[(", p.src[t.start])])
	case closing:
		n := len(p.brackets)
		if n == 0 || p.brackets[n-1] != p.src[t.start] {
			return wrong(t.start, "unmatched %q", p.src[t.start])
		}
		p.brackets = p.brackets[:n-1]
	case atEOF:
		if len(p.brackets) > 0 {
			return wrong(t.start, "unclosed bracket at the end of the file")
		}
	}
	return nil
}

// skip reads the body of a block after its opening brace, and the end of the line.
func (p *parser) skip(open token) *ParseError {
	p.brackets = p.brackets[:0]
	t := open
	for {
		if problem := p.nest(t); problem != nil {
			return problem
		}
		if len(p.brackets) == 0 {
			return p.endOfBlock()
		}
		var problem *ParseError
		if t, problem = p.next(); problem != nil {
			return problem
		}
	}
}

// argument reads a value and the end of its line. In an inline block it reads up to the brace.
func (p *parser) argument(name, eq token, inline bool) (*argument, *ParseError) {
	a := &argument{name: name, equals: eq.start, single: true}
	p.brackets = p.brackets[:0]
	for n := 0; ; {
		t, problem := p.next()
		switch {
		case problem != nil:
			return nil, problem
		case t.kind == comment, t.kind == newline && len(p.brackets) > 0:
			continue
		}
		outside := len(p.brackets) == 0
		if outside {
			end := t.kind == newline || t.kind == atEOF
			if inline && (end || p.text(t) == "}") {
				p.pos, end = t.start, true
			}
			switch {
			case end && n == 0:
				return nil, wrong(t.start, "a value is expected here")
			case end:
				a.line = span{p.lineStart(name.start), p.pos}
				return a, nil
			case t.kind == comma:
				return nil, wrong(t.start, "unexpected comma; each argument needs its own line")
			}
		}
		if problem := p.nest(t); problem != nil {
			return nil, problem
		}
		if n++; n == 1 {
			a.first, a.value.start = t, t.start
		} else if outside {
			a.single = false
		}
		a.value.stop = t.end
	}
}
