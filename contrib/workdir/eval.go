package workdir

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
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
	at, err := m.Range(), m.budget.over
	if err == nil {
		err = m.budget.charge(16)
	}
	if err == nil {
		v, diags := m.Expression.Value(context)
		if diags.HasErrors() {
			return v, diags
		}
		size, _ := measure(v)
		if err = m.budget.charge(size); err == nil && size <= maxValue {
			return v, diags
		}
		if err == nil {
			err = fmt.Errorf(tooLarge, maxValue)
		}
	}
	m.budget.over = err
	return cty.DynamicVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: err.Error(), Detail: "it is needed to install modules", Subject: &at}}
}

// metered returns an expression whose nodes are metered. It changes the nodes. Only those are permitted whose work is
// bounded by the values of their parts.
func (b *budget) metered(e hclsyntax.Expression) (hclsyntax.Expression, error) {
	var err error
	all := func(parts ...*hclsyntax.Expression) {
		for _, p := range parts {
			if *p != nil && err == nil {
				*p, err = b.metered(*p)
			}
		}
	}
	switch e := e.(type) {
	case *metered: // of an earlier evaluation
		return e, nil
	case *hclsyntax.LiteralValueExpr, *hclsyntax.ScopeTraversalExpr, *hclsyntax.AnonSymbolExpr:
	case *hclsyntax.TemplateExpr:
		for i := range e.Parts {
			all(&e.Parts[i])
		}
	case *hclsyntax.TemplateWrapExpr:
		all(&e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		all(&e.Tuple)
	case *hclsyntax.ParenthesesExpr:
		all(&e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		all(&e.Source)
	case *hclsyntax.IndexExpr:
		all(&e.Collection, &e.Key)
	case *hclsyntax.ConditionalExpr:
		all(&e.Condition, &e.TrueResult, &e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		all(&e.LHS, &e.RHS)
	case *hclsyntax.UnaryOpExpr:
		all(&e.Val)
	case *hclsyntax.TupleConsExpr:
		for i := range e.Exprs {
			all(&e.Exprs[i])
		}
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			all(&e.Items[i].KeyExpr, &e.Items[i].ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		if e.ForceNonLiteral || hcl.ExprAsKeyword(e.Wrapped) == "" {
			all(&e.Wrapped)
		}
	case *hclsyntax.ForExpr:
		all(&e.CollExpr, &e.KeyExpr, &e.ValExpr, &e.CondExpr)
	case *hclsyntax.SplatExpr:
		all(&e.Source, &e.Each)
	case *hclsyntax.FunctionCallExpr:
		if _, ok := functions[e.Name]; !ok {
			return nil, wrong(e.NameRange, "the function %.100q is not evaluated when modules are installed", e.Name)
		}
		for i := range e.Args {
			if e.Name != "convert" || i != 1 { // which is a type
				all(&e.Args[i])
			}
		}
	default:
		return nil, wrong(e.Range(), "an expression that is not evaluated when modules are installed")
	}
	return &metered{e, b}, err
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

// unquoted parses the text of a string as an expression.
func unquoted(e hcl.Expression) (hclsyntax.Expression, error) {
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return nil, wrong(e.Range(), "want a string")
	}
	return parse(v.AsString(), e.Range(), hclsyntax.LexExpression, hclsyntax.ParseExpression)
}

// native returns an expression of JSON as one of the native syntax, by the rules of hcl: a string is a template, at
// every depth.
func native(e hcl.Expression) (hclsyntax.Expression, error) {
	if n, ok := e.(hclsyntax.Expression); ok {
		return n, nil
	}
	at := e.Range()
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: at, OpenRange: at}
		for _, pair := range pairs {
			key, err := native(pair.Key)
			value, failed := native(pair.Value)
			if err = cmp.Or(err, failed); err != nil {
				return nil, err
			}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: value})
		}
		return object, nil
	}
	if list, diags := hcl.ExprList(e); !diags.HasErrors() {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: at, OpenRange: at}
		for _, element := range list {
			n, err := native(element)
			if err != nil {
				return nil, err
			}
			tuple.Exprs = append(tuple.Exprs, n)
		}
		return tuple, nil
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at}, diagnosed(diags, true)
	}
	return parse(v.AsString(), at, hclsyntax.LexTemplate, hclsyntax.ParseTemplate)
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

// values are what all scopes of a walk share. They are used while the walk is reading.
type values struct {
	walk   *walk
	budget budget
	files  map[string]*hcl.Attribute // values of variables in files
	failed error
	text   int // bytes of the files of all modules
}

// A scope has the values of a module that are known before any resource: variables and local values.
type scope struct {
	walk   *walk
	spot   *spot
	parent *scope // of the calling module; nil for the configuration itself
	call   *call
	name   string // key of the call

	config *configuration
	blocks map[string]*block // variables, module blocks and local values, by type and label; nil until they are needed
	known  map[string]result // by "var.NAME" and "local.NAME"
}

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

// evaluated returns the source and the version of a module block. The version is nil if it is not set.
func (w *walk) evaluated(ctx context.Context, at *spot, c *call) (source string, version *string, err error) {
	source = c.source.literal
	if c.version.set {
		version = &c.version.literal
	}
	if !c.source.dynamic && !c.version.dynamic {
		return source, version, nil
	}
	w.reading.Lock()
	defer w.reading.Unlock()
	w.values.budget.ctx = ctx
	if err := at.scope.load(); err != nil {
		return "", nil, err
	}
	key := "module " + c.name
	if c.test {
		key = c.at.String()
	}
	if c.version.dynamic {
		if version, err = at.scope.text(c, key, "version"); err != nil {
			return "", nil, err
		}
	}
	if c.source.dynamic {
		text, err := at.scope.text(c, key, "source")
		if err != nil {
			return "", nil, err
		}
		if text == nil {
			return "", nil, wrong(c.source.at, "the source is null")
		}
		source = *text
	}
	return source, version, nil
}

// text evaluates an attribute of a block that should be a string. It returns nil for null.
func (s *scope) text(c *call, key, name string) (*string, error) {
	a, d := s.attribute(key, name), s.walk.dir
	if a == nil {
		return nil, wrong(c.at, "%q has a problem", name)
	}
	var v cty.Value
	var err error
	if c.test || d.Terraform && !d.since("1.15.0") { // nothing has a name there
		v, err = s.walk.values.budget.constant(a.Expr)
	} else {
		v, err = s.value(a.Expr, 0, name)
	}
	if err != nil {
		return nil, err
	}
	at := a.Expr.Range()
	if v.ContainsMarked() {
		return nil, wrong(at, "%q must not depend on a sensitive or ephemeral value", name)
	}
	if v, err = convert.Convert(v, cty.String); err != nil || !v.IsKnown() {
		return nil, wrong(at, "%q must be a string that is known before the plan", name)
	}
	if v.IsNull() {
		return nil, nil
	}
	text := v.AsString()
	if len(text) > maxText {
		return nil, wrong(at, "%q has more than %d bytes", name, maxText)
	}
	return &text, nil
}

var scopeSchema = schema("", "variable name", "locals", "module name", "run name")

// load parses the files of the module once more for its variables, local values and module blocks. What was parsed
// the first time is not kept, because it takes much memory and few modules need it.
func (s *scope) load() error {
	if s.blocks != nil {
		return nil
	}
	s.blocks, s.known = map[string]*block{}, map[string]result{}
	merge := func(key string, from *hcl.Block) {
		attributes, _ := from.Body.JustAttributes() // which also returns those of a body with blocks
		if s.blocks[key] == nil {
			s.blocks[key] = &block{from.DefRange, hcl.Attributes{}}
		}
		maps.Copy(s.blocks[key].attributes, attributes)
	}
	for _, f := range s.config.files {
		if err := s.walk.values.budget.charge(wordWork * f.count); err != nil {
			return &ConfigError{Place{File: f.name}, err.Error()}
		}
		body, _ := f.parse() // the configuration has the problems
		content, _, _ := body.PartialContent(scopeSchema)
		for _, from := range content.Blocks {
			if from.Type != "run" {
				merge(strings.Join(append([]string{from.Type}, from.Labels...), " "), from)
				continue
			}
			modules, _, _ := from.Body.PartialContent(runSchema)
			for _, m := range modules.Blocks {
				merge(m.DefRange.String(), m)
			}
		}
	}
	return nil
}

// attribute returns an attribute of a block, or nil.
func (s *scope) attribute(key, name string) *hcl.Attribute {
	if b := s.blocks[key]; b != nil {
		return b.attributes[name]
	}
	return nil
}

// value evaluates an expression of the module. Its use is "source" or "version", or empty for one that these need.
func (s *scope) value(expression hcl.Expression, depth int, use string) (cty.Value, error) {
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
	if e, err = s.walk.values.budget.metered(e); err != nil {
		return cty.NilVal, err
	}
	context := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: s.walk.values.budget.functions()}
	for root, members := range known {
		context.Variables[root] = cty.ObjectVal(members)
	}
	s.walk.values.budget.over = nil
	v, diags := e.Value(context)
	if diags.HasErrors() {
		return cty.NilVal, diagnosed(diags, !marked)
	}
	return v, nil
}

// named returns the value of a variable, a local value, a path or the workspace.
func (s *scope) named(root, name string, at hcl.Range, depth int) (v cty.Value, err error) {
	id := root + "." + name
	if r, ok := s.known[id]; ok {
		return r.value, r.err
	}
	s.known[id] = result{err: wrong(at, "%s depends on itself", id)}
	w := s.walk
	local, variable := s.attribute("locals", name), s.blocks["variable "+name]
	switch {
	case root == "local" && local != nil:
		v, err = s.value(local.Expr, depth+1, "")
	case root == "var" && variable != nil:
		v, err = s.variable(name, variable.at, variable.attributes, depth+1)
	case id == "path.module":
		v = cty.StringVal(s.spot.record.Dir)
	case id == "path.root":
		v = cty.StringVal(".")
	case id == "path.cwd":
		v = cty.StringVal(filepath.ToSlash(w.base))
	case id == "terraform.workspace" || id == "tofu.workspace":
		v = cty.StringVal(w.dir.workspace())
	default:
		err = wrong(at, "%s is not known when modules are installed; only variables and local values are", strings.TrimSuffix(id, "."))
	}
	s.known[id] = result{v, err}
	return v, err
}

// variable returns the value of an input variable.
func (s *scope) variable(name string, at hcl.Range, a hcl.Attributes, depth int) (v cty.Value, err error) {
	b := &s.walk.values.budget
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
	hidden := flag("sensitive", false)
	hidden = flag("ephemeral", false) || hidden
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
	given := false
	if s.parent == nil {
		v, given, err = s.walk.values.input(name, a["type"] == nil || typ.IsPrimitiveType())
	} else if err = s.parent.load(); err == nil {
		if argument := s.parent.attribute("module "+s.name, name); argument != nil {
			given = true
			v, err = s.parent.value(argument.Expr, depth, "")
		}
	}
	switch {
	case err != nil:
		return v, err
	case !given && fallback == cty.NilVal:
		return v, wrong(at, "the variable %q has no value", name)
	case !given || v.IsNull() && !nullable && fallback != cty.NilVal:
		v = fallback
	}
	size, widest := measure(v)
	if err := b.charge(size + widest*widest); err != nil { // types are compared in pairs
		return v, wrong(at, "%v", err)
	}
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	hidden = hidden || v.ContainsMarked()
	if v, err = convert.Convert(v, typ); err != nil {
		if hidden {
			return v, wrong(at, "the value of variable %q has another type", name)
		}
		return v, wrong(at, "the value of variable %q: %v", name, err)
	}
	if v.IsNull() && !nullable {
		return v, wrong(at, "the variable %q must not be null", name)
	}
	if hidden {
		v = v.Mark(sensitive)
	}
	return v, nil
}

// typeOf returns the type of a variable.
func (b *budget) typeOf(expression hcl.Expression) (cty.Type, *typeexpr.Defaults, error) {
	e, ok := expression.(hclsyntax.Expression)
	if !ok {
		var err error
		if e, err = unquoted(expression); err != nil {
			return cty.NilType, nil, err
		}
	}
	switch hcl.ExprAsKeyword(e) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil, nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil, nil
	}
	var err error
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "optional" && len(call.Args) == 2 && err == nil {
			call.Args[1], err = b.metered(call.Args[1])
		}
		return nil
	})
	if err != nil {
		return cty.NilType, nil, err
	}
	typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(e)
	return typ, defaults, diagnosed(diags, true)
}

// workspace returns the selected workspace.
func (d *Dir) workspace() string {
	if d.Workspace != "" {
		return d.Workspace
	}
	return "default"
}

// input returns the value of a variable of the configuration itself: the last of variables of the environment,
// terraform.tfvars, terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json by name, and [Dir.Variables].
func (v *values) input(name string, plain bool) (value cty.Value, given bool, err error) {
	if v.files == nil {
		v.files = map[string]*hcl.Attribute{}
		v.failed = v.load()
	}
	if v.failed != nil {
		return value, false, v.failed
	}
	text, ok := v.walk.dir.Variables[name]
	if a := v.files[name]; a != nil && !ok {
		value, err = v.budget.constant(a.Expr)
		return value, true, err
	}
	if !ok {
		if text, ok = v.walk.dir.variable("TF_VAR_" + name); !ok {
			return value, false, nil
		}
	}
	if plain {
		return cty.StringVal(text), true, nil
	}
	at := hcl.Range{Filename: "variable " + name, Start: hcl.InitialPos}
	e, err := parse(text, at, hclsyntax.LexExpression, hclsyntax.ParseExpression)
	if err == nil {
		value, err = v.budget.constant(e)
	}
	if err != nil { // which may have the value
		err = wrong(at, "the value is not a constant expression, or is too large")
	}
	return value, true, err
}

// load reads the files with values of variables.
func (v *values) load() error {
	f := files{dir: v.walk.base}
	present, err := f.list(".")
	if err != nil {
		return err
	}
	names := []string{"terraform.tfvars", "terraform.tfvars.json"}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json") {
			names = append(names, name)
		}
	}
	c, words := configuration{dir: v.walk.dir}, 0
	for _, name := range names {
		if !present[name] {
			continue
		}
		body, err := c.open(f, name, &words)
		if err != nil {
			return err
		}
		attributes, diags := body.JustAttributes()
		c.problems.diagnosed(diags)
		maps.Copy(v.files, attributes)
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	return nil
}
