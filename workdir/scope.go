package workdir

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A block has the attributes of a block and its overrides, or a local value.
type block struct {
	at         hcl.Range
	attributes hcl.Attributes
	err        error // if it is declared twice
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
	b, d, in := &s.walk.budget, s.walk.dir, scope{s, name}
	s.config.load(b)
	if d.Terraform && !d.since("1.15.0") { // nothing has a name there
		in.spot = nil
	}
	var v value
	at := c.at
	if a := s.config.blocks["module "+c.Key].attributes[name]; a == nil {
		b.fail(at, "%q has a problem", name)
	} else if v, at = b.eval(a.Expr, in), a.Expr.Range(); v.kind != nullKind {
		v = b.as(v, textKind, at)
	}
	switch {
	case v.marks&sensitive != 0:
		b.fail(at, "%q must not depend on a sensitive or ephemeral value", name)
	case len(v.text) > maxText:
		b.fail(at, "%q has more than %d bytes", name, maxText)
	}
	v, err = b.result(v)
	return v.text, v.kind != nullKind, err
}

var scopeSchema = schema("", "variable name", "locals", "module name")

// load parses the files of the module once more for its variables, local values and module blocks. What was parsed
// the first time is not kept, because it takes much memory and few modules need it.
func (c *configuration) load(b *budget) {
	if c.blocks != nil {
		return
	}
	c.blocks = map[string]block{}
	for _, f := range c.files {
		if !b.again(f) || !b.charge(hcl.Range{Filename: f.name}, wordWork/3*f.count) {
			c.blocks = nil // for another call, which fails for this reason too
			return
		}
		body, _ := f.parse() // the configuration has the problems
		content, _, _ := body.PartialContent(scopeSchema)
		for _, from := range slices.DeleteFunc(content.Blocks, hasLongLabel) {
			if !b.charge(from.DefRange, 0) {
				c.blocks = nil
				return
			}
			attributes, _ := from.Body.JustAttributes() // which also returns those of a body with blocks
			if from.Type != "locals" {
				c.declare(from.Type+" "+from.Labels[0], from.DefRange, attributes, f.overrides)
				continue
			}
			for name, a := range attributes {
				c.declare("local "+name, a.NameRange, hcl.Attributes{"value": a}, f.overrides)
			}
		}
	}
	c.files = nil
}

// again takes a file whose expressions are kept from what is left of words, and reports whether there were enough.
func (b *budget) again(f file) bool {
	if b.guard.again -= f.count + len(f.text)/16; b.guard.again < 0 {
		b.fail(hcl.Range{Filename: f.name}, "the files of modules with expressions and of variables have more words and symbols than the field Limits.Words permits")
	}
	return b.err == nil
}

// declare keeps a declaration, or overrides it.
func (c *configuration) declare(key string, at hcl.Range, attributes hcl.Attributes, overrides bool) {
	old, ok := c.blocks[key]
	switch {
	case !ok:
		old = block{at: at, attributes: attributes}
	case overrides:
		maps.Copy(old.attributes, attributes)
	default:
		old.err = wrong(at, "%.200s is declared in %s already", key, place(old.at))
	}
	c.blocks[key] = old
}

// named returns the value that a reference begins with.
func (b *budget) named(t hcl.Traversal, in scope) value {
	root, name, at, s := t.RootName(), "", t.SourceRange(), in.spot
	if len(t) > 1 {
		step, _ := t[1].(hcl.TraverseAttr)
		name = step.Name
	}
	switch {
	case s == nil:
		return b.fail(at, "variables are not allowed here")
	case s.walk.dir.Terraform && in.use != "" && root != "var" && root != "local" && (root != "path" || in.use != "source"):
		return b.fail(at, "%q may have only constant variables and local values", in.use)
	case !b.charge(at, itemWork+len(root)+len(name)):
		return value{}
	}
	id := root + "." + name
	if s.known[id] == nil {
		s.known[id] = &thunk{make: func() value { return s.value(id, at) }}
	}
	return b.force(s.known[id], at)
}

// value returns the value of a variable, a local value, a path or the workspace.
func (s *spot) value(id string, at hcl.Range) value {
	b := &s.walk.budget
	root, name, _ := strings.Cut(id, ".")
	declared, ok := s.config.blocks[map[string]string{"var": "variable ", "local": "local "}[root]+name]
	switch {
	case declared.err != nil:
		b.err = declared.err
		return value{}
	case ok && root == "local":
		return b.eval(declared.attributes["value"].Expr, scope{spot: s})
	case ok && root == "var":
		return s.variable(name, declared.at, declared.attributes)
	}
	workspace, _ := s.walk.dir.variable("TF_WORKSPACE")
	workspace = cmp.Or(s.walk.dir.Workspace, workspace, "default")
	text, ok := map[string]string{
		"path.module": s.record.Dir, "path.root": ".", "path.cwd": filepath.ToSlash(s.walk.base), "terraform.workspace": workspace, "tofu.workspace": workspace,
	}[id]
	if !ok {
		return b.fail(at, "%.200s is not known when modules are installed; only variables and local values are", strings.TrimSuffix(id, "."))
	}
	return value{kind: textKind, text: text}
}

// variable returns the value of an input variable.
func (s *spot) variable(name string, at hcl.Range, a hcl.Attributes) (v value) {
	b := &s.walk.budget
	flag := func(name string, missing bool) bool {
		if a[name] == nil {
			return missing
		}
		return b.primitive(a[name].Expr, boolKind, scope{}).text == "true"
	}
	nullable, hidden, t := flag("nullable", true), marks(0), typ{}
	if flag("sensitive", false) || flag("ephemeral", false) {
		hidden = sensitive
	}
	if !flag("const", !s.walk.dir.Terraform) {
		b.fail(at, "the variable %q is not known when modules are installed, because it is not declared with const = true", name)
	}
	if a["type"] != nil {
		t.expr = a["type"].Expr
		if text, ok := b.inJSON(t.expr); ok {
			if t.expr = b.parse(text, t.expr.Range(), hclsyntax.LexExpression, hclsyntax.ParseExpression); b.err != nil {
				return value{}
			}
		}
	}
	set := false
	if s.parent == nil {
		word, _ := t.parts()
		v, set = s.walk.input(name, a["type"] == nil || textKind <= kinds[word] && kinds[word] <= boolKind)
	} else {
		s.parent.config.load(b)
		if argument := s.parent.config.blocks["module "+s.name].attributes[name]; argument != nil {
			v, set = b.eval(argument.Expr, scope{spot: s.parent}), true
		}
	}
	fallback := a["default"]
	if !set && fallback == nil {
		return b.fail(at, "the variable %q has no value", name)
	} else if !set || v.kind == nullKind && !nullable && fallback != nil {
		v = b.eval(fallback.Expr, scope{})
	}
	if v = b.convert(v, t, at); v.kind == nullKind && !nullable {
		return b.fail(at, "the variable %q must not be null", name)
	}
	v.marks |= hidden
	return v
}

// input returns the value of a variable of the configuration itself, if it has one: the last of variables of the
// environment, terraform.tfvars, terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json by name, and
// [Dir.Variables].
func (w *walk) input(name string, plain bool) (v value, set bool) {
	if w.given == nil {
		w.given = map[string]*hcl.Attribute{}
		w.failed = w.loadGiven()
	}
	b := &w.budget
	text, ok := w.dir.Variables[name]
	a := w.given[name]
	if !ok && a == nil {
		text, ok = w.dir.variable("TF_VAR_" + name)
	}
	switch {
	case w.failed != nil:
		b.err = cmp.Or(b.err, w.failed)
	case !ok && a == nil:
		return v, false
	case !ok:
		v = b.eval(a.Expr, scope{})
	case plain:
		v = value{kind: textKind, text: cty.NormalizeString(text)}
	default:
		at := hcl.Range{Filename: "variable " + name, Start: hcl.InitialPos}
		if e := b.parse(text, at, hclsyntax.LexExpression, hclsyntax.ParseExpression); e != nil {
			v = b.eval(e, scope{})
		} else if b.ctx.Err() == nil {
			b.err = wrong(at, "the value is not a constant expression, or is too large") // the error may have the text
		}
	}
	return v, true
}

// loadGiven reads the files with values of variables.
func (w *walk) loadGiven() error {
	f := files{dir: w.base}
	present, err := f.list(&w.budget)
	if err != nil {
		return err
	}
	c := configuration{dir: w.dir, budget: &w.budget}
	for i, name := range slices.Concat([]string{"terraform.tfvars", "terraform.tfvars.json"}, slices.Sorted(maps.Keys(present))) {
		mode, ok := present[name]
		if !ok || mode.IsDir() || i > 1 && !strings.HasSuffix(strings.TrimSuffix(name, ".json"), ".auto.tfvars") {
			continue
		}
		body, err := c.open(f, name, mode&fs.ModeSymlink != 0)
		if err != nil {
			return err
		}
		if !w.budget.again(c.files[len(c.files)-1]) {
			return w.budget.err
		}
		attributes, diags := body.JustAttributes()
		c.diagnosed(diags)
		maps.Copy(w.given, attributes)
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	return nil
}
