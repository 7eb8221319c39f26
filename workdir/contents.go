package workdir

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
)

// Contents are what a module declares beside its calls and requirements, each list sorted by name. Texts are printable
// and have at most 4 KiB. Nothing is evaluated.
type Contents struct {
	// RequiredVersions are the constraints of the CLI, sorted by file and line.
	RequiredVersions []string `json:"required_versions,omitempty"`

	Variables       []Variable       `json:"variables,omitempty"`
	Outputs         []Output         `json:"outputs,omitempty"`
	ProviderConfigs []ProviderConfig `json:"provider_configs,omitempty"`
	Resources       []Resource       `json:"resources,omitempty"`
}

// Variable is a variable of a module.
type Variable struct {
	Declaration
	Default     string `json:"default,omitempty"`      // as written; empty if there is none, or one of more than 4 KiB
	LongDefault bool   `json:"long_default,omitempty"` // has a default of more than 4 KiB
	Required    bool   `json:"required,omitempty"`     // has no default
	NotNullable bool   `json:"not_nullable,omitempty"` // has "nullable = false"
	Const       bool   `json:"const,omitempty"`
	Validations int    `json:"validations,omitempty"` // number of the blocks
}

// Output is an output of a module.
type Output struct {
	Declaration
	Preconditions int `json:"preconditions,omitempty"` // number of the blocks
}

// Declaration is what variables and outputs have in common.
type Declaration struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"` // as written
	Description string `json:"description,omitempty"`
	Deprecated  string `json:"deprecated,omitempty"` // the message
	Sensitive   bool   `json:"sensitive,omitempty"`
	Ephemeral   bool   `json:"ephemeral,omitempty"`
	Place       Place  `json:"place"`
}

// ProviderConfig is a provider block.
type ProviderConfig struct {
	Name     string         `json:"name"` // local name of the provider
	Alias    string         `json:"alias,omitempty"`
	Provider addrs.Provider `json:"provider,omitzero"` // zero if the address is a problem
	Place    Place          `json:"place"`
}

// Resource is a block of a resource.
type Resource struct {
	Mode     string         `json:"mode"` // "managed", "data", "ephemeral" or "action"
	Type     string         `json:"type"`
	Name     string         `json:"name"`
	Config   string         `json:"provider_config"`   // NAME or NAME.ALIAS, without a key; the default of the type if none is written
	Provider addrs.Provider `json:"provider,omitzero"` // zero if the address is a problem
	Place    Place          `json:"place"`
}

var (
	variableSchema = schema("type default description sensitive nullable ephemeral deprecated const", "validation")
	outputSchema   = schema("type description sensitive ephemeral deprecated", "precondition")
)

// declaration reads a variable or an output. In an override file, it replaces what is set.
func (c *configuration) declaration(v *Variable, block *hcl.Block, s *hcl.BodySchema) {
	if v.Name == "" {
		v.Name, v.Place, v.Required = label(block.Labels[0]), place(block.DefRange), true
	}
	blocks := 0
	set := func(name string, e hcl.Expression) {
		switch name {
		case "type":
			v.Type, _ = c.written(e)
			if text, ok := quoted(e); ok {
				v.Type = multiline(text)
			}
		case "default":
			v.Default, v.LongDefault = c.written(e)
			v.Required = false
		case "description":
			v.Description = c.message(e)
		case "deprecated":
			v.Deprecated = c.message(e)
		case "sensitive":
			v.Sensitive = c.flag(e)
		case "nullable":
			v.NotNullable = !c.flag(e)
		case "ephemeral":
			v.Ephemeral = c.flag(e)
		case "const":
			v.Const = c.flag(e)
		}
	}
	if body, ok := block.Body.(*hclsyntax.Body); ok { // faster than a schema
		for name, a := range body.Attributes {
			set(name, a.Expr)
		}
		for _, b := range body.Blocks {
			if b.Type == s.Blocks[0].Type {
				blocks++
			}
		}
	} else {
		content := c.content(block.Body, s)
		for name, a := range content.Attributes {
			set(name, a.Expr)
		}
		blocks = len(content.Blocks)
	}
	if !c.overrides { // the CLI ignores those of an override file
		v.Validations = blocks
	}
}

// written returns the text of an expression, unless it is longer than maxText.
func (c *configuration) written(e hcl.Expression) (text string, long bool) {
	at := e.Range()
	if at.End.Byte-at.Start.Byte <= maxText {
		text = multiline(strings.TrimSpace(string(at.SliceBytes(c.files[len(c.files)-1].text))))
		return text, text == ""
	}
	return "", true
}

// message returns a text that should be constant.
func (c *configuration) message(e hcl.Expression) string {
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		var text strings.Builder
		for _, part := range t.Parts { // a heredoc has one for each line
			literal, ok := part.(*hclsyntax.LiteralValueExpr)
			if !ok || literal.Val.Type() != cty.String {
				c.problem(e.Range(), "the text is not constant")
				return ""
			}
			if text.Len() <= maxText {
				text.WriteString(literal.Val.AsString())
			}
		}
		return multiline(text.String())
	}
	if text, ok := quoted(e); ok {
		return multiline(text)
	}
	text, err := c.constantText(e, false)
	c.problems.add(err)
	return multiline(text)
}

// flag returns a constant bool.
func (c *configuration) flag(e hcl.Expression) bool {
	if l, ok := e.(*hclsyntax.LiteralValueExpr); ok && l.Val.Type() == cty.Bool && !l.Val.IsNull() {
		return l.Val.True()
	}
	if json.IsJSONExpression(e) {
		if v, diags := e.Value(nil); !diags.HasErrors() && v.Type() == cty.Bool && !v.IsNull() {
			return v.True()
		}
	}
	text, err := c.constantText(e, false)
	c.problems.add(err)
	return text == "true"
}

// multiline makes the lines of a text printable. It shortens it to maxText.
func multiline(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == '\r' || r == '\n' || r == '\t' || !unicode.IsPrint(r) }) < 0 {
		return failure.Printable(text, maxText)
	}
	text = strings.ReplaceAll(text[:min(len(text), 2*maxText)], "\r\n", "\n")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		var parts []string
		for part := range strings.SplitSeq(line, "\t") {
			parts = append(parts, failure.Printable(part, maxText))
		}
		lines = append(lines, strings.Join(parts, "\t"))
	}
	text = strings.Join(lines, "\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText-3], "") + "..."
	}
	return text
}

// label returns the printable text of a name.
func label(name string) string { return failure.Printable(name, maxName) }

// contents lists what the module declares. It is called after all files are read, with the addresses by local name.
func (c *configuration) contents(address func(name string) addrs.Provider) {
	for _, key := range slices.Sorted(maps.Keys(c.variables)) {
		v := c.variables[key]
		if strings.HasPrefix(key, "variable ") {
			c.Variables = append(c.Variables, *v)
		} else {
			c.Outputs = append(c.Outputs, Output{v.Declaration, v.Validations})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.uses)) {
		u := c.uses[key]
		words := strings.SplitN(key, " ", 3)
		if words[0] == "provider" {
			_, alias, _ := strings.Cut(u.explicit, ".")
			c.ProviderConfigs = append(c.ProviderConfigs, ProviderConfig{label(u.name), label(alias), address(u.name), place(u.at)})
			continue
		}
		mode := words[0]
		if mode == "resource" {
			mode = "managed"
		}
		at := cmp.Or(c.declared[key], u.at)
		c.Resources = append(c.Resources, Resource{mode, label(words[1]), label(words[2]), label(cmp.Or(u.explicit, u.name)), address(u.name), place(at)})
	}
}
