package workdir

import (
	"context"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// The limits of evaluation. Work is about the bytes of memory that it takes.
const (
	maxWork    = 128 << 20 // for all expressions of a walk
	stepWork   = 64        // for a node, or a step to an item
	itemWork   = 512       // for an item of a collection, a name, or a part of a type
	numberWork = 4 << 10   // for a number that is not a small integer
	wordWork   = 768       // for a word that is parsed
	termWork   = 256       // for a word of a constant, such as a version constraint
	valueWork  = 8         // for a byte of JSON of which a value is made
	maxText    = 4 << 10   // bytes of a source or version as it is written, and of a text that is put together
	maxDepth   = 4_000     // nodes that are evaluated one for the other
)

// A budget evaluates expressions within the work that is left. It is used by one goroutine at a time.
type budget struct {
	ctx   context.Context
	left  int
	depth int
	err   error // why the value of an expression is worthless
	guard guard // of the files, and of texts in expressions
	paths *paths
}

// fail keeps the first error of an expression. No error has a part of a value.
func (b *budget) fail(at hcl.Range, format string, args ...any) value {
	if b.err == nil {
		b.err = wrong(at, format, args...)
	}
	return value{}
}

// notEvaluated is the error for what the CLI evaluates, and this package does not.
func (b *budget) notEvaluated(at hcl.Range, what string, args ...any) value {
	return b.fail(at, what+" is not evaluated here: write the result as a literal, or as a variable that the field Dir.Variables sets", args...)
}

// charge takes work from the budget before it is done, and reports whether to do it.
func (b *budget) charge(at hcl.Range, work int) bool {
	if b.err == nil {
		b.err = b.ctx.Err()
	}
	if b.left -= min(work, b.left+1); b.left < 0 {
		b.fail(at, "the expressions for sources and versions take too much work: write a source as a literal")
	}
	return b.err == nil
}

// result returns the value of an expression, or its error, and begins with the next.
func (b *budget) result(v value) (value, error) {
	err := b.err
	if b.err = nil; err != nil {
		v = value{}
	}
	return v, err
}

// A kind is a kind of a value or type.
type kind uint8

const (
	nullKind kind = iota // of a type: any
	textKind
	numberKind
	boolKind
	listKind // or a tuple
	setKind
	objectKind // or a map
)

func (k kind) String() string {
	return [...]string{"null", "a string", "a number", "a bool", "a list", "a set", "an object"}[k]
}

// Marks are what must not be forgotten about a value.
type marks uint8

const (
	sensitive marks = 1 << iota
	vague           // the CLI may have made a string of this number or bool, because another item or result is one
)

// A value is a text, or a collection whose items are not evaluated yet.
type value struct {
	kind  kind
	marks marks
	text  string // of a string, number or bool
	items *items // of a list, set or object
}

// items are the items of a collection.
type items struct {
	list  []thunk
	keys  map[string]int // of an object
	types []typ          // to which an item is converted, one after the other
	marks marks          // of items before they are converted
}

// A thunk is a value that is evaluated when it is needed, and once.
type thunk struct {
	make  func() value // nil if it has been called
	value value
	err   error
	busy  bool
}

func (b *budget) force(t *thunk, at hcl.Range) value {
	if t.busy {
		return b.fail(at, "the value depends on itself")
	}
	if t.make != nil && b.err == nil {
		t.busy = true
		t.value = t.make()
		t.make, t.busy, t.err = nil, false, b.err
	}
	if b.err == nil {
		b.err = t.err
	}
	return t.value
}

// A scope is where the names in an expression have a meaning: nowhere if it has no spot.
type scope struct {
	spot *spot
	use  string // "source" or "version" for an expression of one, which may name less with the rules of Terraform
}

// eval evaluates an expression, but not the items of a collection.
func (b *budget) eval(e hcl.Expression, in scope) value {
	at := e.Range()
	if !b.charge(at, stepWork) {
		return value{}
	}
	if b.depth >= maxDepth {
		return b.fail(at, "more than %d expressions need one another", maxDepth)
	}
	b.depth++
	defer func() { b.depth-- }()
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return b.literal(e.Val, at)
	case *hclsyntax.TemplateExpr:
		if e.IsStringLiteral() {
			return b.eval(e.Parts[0], in)
		}
		texts := make([]value, len(e.Parts))
		for i, part := range e.Parts {
			texts[i] = b.primitive(part, textKind, in)
		}
		return b.concat(texts, at)
	case *hclsyntax.TemplateWrapExpr:
		return b.eval(e.Wrapped, in)
	case *hclsyntax.ParenthesesExpr:
		return b.eval(e.Expression, in)
	case *hclsyntax.ObjectConsKeyExpr:
		if name := hcl.ExprAsKeyword(e.Wrapped); name != "" && !e.ForceNonLiteral {
			return value{kind: textKind, text: name}
		}
		return b.eval(e.Wrapped, in)
	case *hclsyntax.ScopeTraversalExpr:
		return b.follow(b.named(e.Traversal, in), e.Traversal[min(2, len(e.Traversal)):])
	case *hclsyntax.RelativeTraversalExpr:
		return b.follow(b.eval(e.Source, in), e.Traversal)
	case *hclsyntax.IndexExpr:
		return b.item(b.eval(e.Collection, in), b.eval(e.Key, in), at)
	case *hclsyntax.ConditionalExpr:
		return b.conditional(e, in)
	case *hclsyntax.UnaryOpExpr:
		if l, ok := e.Val.(*hclsyntax.LiteralValueExpr); ok && e.Op == hclsyntax.OpNegate && l.Val.Type() == cty.Number {
			return b.number(new(big.Float).Neg(l.Val.AsBigFloat()), at)
		} else if e.Op != hclsyntax.OpLogicalNot {
			return b.notEvaluated(at, "arithmetic")
		}
		v := b.primitive(e.Val, boolKind, in)
		v.text = strconv.FormatBool(v.text != "true")
		return v
	case *hclsyntax.BinaryOpExpr:
		return b.binary(e, in)
	case *hclsyntax.FunctionCallExpr:
		return b.call(e, in)
	case *hclsyntax.ForExpr, *hclsyntax.TemplateJoinExpr:
		return b.notEvaluated(at, `"for"`)
	case *hclsyntax.SplatExpr:
		return b.notEvaluated(at, "a splat")
	}
	return b.collection(e, in)
}

// literal returns a value of the parser.
func (b *budget) literal(from cty.Value, at hcl.Range) value {
	switch {
	case from.IsNull():
		return value{}
	case from.Type() == cty.String:
		return value{kind: textKind, text: from.AsString()}
	case from.Type() == cty.Bool:
		return value{kind: boolKind, text: strconv.FormatBool(from.True())}
	case from.Type() == cty.Number:
		return b.number(from.AsBigFloat(), at)
	}
	return b.fail(at, "invalid expression")
}

// number returns a number with the text that the CLI makes of it. It has at most three digits of exponent.
func (b *budget) number(f *big.Float, at hcl.Range) value {
	if power := f.MantExp(nil); !b.charge(at, numberWork+8*max(power, -power)) {
		return value{}
	}
	return value{kind: numberKind, text: f.Text('f', -1)}
}

// primitive evaluates an expression that should be of a primitive kind.
func (b *budget) primitive(e hcl.Expression, want kind, in scope) value {
	return b.as(b.eval(e, in), want, e.Range())
}

// as converts a value to a primitive kind.
func (b *budget) as(v value, want kind, at hcl.Range) value {
	text, ok := v.text, v.kind == want
	switch {
	case ok || v.kind == nullKind || v.kind > boolKind:
	case want == textKind:
		ok = true
	case want == boolKind && v.kind == textKind && len(text) <= len("false"):
		text, ok = map[string]string{"1": "true", "true": "true", "0": "false", "false": "false"}[text]
	case want == numberKind && len(text) <= maxNumber && isNumber([]byte(text)) && !strings.ContainsAny(text, "pP"): // another exponent
		f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if ok = err == nil && !f.IsInf(); ok {
			text = b.number(f, at).text
		}
	}
	if !ok {
		return b.fail(at, "want %v, not %v", want, v.kind)
	}
	return value{kind: want, text: text, marks: v.marks &^ vague}
}

// concat puts texts together.
func (b *budget) concat(texts []value, at hcl.Range) value {
	all, size, parts := value{kind: textKind}, 0, make([]string, len(texts))
	for i, part := range texts {
		parts[i] = part.text
		if size += len(part.text); size > maxText {
			return b.fail(at, "a text of more than %d bytes", maxText)
		}
		all.marks |= part.marks &^ vague
	}
	if !b.charge(at, itemWork+4*size) { // with its normal form
		return value{}
	}
	all.text = cty.NormalizeString(strings.Join(parts, ""))
	return all
}

// collection evaluates an object or a list, and any expression of JSON.
func (b *budget) collection(e hcl.Expression, in scope) value {
	at, v := e.Range(), value{kind: objectKind}
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		list, diags := hcl.ExprList(e)
		if diags.HasErrors() {
			return b.scalar(e, in)
		}
		v.kind = listKind
		for _, e := range list {
			pairs = append(pairs, hcl.KeyValuePair{Value: e})
		}
	}
	if !b.charge(at, len(pairs)*itemWork) {
		return value{}
	}
	v.items = &items{list: make([]thunk, len(pairs)), keys: map[string]int{}}
	for i, pair := range pairs {
		v.items.list[i].make = func() value { return b.eval(pair.Value, in) }
		if v.kind == objectKind {
			key := b.primitive(pair.Key, textKind, in)
			b.charge(at, len(key.text))
			v.items.keys[key.text] = i // of equal keys, the last one counts
			v.marks |= key.marks
		}
	}
	return v
}

// scalar evaluates a string, number or bool of JSON. A string is a template where names have a meaning, otherwise plain
// text.
func (b *budget) scalar(e hcl.Expression, in scope) value {
	at := e.Range()
	if !json.IsJSONExpression(e) {
		return b.notEvaluated(at, "this expression")
	} else if !b.charge(at, valueWork*(at.End.Byte-at.Start.Byte)) {
		return value{}
	}
	plain, _ := e.Value(nil)
	v := b.literal(plain, at)
	if in.spot == nil || v.kind != textKind || !isTemplate(v.text) {
		return v
	}
	if template := b.parse(v.text, at, hclsyntax.LexTemplate, hclsyntax.ParseTemplate); template != nil {
		return b.eval(template, in)
	}
	return value{}
}

// inJSON returns the text of a string of JSON.
func (b *budget) inJSON(e hcl.Expression) (string, bool) {
	at := e.Range()
	if !json.IsJSONExpression(e) || !b.charge(at, valueWork*(at.End.Byte-at.Start.Byte)) {
		return "", false
	}
	return quoted(e)
}

// parse parses a text, after a look with the lexer of the parser. After an error, it returns nil.
func (b *budget) parse(text string, at hcl.Range, lex lexer, parser func([]byte, string, hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics)) hclsyntax.Expression {
	if !b.charge(at, len(text)+wordWork*count([]byte(text)).words) {
		return nil
	}
	words, err := b.guard.look([]byte(text), at, lex, false, maxWords)
	if words > maxWords {
		err = wrong(at, "too deep nesting, or an expression of more than %d words and symbols", maxWords)
	}
	if err == nil {
		e, diags := parser([]byte(text), at.Filename, at.Start)
		if err = diagnosed(diags); err == nil {
			return e
		}
	}
	b.err = err
	return nil
}

// follow follows the steps of a reference to an item.
func (b *budget) follow(v value, steps hcl.Traversal) value {
	for _, step := range steps {
		switch at := step.SourceRange(); step := step.(type) {
		case hcl.TraverseAttr:
			v = b.item(v, value{kind: textKind, text: step.Name}, at)
		case hcl.TraverseIndex:
			v = b.item(v, b.literal(step.Key, at), at)
		default:
			return b.notEvaluated(at, "a splat")
		}
	}
	return v
}

// item evaluates an item of a collection.
func (b *budget) item(v, key value, at hcl.Range) value {
	switch v.kind {
	case objectKind:
		key = b.as(key, textKind, at)
	case listKind:
		key = b.as(key, numberKind, at)
	default:
		return b.fail(at, "%v has no items to name", v.kind)
	}
	item, found := b.find(v, key.text, at)
	if !found {
		b.fail(at, "%v has no such item", v.kind)
	}
	item.marks |= key.marks
	return item
}

// find evaluates an item, if there is one, and converts it to the types of the collection.
func (b *budget) find(v value, key string, at hcl.Range) (item value, found bool) {
	if !b.charge(at, stepWork+len(key)) {
		return value{}, false
	}
	i, found := v.items.keys[key]
	if v.kind == listKind {
		var err error
		i, err = strconv.Atoi(key)
		found = err == nil && 0 <= i && i < len(v.items.list)
	}
	if found {
		item = b.force(&v.items.list[i], at)
		item.marks |= v.items.marks
	}
	for _, t := range v.items.types {
		item, found = b.typed(item, found, t, key, at)
	}
	item.marks |= v.marks
	return item, found
}

// typed returns an item, or a missing one, as the type of its collection wants it.
func (b *budget) typed(item value, found bool, t typ, key string, at hcl.Range) (value, bool) {
	to := typ{inside: vague}
	word, args := t.parts()
	switch {
	case args == nil: // of any
	case word == "object":
		pairs, _ := hcl.ExprMap(args[0])
		i := slices.IndexFunc(pairs, func(p hcl.KeyValuePair) bool { return hcl.ExprAsKeyword(p.Key) == key })
		if !b.charge(at, stepWork*len(pairs)) || i < 0 {
			return value{}, false
		}
		to = typ{pairs[i].Value, t.inside}
		if word, args := to.parts(); word == "optional" && args != nil {
			to.expr, found = args[0], true
			if item.kind == nullKind && len(args) > 1 {
				item = b.eval(args[1], scope{})
			}
		}
	default:
		to.expr = args[0]
	}
	if found {
		item = b.convert(item, to, at)
	}
	return item, found
}

// conditional evaluates a condition and one of its results. Of the other result only the kind matters.
func (b *budget) conditional(e *hclsyntax.ConditionalExpr, in scope) value {
	condition := b.primitive(e.Condition, boolKind, in)
	result, other := e.TrueResult, e.FalseResult
	if condition.text != "true" {
		result, other = other, result
	}
	v := b.eval(result, in)
	if v.marks |= condition.marks; v.items != nil {
		v.marks |= vague
	}
	if (v.kind == numberKind || v.kind == boolKind) && b.err == nil {
		if o, err := b.result(b.eval(other, in)); err != nil || o.kind != nullKind && o.kind != v.kind || o.marks&vague != 0 {
			v.marks |= vague
		}
	}
	return v
}

func (b *budget) binary(e *hclsyntax.BinaryOpExpr, in scope) value {
	at, v := e.Range(), value{kind: boolKind}
	switch e.Op {
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		left, right := b.eval(e.LHS, in), b.eval(e.RHS, in)
		v.text = strconv.FormatBool(b.equal(left, right, at) == (e.Op == hclsyntax.OpEqual))
		v.marks = (left.marks | right.marks) &^ vague
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		if v = b.primitive(e.LHS, boolKind, in); (v.text == "true") == (e.Op == hclsyntax.OpLogicalAnd) {
			right := b.primitive(e.RHS, boolKind, in)
			v.text, v.marks = right.text, v.marks|right.marks
		}
	default:
		return b.notEvaluated(at, "arithmetic or a comparison other than == and !=")
	}
	return v
}

// equal compares values, of which it converts none.
func (b *budget) equal(v, o value, at hcl.Range) bool {
	switch {
	case v.kind == nullKind || o.kind == nullKind:
		return v.kind == o.kind
	case v.items != nil || o.items != nil:
		b.notEvaluated(at, "a comparison of lists, sets or objects")
	case !b.charge(at, min(len(v.text), len(o.text))):
	case v.text != o.text:
		return false
	case v.kind != textKind && v.marks&vague != 0 || o.kind != textKind && o.marks&vague != 0:
		b.notEvaluated(at, "a comparison with a number or bool of mixed types")
	}
	return v.kind == o.kind
}

// arguments have the numbers of arguments of functions.
var arguments = map[string][2]int{"sensitive": {1, 1}, "nonsensitive": {1, 1}, "lookup": {2, 3}, "join": {2, maxText}, "format": {1, maxText}}

// call evaluates a function.
func (b *budget) call(e *hclsyntax.FunctionCallExpr, in scope) value {
	at, n, want := e.Range(), len(e.Args), arguments[e.Name]
	if in.spot == nil {
		return b.fail(at, "functions are not allowed here")
	} else if e.ExpandFinal || n < max(1, want[0]) || n > want[1] {
		return b.notEvaluated(e.NameRange, "this call of the function %.200q", e.Name)
	}
	args := make([]value, n)
	for i, arg := range e.Args {
		args[i] = b.eval(arg, in)
	}
	if b.err != nil {
		return value{}
	}
	switch v := args[0]; e.Name {
	case "sensitive":
		v.marks |= sensitive
		return v
	case "nonsensitive":
		v.marks &^= sensitive
		return v
	case "lookup":
		return b.lookup(args, at)
	case "join":
		return b.join(args, at)
	}
	return b.format(args, at)
}

func (b *budget) lookup(args []value, at hcl.Range) value {
	if args[0].kind != objectKind {
		return b.fail(at, "want an object, not %v", args[0].kind)
	}
	key := b.as(args[1], textKind, at)
	item, found := b.find(args[0], key.text, at)
	switch {
	case !found && len(args) == 3:
		item = args[2]
		item.marks |= args[0].marks | vague // it gets the type of the items of a map
	case !found:
		b.fail(at, "the object has no such item")
	}
	item.marks |= key.marks
	return item
}

func (b *budget) join(args []value, at hcl.Range) value {
	separator := b.as(args[0], textKind, at)
	var texts []value
	all := separator.marks
	for _, list := range args[1:] {
		if list.kind != listKind {
			return b.fail(at, "want a list, not %v", list.kind)
		}
		all |= list.marks
		for i := range list.items.list {
			if len(texts) > 0 {
				texts = append(texts, separator)
			}
			item, _ := b.find(list, strconv.Itoa(i), at)
			if texts = append(texts, b.as(item, textKind, at)); b.err != nil {
				return value{}
			}
		}
	}
	v := b.concat(texts, at)
	v.marks |= all &^ vague
	return v
}

// format knows the verbs %s, %v, %d and %%.
func (b *budget) format(args []value, at hcl.Range) value {
	pattern, args := b.as(args[0], textKind, at), args[1:]
	texts, rest := []value{{marks: pattern.marks}}, pattern.text
	for b.charge(at, itemWork) {
		before, after, found := strings.Cut(rest, "%")
		if texts = append(texts, value{text: before}); !found {
			break
		}
		verb := after[:min(1, len(after))]
		if rest = after[len(verb):]; verb == "%" {
			texts = append(texts, value{text: verb})
			continue
		} else if len(args) == 0 {
			return b.fail(at, "the function \"format\" has too few arguments")
		}
		v := args[0]
		args = args[1:]
		switch {
		case verb == "v" && v.kind == nullKind:
			v.text = "null"
		case verb == "s" || verb == "v" && (v.kind != numberKind || len(v.text) <= 6): // longer numbers may have exponents
			v = b.as(v, textKind, at)
		case verb == "d":
			if v = b.as(v, numberKind, at); strings.Contains(v.text, ".") {
				b.fail(at, "want an integer")
			}
		default:
			b.notEvaluated(at, "the verb %%%s of %v", verb, v.kind)
		}
		texts = append(texts, v)
	}
	if len(args) > 0 {
		b.fail(at, "the function \"format\" has too many arguments")
	}
	return b.concat(texts, at)
}

// A typ is a type constraint, which is read as far as it is needed.
type typ struct {
	expr   hcl.Expression // nil for any
	inside marks          // vague in a list, set or map, whose items get one type
}

// parts returns the word of a type and what is in its parentheses.
func (t typ) parts() (word string, args []hclsyntax.Expression) {
	if call, ok := t.expr.(*hclsyntax.FunctionCallExpr); ok && len(call.Args) > 0 {
		return call.Name, call.Args
	} else if t.expr == nil {
		return "any", nil
	}
	return hcl.ExprAsKeyword(t.expr), nil
}

// kinds are those of the words of types.
var kinds = map[string]kind{
	"any": nullKind, "string": textKind, "number": numberKind, "bool": boolKind, "list": listKind, "set": setKind, "map": objectKind,
	"object": objectKind,
}

// convert converts a value to a type, but not the items of a collection.
func (b *budget) convert(v value, t typ, at hcl.Range) value {
	word, _ := t.parts()
	kind, known := kinds[word]
	switch {
	case !known:
		return b.notEvaluated(t.expr.Range(), "a value of this type")
	case word == "any":
		v.marks |= t.inside
	case v.kind == nullKind:
	case kind <= boolKind:
		return b.as(v, kind, at)
	case kind != v.kind && (kind != setKind || v.kind != listKind):
		return b.fail(at, "want %v, not %v", kind, v.kind)
	case b.charge(at, itemWork):
		c := *v.items
		c.types, c.marks = append(slices.Clip(c.types), t), c.marks|v.marks&vague
		v.kind, v.items, v.marks = kind, &c, v.marks&^vague
	}
	return v
}
