package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

const (
	maxValue  = 1 << 20 // size of a value
	maxNested = 500     // values that are needed for a value, one for the other
	tooLarge  = "the value is larger than %d bytes"
	wordWork  = 128 // work for a word of a module whose expressions are needed
)

// A budget is the work that is left for expressions. It is used by one goroutine at a time.
type budget struct {
	ctx   context.Context
	left  int
	over  error                        // why the expression is not evaluated further
	known map[string]function.Function // that charge this budget
}

// charge takes work from the budget before it is done.
func (b *budget) charge(work int) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if work < 0 || work > b.left {
		b.left = 0
		return fmt.Errorf("the expressions take more work than the field Limits.Work permits")
	}
	b.left -= work
	return nil
}

// A metered expression charges itself and its value, so the work of an expression is charged before it is done: it is
// about the size of the values of its parts.
type metered struct {
	hclsyntax.Expression
	budget *budget
}

// UnwrapExpression lets hcl look at the expression itself.
func (m *metered) UnwrapExpression() hcl.Expression { return m.Expression }

// Value evaluates the expression.
func (m *metered) Value(context *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	at, err := m.Range(), cmp.Or(m.budget.over, m.budget.charge(16))
	if err == nil {
		v, diags := m.Expression.Value(context)
		size, _ := measure(v)
		if err = m.budget.charge(size); diags.HasErrors() || err == nil && size <= maxValue {
			return v, diags
		}
		err = cmp.Or(err, fmt.Errorf(tooLarge, maxValue))
	}
	m.budget.over = err
	return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: err.Error(), Detail: "it is needed to install modules", Subject: &at}}
}

// metered returns an expression whose nodes are metered. It changes the nodes. Only those are permitted whose work is
// bounded by the values of their parts.
func (b *budget) metered(e hclsyntax.Expression) (hclsyntax.Expression, error) {
	unmetered := -1 // the number of a part
	switch e := e.(type) {
	case *metered: // of an earlier evaluation
		return e, nil
	case *hclsyntax.LiteralValueExpr, *hclsyntax.ScopeTraversalExpr, *hclsyntax.AnonSymbolExpr, *hclsyntax.TemplateExpr,
		*hclsyntax.TemplateWrapExpr, *hclsyntax.TemplateJoinExpr, *hclsyntax.ParenthesesExpr, *hclsyntax.RelativeTraversalExpr,
		*hclsyntax.IndexExpr, *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr,
		*hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr, *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
	case *hclsyntax.ObjectConsKeyExpr:
		if !e.ForceNonLiteral && hcl.ExprAsKeyword(e.Wrapped) != "" {
			unmetered = 0
		}
	case *hclsyntax.FunctionCallExpr:
		if _, ok := functions[e.Name]; !ok {
			return nil, wrong(e.NameRange, "the function %.100q is not evaluated when modules are installed", e.Name)
		}
		if e.Name == "convert" {
			unmetered = 1 // a type
		}
	default:
		return nil, wrong(e.Range(), "an expression that is not evaluated when modules are installed")
	}
	for i, part := range parts(e) {
		if *part == nil || i == unmetered {
			continue
		}
		var err error
		if *part, err = b.metered(*part); err != nil {
			return nil, err
		}
	}
	return &metered{e, b}, nil
}

// parts returns the expressions in a node, which are in its fields.
func parts(e hclsyntax.Expression) (all []*hclsyntax.Expression) {
	for _, field := range reflect.ValueOf(e).Elem().Fields() {
		if !field.CanInterface() {
			continue
		}
		switch field := field.Addr().Interface().(type) {
		case *hclsyntax.Expression:
			all = append(all, field)
		case *[]hclsyntax.Expression:
			for i := range *field {
				all = append(all, &(*field)[i])
			}
		case *[]hclsyntax.ObjectConsItem:
			for i := range *field {
				all = append(all, &(*field)[i].KeyExpr, &(*field)[i].ValueExpr)
			}
		}
	}
	return all
}

// constant evaluates an expression as the CLI does where nothing has a name: a string of JSON is plain text.
func (b *budget) constant(e hcl.Expression) (v cty.Value, err error) {
	b.over = nil
	if n, ok := e.(hclsyntax.Expression); ok {
		if e, err = b.metered(n); err != nil {
			return cty.NilVal, err
		}
	}
	v, diags := e.Value(nil)
	if size, _ := measure(v); size > maxValue { // of JSON
		return cty.NilVal, wrong(e.Range(), tooLarge, maxValue)
	}
	return v, diagnosed(diags, true)
}

// parse parses a text, after a look with the lexer of the parser.
func parse(text string, at hcl.Range, lex lexer, parser func([]byte, string, hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics)) (hclsyntax.Expression, error) {
	if err := look([]byte(text), at, lex, false); err != nil {
		return nil, err
	}
	e, diags := parser([]byte(text), at.Filename, at.Start)
	return e, diagnosed(diags, true)
}

// native returns an expression of JSON as one of the native syntax, by the rules of hcl: a string is a template, at
// every depth.
func native(e hcl.Expression) (n hclsyntax.Expression, err error) {
	if n, ok := e.(hclsyntax.Expression); ok {
		return n, nil
	}
	inner := func(part hcl.Expression) hclsyntax.Expression {
		n, failed := native(part)
		err = cmp.Or(err, failed)
		return n
	}
	at := e.Range()
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for _, pair := range pairs {
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: inner(pair.Key), ValueExpr: inner(pair.Value)})
		}
		return object, err
	} else if list, diags := hcl.ExprList(e); !diags.HasErrors() {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
		for _, element := range list {
			tuple.Exprs = append(tuple.Exprs, inner(element))
		}
		return tuple, err
	} else if text, ok := quoted(e); ok {
		return parse(text, at, hclsyntax.LexTemplate, hclsyntax.ParseTemplate)
	}
	v, diags := e.Value(nil)
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}, diagnosed(diags, true)
}

// measure returns the size of a value in bytes, and the number of elements of the widest value in it. It stops at a size
// that is too large.
func measure(v cty.Value) (size, widest int) {
	size = 16
	var add func(v cty.Value)
	add = func(v cty.Value) {
		v, _ = v.Unmark()
		if size += 16; size > maxValue {
			return
		}
		switch typ := v.Type(); {
		case !v.IsKnown() || v.IsNull() || typ.IsCapsuleType():
			size += len(typ.GoString()) // a type may be large, too
		case typ == cty.String:
			size += len(v.AsString())
		case typ == cty.Number:
			f := v.AsBigFloat()
			if exponent := f.MantExp(nil); f.IsInf() {
				size = maxValue + 1
			} else {
				size += max(exponent, -exponent) / 3 // digits
			}
		case v.CanIterateElements():
			if v.LengthInt() == 0 {
				size += len(typ.GoString())
			}
			widest = max(widest, v.LengthInt())
			for it := v.ElementIterator(); size <= maxValue && it.Next(); {
				key, element := it.Element()
				add(key)
				add(element)
			}
		}
	}
	add(v)
	return size, widest
}

// sensitive marks values that must not become part of a source or version.
const sensitive = "sensitive"

// A block has the attributes of a block and its overrides, or of all local values.
type block struct {
	at         hcl.Range
	attributes hcl.Attributes
}

// A result is a value that was evaluated once.
type result struct {
	value cty.Value
	err   error
}

// evaluate sets the source and the version of a module block that are expressions, or its error.
func (s *spot) evaluate(ctx context.Context, c *Call) {
	s.walk.reading.Lock()
	defer s.walk.reading.Unlock()
	s.walk.budget.ctx = ctx
	if c.VersionText != "" {
		c.Version, c.versioned, c.Err = s.text(c, "version")
	}
	if c.SourceText != "" && c.Err == nil {
		if c.Source, c.sourced, c.Err = s.text(c, "source"); !c.sourced && c.Err == nil {
			c.Err = wrong(c.at, "the source is null")
		}
	}
}

// text returns the value of an attribute of a block that should be a string, and whether it is not null.
func (s *spot) text(c *Call, name string) (text string, set bool, err error) {
	if err := s.load(); err != nil {
		return "", false, err
	}
	a, d := s.blocks["module "+c.Key].attributes[name], s.walk.dir
	if a == nil {
		return "", false, wrong(c.at, "%q has a problem", name)
	}
	var v cty.Value
	if d.Terraform && !d.since("1.15.0") { // nothing has a name there
		v, err = s.walk.budget.constant(a.Expr)
	} else {
		v, err = s.value(a.Expr, 0, name)
	}
	if err != nil {
		return "", false, err
	}
	marked := v.ContainsMarked()
	v, err = convert.Convert(v, cty.String)
	switch at := a.Expr.Range(); {
	case marked:
		err = wrong(at, "%q must not depend on a sensitive or ephemeral value", name)
	case err != nil || !v.IsKnown():
		err = wrong(at, "%q must be a string that is known before the plan", name)
	case v.IsNull():
	case len(v.AsString()) > maxText:
		err = wrong(at, "%q has more than %d bytes", name, maxText)
	default:
		text = v.AsString()
	}
	return text, text != "" || !v.IsNull(), err
}

var scopeSchema = schema("", "variable name", "locals", "module name")

// load parses the files of the module once more for its variables, local values and module blocks. What was parsed
// the first time is not kept, because it takes much memory and few modules need it.
func (s *spot) load() error {
	if s.blocks != nil {
		return nil
	}
	s.blocks, s.known = map[string]block{}, map[string]result{}
	for _, f := range s.config.files {
		if err := s.walk.budget.charge(wordWork * f.count); err != nil {
			return &ConfigError{Place{File: f.name}, err.Error()}
		}
		body, _ := f.parse() // the configuration has the problems
		content, _, _ := body.PartialContent(scopeSchema)
		for _, from := range content.Blocks {
			attributes, _ := from.Body.JustAttributes() // which also returns those of a body with blocks
			key := strings.Join(append([]string{from.Type}, from.Labels...), " ")
			if _, ok := s.blocks[key]; !ok {
				s.blocks[key] = block{from.DefRange, hcl.Attributes{}}
			}
			maps.Copy(s.blocks[key].attributes, attributes)
		}
	}
	return nil
}

// value evaluates an expression of the module. Its use is "source" or "version", or empty for one that these need.
func (s *spot) value(expression hcl.Expression, depth int, use string) (cty.Value, error) {
	if depth > maxNested {
		return cty.NilVal, wrong(expression.Range(), "more than %d values are needed, one for the other", maxNested)
	}
	e, err := native(expression)
	if err != nil {
		return cty.NilVal, err
	}
	known, marked := map[string]map[string]cty.Value{}, false
	for _, t := range e.Variables() {
		if len(t) < 2 { // a name of a type in convert, or an error of hcl
			continue
		}
		root, name := t.RootName(), ""
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			name = step.Name
		}
		if s.walk.dir.Terraform && use != "" && root != "var" && root != "local" && (root != "path" || use != "source") {
			return cty.NilVal, wrong(t.SourceRange(), "%q may have only constant variables and local values", use)
		}
		v, err := s.named(root, name, t.SourceRange(), depth)
		if err != nil {
			return cty.NilVal, err
		}
		if known[root] == nil {
			known[root] = map[string]cty.Value{}
		}
		known[root][name] = v
		marked = marked || v.ContainsMarked()
	}
	if e, err = s.walk.budget.metered(e); err != nil {
		return cty.NilVal, err
	}
	context := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: s.walk.budget.functions()}
	for root, members := range known {
		context.Variables[root] = cty.ObjectVal(members)
	}
	s.walk.budget.over = nil
	v, diags := e.Value(context)
	if diags.HasErrors() {
		return cty.NilVal, diagnosed(diags, !marked)
	}
	return v, nil
}

// named returns the value of a variable, a local value, a path or the workspace.
func (s *spot) named(root, name string, at hcl.Range, depth int) (v cty.Value, err error) {
	id := root + "." + name
	if r, ok := s.known[id]; ok {
		return r.value, r.err
	}
	s.known[id] = result{err: wrong(at, "%s depends on itself", id)}
	w := s.walk
	local := s.blocks["locals"].attributes[name]
	variable, declared := s.blocks["variable "+name]
	switch {
	case root == "local" && local != nil:
		v, err = s.value(local.Expr, depth+1, "")
	case root == "var" && declared:
		v, err = s.variable(name, variable.at, variable.attributes, depth+1)
	case id == "path.module":
		v = cty.StringVal(s.record.Dir)
	case id == "path.root":
		v = cty.StringVal(".")
	case id == "path.cwd":
		v = cty.StringVal(filepath.ToSlash(w.base))
	case id == "terraform.workspace" || id == "tofu.workspace":
		v = cty.StringVal(cmp.Or(w.dir.Workspace, "default"))
	default:
		err = wrong(at, "%s is not known when modules are installed; only variables and local values are", strings.TrimSuffix(id, "."))
	}
	s.known[id] = result{v, err}
	return v, err
}

// variable returns the value of an input variable.
func (s *spot) variable(name string, at hcl.Range, a hcl.Attributes, depth int) (v cty.Value, err error) {
	b := &s.walk.budget
	flag := func(name string, missing bool) bool {
		if a[name] == nil || err != nil {
			return missing
		}
		var v cty.Value
		if v, err = b.constant(a[name].Expr); err == nil {
			if v, err = convert.Convert(v, cty.Bool); err != nil || v.IsNull() || !v.IsKnown() {
				err = wrong(a[name].Range, "%q must be true or false", name)
			}
		}
		return err == nil && v.True()
	}
	nullable, isConst := flag("nullable", true), flag("const", !s.walk.dir.Terraform)
	isSensitive, isEphemeral := flag("sensitive", false), flag("ephemeral", false)
	if err == nil && !isConst {
		err = wrong(at, "the variable %q is not known when modules are installed, because it is not declared with const = true", name)
	}
	typ, defaults := cty.DynamicPseudoType, (*typeexpr.Defaults)(nil)
	if a["type"] != nil && err == nil {
		typ, defaults, err = b.typeOf(a["type"].Expr)
	}
	fallback := cty.NilVal
	if a["default"] != nil && err == nil {
		fallback, err = b.constant(a["default"].Expr)
	}
	if err != nil {
		return v, err
	}
	if s.parent == nil {
		v, err = s.walk.input(name, a["type"] == nil || typ.IsPrimitiveType())
	} else if err = s.parent.load(); err == nil {
		if argument := s.parent.blocks["module "+s.name].attributes[name]; argument != nil {
			v, err = s.parent.value(argument.Expr, depth, "")
		}
	}
	switch {
	case err != nil:
		return v, err
	case v == cty.NilVal && fallback == cty.NilVal:
		return v, wrong(at, "the variable %q has no value", name)
	case v == cty.NilVal || v.IsNull() && !nullable && fallback != cty.NilVal:
		v = fallback
	}
	size, widest := measure(v)
	if err := b.charge(size + widest*widest); err != nil { // types are compared in pairs
		return v, wrong(at, "%v", err)
	}
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	hidden := isSensitive || isEphemeral || v.ContainsMarked()
	v, err = convert.Convert(v, typ)
	switch {
	case err != nil && hidden:
		err = wrong(at, "the value of variable %q has another type", name)
	case err != nil:
		err = wrong(at, "the value of variable %q: %v", name, err)
	case v.IsNull() && !nullable:
		err = wrong(at, "the variable %q must not be null", name)
	case hidden:
		v = v.Mark(sensitive)
	}
	return v, err
}

// typeOf returns the type of a variable.
func (b *budget) typeOf(expression hcl.Expression) (typ cty.Type, defaults *typeexpr.Defaults, err error) {
	e, ok := expression.(hclsyntax.Expression)
	if !ok {
		text, _ := quoted(expression)
		if e, err = parse(text, expression.Range(), hclsyntax.LexExpression, hclsyntax.ParseExpression); err != nil {
			return typ, nil, err
		}
	}
	bare := map[string]cty.Type{"list": cty.List(cty.DynamicPseudoType), "map": cty.Map(cty.DynamicPseudoType)}
	if typ, ok := bare[hcl.ExprAsKeyword(e)]; ok {
		return typ, nil, nil
	}
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "optional" && len(call.Args) == 2 && err == nil {
			call.Args[1], err = b.metered(call.Args[1])
		}
		return nil
	})
	if err != nil {
		return typ, nil, err
	}
	typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(e)
	return typ, defaults, diagnosed(diags, true)
}

// input returns the value of a variable of the configuration itself: the last of variables of the environment,
// terraform.tfvars, terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json by name, and [Dir.Variables]. It
// returns cty.NilVal if there is none.
func (w *walk) input(name string, plain bool) (value cty.Value, err error) {
	if w.given == nil {
		w.given = map[string]*hcl.Attribute{}
		w.failed = w.loadGiven()
	}
	text, ok := w.dir.Variables[name]
	a := w.given[name]
	if !ok && a == nil {
		text, ok = w.dir.variable("TF_VAR_" + name)
	}
	switch {
	case w.failed != nil:
		return value, w.failed
	case !ok && a == nil:
		return value, nil
	case !ok:
		return w.budget.constant(a.Expr)
	case plain:
		return cty.StringVal(text), nil
	}
	at := hcl.Range{Filename: "variable " + name, Start: hcl.InitialPos}
	e, err := parse(text, at, hclsyntax.LexExpression, hclsyntax.ParseExpression)
	if err == nil {
		value, err = w.budget.constant(e)
	}
	if err != nil { // which may have the value
		err = wrong(at, "the value is not a constant expression, or is too large")
	}
	return value, err
}

// loadGiven reads the files with values of variables.
func (w *walk) loadGiven() error {
	f := files{dir: w.base}
	present, err := f.list()
	if err != nil {
		return err
	}
	c := configuration{dir: w.dir}
	for i, name := range slices.Concat([]string{"terraform.tfvars", "terraform.tfvars.json"}, slices.Sorted(maps.Keys(present))) {
		if !present[name] || i > 1 && !strings.HasSuffix(strings.TrimSuffix(name, ".json"), ".auto.tfvars") {
			continue
		}
		body, err := c.open(f, name)
		if err != nil {
			return err
		}
		attributes, diags := body.JustAttributes()
		c.problems.diagnosed(diags)
		maps.Copy(w.given, attributes)
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	return nil
}

// functions are those of the CLI that package stdlib has under the same rules, and whose work is bounded by the product
// of their arguments.
var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc, "chunklist": stdlib.ChunklistFunc,
	"coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
	"contains": stdlib.ContainsFunc, "convert": typeexpr.ConvertFunc, "distinct": stdlib.DistinctFunc,
	"element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
	"formatlist": stdlib.FormatListFunc, "join": stdlib.JoinFunc, "keys": stdlib.KeysFunc, "lookup": stdlib.LookupFunc,
	"lower": stdlib.LowerFunc, "max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc,
	"parseint": stdlib.ParseIntFunc, "range": stdlib.RangeFunc, "regex": stdlib.RegexFunc, "replace": replace,
	"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setsubtract": stdlib.SetSubtractFunc,
	"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
	"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
	"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
	"try": tryfunc.TryFunc, "can": tryfunc.CanFunc, "upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
	"tostring": stdlib.MakeToFunc(cty.String), "tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
	"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
}

// replace replaces text, or the matches of a regular expression between slashes.
var replace = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "str", Type: cty.String}, {Name: "substr", Type: cty.String}, {Name: "replace", Type: cty.String}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if old := args[1].AsString(); len(old) > 1 && old[0] == '/' && old[len(old)-1] == '/' {
			return stdlib.RegexReplace(args[0], cty.StringVal(old[1:len(old)-1]), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	},
})

// wide matches a directive of format with a width or precision that makes long text.
var wide = regexp.MustCompile(`\d{4}|\*`)

// functions returns the functions, which charge the budget before they work.
func (b *budget) functions() map[string]function.Function {
	if b.known != nil {
		return b.known
	}
	b.known = map[string]function.Function{"try": tryfunc.TryFunc, "can": tryfunc.CanFunc} // which evaluate metered expressions
	for name, f := range functions {
		if _, ok := b.known[name]; !ok {
			b.known[name] = function.New(&function.Spec{
				Params: f.Params(), VarParam: f.VarParam(),
				Type: func(args []cty.Value) (cty.Type, error) {
					if err := b.chargeCall(name, args); err != nil {
						return cty.NilType, err
					}
					return f.ReturnTypeForValues(args)
				},
				Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
			})
		}
	}
	return b.known
}

// chargeCall charges the work of a function: the product of its arguments, and pairs of elements, whose types are
// compared. A format or regular expression may have a number or a repetition, which are limited to three digits.
func (b *budget) chargeCall(name string, args []cty.Value) error {
	sum, largest, pairs, factor := 0, 0, 0, 1
	for i, v := range args {
		size, widest := measure(v)
		sum, largest, pairs = sum+size, max(largest, size), pairs+widest*widest
		v, _ = v.Unmark()
		if at, ok := patterns[name]; !ok || at != i || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			continue
		}
		text := v.AsString()
		if strings.ContainsAny(text, "{0123456789") {
			factor = 1_000
		}
		if strings.HasPrefix(name, "format") && wide.MatchString(text) {
			return errors.New("a width or precision of more than three digits")
		}
	}
	return b.charge(pairs + factor*(sum+largest*(sum-largest)/16))
}

// patterns has the arguments that are a format or regular expression.
var patterns = map[string]int{"format": 0, "formatlist": 0, "regex": 0, "replace": 1}
