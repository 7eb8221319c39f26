package workdir

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// Requirement is a reason why a module requires a provider.
type Requirement struct {
	Provider   addrs.Provider           `json:"provider"`            // the required provider
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // zero for any version
	Place      Place                    `json:"place"`               // of the entry of required_providers, or of the first block that uses the provider
}

// configuration is the part of a module's files that matters here.
type configuration struct {
	calls     map[string]*call // by key below that of the module
	required  map[string]*use  // entries of required_providers by local name; nil for one with a problem
	entries   hcl.Range        // of the block required_providers
	providers map[string]*use  // provider blocks by name and alias
	resources map[resource]*use
	imports   []imported
	tested    []*use // provider blocks in tests
	tests     bool   // has a call in a test
	files     []file // whose expressions may be needed
	size      int    // bytes of all files
	problems  Problems

	dir       *Dir
	budget    *budget
	overrides bool   // reads an override file now
	text      []byte // the file that is read now
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

// A use is an entry of required_providers, or a block that uses a provider.
type use struct {
	at              hcl.Range
	name            string  // local name of the provider
	explicit        string  // the provider configuration, without a key; empty if it is implied
	source, version *string // of an entry; the version of a provider block too
}

// A resource is the address of a resource, or of a data, ephemeral or action block.
type resource struct{ kind, typ, name string }

// imported is an import block.
type imported struct {
	use
	to     resource
	inside bool // of a module
}

var (
	fileSchema = schema("", "terraform", "language", "module name", "provider name", "resource type name", "data type name",
		"ephemeral type name", "action type name", "check name", "import")
	testSchema       = schema("", "run name", "provider name", "mock_provider name")
	terraformSchema  = schema("required_version", "required_providers")
	languageSchema   = schema("", "compatible_with")
	compatibleSchema = schema("opentofu")
	callSchema       = schema("source version")
	providerSchema   = schema("version alias")
	resourceSchema   = schema("provider")
	importSchema     = schema("provider to")
	checkSchema      = schema("", "data type name")
	runSchema        = schema("", "module")
)

// schema returns a schema with attributes and blocks, each a type with its labels.
func schema(attributes string, blocks ...string) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for name := range strings.FieldsSeq(attributes) {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: name})
	}
	for _, block := range blocks {
		words := strings.Fields(block)
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: words[0], LabelNames: words[1:]})
	}
	return s
}

// configuration reads the module in a directory. Only that of the user has tests. It returns an error if it can read
// nothing; otherwise the configuration has the problems.
func (d *Dir) configuration(f files, root bool, b *budget) (*configuration, error) {
	primary, overrides, tests, err := f.names(d.Terraform, root)
	if err != nil {
		return nil, err
	}
	c := &configuration{
		calls: map[string]*call{}, required: map[string]*use{}, providers: map[string]*use{}, resources: map[resource]*use{},
		dir: d, budget: b,
	}
	if !root {
		tests = nil
	}
	words := 0
	for i, name := range slices.Concat(primary, overrides, tests) {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		body, err := c.open(f, name, &words)
		if limits := d.Limits.orDefault(); words > limits.Words || c.size > limits.Module {
			c.problems.add(err)
			break
		}
		isTest := i >= len(primary)+len(overrides)
		c.overrides = i >= len(primary) && !isTest
		switch {
		case err != nil:
			c.problems.add(err)
		case isTest:
			c.test(body, name)
		default:
			c.file(body, name)
		}
	}
	c.text = nil
	for _, call := range c.calls {
		if !call.source.set {
			c.problem(call.at, "module %q has no source", call.name)
		}
	}
	return c, nil
}

// open reads and parses a file.
func (c *configuration) open(f files, name string, words *int) (hcl.Body, error) {
	limits, shown := c.dir.Limits.orDefault(), filepath.ToSlash(filepath.Join(f.name, name))
	text, err := f.read(name, int64(limits.Module-c.size))
	if err != nil {
		return nil, &ConfigError{Place{File: shown}, err.Error()}
	}
	if c.size += len(text); c.size > limits.Module {
		return nil, &ConfigError{Place{File: shown}, "the files of the module have more than the limit of bytes, which the field Limits.Module has"}
	}
	opened := file{name: shown, text: text}
	opened.count, err = opened.words(limits.Words - *words)
	if *words += opened.count; *words > limits.Words {
		err = &ConfigError{Place{File: shown}, "the files of the module have more words and symbols than the field Limits.Words permits"}
	}
	if err != nil {
		return nil, err
	}
	body, diags := opened.parse()
	c.problems.diagnosed(diags)
	c.text, c.files = text, append(c.files, opened)
	return body, nil
}

func (c *configuration) problem(at hcl.Range, format string, args ...any) {
	c.problems.add(wrong(at, format, args...))
}

// content returns the part of a body that a schema has.
func (c *configuration) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, _, diags := body.PartialContent(schema)
	c.problems.diagnosed(diags)
	return content
}

func (c *configuration) file(body hcl.Body, name string) {
	for _, block := range c.content(body, fileSchema).Blocks {
		switch block.Type {
		case "terraform":
			c.terraform(block.Body, c.dir.ownVersion(name))
		case "language":
			for _, block := range c.content(block.Body, languageSchema).Blocks {
				if !c.dir.Terraform {
					c.coreVersion(c.content(block.Body, compatibleSchema).Attributes["opentofu"])
				}
			}
		case "module":
			c.module(block)
		case "provider":
			c.provider(block)
		case "import":
			c.imported(block)
		case "check":
			for _, data := range c.content(block.Body, checkSchema).Blocks {
				c.resource(data)
			}
		case "action":
			if c.dir.Terraform && c.dir.since("1.14.0") {
				c.resource(block)
			}
		default:
			c.resource(block)
		}
	}
}

// since reports whether the CLI has at least this version. The newest is assumed if none is named.
func (d *Dir) since(version string) bool {
	return d.Version.IsZero() || core(d.Version).Compare(addrs.MustParseVersion(version)) >= 0
}

// core returns a version without its prerelease and metadata, which the CLI compares.
func core(v addrs.Version) addrs.Version {
	text := v.String()
	if i := strings.IndexAny(text, "-+"); i >= 0 {
		return addrs.MustParseVersion(text[:i])
	}
	return v
}

// ownVersion reports whether required_version in the file is about the CLI: since version 1.12, OpenTofu takes it
// for that of Terraform except in its own files.
func (d *Dir) ownVersion(name string) bool {
	return d.Terraform || strings.Contains(name, ".tofu") || !d.since("1.12.0")
}

func (c *configuration) terraform(body hcl.Body, own bool) {
	content := c.content(body, terraformSchema)
	if own {
		c.coreVersion(content.Attributes["required_version"])
	}
	for _, block := range content.Blocks {
		if c.entries.Filename != "" && !c.overrides {
			c.problem(block.DefRange, "there is a block required_providers in %s already", place(c.entries))
			continue
		}
		if !c.overrides {
			c.entries = block.DefRange
		}
		attributes, diags := block.Body.JustAttributes()
		c.problems.diagnosed(diags)
		for name, a := range attributes {
			entry, err := c.entry(name, a)
			if c.required[name] = entry; err != nil {
				c.required[name] = nil
				c.problems.add(err)
			}
		}
	}
}

// coreVersion checks the version of the CLI, without its prerelease as the CLI does, unless it is unknown.
func (c *configuration) coreVersion(a *hcl.Attribute) {
	if a == nil || c.dir.Version.IsZero() {
		return
	}
	version, err := c.constantText(a.Expr, false)
	constraint, failed := addrs.ParseModuleConstraint(version)
	switch {
	case err != nil:
		c.problems.add(err)
	case failed != nil:
		c.problem(a.Expr.Range(), "%v", failed)
	case !constraint.Allows(core(c.dir.Version)):
		c.problem(a.Expr.Range(), "the module needs version %q of the CLI, not %s", version, c.dir.Version)
	}
}

// conflicts reports whether a block is declared already, or one to override is not, and adds the problem.
func (c *configuration) conflicts(at hcl.Range, exists bool, old hcl.Range, names ...string) bool {
	switch {
	case c.overrides && !exists:
		c.problem(at, "%.200s to override does not exist", strings.Join(names, " "))
	case !c.overrides && exists:
		c.problem(at, "%.200s is declared in %s already", strings.Join(names, " "), place(old))
	default:
		return false
	}
	return true
}

func (c *configuration) module(block *hcl.Block) {
	name := block.Labels[0]
	to := c.calls[name]
	if !hclsyntax.ValidIdentifier(name) {
		c.problem(block.DefRange, "invalid module name %.100q: want letters, digits, underscores and hyphens", name)
		return
	}
	if to == nil {
		to = &call{name: name, at: block.DefRange}
	}
	if !c.conflicts(block.DefRange, c.calls[name] != nil, to.at, "module", name) {
		c.calls[name] = to
		c.attributes(to, block.Body)
	}
}

func (c *configuration) attributes(to *call, body hcl.Body) {
	content := c.content(body, callSchema)
	if a := content.Attributes["source"]; a != nil {
		to.source = c.textOf(a)
	}
	if a := content.Attributes["version"]; a != nil {
		to.version = c.textOf(a)
	}
}

// test reads a file with tests: the modules and providers of its run blocks.
func (c *configuration) test(body hcl.Body, name string) {
	for _, block := range c.content(body, testSchema).Blocks {
		switch {
		case block.Type == "run":
			c.run(block, name)
		case c.dir.Terraform && c.dir.since("1.9.0"): // what it uses is required elsewhere
		case block.Type == "provider" || c.dir.Terraform: // OpenTofu does not install a provider for its mock
			c.tested = append(c.tested, c.providerBlock(block))
		}
	}
}

func (c *configuration) run(block *hcl.Block, name string) {
	modules := c.content(block.Body, runSchema).Blocks
	if len(modules) == 0 {
		return
	}
	// The CLI makes the key of the names of the file and the block.
	stem := strings.TrimSuffix(name, ".tftest.hcl")
	key := "test." + strings.ReplaceAll(stem, "/", ".") + "." + block.Labels[0]
	old := c.calls[key]
	switch {
	case !hclsyntax.ValidIdentifier(block.Labels[0]):
		c.problem(block.DefRange, "invalid name of a run block %.100q", block.Labels[0])
		return
	case old != nil:
		c.conflicts(block.DefRange, true, old.at, "run block", block.Labels[0])
		return
	}
	c.tests = true
	c.calls[key] = &call{name: block.Labels[0], at: modules[0].DefRange, test: true}
	c.attributes(c.calls[key], modules[0].Body)
}

// maxText is the maximum size of the expression of a source or version in bytes, and of its value.
const maxText = 4 << 10

// textOf reads an attribute that should be a string. It evaluates nothing.
func (c *configuration) textOf(a *hcl.Attribute) text {
	t := text{at: a.Expr.Range(), set: true}
	if t.at.End.Byte-t.at.Start.Byte > maxText {
		c.problem(t.at, "%q has more than %d bytes", a.Name, maxText)
		return t
	}
	v, diags := a.Expr, hcl.Diagnostics(nil)
	template, ok := v.(*hclsyntax.TemplateExpr)
	if ok = ok && template.IsStringLiteral(); ok || json.IsJSONExpression(v) {
		var value cty.Value
		if value, diags = v.Value(nil); !diags.HasErrors() && !value.IsNull() && value.Type() == cty.String { // of JSON, the text as it stands
			t.literal = value.AsString()
			ok = ok || !strings.Contains(t.literal, "${") && !strings.Contains(t.literal, "%{")
		}
	}
	if t.written = t.literal; !ok {
		t.literal, t.dynamic = "", true
		t.written = strings.TrimSpace(string(t.at.SliceBytes(c.text)))
	}
	return t
}

// constantText returns the text of a constant, which may be a number or a bool unless it must be a string.
func (c *configuration) constantText(e hcl.Expression, isString bool) (string, error) {
	v, err := c.budget.constant(e)
	if err != nil {
		return "", err
	}
	isString = isString && v.Type() != cty.String
	if v, err = convert.Convert(v, cty.String); err != nil || isString || v.IsNull() || !v.IsKnown() || len(v.AsString()) > maxText {
		return "", wrong(e.Range(), "want a string of at most %d bytes", maxText)
	}
	return v.AsString(), nil
}

// constraint returns a version constraint, which must suit the rules of both libraries of the CLI.
func (c *configuration) constraint(e hcl.Expression, isString bool) (*string, error) {
	text, err := c.constantText(e, isString)
	if err == nil && strings.TrimSpace(text) == "" {
		err = wrong(e.Range(), "the version constraint is empty")
	}
	if _, failed := addrs.ParseModuleConstraint(text); err == nil && failed != nil {
		err = wrong(e.Range(), "%v", failed)
	}
	return &text, err
}

// entry reads an entry of required_providers.
func (c *configuration) entry(name string, a *hcl.Attribute) (u *use, err error) {
	u = &use{at: a.NameRange, name: name}
	members, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() { // the form of version 0.12
		u.version, err = c.constraint(a.Expr, false)
		return u, err
	}
	if normal(name) != name {
		return u, wrong(a.NameRange, "the name of provider %.100q must be in lower case", name)
	}
	for _, m := range members {
		key, err := c.constantText(m.Key, true)
		switch {
		case err != nil:
		case key == "source":
			var source string
			source, err = c.constantText(m.Value, true)
			u.source = &source
		case key == "version":
			u.version, err = c.constraint(m.Value, true)
		case key != "configuration_aliases":
			err = wrong(m.Key.Range(), "provider %q has %.100q; only source, version and configuration_aliases are permitted", name, key)
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// normal returns the local name of a provider as it is compared. An invalid name is returned as it is.
func normal(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r > 'z' || 'A' <= r && r <= 'Z' }) < 0 {
		return name
	}
	if p, err := addrs.NewProvider(addrs.DefaultHost(), name, "x"); err == nil {
		return p.Namespace()
	}
	return name
}

func (c *configuration) provider(block *hcl.Block) {
	u := c.providerBlock(block)
	old := c.providers[u.explicit]
	switch {
	case old == nil && !strings.Contains(u.explicit, "."): // an override may be the first of the default configuration
	case old == nil && c.conflicts(u.at, false, u.at, "provider", u.explicit):
		return
	case old != nil && (c.conflicts(u.at, true, old.at, "provider", u.explicit) || u.version == nil):
		return
	}
	c.providers[u.explicit] = u
}

// providerBlock reads a provider block.
func (c *configuration) providerBlock(block *hcl.Block) *use {
	content, err := c.content(block.Body, providerSchema), error(nil)
	u := &use{at: block.DefRange, name: block.Labels[0], explicit: block.Labels[0]}
	if normal(u.name) != u.name {
		c.problem(u.at, "the name of provider %.100q must be in lower case", u.name)
	}
	if a := content.Attributes["alias"]; a != nil {
		var alias string
		alias, err = c.constantText(a.Expr, false)
		u.explicit += "." + alias
		c.problems.add(err)
	}
	if a := content.Attributes["version"]; a != nil {
		if u.version, err = c.constraint(a.Expr, false); err != nil {
			u.version = nil
			c.problems.add(err)
		}
	}
	return u
}

func (c *configuration) resource(block *hcl.Block) {
	key := resource{block.Type, block.Labels[0], block.Labels[1]}
	u, old := &use{at: block.DefRange, name: implied(key.typ)}, c.resources[key]
	before := cmp.Or(old, u)
	if c.conflicts(u.at, old != nil, before.at, key.kind, key.typ, key.name) {
		return
	}
	var a *hcl.Attribute
	if body, ok := block.Body.(*hclsyntax.Body); !ok {
		a = c.content(block.Body, resourceSchema).Attributes["provider"]
	} else if provider := body.Attributes["provider"]; provider != nil { // most have none, which is faster to see here
		a = provider.AsHCLAttribute()
	}
	if c.resources[key] = before; a != nil { // otherwise it is not overridden
		c.reference(u, a)
		c.resources[key] = u
	}
}

// implied returns the local name of the provider of a resource.
func implied(typ string) string {
	name, _, _ := strings.Cut(typ, "_")
	return normal(name)
}

// imported reads an import block.
func (c *configuration) imported(block *hcl.Block) {
	content := c.content(block.Body, importSchema)
	i := imported{use: use{at: block.DefRange}}
	if a := content.Attributes["to"]; a != nil {
		steps, err := c.steps(a)
		for err == nil && len(steps) > 2 && steps[0] == "module" {
			steps, i.inside = steps[2:], true
		}
		if err != nil || len(steps) != 2 {
			c.problem(a.Range, "invalid address of a resource")
			return
		}
		i.to = resource{"resource", steps[0], steps[1]}
		i.name = implied(steps[0])
	}
	if a := content.Attributes["provider"]; a != nil {
		c.reference(&i.use, a)
	}
	c.imports = append(c.imports, i)
}

// reference reads a reference to a provider configuration.
func (c *configuration) reference(u *use, a *hcl.Attribute) {
	steps, err := c.steps(a)
	if err != nil || len(steps) == 0 || len(steps) > 2 || normal(steps[0]) != steps[0] {
		c.problem(a.Range, "invalid reference to a provider")
		return
	}
	u.name, u.explicit = steps[0], strings.Join(steps, ".")
}

// steps returns the names in a reference such as aws.west["a"], without indices. In JSON, and in configurations for
// version 0.11, it is a string.
func (c *configuration) steps(a *hcl.Attribute) (names []string, err error) {
	e := a.Expr
	template, ok := e.(*hclsyntax.TemplateExpr)
	if ok && template.IsStringLiteral() || json.IsJSONExpression(e) {
		if e, err = unquoted(e); err != nil {
			return nil, err
		}
	}
	// The keys may be expressions.
	var traversal hcl.Traversal
	for keyed := true; keyed; {
		switch inner := e.(type) {
		case *hclsyntax.IndexExpr:
			e = inner.Collection
		case *hclsyntax.RelativeTraversalExpr:
			traversal, e = append(slices.Clone(inner.Traversal), traversal...), inner.Source
		default:
			keyed = false
		}
	}
	first, diags := hcl.AbsTraversalForExpr(e)
	for _, step := range append(slices.Clone(first), traversal...) {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	return names, diagnosed(diags, true)
}

// requirements returns the providers that the module requires, sorted by place, and problems. A provider is named by
// each entry and each constraint, otherwise by the first block that uses it.
func (c *configuration) requirements(host svchost.Hostname) (all []Requirement, problems Problems) {
	rules := addrs.ProviderRules{Host: host, Underscores: c.dir.Terraform && c.dir.since("1.16.0")}
	add := func(u *use) {
		source := u.name
		if entry := c.required[u.name]; entry != nil && entry.source != nil {
			source = *entry.source
		} else if source == "terraform" {
			source = "terraform.io/builtin/terraform"
		}
		p, err := rules.Parse(source)
		r := Requirement{Provider: p, Place: place(u.at)}
		if err == nil && u.version != nil {
			r.Constraint, err = addrs.ParseProviderConstraint(*u.version)
		}
		if err != nil {
			problems.add(wrong(u.at, "provider %q: %v", u.name, err))
			return
		}
		all = append(all, r)
	}
	first := map[string]*use{} // by local name
	used := func(u *use) {
		_, required := c.required[u.name]
		old := first[u.name]
		switch {
		case u.version != nil:
			add(u)
		case !required && (old == nil || cmp.Or(strings.Compare(u.at.Filename, old.at.Filename), u.at.Start.Byte-old.at.Start.Byte) < 0):
			first[u.name] = u
		}
	}
	for _, u := range c.required {
		if u != nil {
			add(u)
		}
	}
	for _, u := range c.resources {
		used(u)
	}
	for i := range c.imports {
		i := &c.imports[i]
		target := c.resources[i.to]
		switch {
		case i.inside && i.explicit != "":
			problems.add(wrong(i.at, "an import into a module must not have a provider"))
		case !i.inside && target != nil && i.explicit != "" && i.explicit != target.explicit:
			problems.add(wrong(i.at, "the import and its resource must have the same provider"))
		case c.dir.Terraform && (i.inside || target != nil): // the module or resource requires it
		default:
			used(&i.use)
		}
	}
	for _, u := range c.providers {
		used(u)
	}
	for _, u := range c.tested {
		used(u)
	}
	for _, u := range first {
		add(u)
	}
	slices.SortFunc(all, func(a, b Requirement) int {
		return cmp.Or(strings.Compare(a.Place.File, b.Place.File), a.Place.Line-b.Place.Line, a.Provider.Compare(b.Provider))
	})
	return all, problems
}
