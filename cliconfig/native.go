package cliconfig

// A parser reads the native syntax. Its recursion is limited by maxDepth.
type parser struct {
	scanner
	depth int
}

// items reads items up to the end of the file, or to the closing brace of open. The error is a *problemAt.
func (p *parser) items(open lexeme) ([]item, error) {
	var items []item
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t.kind == atEOF && open.kind == atEOF, t.is("}") && open.kind != atEOF:
			return items, nil
		case t.kind == atEOF:
			return nil, syntaxError(open.at, "the block is not closed")
		case t.kind != ident && t.kind != quoted:
			return nil, syntaxError(t.at, "expected a name")
		}
		it, err := p.item(t)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
		if err := p.comma(); err != nil {
			return nil, err
		}
	}
}

// comma skips the optional comma after an item.
func (p *parser) comma() error {
	before := p.pos
	t, err := p.next()
	if err == nil && !t.is(",") {
		p.pos = before
	}
	return err
}

// item reads an argument or a block, of which t is the first name.
func (p *parser) item(t lexeme) (item, error) {
	var it item
	for {
		switch {
		case t.kind == ident || t.kind == quoted:
			it.names = append(it.names, name{t.text, t.at})
		case t.is("=") && len(it.names) > 1:
			return item{}, syntaxError(t.at, "an argument has one name, and a block has no equals sign")
		case t.is("="):
			it.equals = true
			first, err := p.next()
			if err == nil {
				it.value, err = p.value(first)
			}
			return it, err
		case t.is("{"):
			var err error
			it.value, err = p.value(t)
			return it, err
		default:
			return item{}, syntaxError(t.at, "expected an equals sign or an opening brace")
		}
		var err error
		if t, err = p.next(); err != nil {
			return item{}, err
		}
	}
}

// value reads the value that starts with t.
func (p *parser) value(t lexeme) (value, error) {
	v := value{at: t.at, text: t.text}
	var err error
	switch {
	case t.kind == quoted || t.kind == heredoc:
		v.kind = text
	case t.kind == numeral:
		v.kind = number
	case t.kind == truth:
		v.kind = boolean
	case p.depth == maxDepth:
		err = syntaxError(t.at, tooDeep)
	case t.is("{"):
		p.depth++
		v.kind = object
		v.body, err = p.items(t)
		p.depth--
	case t.is("["):
		p.depth++
		v.kind = list
		v.list, err = p.elements(t)
		p.depth--
	default:
		err = syntaxError(t.at, "expected a value: a string in double quotes, a number, true, false, a list or a block")
	}
	return v, err
}

// elements reads a list up to its closing bracket. Extra commas are permitted.
func (p *parser) elements(open lexeme) ([]value, error) {
	var elements []value
	comma := true
	for {
		t, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case t.is("]"):
			return elements, nil
		case t.is(","):
			comma = true
			continue
		case t.kind == atEOF:
			return nil, syntaxError(open.at, "the list is not closed")
		case !comma:
			return nil, syntaxError(t.at, "expected a comma between two elements of a list")
		}
		v, err := p.value(t)
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
		comma = v.kind == list // as in HCL 1
	}
}
