package workdir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// Requirement is a reason why a module requires a provider.
type Requirement struct {
	Provider   addrs.Provider           `json:"provider"`            // the required provider
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // zero for any version
	Place      Place                    `json:"place"`               // of the entry of required_providers, or of a block that uses the provider
}

// configuration is the part of a module's files that matters here.
type configuration struct {
	calls     map[string]*call        // by key below that of the module
	required  map[string]*requirement // by local name
	used      map[string]use          // of resources, imports and provider blocks, by a name of their own
	core      []requirement           // versions of the CLI
	tests     bool                    // has a call in a test
	overrides bool                    // reads an override file now
	text      []byte                  // the file that is read now
}

// A call is a module block, or one in a test.
type call struct {
	name            string // of the block, or of the run block in a test
	at              hcl.Range
	source, version text
	test            bool
}

// A text is an attribute that should be a string.
type text struct {
	at      hcl.Range
	set     bool
	literal string
	dynamic bool   // not a literal
	written string // the literal, or the expression
}

// A requirement is an entry of required_providers, or a constraint on the version of the CLI.
type requirement struct {
	at              hcl.Range
	source, version string // may be empty
	versioned       bool   // has a version
}

// A use is a block that uses a provider.
type use struct {
	at      hcl.Range
	name    string // local name of the provider
	version text   // in provider blocks
}

var (
	fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "language"},
		{Type: "module", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
		{Type: "check", LabelNames: []string{"name"}},
		{Type: "import"},
	}}
	testSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "run", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "mock_provider", LabelNames: []string{"name"}},
	}}
	terraformSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "required_version"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "required_providers"}},
	}
	languageSchema   = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "compatible_with"}}}
	compatibleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "opentofu"}}}
	callSchema       = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "version"}}}
	providerSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "version"}, {Name: "alias"}}}
	resourceSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}}}
	importSchema     = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}, {Name: "to"}}}
	checkSchema      = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}}}
	runSchema        = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module"}}}
)

// configuration reads the module in a directory. Only that of the user has tests.
func (d *Dir) configuration(ctx context.Context, f files, root bool) (*configuration, error) {
	primary, overrides, tests, err := f.names(d.Terraform)
	if err != nil {
		return nil, err
	}
	c := &configuration{calls: map[string]*call{}, required: map[string]*requirement{}, used: map[string]use{}}
	for i, name := range slices.Concat(primary, overrides) {
		c.overrides = i >= len(primary)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var body hcl.Body
		if body, c.text, err = f.parse(name); err == nil {
			err = c.file(body, name, d)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, call := range c.calls {
		if !call.source.set {
			return nil, wrong(call.at, "module %q has no source", call.name)
		}
	}
	if c.text = nil; !root {
		return c, nil
	}
	c.overrides = false
	below := files{root: f.root, dir: path.Join(f.dir, "tests"), name: path.Join(f.name, "tests")}
	_, _, more, err := below.names(d.Terraform)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range more {
		tests = append(tests, "tests/"+name)
	}
	for _, name := range tests {
		var body hcl.Body
		if body, c.text, err = f.parse(name); err == nil {
			err = c.test(body, name, d.Terraform)
		}
		if err != nil {
			return nil, err
		}
	}
	c.text = nil
	return c, nil
}

func (c *configuration) file(body hcl.Body, name string, d *Dir) error {
	content, _, diags := body.PartialContent(fileSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for _, block := range content.Blocks {
		var err error
		switch block.Type {
		case "terraform":
			err = c.terraform(block.Body, d.ownVersion(name))
		case "language":
			if !d.Terraform {
				err = c.language(block.Body)
			}
		case "module":
			err = c.module(block)
		case "provider":
			err = c.provider(block)
		case "import":
			err = c.imported(block)
		case "check":
			content, _, diags := block.Body.PartialContent(checkSchema)
			if diags.HasErrors() {
				return diagnosed(diags)
			}
			for _, data := range content.Blocks {
				err = errors.Join(err, c.resource(data))
			}
		default:
			err = c.resource(block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownVersion reports whether required_version in the file is about the CLI: since version 1.12, OpenTofu takes it
// for that of Terraform except in its own files.
func (d *Dir) ownVersion(name string) bool {
	since := addrs.MustParseVersion("1.12.0-alpha1")
	return d.Terraform || strings.Contains(name, ".tofu") || d.Version.Compare(since) < 0
}

func (c *configuration) terraform(body hcl.Body, own bool) error {
	content, _, diags := body.PartialContent(terraformSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	if a := content.Attributes["required_version"]; a != nil && own {
		if err := c.coreVersion(a); err != nil {
			return err
		}
	}
	for _, block := range content.Blocks {
		attributes, diags := block.Body.JustAttributes()
		if diags.HasErrors() {
			return diagnosed(diags)
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			if old := c.required[name]; old != nil && !c.overrides {
				return wrong(attributes[name].NameRange, "provider %q is required in %s already", name, place(old.at))
			}
			r, err := parseRequirement(attributes[name])
			if err != nil {
				return err
			}
			c.required[name] = r
		}
	}
	return nil
}

// language reads the versions of OpenTofu in a language block.
func (c *configuration) language(body hcl.Body) error {
	content, _, diags := body.PartialContent(languageSchema)
	for _, block := range content.Blocks {
		compatible, _, more := block.Body.PartialContent(compatibleSchema)
		diags = append(diags, more...)
		if a := compatible.Attributes["opentofu"]; a != nil {
			if err := c.coreVersion(a); err != nil {
				return err
			}
		}
	}
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	return nil
}

func (c *configuration) coreVersion(a *hcl.Attribute) error {
	version, err := literal(a.Expr, a.Name)
	c.core = append(c.core, requirement{at: a.Expr.Range(), version: version})
	return err
}

func (c *configuration) module(block *hcl.Block) error {
	name := block.Labels[0]
	old := c.calls[name]
	switch {
	case !hclsyntax.ValidIdentifier(name):
		return wrong(block.DefRange, "invalid module name %.100q: want letters, digits, underscores and hyphens", name)
	case c.overrides && old == nil:
		return wrong(block.DefRange, "module %q to override does not exist", name)
	case !c.overrides && old != nil:
		return wrong(block.DefRange, "module %q is declared in %s already", name, place(old.at))
	case old == nil:
		old = &call{name: name, at: block.DefRange}
		c.calls[name] = old
	}
	return old.attributes(block.Body, c.text)
}

func (c *call) attributes(body hcl.Body, file []byte) error {
	content, _, diags := body.PartialContent(callSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	var err, more error
	if a := content.Attributes["source"]; a != nil {
		c.source, err = textOf(a, file)
	}
	if a := content.Attributes["version"]; a != nil {
		c.version, more = textOf(a, file)
	}
	return errors.Join(err, more)
}

// test reads a file with tests: the modules and providers of its run blocks.
func (c *configuration) test(body hcl.Body, name string, terraform bool) error {
	content, _, diags := body.PartialContent(testSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for _, block := range content.Blocks {
		switch {
		case block.Type == "run":
			if err := c.run(block, name); err != nil {
				return err
			}
		case block.Type == "provider" || terraform: // OpenTofu does not install a provider for its mock
			if err := c.provider(block); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *configuration) run(block *hcl.Block, name string) error {
	content, _, diags := block.Body.PartialContent(runSchema)
	if diags.HasErrors() || len(content.Blocks) == 0 {
		return diagnosed(diags)
	}
	if !hclsyntax.ValidIdentifier(block.Labels[0]) {
		return wrong(block.DefRange, "invalid name of a run block %.100q", block.Labels[0])
	}
	// The CLI makes the key of the names of the file and the block.
	stem := strings.TrimSuffix(name, ".tftest.hcl")
	key := "test." + strings.ReplaceAll(stem, "/", ".") + "." + block.Labels[0]
	if old := c.calls[key]; old != nil {
		return wrong(block.DefRange, "the run block %q is in %s already", block.Labels[0], place(old.at))
	}
	c.tests = true
	called := &call{name: block.Labels[0], at: content.Blocks[0].DefRange, test: true}
	c.calls[key] = called
	if err := called.attributes(content.Blocks[0].Body, c.text); err != nil {
		return err
	}
	if !called.source.set {
		return wrong(called.at, "the module has no source")
	}
	return nil
}

// textOf reads an attribute that should be a string.
func textOf(a *hcl.Attribute, file []byte) (text, error) {
	t := text{at: a.Expr.Range(), set: true}
	var err error
	if t.literal, err = literal(a.Expr, a.Name); err != nil {
		t.dynamic = !tooLong(t.at)
	}
	t.written = t.literal
	if t.dynamic {
		err = nil
		t.written = string(t.at.SliceBytes(file))
	}
	return t, err
}

func tooLong(at hcl.Range) bool { return at.End.Byte-at.Start.Byte > maxText }

// literal returns the text of a string. It evaluates nothing.
func literal(e hcl.Expression, name string) (string, error) {
	if tooLong(e.Range()) {
		return "", wrong(e.Range(), "%q has more than %d bytes", name, maxText)
	}
	inner := e
	for {
		p, ok := inner.(*hclsyntax.ParenthesesExpr)
		if !ok {
			break
		}
		inner = p.Expression
	}
	template, ok := inner.(*hclsyntax.TemplateExpr)
	if ok = ok && template.IsStringLiteral() || json.IsJSONExpression(e); ok {
		value, diags := inner.Value(nil) // of JSON, the text as it stands
		if !diags.HasErrors() && !value.IsNull() && value.Type() == cty.String && (!json.IsJSONExpression(e) || !isTemplate(value.AsString())) {
			return value.AsString(), nil
		}
	}
	return "", wrong(e.Range(), "%q must be a literal string", name)
}

// isTemplate reports whether a string in JSON may be a template.
func isTemplate(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// parseRequirement reads an entry of required_providers. It ignores other members, such as
// configuration_aliases.
func parseRequirement(attribute *hcl.Attribute) (r *requirement, err error) {
	r = &requirement{at: attribute.NameRange}
	members, diags := hcl.ExprMap(attribute.Expr)
	if diags.HasErrors() {
		r.version, err = literal(attribute.Expr, attribute.Name) // the form of version 0.12
		r.versioned = true
		return r, err
	}
	for _, m := range members {
		key := hcl.ExprAsKeyword(m.Key)
		if wrapper, ok := m.Key.(*hclsyntax.ObjectConsKeyExpr); ok && key == "" {
			m.Key = wrapper.Wrapped
		}
		if key == "" {
			if key, err = literal(m.Key, "name of a member"); err != nil {
				return nil, err
			}
		}
		switch key {
		case "source":
			r.source, err = literal(m.Value, "source")
		case "version":
			r.version, err = literal(m.Value, "version")
			r.versioned = true
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *configuration) provider(block *hcl.Block) error {
	content, _, diags := block.Body.PartialContent(providerSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	u := use{at: block.DefRange, name: block.Labels[0]}
	key := block.Type + " " + u.name
	if a := content.Attributes["alias"]; a != nil {
		alias, err := literal(a.Expr, "alias")
		if err != nil {
			return err
		}
		key += "." + alias
	}
	if a := content.Attributes["version"]; a != nil {
		version, err := literal(a.Expr, "version")
		if err != nil {
			return err
		}
		u.version = text{at: a.Expr.Range(), set: true, literal: version}
	} else if c.overrides {
		u.version = c.used[key].version
	}
	c.used[key] = u
	return nil
}

func (c *configuration) resource(block *hcl.Block) error {
	content, _, diags := block.Body.PartialContent(resourceSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	key := block.Type + " " + strings.Join(block.Labels, ".")
	u := use{at: block.DefRange}
	u.name, _, _ = strings.Cut(block.Labels[0], "_")
	if a := content.Attributes["provider"]; a != nil {
		var err error
		if u.name, err = providerName(a); err != nil {
			return err
		}
	} else if old, ok := c.used[key]; ok {
		u = old // overridden without a provider
	}
	c.used[key] = u
	return nil
}

// imported reads an import block, which requires the provider of its target.
func (c *configuration) imported(block *hcl.Block) error {
	content, _, diags := block.Body.PartialContent(importSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	u := use{at: block.DefRange}
	if a := content.Attributes["provider"]; a != nil {
		var err error
		if u.name, err = providerName(a); err != nil {
			return err
		}
	} else if a := content.Attributes["to"]; a != nil {
		steps, err := references(a)
		for err == nil && len(steps) > 2 && steps[0] == "module" {
			steps = steps[2:]
		}
		if err != nil || len(steps) != 2 {
			return wrong(a.Range, "invalid address of a resource")
		}
		u.name, _, _ = strings.Cut(steps[0], "_")
	}
	if u.name != "" {
		c.used["import "+block.DefRange.String()] = u
	}
	return nil
}

// providerName returns the local name in a reference to a provider configuration.
func providerName(a *hcl.Attribute) (string, error) {
	steps, err := references(a)
	if err != nil {
		return "", wrong(a.Range, "invalid reference to a provider")
	}
	return steps[0], nil
}

// references returns the names in a reference such as aws.west["a"], without indices. In JSON, and in
// configurations for version 0.11, it is a string.
func references(a *hcl.Attribute) (names []string, err error) {
	e, ok := a.Expr.(hclsyntax.Expression)
	if text, err := literal(a.Expr, a.Name); err == nil {
		if err := look([]byte(text), a.Range.Filename+" string"); err != nil {
			return nil, err
		}
		var diags hcl.Diagnostics
		if e, diags = hclsyntax.ParseExpression([]byte(text), a.Range.Filename, a.Range.Start); diags.HasErrors() {
			return nil, diagnosed(diags)
		}
	} else if !ok {
		return nil, err
	}
	var traversal hcl.Traversal
	for {
		switch inner := e.(type) {
		case *hclsyntax.ParenthesesExpr:
			e = inner.Expression
			continue
		case *hclsyntax.IndexExpr:
			e = inner.Collection
			continue
		case *hclsyntax.RelativeTraversalExpr:
			traversal = append(slices.Clone(inner.Traversal), traversal...)
			e = inner.Source
			continue
		case *hclsyntax.ScopeTraversalExpr:
			traversal = append(slices.Clone(inner.Traversal), traversal...)
		default:
			return nil, errors.New("not a reference")
		}
		break
	}
	for _, step := range traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// requirements returns the providers that the module requires, sorted by place.
func (c *configuration) requirements(host svchost.Hostname) (all []Requirement, err error) {
	add := func(at hcl.Range, name, source string, version text) {
		switch {
		case source == "" && name == "terraform":
			source = "terraform.io/builtin/terraform"
		case source == "":
			source = name
		}
		p, failed := addrs.ParseProviderIn(host, source)
		if failed != nil {
			err = cmp.Or(err, wrong(at, "provider %q: %v", name, failed))
			return
		}
		r := Requirement{Provider: p, Place: place(at)}
		if version.set {
			if r.Constraint, failed = addrs.ParseProviderConstraint(version.literal); failed == nil && version.literal == "" {
				failed = errors.New("the version constraint is empty")
			}
			if failed != nil {
				err = cmp.Or(err, wrong(at, "provider %q: %v", name, failed))
				return
			}
		}
		all = append(all, r)
	}
	for name, r := range c.required {
		add(r.at, name, r.source, text{literal: r.version, set: r.versioned})
	}
	for _, u := range c.used {
		source := ""
		if r := c.required[u.name]; r != nil {
			source = r.source
		}
		add(u.at, u.name, source, u.version)
	}
	slices.SortFunc(all, func(a, b Requirement) int {
		return cmp.Or(strings.Compare(a.Place.File, b.Place.File), a.Place.Line-b.Place.Line, a.Provider.Compare(b.Provider))
	})
	return all, err
}
