package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A configuration is the part of a module's files that init needs.
type configuration struct {
	calls    map[string]*call
	required map[string]*requirement // by local name
	used     map[string]bool         // local names of resources and provider blocks
	versions map[string][]string     // in provider blocks, by local name
}

// A call is a module block.
type call struct {
	name    string
	at      hcl.Range
	source  string
	version string // constraint, may be empty
}

// A requirement is an entry of required_providers.
type requirement struct {
	at              hcl.Range
	source, version string // may be empty
}

var (
	fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "module", LabelNames: []string{"name"}},
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	}}
	terraformSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}}}
	callSchema      = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "version"}}}
	providerSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "version"}}}
	resourceSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}}}
)

// read reads the module in a directory.
func (s *source) read(ctx context.Context, dir string) (*configuration, error) {
	primary, overrides, err := s.names(dir)
	if err != nil {
		return nil, err
	}
	if len(primary) == 0 && dir != "." { // the root may be empty, as for the CLI
		return nil, &ConfigError{dir, "there are no configuration files"}
	}
	c := &configuration{calls: map[string]*call{}, required: map[string]*requirement{}, used: map[string]bool{}, versions: map[string][]string{}}
	for i, name := range slices.Concat(primary, overrides) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		body, err := s.parse(dir, name)
		if err != nil {
			return nil, err
		}
		if err := c.file(body, i >= len(primary)); err != nil {
			return nil, err
		}
	}
	for name, call := range c.calls {
		if call.source == "" {
			return nil, wrong(call.at, "module %q has no source", name)
		}
	}
	return c, nil
}

func (c *configuration) file(body hcl.Body, override bool) error {
	content, _, diags := body.PartialContent(fileSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for _, block := range content.Blocks {
		var err error
		switch block.Type {
		case "terraform":
			err = c.terraform(block.Body, override)
		case "module":
			err = c.module(block, override)
		case "provider":
			err = c.provider(block)
		default:
			err = c.resource(block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *configuration) module(block *hcl.Block, override bool) error {
	name := block.Labels[0]
	old := c.calls[name]
	switch {
	case !hclsyntax.ValidIdentifier(name):
		return wrong(block.DefRange, "invalid module name %.100q: want letters, digits, underscores and hyphens", name)
	case override && old == nil:
		return wrong(block.DefRange, "module %q to override does not exist", name)
	case !override && old != nil:
		return wrong(block.DefRange, "module %q is declared in %s:%d already", name, old.at.Filename, old.at.Start.Line)
	case old == nil:
		old = &call{name: name, at: block.DefRange}
		c.calls[name] = old
	}
	return literals(block.Body, callSchema, map[string]*string{"source": &old.source, "version": &old.version})
}

// literals reads attributes that must be strings without references.
func literals(body hcl.Body, schema *hcl.BodySchema, to map[string]*string) error {
	content, _, diags := body.PartialContent(schema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for name, attribute := range content.Attributes {
		text, err := literal(attribute.Expr, name)
		if err != nil {
			return err
		}
		*to[name] = text
	}
	return nil
}

// literal returns the text of a string. It evaluates nothing: short expressions can take hours.
func literal(e hcl.Expression, name string) (text string, err error) {
	if r := e.Range(); r.End.Byte-r.Start.Byte > maxText {
		return "", wrong(r, "%q has more than %d bytes", name, maxText)
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
		if ok = !diags.HasErrors() && !value.IsNull() && value.Type() == cty.String; ok {
			text = value.AsString()
		}
	}
	if !ok || json.IsJSONExpression(e) && (strings.Contains(text, "${") || strings.Contains(text, "%{")) {
		return "", wrong(e.Range(), "%q must be a literal string; this program does not evaluate expressions", name)
	}
	return text, nil
}

func (c *configuration) terraform(body hcl.Body, override bool) error {
	content, _, diags := body.PartialContent(terraformSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	for _, block := range content.Blocks {
		attributes, diags := block.Body.JustAttributes()
		if diags.HasErrors() {
			return diagnosed(diags)
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			if old := c.required[name]; old != nil && !override {
				return wrong(attributes[name].NameRange, "provider %q is required in %s:%d already", name, old.at.Filename, old.at.Start.Line)
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

// parseRequirement reads an entry of required_providers. It ignores other members, such as
// configuration_aliases.
func parseRequirement(attribute *hcl.Attribute) (r *requirement, err error) {
	r = &requirement{at: attribute.NameRange}
	members, diags := hcl.ExprMap(attribute.Expr)
	if diags.HasErrors() {
		r.version, err = literal(attribute.Expr, attribute.Name) // the form of version 0.12
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
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *configuration) provider(block *hcl.Block) error {
	name, version := block.Labels[0], ""
	c.used[name] = true
	err := literals(block.Body, providerSchema, map[string]*string{"version": &version})
	if version != "" {
		c.versions[name] = append(c.versions[name], version)
	}
	return err
}

func (c *configuration) resource(block *hcl.Block) error {
	content, _, diags := block.Body.PartialContent(resourceSchema)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	name, _, _ := strings.Cut(block.Labels[0], "_")
	if attribute := content.Attributes["provider"]; attribute != nil {
		// In JSON, and in configurations for version 0.11, it is a string.
		if text, err := literal(attribute.Expr, "provider"); err == nil {
			name, _, _ = strings.Cut(text, ".")
		} else if traversal, diags := hcl.AbsTraversalForExpr(attribute.Expr); !diags.HasErrors() && !json.IsJSONExpression(attribute.Expr) {
			name = traversal.RootName()
		} else {
			return wrong(attribute.Range, "invalid reference to a provider")
		}
	}
	c.used[name] = true
	return nil
}

// requirements adds the providers that the module requires to all.
func (c *configuration) requirements(host svchost.Hostname, all map[addrs.Provider]addrs.ProviderConstraint) error {
	for name := range c.used {
		if c.required[name] == nil {
			c.required[name] = &requirement{}
		}
	}
	for name, r := range c.required {
		source := r.source
		switch {
		case source == "" && name == "terraform":
			source = "terraform.io/builtin/terraform"
		case source == "":
			source = name
		}
		p, err := addrs.ParseProviderIn(host, source)
		if err != nil {
			return wrong(r.at, "provider %q: %v", name, err)
		}
		for _, text := range append(c.versions[name], r.version) {
			constraint, err := addrs.ParseProviderConstraint(text)
			if err != nil {
				return wrong(r.at, "provider %q: %v", name, err)
			}
			all[p] = all[p].And(constraint)
		}
	}
	return nil
}
