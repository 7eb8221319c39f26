package workdir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// The limits of evaluation. The size of a value is about that of its text.
const (
	maxSize   = 16 << 10 // of a value that a module is called with, and of each value on the way
	maxNested = 500      // values that are needed for a value, one for the other
	maxLoaded = 32 << 20 // bytes of the files of modules whose values are needed
)

// sensitive marks values that must not become part of a source or version.
const sensitive = "sensitive"

// values are what all scopes share. They are used while the walk is reading.
type values struct {
	walk   *walk
	loaded int // bytes of files
	files  map[string]cty.Value
}

// A scope has the values of a module that are known before any resource: variables and local values.
type scope struct {
	walk   *walk
	spot   *spot
	parent *scope // of the calling module; nil for the configuration itself
	call   *call
	name   string // key of the call

	loaded    bool
	variables map[string]*variable
	locals    map[string]hcl.Expression
	calls     map[string]map[string]hcl.Expression // arguments by key of the call
	known     map[string]cty.Value                 // by "var.NAME" and "local.NAME"
	pending   map[string]bool
}

// A variable is an input variable.
type variable struct {
	at       hcl.Range
	fallback hcl.Expression // default; may be nil
	typ      cty.Type       // cty.NilType if not given
	defaults *typeexpr.Defaults
	nullable bool
	hidden   bool // sensitive or ephemeral
	dynamic  bool // declared as const = false
}

// evaluated returns the source and the version of a module block. The version is nil if it is not set.
func (w *walk) evaluated(ctx context.Context, at *spot, c *call) (source string, version *string, err error) {
	if !c.source.dynamic && !c.version.dynamic {
		if c.version.set {
			version = &c.version.literal
		}
		return c.source.literal, version, nil
	}
	w.reading.Lock()
	defer w.reading.Unlock()
	if err := at.scope.load(ctx); err != nil {
		return "", nil, err
	}
	key := c.name
	if c.test {
		return "", nil, wrong(c.source.at, "the source and the version of a module in a test must be literal strings")
	}
	arguments := at.scope.calls[key]
	source, version = c.source.literal, nil
	if c.source.dynamic {
		text, err := at.scope.text(ctx, arguments["source"], "source")
		if err == nil && text == nil {
			err = wrong(c.source.at, "the source is null")
		}
		if err != nil {
			return "", nil, err
		}
		source = *text
	}
	switch {
	case c.version.dynamic:
		version, err = at.scope.text(ctx, arguments["version"], "version")
	case c.version.set:
		version = &c.version.literal
	}
	return source, version, err
}

// text evaluates an expression that should be a string. It returns nil for null.
func (s *scope) text(ctx context.Context, e hcl.Expression, name string) (*string, error) {
	if e == nil {
		return nil, errors.New("the files changed while they were read")
	}
	v, err := s.value(ctx, e, 0)
	if err != nil {
		return nil, err
	}
	if v.ContainsMarked() {
		return nil, wrong(e.Range(), "%q must not depend on a sensitive or ephemeral value", name)
	}
	if v, err = convert.Convert(v, cty.String); err != nil || !v.IsKnown() {
		return nil, wrong(e.Range(), "%q must be a string that is known before the plan", name)
	}
	if v.IsNull() {
		return nil, nil
	}
	text := v.AsString()
	if len(text) > maxText {
		return nil, wrong(e.Range(), "%q has more than %d bytes", name, maxText)
	}
	return &text, nil
}

// load reads the variables, local values and module blocks of the module once more. They are not kept from the first
// time, because they take much memory and few modules need them.
func (s *scope) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	s.loaded = true
	s.variables, s.locals, s.calls = map[string]*variable{}, map[string]hcl.Expression{}, map[string]map[string]hcl.Expression{}
	s.known, s.pending = map[string]cty.Value{}, map[string]bool{}
	w := s.walk
	f, done, err := w.opened(s.spot)
	if err != nil {
		return err
	}
	defer done()
	primary, overrides, _, err := f.names(w.dir.Terraform)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(primary, overrides) {
		if err := ctx.Err(); err != nil {
			return err
		}
		body, text, err := f.parse(name)
		if err != nil {
			return err
		}
		if w.values.loaded += len(text); w.values.loaded > maxLoaded {
			return &ConfigError{Place{File: s.spot.record.Dir}, fmt.Sprintf("expressions in sources and versions need modules with more than %d bytes", maxLoaded)}
		}
		if err := s.file(body); err != nil {
			return err
		}
	}
	return nil
}

var scopeSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
	{Type: "module", LabelNames: []string{"name"}},
}}

func (s *scope) file(body hcl.Body) error {
	content, _, diags := body.PartialContent(scopeSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for _, block := range content.Blocks {
		attributes, diags := block.Body.JustAttributes() // which also returns those of a body with blocks
		switch block.Type {
		case "locals":
			if diags.HasErrors() {
				return diagnosed(diags)
			}
			for name, a := range attributes {
				s.locals[name] = a.Expr
			}
		case "variable":
			if err := s.variable(block, attributes); err != nil {
				return err
			}
		case "module":
			call := s.calls[block.Labels[0]]
			if call == nil {
				call = map[string]hcl.Expression{}
				s.calls[block.Labels[0]] = call
			}
			for name, a := range attributes {
				call[name] = a.Expr
			}
		}
	}
	return nil
}

func (s *scope) variable(block *hcl.Block, attributes hcl.Attributes) error {
	v := s.variables[block.Labels[0]]
	if v == nil {
		v = &variable{nullable: true}
		s.variables[block.Labels[0]] = v
	}
	v.at = block.DefRange
	for name, a := range attributes {
		switch name {
		case "default":
			v.fallback = a.Expr
		case "type":
			var diags hcl.Diagnostics
			if v.typ, v.defaults, diags = typeexpr.TypeConstraintWithDefaults(a.Expr); diags.HasErrors() {
				return diagnosed(diags)
			}
		case "nullable", "sensitive", "ephemeral", "const":
			value, diags := a.Expr.Value(nil)
			if diags.HasErrors() || !value.IsKnown() || value.IsNull() || value.Type() != cty.Bool {
				return wrong(a.Range, "%q must be true or false", name)
			}
			switch {
			case name == "nullable":
				v.nullable = value.True()
			case name == "const":
				v.dynamic = value.False()
			case value.True():
				v.hidden = true
			}
		}
	}
	return nil
}

// value evaluates an expression of the module.
func (s *scope) value(ctx context.Context, e hcl.Expression, depth int) (cty.Value, error) {
	if err := ctx.Err(); err != nil {
		return cty.NilVal, err
	}
	if depth > maxNested {
		return cty.NilVal, wrong(e.Range(), "more than %d values are needed, one for the other", maxNested)
	}
	e, err := bounded(e)
	if err != nil {
		return cty.NilVal, err
	}
	known := map[string]map[string]cty.Value{}
	for _, t := range e.Variables() {
		root, name := t.RootName(), ""
		if len(t) > 1 {
			if step, ok := t[1].(hcl.TraverseAttr); ok {
				name = step.Name
			}
		}
		if s.walk.dir.Terraform {
			return cty.NilVal, wrong(t.SourceRange(), "Terraform permits no variables here")
		}
		v, err := s.named(ctx, root, name, t.SourceRange(), depth)
		if err != nil {
			return cty.NilVal, err
		}
		if known[root] == nil {
			known[root] = map[string]cty.Value{}
		}
		known[root][name] = v
	}
	context := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for root, members := range known {
		context.Variables[root] = cty.ObjectVal(members)
	}
	if !s.walk.dir.Terraform {
		context.Functions = functions
	}
	v, diags := e.Value(context)
	if diags.HasErrors() {
		return cty.NilVal, diagnosed(diags)
	}
	if !small(v) {
		return cty.NilVal, wrong(e.Range(), "the value is larger than %d bytes", maxSize)
	}
	return v, nil
}

// named returns the value of a variable, a local value, a path or the workspace.
func (s *scope) named(ctx context.Context, root, name string, at hcl.Range, depth int) (v cty.Value, err error) {
	id := root + "." + name
	if v, ok := s.known[id]; ok {
		return v, nil
	}
	if s.pending[id] {
		return v, wrong(at, "%s depends on itself", id)
	}
	s.pending[id] = true
	defer delete(s.pending, id)
	w := s.walk
	local, declared := s.locals[name], s.variables[name]
	switch {
	case root == "local" && local != nil:
		v, err = s.value(ctx, local, depth+1)
	case root == "var" && declared != nil && !declared.dynamic:
		v, err = s.input(ctx, name, declared, depth+1)
	case id == "path.module":
		v = cty.StringVal(s.spot.record.Dir)
	case id == "path.root":
		v = cty.StringVal(".")
	case id == "path.cwd":
		v = cty.StringVal(w.base)
	case id == "terraform.workspace" || id == "tofu.workspace":
		v = cty.StringVal(w.dir.workspace())
	default:
		return v, wrong(at, "%s is not known when modules are installed; only variables and local values are", strings.TrimSuffix(id, "."))
	}
	if err == nil {
		s.known[id] = v
	}
	return v, err
}

// input returns the value of an input variable.
func (s *scope) input(ctx context.Context, name string, declared *variable, depth int) (v cty.Value, err error) {
	typ := declared.typ
	if typ == cty.NilType {
		typ = cty.DynamicPseudoType
	}
	fallback := cty.NilVal
	if declared.fallback != nil {
		e, err := bounded(declared.fallback)
		if err != nil {
			return v, err
		}
		var diags hcl.Diagnostics
		if fallback, diags = e.Value(nil); diags.HasErrors() {
			return v, diagnosed(diags)
		}
	}
	given := false
	if s.parent == nil {
		v, given, err = s.walk.values.input(name, declared)
	} else {
		if err := s.parent.load(ctx); err != nil {
			return v, err
		}
		if argument := s.parent.calls[s.name][name]; argument != nil {
			given = true
			v, err = s.parent.value(ctx, argument, depth)
		}
	}
	switch {
	case err != nil:
		return v, err
	case !given && fallback == cty.NilVal:
		return v, wrong(declared.at, "the variable %q has no value", name)
	case !given || v.IsNull() && !declared.nullable && fallback != cty.NilVal:
		v = fallback
	}
	if declared.defaults != nil && !v.IsNull() {
		v = declared.defaults.Apply(v)
	}
	if v, err = convert.Convert(v, typ); err != nil {
		return v, wrong(declared.at, "the value of variable %q: %v", name, err)
	}
	if v.IsNull() && !declared.nullable {
		return v, wrong(declared.at, "the variable %q must not be null", name)
	}
	if declared.hidden {
		v = v.Mark(sensitive)
	}
	return v, nil
}

// bounded returns an expression that can be evaluated in little time and memory, or an error.
func bounded(e hcl.Expression) (hcl.Expression, error) {
	if json.IsJSONExpression(e) {
		v, diags := e.Value(nil) // templates as they stand
		if diags.HasErrors() {
			return nil, diagnosed(diags)
		}
		if v.Type() != cty.String || v.IsNull() {
			nested := false
			cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
				nested = nested || v.IsKnown() && !v.IsNull() && v.Type() == cty.String && isTemplate(v.AsString())
				return true, nil
			})
			if nested {
				return nil, wrong(e.Range(), "templates in lists and objects of JSON are not evaluated")
			}
			return hcl.StaticExpr(v, e.Range()), nil
		}
		at := e.Range()
		text := v.AsString()
		// The text as an expression has at least the tokens of the template.
		if err := look([]byte("x = \""+strings.NewReplacer("\n", " ", `"`, ` `).Replace(text)+"\"\n"), at.Filename+" string"); err != nil && isTemplate(text) {
			return nil, err
		}
		if !isTemplate(text) {
			return hcl.StaticExpr(v, at), nil
		}
		template, diags := hclsyntax.ParseTemplate([]byte(text), at.Filename, at.Start)
		if diags.HasErrors() {
			return nil, diagnosed(diags)
		}
		e = template
	}
	native, ok := e.(hclsyntax.Expression)
	if !ok {
		return e, nil
	}
	return e, diagnosed(hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		refuse := func(text string) hcl.Diagnostics {
			at := n.Range()
			return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: text, Detail: "it is needed to install modules", Subject: &at}}
		}
		switch n := n.(type) {
		case *hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.TemplateJoinExpr:
			return refuse("loops are not evaluated")
		case *hclsyntax.LiteralValueExpr:
			if n.Val.Type() == cty.Number && !n.Val.IsNull() && !small(n.Val) {
				return refuse("the number is too large")
			}
		}
		return nil
	}))
}

// small reports whether the size of a value is within the limit.
func small(v cty.Value) bool {
	left := maxSize
	return measure(v, &left, 100)
}

// measure subtracts the size of a value.
func measure(v cty.Value, left *int, depth int) bool {
	v, _ = v.Unmark()
	*left--
	if depth == 0 || *left < 0 {
		return false
	}
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		*left -= len(v.AsString())
	case v.Type() == cty.Number:
		if v.AsBigFloat().IsInf() {
			return false
		}
		if exponent := v.AsBigFloat().MantExp(nil); exponent > 0 {
			*left -= exponent / 3 // digits
		} else {
			*left += exponent / 3
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			if !measure(key, left, depth-1) || !measure(element, left, depth-1) {
				return false
			}
		}
	}
	return *left >= 0
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
func (v *values) input(name string, declared *variable) (value cty.Value, given bool, err error) {
	if v.files == nil {
		if err := v.load(); err != nil {
			return value, false, err
		}
	}
	text, ok := v.walk.dir.Variables[name]
	if !ok {
		if value, ok := v.files[name]; ok {
			return value, true, nil
		}
		if text = v.walk.dir.variable("TF_VAR_" + name); text == "" {
			return value, false, nil
		}
	}
	if typ := declared.typ; typ == cty.NilType || typ.IsPrimitiveType() {
		return cty.StringVal(text), true, nil
	}
	place := hcl.Pos{Line: 1, Column: 1}
	if err := look([]byte(text), "variable "+name); err != nil {
		return value, false, err
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(text), "variable "+name, place)
	if diags.HasErrors() {
		return value, false, &ConfigError{Place{File: "variable " + name}, "the value is not an expression"}
	}
	if _, err := bounded(parsed); err != nil {
		return value, false, err
	}
	if value, diags = parsed.Value(nil); diags.HasErrors() || !small(value) {
		return value, false, &ConfigError{Place{File: "variable " + name}, "the value is not a constant expression, or is too large"}
	}
	return value, true, nil
}

// load reads the files with values of variables.
func (v *values) load() error {
	v.files = map[string]cty.Value{}
	f := files{dir: v.walk.base}
	present, err := f.list(".")
	if err != nil {
		return err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(present)) {
		if strings.HasSuffix(name, ".auto.tfvars") || strings.HasSuffix(name, ".auto.tfvars.json") {
			names = append(names, name)
		}
	}
	for _, name := range append([]string{"terraform.tfvars", "terraform.tfvars.json"}, names...) {
		if !present[name] {
			continue
		}
		body, _, err := f.parse(name)
		if err != nil {
			return err
		}
		attributes, diags := body.JustAttributes()
		if diags.HasErrors() {
			return diagnosed(diags)
		}
		for name, a := range attributes {
			e, err := bounded(a.Expr)
			if err != nil {
				return err
			}
			value, diags := e.Value(nil)
			if diags.HasErrors() {
				return diagnosed(diags)
			}
			v.files[name] = value
		}
	}
	return nil
}
