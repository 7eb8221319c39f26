package workdir

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// listed returns the contents of a module, and the requirements with aliases, as lines of JSON.
func listed(t *testing.T, m *Module) (lines []string) {
	t.Helper()
	aliased := slices.DeleteFunc(slices.Clone(m.Providers), func(r Requirement) bool { return r.Aliases == nil })
	for _, list := range []any{m.RequiredVersions, m.Variables, m.Outputs, m.ProviderConfigs, m.Resources, aliased} {
		for _, item := range reflect.ValueOf(list).Seq2() {
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			must.Do(t, e.Encode(item.Interface()))
			lines = append(lines, strings.TrimSpace(text.String()))
		}
	}
	return lines
}

// TestContentsOfClients: Read merges override files as the clients do, which show the result in a plan.
func TestContentsOfClients(t *testing.T) {
	t.Parallel()
	files := trees(t, "contents")["contents/overrides that the clients show"].files
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		p.Configure(t, "")
		write(t, p.Dir, files)
		p.Init(t)
		p.Run(t, "plan", "-no-color", "-input=false", "-out=plan")
		var shown struct {
			Configuration struct {
				Configs map[string]any `json:"provider_config"`
				Module  struct {
					Variables map[string]map[string]any
					Outputs   map[string]map[string]any
					Resources []struct {
						Mode, Type, Name string
						Config           string `json:"provider_config_key"`
					}
				} `json:"root_module"`
			}
		}
		must.Do(t, json.Unmarshal([]byte(p.Run(t, "show", "-json", "plan")), &shown))
		theirs := shown.Configuration.Module
		var want, got []string
		for name, v := range theirs.Variables {
			value, ok := v["default"]
			want = append(want, fmt.Sprint(name, v["description"], v["sensitive"], value, ok))
		}
		for name, o := range theirs.Outputs {
			want = append(want, fmt.Sprint(name, o["description"], o["sensitive"]))
		}
		for _, r := range theirs.Resources {
			want = append(want, fmt.Sprint(r))
		}
		for name := range shown.Configuration.Configs {
			want = append(want, name)
		}

		m := must.Get((&Dir{Path: p.Dir, Terraform: p.Name() == "terraform"}).Read(t.Context()))(t)
		orNil := func(v any) any { // as the plan omits it
			if reflect.ValueOf(v).IsZero() {
				return nil
			}
			return v
		}
		for _, v := range m.Variables {
			var value any
			must.Do(t, json.Unmarshal([]byte(v.Default), &value))
			got = append(got, fmt.Sprint(v.Name, orNil(v.Description), orNil(v.Sensitive), value, !v.Required))
		}
		for _, o := range m.Outputs {
			got = append(got, fmt.Sprint(o.Name, orNil(o.Description), orNil(o.Sensitive)))
		}
		for _, r := range m.Resources {
			got = append(got, fmt.Sprint(struct{ Mode, Type, Name, Config string }{r.Mode, r.Type, r.Name, r.Config}))
		}
		for _, c := range m.ProviderConfigs {
			got = append(got, strings.TrimSuffix(c.Name+"."+c.Alias, "."))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("Read: %q, want %q", got, want)
		}
	})
}

// TestContentsLimits: a default has at most 4,096 bytes, other texts are whole.
func TestContentsLimits(t *testing.T) {
	t.Parallel()
	for more, listed := range []bool{true, false} {
		long, lines := strings.Repeat("x", maxText-2+more), strings.Repeat("y\n", maxText)
		typ := "tuple([" + strings.Repeat("any,\n", maxText) + "])"
		d := &Dir{Path: t.TempDir()}
		write(t, d.Path, map[string]string{
			"a.tf":      "variable \"a\" {\n  default = \"" + long + "\"\n  description = <<EOT\n" + lines + "EOT\n  type = " + typ + "\n}\n",
			"b.tf.json": `{"variable":{"b":{"default":"` + long + `"}}}`,
		})
		m := must.Get(d.Read(t.Context()))(t)
		for _, v := range m.Variables {
			if (v.Default == `"`+long+`"`) != listed || (v.Default == "") == listed || v.Required {
				t.Errorf("variable %s: a default of %d bytes has %d, want it listed: %v", v.Name, len(long)+2, len(v.Default), listed)
			}
		}
		if v := m.Variables[0]; v.Description != lines || v.Type != typ {
			t.Errorf("a description of %d bytes and a type of %d, want %d and %d", len(v.Description), len(v.Type), len(lines), len(typ))
		}
	}
}

// TestWhoListsContents: Evaluate and ReadTree list contents as Read does, the latter of all modules. Other methods do
// not: they need no memory for it.
func TestWhoListsContents(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir()}
	text := "variable \"v\" {}\noutput \"o\" {}\nterraform {\n  required_version = \"> 1\"\n  required_providers {\n    a = {\n      source = \"a/b\"\n      configuration_aliases = [a.b]\n    }\n  }\n}\n"
	write(t, d.Path, map[string]string{"main.tf": text + "module \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": text + "data \"a_b\" \"c\" {}\n"})
	read := func(call func(context.Context) (*Module, error)) []Module {
		return []Module{*must.Get(call(t.Context()))(t)}
	}
	tree := func(call func(context.Context) (*Result, error)) []Module {
		return must.Get(call(t.Context()))(t).Modules
	}
	for name, c := range map[string]struct {
		modules []Module
		want    []int
	}{
		"Read":           {read(d.Read), []int{4}},
		"Evaluate":       {read(d.Evaluate), []int{4}},
		"ReadTree":       {tree(d.ReadTree), []int{4, 5}},
		"InstallModules": {tree(d.InstallModules), []int{0, 0}},
	} {
		var got []int
		for _, m := range c.modules {
			got = append(got, len(listed(t, &m)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s lists %v items of the modules, want %v", name, got, c.want)
		}
	}
}

// TestContentsCost: whatever is listed, it takes at most a quarter of the memory for the rest of Read, a copy of the text,
// and twice what is charged for expressions.
func TestContentsCost(t *testing.T) {
	const n = 500
	repeat := func(format string) string {
		var text strings.Builder
		for i := range n {
			text.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return text.String()
	}
	variable := func(argument string) string { return "variable \"v\" {\n  " + argument + "\n}\n" }
	for name, files := range map[string]map[string]string{
		"variables":   {"a.tf": repeat("variable \"v#\" {}\n")},
		"outputs":     {"a.tf": repeat("output \"v#\" {}\n")},
		"resources":   {"a.tf": repeat("resource \"a_b\" \"v#\" {}\n")},
		"blocks":      {"a.tf": "variable \"v\" {\n" + repeat("validation {}\n") + "}\n"},
		"lines":       {"a.tf": variable("description = <<E\n" + repeat("#\n") + "E\n")},
		"parts":       {"a.tf": variable("description = \"" + repeat("x${1}") + "\"")},
		"bytes":       {"a.tf": variable("description = \"" + strings.Repeat("x", 100*n) + "\"")},
		"type":        {"a.tf": variable("type = object({" + repeat("a# = string,") + "})")},
		"sums":        {"a.tf": variable("description = 1" + repeat(" + 1"))},
		"conditions":  {"a.tf": repeat("variable \"v#\" {\n  sensitive = true ? !true : false\n}\n")},
		"expressions": {"a.tf": repeat("variable \"v#\" {\n  description = x.y[#]\n}\n")},
		"duplicates":  {"a.tf": repeat("output \"v\" {\n  description = \"abc\"\n}\n")},
		"overrides":   {"a.tf": "variable \"v\" {}\noutput \"v\" {}\n", "override.tf": repeat("variable \"v\" {\n  default = \"abc\"\n}\noutput \"v\" {\n  description = \"abc\"\n}\n")},
		"versions":    {"a.tf": repeat("terraform {\n  required_version = \"> 1\"\n}\n")},
		"aliases":     {"a.tf": "terraform {\n  required_providers {\n    a = { configuration_aliases = [" + repeat("a.b#,") + "] }\n  }\n}\n"},
		"not aliases": {"a.tf": "terraform {\n  required_providers {\n    a = { configuration_aliases = [" + repeat("(a)[#],") + "] }\n  }\n}\n"},
		"JSON":        {"a.tf.json": `{"variable":{` + repeat(`"v#":{"description":"abc","type":"any","sensitive":true,"default":[]},`) + `"v":{}}}`},
		"JSON values": {"a.tf.json": `{"variable":{"v":{"description":[` + repeat(`{"a":#},`) + `1],"type":[` + repeat(`{"a":#},`) + `1]}}}`},
		"JSON texts":  {"a.tf.json": `{"terraform":{"required_providers":{"a":{"configuration_aliases":[` + repeat(`"a.b#",`) + `"a"]}}}}`},
	} {
		d := &Dir{Path: t.TempDir()}
		write(t, d.Path, files)
		var allocated [2]int
		charged, size := 0, 0
		for _, text := range files {
			size += len(text)
		}
		for i := range allocated {
			w := must.Get(d.walk(true, false))(t)
			w.lists = i == 1
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			must.Do(t, w.read(t.Context(), w.top()))
			runtime.ReadMemStats(&after)
			allocated[i], charged = int(after.TotalAlloc-before.TotalAlloc), maxWork-w.budget.left
		}
		if most := allocated[0]/4 + size + 2*charged; allocated[1]-allocated[0] > most {
			t.Errorf("%s: %d bytes are allocated and %d without the contents, want at most %d more", name, allocated[1], allocated[0], most)
		}
	}
}
