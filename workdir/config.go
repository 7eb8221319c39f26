package workdir

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
)

// Requirement is a reason why a module requires a provider.
type Requirement struct {
	Provider   addrs.Provider           `json:"provider"`            // the required provider
	Constraint addrs.ProviderConstraint `json:"constraint,omitzero"` // zero for any version
	Written    string                   `json:"written,omitempty"`   // the constraint as written, such as "~>3.0"
	Place      Place                    `json:"place"`               // of the entry of required_providers, or of the first block that uses the provider

	Name    string   `json:"name"`                            // local name
	Aliases []string `json:"configuration_aliases,omitempty"` // each NAME.ALIAS, or NAME; empty unless the contents are read, see [Contents]
}

// configuration is the part of a module's files that matters here.
type configuration struct {
	Contents
	list      []Call        // sorted by key, which all modules of the directory share
	evaluated bool          // one of them has an expression
	providers []Requirement // likewise

	calls     map[string]*Call // by key
	required  map[string]*use  // entries of required_providers by local name; nil for one with a problem
	declared  map[id]hcl.Range
	uses      map[id]*use          // the declared blocks that use a provider
	folded    map[string]string    // long names in lower case, which in JSON any number of blocks may share
	others    []*use               // import blocks, and provider blocks in tests
	variables map[string]*Variable // by name
	outputs   map[string]*Variable
	files     []file           // whose expressions may be needed; nil once they are in blocks
	blocks    map[string]block // variables, module blocks and local values by type and name; nil until one is needed
	size      int              // bytes of all files
	words     int              // and words and symbols
	full      bool             // a limit is reached
	problems  Problems

	dir       *Dir
	budget    *budget
	lists     bool   // the contents
	versioned string // the last file with a required_version
	overrides bool   // reads an override file now
}

// An id is the type of a block and its names, which are not put together: in JSON any number of blocks share long ones.
type id struct{ block, first, second string }

// String returns text for people.
func (i id) String() string { return strings.TrimSpace(i.block + " " + i.first + " " + i.second) }

func (i id) compare(o id) int {
	return cmp.Or(strings.Compare(i.block, o.block), strings.Compare(i.first, o.first), strings.Compare(i.second, o.second))
}

// A use is an entry of required_providers, or a block that uses a provider.
type use struct {
	at       hcl.Range
	name     string   // local name of the provider
	explicit string   // the provider configuration of a resource, without a key; empty if it is implied
	alias    string   // of a provider block
	source   *string  // of an entry
	version  string   // of an entry or a provider block
	aliases  []string // of an entry
	labels   []string // of a resource
	to       id       // of an import block, the resource as in uses
	inside   bool     // which is in a module
}

var (
	fileSchema = schema("", "terraform", "language", "module name", "provider name", "resource type name", "data type name",
		"ephemeral type name", "action type name", "check name", "import", "variable name")
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
func (d *Dir) configuration(f files, root, lists bool, b *budget) (*configuration, error) {
	primary, overrides, tests, links, err := f.names(d.Terraform, root, b)
	if _, ok := errors.AsType[*ConfigError](err); err != nil && !ok {
		return nil, err
	}
	c := &configuration{
		calls: map[string]*Call{}, required: map[string]*use{}, declared: map[id]hcl.Range{}, uses: map[id]*use{}, folded: map[string]string{},
		variables: map[string]*Variable{}, outputs: map[string]*Variable{}, dir: d, budget: b, lists: lists,
	}
	c.add(err)
	if !root {
		tests = nil
	}
	for i, name := range slices.Concat(primary, overrides, tests) {
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		isTest := i >= len(primary)+len(overrides)
		c.overrides = i >= len(primary) && !isTest
		body, err := c.open(f, name, links[name])
		c.add(err)
		if c.full {
			break
		}
		switch {
		case err != nil:
		case isTest:
			c.test(body, name)
		default:
			c.file(body, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.calls)) {
		call := c.calls[key]
		if !call.sourced {
			c.problem(call.at, "module %q has no source", call.Key)
		}
		c.list = append(c.list, *call)
		c.evaluated = c.evaluated || call.SourceText+call.VersionText != ""
	}
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	c.requirements(d.host())
	c.calls, c.required, c.declared, c.uses, c.folded, c.others, c.variables, c.outputs = nil, nil, nil, nil, nil, nil, nil, nil // which are not needed any more
	return c, nil
}

// open reads a file, which may be a link, looks at its text, and parses it.
func (c *configuration) open(f files, name string, isLink bool) (hcl.Body, error) {
	limits, g, shown := c.dir.Limits, &c.budget.guard, filepath.ToSlash(filepath.Join(f.name, name))
	left, isJSON := min(limits.Module-c.size, g.bytes), strings.HasSuffix(name, ".json")
	if !isJSON {
		left = min(left, maxNative)
	}
	text, err := f.read(c.budget, name, isLink, int64(left))
	opened, over := file{name: shown, text: text, overrides: c.overrides}, ""
	c.size += len(text)
	g.bytes -= len(text)
	switch at, most := (hcl.Range{Filename: shown, Start: hcl.InitialPos}), min(limits.Words-c.words, g.words); {
	case err != nil:
		err = &ConfigError{Place{File: shown}, failure.Printable(err.Error(), 2000)}
	case c.size > limits.Module:
		over = "the files of the module have more than the limit of bytes, which the field Limits.Module has"
	case g.bytes < 0:
		over = "the files of all modules have more bytes than the field Limits.Files permits"
	case len(text) > left:
		err = &ConfigError{Place{File: shown}, fmt.Sprintf("the file has more than %d bytes", maxNative)}
	case isJSON:
		opened.count, err = g.lookJSON(text, at, most)
	default:
		opened.count, err = g.look(text, at, hclsyntax.LexConfig, true, most)
	}
	opened.count = fileWords + opened.count*(1+len(shown)/nameBytes)
	c.words += opened.count
	g.words -= opened.count
	switch {
	case c.words > limits.Words:
		over = "the files of the module have more words and symbols than the field Limits.Words permits"
	case g.words < 0:
		over = "the files of all modules together have more words and symbols than the field Limits.Words permits"
	}
	if over != "" {
		c.full, err = true, &ConfigError{Place{File: shown}, over}
	}
	if err != nil {
		return nil, err
	}
	body, diags := opened.parse()
	c.diagnosed(diags)
	c.files = append(c.files, opened)
	return body, nil
}

// add adds an error, unless it is the end of the context.
func (c *configuration) add(err error) {
	if e, ok := errors.AsType[*ConfigError](err); ok && !c.told() {
		c.problems = append(c.problems, e)
		c.budget.guard.problems--
	}
}

// told reports whether no more problems are told. Their texts take long, and would be thrown away.
func (c *configuration) told() bool {
	return len(c.problems) >= maxProblems || len(c.problems) > 0 && c.budget.guard.problems <= 0
}

// diagnosed adds the errors in diags.
func (c *configuration) diagnosed(diags hcl.Diagnostics) {
	for i := range diags {
		if c.told() {
			return
		}
		c.add(diagnosed(diags[i : i+1]))
	}
}

func (c *configuration) problem(at hcl.Range, format string, args ...any) {
	if !c.told() {
		c.add(wrong(at, format, args...))
	}
}

// content returns the part of a body that a schema has.
func (c *configuration) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, _, diags := body.PartialContent(schema)
	c.diagnosed(diags)
	content.Blocks = slices.DeleteFunc(content.Blocks, func(b *hcl.Block) bool {
		long := hasLongLabel(b)
		if long {
			c.problem(b.DefRange, "a block with a name of more than %d bytes", maxName)
		}
		return long
	})
	return content
}

// hasLongLabel reports whether a block has a long name, which in JSON any number of blocks may share.
func hasLongLabel(b *hcl.Block) bool {
	return slices.ContainsFunc(b.Labels, func(s string) bool { return len(s) > maxName })
}

func (c *configuration) file(body hcl.Body, name string) {
	c.only(body)
	if c.lists {
		c.listOutputs(body)
	}
	for _, block := range c.content(body, fileSchema).Blocks {
		if c.budget.ctx.Err() != nil { // the caller returns it
			return
		}
		if block.Type == "action" && (!c.dir.Terraform || !c.dir.since("1.14.0")) {
			continue
		}
		switch block.Type {
		case "terraform":
			c.terraform(block.Body, name)
		case "language":
			for _, block := range c.content(block.Body, languageSchema).Blocks {
				if !c.dir.Terraform {
					c.coreVersion(c.content(block.Body, compatibleSchema).Attributes["opentofu"])
				}
			}
		case "module":
			c.module(block)
		case "variable":
			c.variable(block)
		case "provider":
			c.provider(c.providerBlock(block))
		case "import":
			c.imported(block)
		case "check":
			for _, data := range c.content(block.Body, checkSchema).Blocks {
				c.resource(data)
			}
		default:
			c.resource(block)
		}
	}
}

// only returns the arguments of a body in the native syntax, which should be among these.
func (c *configuration) only(body hcl.Body, names ...string) hclsyntax.Attributes {
	b, ok := body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	for name, a := range b.Attributes {
		if !slices.Contains(names, name) {
			c.problem(a.NameRange, "unknown argument %.100q", name)
		}
	}
	return b.Attributes
}

// variable looks for what only configurations for version 0.11 may have.
func (c *configuration) variable(block *hcl.Block) {
	if !c.declares(block.DefRange, id{"variable", block.Labels[0], ""}) {
		return
	}
	if c.lists {
		c.declaration(c.variables, block)
	}
	a := c.only(block.Body, "type", "default", "description", "sensitive", "nullable", "ephemeral", "deprecated", "const")
	if t := a["type"]; t != nil {
		if _, ok := quoted(t.Expr); ok {
			c.problem(t.Expr.Range(), "the type of variable %.100q is in quotes", block.Labels[0])
		}
	}
	if d := a["default"]; d != nil && !constant(d.Expr) {
		c.problem(d.Expr.Range(), "the default of variable %.100q is not constant", block.Labels[0])
	}
}

// constant reports whether an expression calls no function and has no name. In one with "for" names are not looked at.
func constant(e hclsyntax.Expression) bool {
	names, loops := false, false
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n.(type) {
		case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
			names = true
		case *hclsyntax.ForExpr:
			loops = true
		}
		return nil
	})
	return loops || !names
}

// since reports whether the CLI has at least this version. The newest is assumed if none is named.
func (d *Dir) since(version string) bool {
	return d.Version.IsZero() || core(d.Version).Compare(addrs.MustParseVersion(version)) >= 0
}

// core returns a version without its prerelease and metadata, which the CLI compares.
func core(v addrs.Version) addrs.Version {
	text := v.String() + "-"
	return addrs.MustParseVersion(text[:strings.IndexAny(text, "-+")])
}

// terraform reads a terraform block. Since version 1.12, OpenTofu takes required_version for that of Terraform except
// in its own files.
func (c *configuration) terraform(body hcl.Body, name string) {
	content := c.content(body, terraformSchema)
	if a := content.Attributes["required_version"]; a != nil && c.lists {
		c.listVersion(a)
	}
	if c.dir.Terraform || strings.Contains(name, ".tofu") || !c.dir.since("1.12.0") {
		c.coreVersion(content.Attributes["required_version"])
	}
	for _, block := range content.Blocks {
		if !c.overrides && !c.declares(block.DefRange, id{block: "a block required_providers"}) {
			continue
		}
		attributes, diags := block.Body.JustAttributes()
		c.diagnosed(diags)
		for name, a := range attributes {
			if len(name) > maxName { // in JSON
				c.problem(a.NameRange, "a name of more than %d bytes", maxName)
				continue
			}
			c.required[name] = c.entry(name, a)
		}
	}
}

// coreVersion checks the version of the CLI, without its prerelease as the CLI does, unless it is unknown.
func (c *configuration) coreVersion(a *hcl.Attribute) {
	if a == nil || c.dir.Version.IsZero() {
		return
	}
	text, err := c.constantText(a.Expr, false)
	constraint, failed := addrs.ParseModuleConstraint(text)
	switch {
	case err != nil:
	case failed != nil:
		err = wrong(a.Expr.Range(), "%v", failed)
	case c.dir.Terraform && strings.TrimSpace(text) == "": // OpenTofu takes it for any version
		err = wrong(a.Expr.Range(), "required_version is empty")
	case !constraint.Allows(core(c.dir.Version)):
		err = wrong(a.Expr.Range(), "the module needs version %q of the CLI, not %s", text, c.dir.Version)
	}
	c.add(err)
}

// declares reports whether a block may have this type and names: in an override file those of another block.
func (c *configuration) declares(at hcl.Range, key id) bool {
	old, exists := c.declared[key]
	switch {
	case exists == c.overrides:
		c.declared[key] = cmp.Or(old, at)
		return true
	case exists:
		c.problem(at, "%.200s is declared in %s already", key, place(old))
	default:
		c.problem(at, "%.200s to override does not exist", key)
	}
	return false
}

func (c *configuration) module(block *hcl.Block) {
	name := block.Labels[0]
	if !hclsyntax.ValidIdentifier(name) {
		c.problem(block.DefRange, "invalid module name %.100q: want letters, digits, underscores and hyphens", name)
	} else if c.declares(block.DefRange, id{"module", name, ""}) {
		c.calls[name] = cmp.Or(c.calls[name], &Call{Key: name, Place: place(block.DefRange), at: block.DefRange})
		c.attributes(c.calls[name], block.Body, false)
	}
}

// attributes reads the source and the version of a module block. In a test nothing has a name.
func (c *configuration) attributes(to *Call, body hcl.Body, isTest bool) {
	for name, a := range c.content(body, callSchema).Attributes {
		literal, expression := c.textOf(a, isTest)
		if name == "source" {
			to.Source, to.SourceText, to.sourced = literal, expression, true
		} else {
			to.Version, to.VersionText, to.versioned = literal, expression, true
		}
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
			c.others = append(c.others, c.providerBlock(block))
		}
	}
}

func (c *configuration) run(block *hcl.Block, name string) {
	modules, label := c.content(block.Body, runSchema).Blocks, block.Labels[0]
	// The CLI makes the key of the names of the file and the block.
	stem := strings.TrimSuffix(name, ".tftest.hcl")
	key := "test." + strings.ReplaceAll(stem, "/", ".") + "." + label
	switch {
	case len(modules) == 0:
	case !hclsyntax.ValidIdentifier(label):
		c.problem(block.DefRange, "invalid name of a run block %.100q", label)
	case c.declares(block.DefRange, id{"run block", key, ""}):
		c.calls[key] = &Call{Key: key, Place: place(modules[0].DefRange), at: modules[0].DefRange}
		c.attributes(c.calls[key], modules[0].Body, true)
	}
}

// textOf reads an attribute that should be a string: a literal, or the text of an expression. It evaluates constants of
// tests, and nothing else.
func (c *configuration) textOf(a *hcl.Attribute, isTest bool) (literal, expression string) {
	at := a.Expr.Range()
	literal, ok := quoted(a.Expr)
	switch {
	case isTest:
		var err error
		literal, err = c.constantText(a.Expr, false)
		c.add(err)
	case at.End.Byte-at.Start.Byte > maxText:
		c.problem(at, "%q has more than %d bytes", a.Name, maxText)
		return "", ""
	case !ok || json.IsJSONExpression(a.Expr) && isTemplate(literal):
		return "", strings.TrimSpace(string(at.SliceBytes(c.files[len(c.files)-1].text)))
	}
	return literal, ""
}

// quoted returns the text of a string literal, or of a string of JSON as it stands.
func quoted(e hcl.Expression) (string, bool) {
	if t, ok := e.(*hclsyntax.TemplateExpr); (!ok || !t.IsStringLiteral()) && !json.IsJSONExpression(e) {
		return "", false
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// constantText returns the text of a constant, which may be a number or a bool unless it must be a string.
func (c *configuration) constantText(e hcl.Expression, isString bool) (string, error) {
	v := c.budget.eval(e, scope{})
	isString = isString && v.kind != textKind
	c.budget.charge(e.Range(), constraintWork(v.text))
	v, err := c.budget.result(c.budget.as(v, textKind, e.Range()))
	if err == nil && (isString || len(v.text) > maxText) {
		err = wrong(e.Range(), "want a string of at most %d bytes", maxText)
	}
	return v.text, err
}

// constraintWork is the work for a text that may be a version constraint.
func constraintWork(text string) int { return termWork*count([]byte(text)).words + valueWork*len(text) }

// constraint returns a version constraint, which must suit the rules of both libraries of the CLI.
func (c *configuration) constraint(e hcl.Expression, isString bool) (string, error) {
	text, err := c.constantText(e, isString)
	if err == nil {
		if _, err = moduleConstraint(text); err != nil {
			return "", wrong(e.Range(), "%v", err)
		}
	}
	return text, err
}

// moduleConstraint parses a constraint, which must not be empty.
func moduleConstraint(text string) (addrs.ModuleConstraint, error) {
	if strings.TrimSpace(text) == "" {
		return addrs.ModuleConstraint{}, errors.New("the version constraint is empty")
	}
	return addrs.ParseModuleConstraint(text)
}

// entry reads an entry of required_providers. It returns nil for one with a problem.
func (c *configuration) entry(name string, a *hcl.Attribute) *use {
	u := &use{at: a.NameRange, name: name}
	var err error
	members, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() { // the form of version 0.12
		u.version, err = c.constraint(a.Expr, false)
		err = in(name, "version", err)
	} else if c.lower(name) != name {
		err = wrong(a.NameRange, "the name of provider %.100q must be in lower case", name)
	}
	for _, m := range members {
		var key, source string
		if err == nil {
			key, err = c.constantText(m.Key, true)
		}
		switch {
		case err != nil: // the first one is reported
		case key == "source":
			source, err = c.constantText(m.Value, true)
			u.source, err = &source, in(name, key, err)
		case key == "version":
			u.version, err = c.constraint(m.Value, true)
			err = in(name, key, err)
		case key == "configuration_aliases":
			u.aliases = c.aliases(m.Value)
		default:
			err = wrong(m.Key.Range(), "provider %.100q has %.100q; only source, version and configuration_aliases are permitted", name, key)
		}
	}
	if err != nil {
		c.add(err)
		return nil
	}
	return u
}

// provider keeps a provider block. In an override file, it may be the first of the default configuration.
func (c *configuration) provider(u *use) {
	key := id{"provider", u.name, u.alias}
	old := c.uses[key]
	if old == nil && c.overrides && u.alias == "" || c.declares(u.at, key) && (old == nil || u.version != "") {
		c.declared[key], c.uses[key] = cmp.Or(c.declared[key], u.at), u
	}
}

// providerBlock reads a provider block.
func (c *configuration) providerBlock(block *hcl.Block) *use {
	content := c.content(block.Body, providerSchema)
	u := &use{at: block.DefRange, name: block.Labels[0]}
	if c.lower(u.name) != u.name {
		c.problem(u.at, "the name of provider %.100q must be in lower case", u.name)
	}
	if a := content.Attributes["alias"]; a != nil {
		var err error
		u.alias, err = c.constantText(a.Expr, false)
		c.add(err)
	}
	if a := content.Attributes["version"]; a != nil {
		var err error
		u.version, err = c.constraint(a.Expr, false)
		c.add(in(u.name, "version", err))
	}
	return u
}

func (c *configuration) resource(block *hcl.Block) {
	key := id{block.Type, block.Labels[0], block.Labels[1]}
	if !c.declares(block.DefRange, key) {
		return
	}
	u := &use{at: block.DefRange, name: c.implied(block.Labels[0]), labels: block.Labels}
	var a *hcl.Attribute
	if body, ok := block.Body.(*hclsyntax.Body); !ok {
		a = c.content(block.Body, resourceSchema).Attributes["provider"]
	} else if provider := body.Attributes["provider"]; provider != nil { // most have none, which is faster to see here
		a = provider.AsHCLAttribute()
	}
	if a != nil {
		c.reference(u, a)
	}
	if a != nil || c.uses[key] == nil { // otherwise it is not overridden
		c.uses[key] = u
	}
}

// implied returns the local name of the provider of a resource.
func (c *configuration) implied(typ string) string {
	name, _, _ := strings.Cut(typ, "_")
	return c.lower(name)
}

// lower returns a name in lower case.
func (c *configuration) lower(name string) string {
	if len(name) <= len("terraform-provider") {
		return strings.ToLower(name)
	}
	folded, ok := c.folded[name]
	if !ok {
		folded = strings.ToLower(name)
		c.folded[name] = folded
	}
	return folded
}

// imported reads an import block.
func (c *configuration) imported(block *hcl.Block) {
	content := c.content(block.Body, importSchema)
	u := &use{at: block.DefRange}
	var to []string
	if a := content.Attributes["to"]; a != nil {
		to, _ = c.steps(a.Expr)
	}
	for len(to) > 2 && to[0] == "module" {
		to, u.inside = to[2:], true
	}
	if len(to) != 2 {
		c.problem(u.at, "invalid address of a resource")
		return
	}
	u.to, u.name = id{"resource", to[0], to[1]}, c.implied(to[0])
	if a := content.Attributes["provider"]; a != nil {
		c.reference(u, a)
	}
	c.others = append(c.others, u)
}

// reference reads a reference to a provider configuration.
func (c *configuration) reference(u *use, a *hcl.Attribute) {
	names, err := c.steps(a.Expr)
	if err != nil || len(names) == 0 || len(names) > 2 || c.lower(names[0]) != names[0] {
		c.problem(a.Range, "invalid reference to a provider")
		return
	}
	u.name, u.explicit = names[0], strings.Join(names, ".")
}

// steps returns the names in a reference such as aws.west["a"], without indices, whose keys may be expressions. In
// JSON, and in configurations for version 0.11, it is a string.
func (c *configuration) steps(e hcl.Expression) (names []string, err error) {
	if text, ok := quoted(e); ok {
		e = c.budget.parse(text, e.Range(), hclsyntax.LexExpression, hclsyntax.ParseExpression)
		if _, err := c.budget.result(value{}); err != nil {
			return nil, err
		}
	}
	var traversal hcl.Traversal
	switch e := e.(type) {
	case *hclsyntax.IndexExpr:
		return c.steps(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		names, err = c.steps(e.Source)
		traversal = e.Traversal
	default:
		var diags hcl.Diagnostics
		traversal, diags = hcl.AbsTraversalForExpr(e)
		err = diagnosed(diags)
	}
	for _, step := range traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	return names, err
}

// requirements sets the providers that the module requires, and sorts the problems by place. A provider is named by
// each entry and each constraint, otherwise by the first block that uses it.
func (c *configuration) requirements(host svchost.Hostname) {
	rules := addrs.ProviderRules{Host: host, NoUnderscores: !c.dir.Terraform || !c.dir.since("1.16.0")}
	addresses := map[string]addrs.Provider{} // by local name
	add := func(u *use) {
		source := u.name
		if entry := c.required[u.name]; entry != nil && entry.source != nil {
			source = *entry.source
		} else if source == "terraform" {
			source = "terraform.io/builtin/terraform"
		}
		if strings.IndexFunc(source, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			c.budget.guard.effort -= nameEffort * len(source) // its conversion takes long
		}
		if c.budget.guard.effort < 0 {
			c.problem(u.at, "too many names of providers that are not ASCII")
			return
		}
		p, err := rules.Parse(source)
		addresses[u.name] = p
		r := Requirement{Provider: p, Written: u.version, Place: place(u.at), Name: u.name, Aliases: u.aliases}
		if err == nil && u.version != "" {
			r.Constraint, err = addrs.ParseProviderConstraint(u.version)
		}
		if err != nil {
			c.problem(u.at, "provider %.100q: %v", u.name, err)
			return
		}
		c.providers = append(c.providers, r)
	}
	first := map[string]*use{} // by local name
	for _, u := range slices.AppendSeq(slices.Clone(c.others), maps.Values(c.uses)) {
		_, required := c.required[u.name]
		old, target := first[u.name], c.uses[u.to]
		switch {
		case u.inside && u.explicit != "":
			c.problem(u.at, "an import into a module must not have a provider")
		case !u.inside && target != nil && u.explicit != "" && u.explicit != target.explicit:
			c.problem(u.at, "the import and its resource must have the same provider")
		case c.dir.Terraform && (u.inside || target != nil): // the module or resource requires it
		case u.version != "":
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
	for _, u := range first {
		add(u)
	}
	if c.lists {
		c.sorted(addresses)
	}
	slices.SortFunc(c.providers, func(a, b Requirement) int {
		return cmp.Or(a.Place.compare(b.Place), a.Provider.Compare(b.Provider))
	})
	slices.SortStableFunc(c.problems, func(a, b *ConfigError) int { return a.Place.compare(b.Place) })
}
