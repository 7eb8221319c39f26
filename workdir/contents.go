package workdir

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofureg/tofureg/addrs"
)

// Contents are what a module declares beside its calls and requirements. [Dir.Read], [Dir.Evaluate] and [Dir.ReadTree]
// list them; after other methods they are empty. Override files are merged as the CLI does. An argument that must be
// constant and is not has its text as written. What only these lists need causes no [Problems]: an output that the CLI
// refuses is left out. Texts may have any characters.
type Contents struct {
	// RequiredVersions are the constraints of required_version, in the order of files and lines.
	RequiredVersions []string `json:"required_versions,omitempty"`

	Variables       []Variable       `json:"variables,omitempty"`        // sorted by name
	Outputs         []Output         `json:"outputs,omitempty"`          // sorted by name
	ProviderConfigs []ProviderConfig `json:"provider_configs,omitempty"` // sorted by name and alias
	Resources       []Resource       `json:"resources,omitempty"`        // sorted by type of block, type and name
}

// Variable is a variable block.
type Variable struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`        // as written, without quotes
	Default     string `json:"default,omitempty"`     // as written, JSON in a file of JSON; empty if it has more than 4,096 bytes
	Required    bool   `json:"required,omitempty"`    // has no default
	Description string `json:"description,omitempty"` // the text
	Deprecated  string `json:"deprecated,omitempty"`  // the message
	Nullable    bool   `json:"nullable"`              // true unless "nullable" is false
	Sensitive   bool   `json:"sensitive,omitempty"`
	Ephemeral   bool   `json:"ephemeral,omitempty"`
	Const       bool   `json:"const,omitempty"`
	Validations int    `json:"validations,omitempty"` // number of blocks
	Place       Place  `json:"place"`
}

// Output is an output block.
type Output struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"` // as written, without quotes
	Description string `json:"description,omitempty"`
	Deprecated  string `json:"deprecated,omitempty"` // the message
	Sensitive   bool   `json:"sensitive,omitempty"`
	Ephemeral   bool   `json:"ephemeral,omitempty"`
	Place       Place  `json:"place"`
}

// ProviderConfig is a provider block.
type ProviderConfig struct {
	Name     string         `json:"name"`              // local name of the provider
	Alias    string         `json:"alias,omitempty"`   // empty for the default configuration
	Provider addrs.Provider `json:"provider,omitzero"` // zero if its address is a problem
	Place    Place          `json:"place"`
}

// Resource is a block of a resource, also one in a check block.
type Resource struct {
	Mode     string         `json:"mode"` // "managed", "data", "ephemeral" or "action"
	Type     string         `json:"type"`
	Name     string         `json:"name"`
	Config   string         `json:"provider_config"`   // NAME or NAME.ALIAS, with local names; implied by the type if none is written
	Provider addrs.Provider `json:"provider,omitzero"` // zero if its address is a problem
	Place    Place          `json:"place"`
}

var (
	outputsSchema     = schema("", "output name")
	declarationSchema = schema("type default description deprecated nullable sensitive ephemeral const", "validation")
)

// listOutputs reads the outputs of a file. What is wrong with them is no problem: Prepare does not read them.
func (c *configuration) listOutputs(body hcl.Body) {
	if body, ok := body.(*hclsyntax.Body); ok { // faster than with a schema
		for _, block := range body.Blocks {
			if block.Type == "output" && len(block.Labels) == 1 {
				c.declaration(c.outputs, block.AsHCLBlock())
			}
		}
		return
	}
	content, _, _ := body.PartialContent(outputsSchema)
	for _, block := range content.Blocks {
		c.declaration(c.outputs, block)
	}
}

// listVersion lists a constraint of the CLI. Those of an override file replace the ones before.
func (c *configuration) listVersion(a *hcl.Attribute) {
	if c.overrides && a.Range.Filename != c.versioned && (c.dir.Terraform || !c.dir.since("1.12.0")) {
		c.RequiredVersions = nil
	}
	c.versioned = a.Range.Filename
	c.RequiredVersions = append(c.RequiredVersions, c.constant(a.Expr))
}

// declaration reads a variable or an output. In an override file, it replaces what is set.
func (c *configuration) declaration(all map[string]*Variable, block *hcl.Block) {
	v, name := all[block.Labels[0]], block.Labels[0]
	switch {
	case (v != nil) != c.overrides:
		return
	case v == nil:
		v = &Variable{Name: name, Required: true, Nullable: true, Place: place(block.DefRange)}
		all[name] = v
	}
	blocks := 0
	if body, ok := block.Body.(*hclsyntax.Body); ok { // faster than with a schema
		for name, a := range body.Attributes {
			c.argument(v, block.Type, name, a.Expr)
		}
		for _, b := range body.Blocks {
			if b.Type == "validation" {
				blocks++
			}
		}
	} else {
		content, _, _ := block.Body.PartialContent(declarationSchema)
		for name, a := range content.Attributes {
			c.argument(v, block.Type, name, a.Expr)
		}
		blocks = len(content.Blocks)
	}
	if !c.overrides { // whose blocks the CLI ignores
		v.Validations = blocks
	}
}

// argument reads an argument of a variable or an output.
func (c *configuration) argument(v *Variable, block, name string, e hcl.Expression) {
	switch name {
	case "type":
		v.Type = c.written(e)
		if text, ok := quoted(e); ok {
			v.Type = text
		}
	case "default":
		if v.Default, v.Required = "", false; e.Range().End.Byte-e.Range().Start.Byte <= maxText {
			v.Default = c.written(e)
		}
	case "description":
		if text := c.constant(e); text != "" || block == "variable" {
			v.Description = text
		}
	case "deprecated":
		if !c.overrides || !c.dir.Terraform {
			v.Deprecated = cmp.Or(c.constant(e), v.Deprecated)
		}
	case "nullable", "sensitive", "ephemeral", "const":
		text, flags := c.constant(e), map[string]*bool{"nullable": &v.Nullable, "sensitive": &v.Sensitive, "ephemeral": &v.Ephemeral, "const": &v.Const}
		*flags[name] = text == "true" || text == "1"
	}
}

// written returns the text of an expression in the file that is read.
func (c *configuration) written(e hcl.Expression) string {
	return strings.TrimSpace(string(e.Range().SliceBytes(c.files[len(c.files)-1].text)))
}

// constant returns the text of a constant string, number or bool, and of another expression what is written.
func (c *configuration) constant(e hcl.Expression) string {
	text, ok := joined(e)
	if !ok {
		text, ok = quoted(e) // of JSON
	}
	if !ok {
		var err error
		if text, err = c.constantText(e, false); err != nil {
			return c.written(e)
		}
	}
	return text
}

// joined returns the text of a template without expressions, which may be long: a heredoc has a part for each line.
func joined(e hcl.Expression) (string, bool) {
	var text strings.Builder
	t, ok := e.(*hclsyntax.TemplateExpr)
	for i := 0; ok && i < len(t.Parts); i++ {
		l, literal := t.Parts[i].(*hclsyntax.LiteralValueExpr)
		if ok = literal && l.Val.Type() == cty.String; ok {
			text.WriteString(l.Val.AsString())
		}
	}
	return text.String(), ok
}

// aliases reads configuration_aliases.
func (c *configuration) aliases(e hcl.Expression) (aliases []string) {
	if !c.lists {
		return nil
	}
	list, _ := hcl.ExprList(e)
	for _, e := range list {
		if names, err := c.steps(e); err == nil && (len(names) == 1 || len(names) == 2) {
			aliases = append(aliases, strings.Join(names, "."))
		}
	}
	return aliases
}

// modes are the modes of resources by type of block.
var modes = map[string]string{"resource": "managed", "data": "data", "ephemeral": "ephemeral", "action": "action"}

// sorted sorts what all files declare. Addresses are by local name.
func (c *configuration) sorted(addresses map[string]addrs.Provider) {
	for _, name := range slices.Sorted(maps.Keys(c.variables)) {
		c.Variables = append(c.Variables, *c.variables[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.outputs)) {
		v := c.outputs[name]
		c.Outputs = append(c.Outputs, Output{v.Name, v.Type, v.Description, v.Deprecated, v.Sensitive, v.Ephemeral, v.Place})
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.uses), id.compare) {
		u, at := c.uses[key], place(c.declared[key])
		if u.labels == nil {
			c.ProviderConfigs = append(c.ProviderConfigs, ProviderConfig{u.name, u.alias, addresses[u.name], at})
			continue
		}
		c.Resources = append(c.Resources, Resource{modes[key.block], u.labels[0], u.labels[1], cmp.Or(u.explicit, u.name), addresses[u.name], at})
	}
}
