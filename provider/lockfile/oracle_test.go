package lockfile_test

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// verdict is the result of the HCL library and the rules of the CLI for a file.
type verdict struct {
	syntax  bool // it is HCL
	lock    bool // it is a lock file for the CLI
	literal bool // it has no expressions but texts and lists of them
	entries map[string]string
}

// consult parses src with the HCL library, without evaluating it.
func consult(src string) verdict {
	var v verdict
	file, diags := hclsyntax.ParseConfig([]byte(src), "", hcl.InitialPos)
	v.syntax = !diags.HasErrors()
	v.entries = map[string]string{}
	if !v.syntax {
		return v
	}
	body := file.Body.(*hclsyntax.Body)
	v.lock, v.literal = len(body.Attributes) == 0, true
	for _, b := range body.Blocks {
		if b.Type == "module" {
			v.lock = v.lock && len(b.Labels) == 1
			continue
		}
		if b.Type != "provider" || len(b.Labels) != 1 {
			v.lock = false
			continue
		}
		if _, twice := v.entries[b.Labels[0]]; twice {
			v.lock = false
		}
		v.provider(b)
	}
	return v
}

func (v *verdict) provider(b *hclsyntax.Block) {
	p, err := addrs.ParseProvider(b.Labels[0])
	if err != nil || p.String() != b.Labels[0] || p.IsBuiltIn() || p.IsLegacy() || len(b.Body.Blocks) > 0 {
		v.lock = false
	}
	var parts []string
	for _, name := range []string{"version", "constraints"} {
		text := ""
		if a := b.Body.Attributes[name]; a != nil {
			var ok bool
			if text, ok = v.text(a.Expr); !ok {
				v.lock = false
			}
		}
		parts = append(parts, text)
	}
	version, err := addrs.ParseVersion(parts[0])
	if err != nil || version.String() != parts[0] {
		v.lock = false
	}
	c, err := addrs.ParseProviderConstraint(parts[1])
	if err != nil || c.String() != parts[1] {
		v.lock = false
	}
	for name, a := range b.Body.Attributes {
		switch name {
		case "version", "constraints":
		case "hashes":
			hashes := v.hashes(a.Expr)
			slices.Sort(hashes)
			parts = append(parts, slices.Compact(hashes)...)
		default:
			v.lock = false
		}
	}
	v.entries[b.Labels[0]] = strings.Join(parts, "|")
}

func (v *verdict) hashes(e hclsyntax.Expression) []string {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		v.lock = false
		if _, ok := v.text(e); !ok {
			v.literal = false
		}
		return nil
	}
	var out []string
	for _, e := range list.Exprs {
		text, ok := v.text(e)
		h, err := checksum.ParseHash(text)
		if !ok || err != nil || h.String() != text {
			v.lock = false
		}
		out = append(out, text)
	}
	v.lock = v.lock && len(out) > 0
	return out
}

// text returns what e says if it is nothing but a text in quotes.
func (v *verdict) text(e hclsyntax.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok {
		v.literal = false
		return "", false
	}
	out := ""
	for _, part := range t.Parts {
		lit, ok := part.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.Type().FriendlyName() != "string" {
			v.literal = false
			return "", false
		}
		out += lit.Val.AsString()
	}
	return out, true
}
