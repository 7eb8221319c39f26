package workdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// An expressionCase is an expression and what becomes of it, as testdata/expressions/cases.txt explains.
type expressionCase struct{ key, text, class, want string }

func expressionCases(t *testing.T) (all []expressionCase) {
	t.Helper()
	for i, line := range strings.Split(read(t, ".", "testdata/expressions/cases.txt"), "\n") {
		at := strings.LastIndex(line, "\t")
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		c := expressionCase{key: fmt.Sprintf("line%d", i+1), text: line[:at], class: "same", want: line[at+1:]}
		for _, class := range []string{"refused", "accepted ", "stricter: ", "not evaluated: "} {
			if want, ok := strings.CutPrefix(c.want, class); ok {
				c.class, c.want = strings.Trim(class, " :"), want
			}
		}
		all = append(all, c)
	}
	return all
}

// files returns a file with a module block for each case.
func expressionFiles(t *testing.T, cases []expressionCase, names bool) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"main.tf", "terraform.tfvars"} {
		files[name] = read(t, ".", "testdata/expressions/"+name)
	}
	for _, c := range cases {
		if names {
			files[c.key+".tf"] = fmt.Sprintf("locals {\n  %[1]s = %[2]s\n}\nmodule %[1]q {\n  source = \"./v/${local.%[1]s}\"\n}\n", c.key, c.text)
		} else {
			files[c.key+".tf"] = fmt.Sprintf("module %[1]q {\n  source = \"./v/${%[2]s}\"\n}\n", c.key, c.text)
		}
		if c.class != "refused" {
			files["v/"+c.want+"/x.tf"] = ""
		}
	}
	return files
}

// evaluated returns the calls of a directory by key.
func evaluated(t *testing.T, d *Dir) map[string]Call {
	t.Helper()
	m, err := d.Evaluate(t.Context())
	if err != nil {
		t.Fatalf("Evaluate: %v %v", err, err.(interface{ Unwrap() []error }).Unwrap())
	}
	calls := map[string]Call{}
	for _, c := range m.Calls {
		calls[c.Key] = c
	}
	return calls
}

// sources runs init of a client, which must succeed, and returns the sources in its manifest.
func sources(t *testing.T, p *terraformtest.Project) map[string]string {
	t.Helper()
	p.Run(t, "init", "-no-color", "-input=false", "-backend=false")
	var manifest struct {
		Modules []struct{ Key, Source string }
	}
	must.Do(t, json.Unmarshal([]byte(p.Read(t, modulesJSON)), &manifest))
	all := map[string]string{}
	for _, m := range manifest.Modules {
		all[m.Key] = m.Source
	}
	return all
}

// named matches an expression with a variable or local value.
var named = regexp.MustCompile(`(var|local)[.]`)

// TestExpressions: an expression has the value that it has in the clients, or they refuse it too; what they evaluate
// and this package does not is an error that says so.
func TestExpressions(t *testing.T) {
	t.Parallel()
	cases := expressionCases(t)
	if len(cases) < 100 {
		t.Fatalf("%d cases, want at least 100", len(cases))
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, expressionFiles(t, cases, true))
	calls := evaluated(t, d)
	var good, bad []expressionCase
	for _, c := range cases {
		got := calls[c.key]
		switch c.class {
		case "same", "accepted":
			if got.Err != nil || got.Source != "./v/"+c.want {
				t.Errorf("cases.txt:%s: %s: %q, %v; want %q", c.key, c.text, got.Source, got.Err, c.want)
			}
		case "refused", "stricter":
			if got.Err == nil || strings.Contains(got.Err.Error(), "is not evaluated here") && !strings.ContainsAny(c.text, "(") {
				t.Errorf("cases.txt:%s: %s: %q, %v; want an error", c.key, c.text, got.Source, got.Err)
			}
		case "not evaluated":
			if got.Err == nil || !strings.Contains(got.Err.Error(), "is not evaluated here: write the result as a literal") {
				t.Errorf("cases.txt:%s: %s: %q, %v; want that it is not evaluated", c.key, c.text, got.Source, got.Err)
			}
		}
		if e, ok := errors.AsType[*ConfigError](got.Err); got.Err != nil && (!ok || e.Place.Line == 0 || strings.Contains(e.Text, "hidden")) {
			t.Errorf("cases.txt:%s: %s: %#v, want a ConfigError with a line and without a value", c.key, c.text, got.Err)
		}
		if c.class == "refused" || c.class == "accepted" {
			bad = append(bad, c)
		} else {
			good = append(good, c)
		}
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		terraform := p.Name() == "terraform"
		good, bad := good, bad
		if terraform { // which evaluates constants
			d := &Dir{Path: t.TempDir(), Terraform: true, Version: addrs.MustParseVersion("1.11.4")}
			write(t, d.Path, expressionFiles(t, cases, false))
			calls := evaluated(t, d)
			good, bad = nil, nil
			for _, c := range cases {
				if got := calls[c.key]; c.class == "accepted" || c.class == "stricter" || named.MatchString(c.text) {
					continue
				} else if got.Err == nil {
					good = append(good, c)
				} else if got.Err != nil && !strings.Contains(got.Err.Error(), "is not evaluated here") {
					bad = append(bad, c)
				}
			}
		}
		if len(good) < 30 || len(bad) < 30 {
			t.Errorf("%d cases that are evaluated and %d that are refused, want at least 30 of both", len(good), len(bad))
		}
		write(t, p.Dir, expressionFiles(t, good, !terraform))
		found := sources(t, p)
		for _, c := range good {
			if want := "./" + path.Join("v", c.want); found[c.key] != want {
				t.Errorf("cases.txt:%s: %s: %s has %q, want %q", c.key, c.text, p.Name(), found[c.key], want)
			}
		}
		p = terraformtest.New(t, program)
		write(t, p.Dir, expressionFiles(t, bad, !terraform))
		out, err := p.Try(t, "init", "-no-color", "-input=false", "-backend=false")
		for _, c := range bad {
			if err == nil || !strings.Contains(string(out), c.key+".tf line ") {
				t.Errorf("cases.txt:%s: %s: %s accepts it", c.key, c.text, p.Name())
			}
		}
	})
}

// A generator writes configurations of the grammar that is evaluated. Each local value may name any before it.
type generator struct {
	*rand.Rand
	texts, bools, objects, lists []string // expressions
	longest                      map[string]int
}

func (g *generator) of(expressions []string, orElse string) string {
	if len(expressions) == 0 || g.IntN(8) == 0 {
		return orElse
	}
	return expressions[g.IntN(len(expressions))]
}

// text returns an expression of a short text.
func (g *generator) text() string { return g.of(g.texts, `"x"`) }

// next returns an expression, and what it is.
func (g *generator) next() (expression string, kind *[]string) {
	t, u, b, o, l := g.text(), g.text(), g.of(g.bools, "true"), g.of(g.objects, `{ a = "x", b = "y" }`), g.of(g.lists, `["x", "y"]`)
	either := func(expressions ...string) string { return expressions[g.IntN(len(expressions))] }
	switch g.IntN(5) {
	case 0:
		return either(t+" == "+u, t+" != "+u, "!("+b+")", "("+b+" && "+b+")", "("+b+" || !"+b+")"), &g.bools
	case 1:
		return either(`{ a = `+t+`, b = `+u+` }`, `{ (`+u+`) = "z", "a" = `+t+`, b = `+t+`, c = `+o+` }`, b+" ? "+o+` : { a = "", b = "" }`), &g.objects
	case 2:
		return either(`[`+t+`, `+u+`]`, `[`+t+`, 1.50, `+u+`, true]`, "var.l"), &g.lists
	}
	if g.longest[t]+g.longest[u] > 100 {
		t, u = `"x"`, `"yy"`
	}
	e := either(`"a${`+t+`}"`, `"${`+t+`}-%{if `+b+`}${`+u+`}%{else}-%{endif}"`, b+" ? "+t+" : "+u, o+".a", o+`["b"]`, `(`+l+`)[1]`,
		`join("-", [`+t+`, `+u+`])`, `join("", `+l+`)`, `format("%s-%v-%d%%", `+t+`, `+u+`, 15)`, `lookup(`+o+`, `+t+`, `+u+`)`,
		`nonsensitive(sensitive(`+t+`))`, "var.o.c", "var.o.d.e", "path.module", "terraform.workspace", "-1.50", "("+t+")")
	return e, &g.texts
}

// files returns a configuration of n local values, for half of which a module is called with them.
func (g *generator) files(n int, isJSON bool) map[string]string {
	g.longest = map[string]int{}
	native, locals, modules := &strings.Builder{}, map[string]string{}, map[string]map[string]string{}
	for i := range n {
		e, kind := g.next()
		name := fmt.Sprintf("local.x%d", i)
		for _, t := range g.texts {
			if strings.Contains(e, t) {
				g.longest[name] += 10 + g.longest[t]
			}
		}
		fmt.Fprintf(native, "locals {\n  x%d = %s\n}\n", i, e)
		locals[fmt.Sprintf("x%d", i)] = "${" + e + "}"
		if *kind = append(*kind, name); i%2 == 0 {
			source, v, o, l := `"./${`+g.of(g.bools, "true")+` ? "m" : "m"}"`, g.text(), g.of(g.objects, `{ b = "y" }`), g.of(g.lists, "[]")
			fmt.Fprintf(native, "module \"m%d\" {\n  source = %s\n  v = %s\n  o = %s\n  l = %s\n}\n", i, source, v, o, l)
			modules[fmt.Sprintf("m%d", i)] = map[string]string{"source": "${" + source + "}", "v": "${" + v + "}", "o": "${" + o + "}", "l": "${" + l + "}"}
		}
	}
	files := map[string]string{"main.tf": native.String(), "n/n.tf": ""}
	if isJSON {
		text, _ := json.Marshal(map[string]any{"locals": locals, "module": modules})
		files = map[string]string{"main.tf.json": string(text), "n/n.tf": ""}
	}
	const variables = "variable \"o\" {\n  type = object({ a = optional(string), b = optional(string, \"d\"), c = optional(any, \"d\"), d = optional(object({ e = optional(string, \"f\") }), {}) })\n  default = {}\n}\nvariable \"l\" {\n  type = list(string)\n  default = [\"a\", 1, true]\n}\n"
	files["v.tf"] = variables
	files["m/m.tf"] = variables + "variable \"v\" {\n}\nmodule \"n\" {\n  source = \"../${var.v == var.o.b && var.o.d.e == join(\"\", var.l) ? \"n\" : \"n\"}\"\n}\n"
	return files
}

// work evaluates all calls of a directory and of the modules that they call. It returns the work that was charged, and
// the bytes that were allocated.
func work(t *testing.T, d *Dir, mustSucceed bool) (charged, allocated int) {
	t.Helper()
	w := must.Get(d.walk(true, true))(t)
	var visit func(s *spot)
	visit = func(s *spot) {
		must.Do(t, w.read(t.Context(), s))
		s.config.load(&w.budget)
		for _, c := range s.config.list {
			var before, after runtime.MemStats
			left := w.budget.left
			runtime.ReadMemStats(&before)
			s.evaluate(t.Context(), &c)
			runtime.ReadMemStats(&after)
			charged += left - w.budget.left
			allocated += int(after.TotalAlloc - before.TotalAlloc)
			if mustSucceed {
				must.Do(t, c.Err)
				visit(must.Get(w.find(t.Context(), s, c))(t))
			}
		}
	}
	visit(w.top())
	return charged, allocated
}

// TestWorkIsLinear: the work for a configuration, which counts steps and bytes, and the bytes that are allocated grow
// with its size, and at most twice as many bytes are allocated as are charged.
func TestWorkIsLinear(t *testing.T) {
	for _, isJSON := range []bool{false, true} {
		var sums [3][2]int
		for seed := range uint64(10) {
			for size := range sums {
				g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
				d := &Dir{Path: t.TempDir()}
				write(t, d.Path, g.files(50<<size, isJSON))
				charged, allocated := work(t, d, true)
				if allocated > 2*charged {
					t.Errorf("seed %d, JSON %t, %d local values: %d bytes are allocated, want at most twice %d", seed, isJSON, 50<<size, allocated, charged)
				}
				sums[size][0] += charged
				sums[size][1] += allocated
			}
		}
		t.Logf("JSON %t: charged and allocated for 50, 100 and 200 local values: %v", isJSON, sums)
		for i, what := range []string{"work is charged", "bytes are allocated"} {
			if sums[1][i]*2 > sums[0][i]*5 || sums[2][i]*2 > sums[1][i]*5 {
				t.Errorf("JSON %t: %d, %d and %d %s for n, 2n and 4n local values, want twice as many each time", isJSON, sums[0][i], sums[1][i], sums[2][i], what)
			}
		}
	}
}

// TestWorkIsCharged: whatever an expression is made of, at most twice as many bytes are allocated as are charged.
func TestWorkIsCharged(t *testing.T) {
	const n = 300
	repeat := func(format string) string {
		var text strings.Builder
		for i := range n {
			text.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
		}
		return text.String()
	}
	long := strings.Repeat("x", 1_000)
	for name, text := range map[string]string{
		"numbers":     `"` + repeat("${1e999}") + `"`,
		"small":       `"` + repeat("${1e-999}") + `"`,
		"of a list":   `join("", [` + repeat("1e99,") + `])`,
		"texts":       `join("", [` + repeat(`"${"a"}",`) + `])`,
		"keys":        `{` + repeat(`"k#" = "",`) + `}["k1"]`,
		"computed":    `{` + repeat(`("k${#}") = "",`) + `}["k1"]`,
		"errors":      `"` + repeat("${true ? 1 : local.z#}") + `"`,
		"same error":  `"` + repeat("${true ? 1 : local.z}") + `"`,
		"lists":       `"` + repeat("${[1, 2, 3, 4][0]}") + `"`,
		"empty":       `"` + repeat("${[[]][0] == null}") + `"`,
		"objects":     `"` + repeat(`${{ a = { b = "" } }.a.b}`) + `"`,
		"long":        `"` + repeat("${\"a${local.long}\" == \"\"}") + `"`,
		"long names":  `"` + repeat("${"+long+"#}") + `"`,
		"verbs":       `format("` + repeat("%%") + `")`,
		"arguments":   `format("` + strings.Repeat("%s", n) + `"` + strings.Repeat(`, ""`, n) + `)`,
		"%v":          `"` + repeat(`${format("%v", 1234567)}`) + `"`,
		"%d":          `"` + repeat(`${format("%d", 1e30)}`) + `"`,
		"lookups":     `"` + repeat(`${lookup({ a = "" }, "a", "")}`) + `"`,
		"negative":    `"` + repeat("${-1e-300}") + `"`,
		"comparisons": `"` + repeat("${!(1 == 2) && 3 != 4 || false}") + `"`,
		"items":       `"` + repeat("${var.o.a}${var.o.l[0]}${var.o.l[1].b}") + `"`,
		"the same":    `"` + repeat("${local.o.p.q}${local.o[\"p\"][\"q\"]}") + `"`,
		"deep":        strings.Repeat("[", 1_000) + `""` + strings.Repeat("]", 1_000) + strings.Repeat("[0]", 1_000),
		"combined":    `"` + repeat("${\"e${\"\u0301\"}\"}") + `"`,
		"sensitive":   `"` + repeat(`${sensitive("")}`) + `"`,
		"paths":       `"` + repeat(`${path.cwd == terraform.workspace}`) + `"`,
		"attributes":  "var.t.a0",
		"joined":      `"` + strings.Repeat(`${join("", var.u) == ""}`, 20) + `"`,
	} {
		files := map[string]string{"v.tf": "locals {\n  long = \"" + long + "\"\n  o = { p = { q = \"\" } }\n}\n" +
			"variable \"o\" {\n  type = object({ a = optional(string, \"\"), l = optional(list(object({ b = optional(string, \"x\") })), [null, {}]) })\n  default = {}\n}\n" +
			"variable \"t\" {\n  type = object({" + repeat("a# = optional(string),") + "})\n  default = {}\n}\n" +
			"variable \"u\" {\n  type = list(string)\n  default = [" + repeat("#,") + "]\n}\n"}
		call := func(source string) string { return "module \"m\" {\n  source = " + source + "\n}\n" }
		quoted, _ := json.Marshal("${" + text + "}")
		for file, content := range map[string]string{
			"main.tf": "locals {\n  x = " + text + "\n}\n" + call("local.x"), "main.tf.json": `{"locals":{"x":` + string(quoted) + `},"module":{"m":{"source":"${local.x}"}}}`,
		} {
			if file == "main.tf.json" && strings.HasPrefix(text, "format") {
				continue // its parts are more than hcl can bear
			}
			d := &Dir{Path: t.TempDir()}
			write(t, d.Path, files)
			write(t, d.Path, map[string]string{file: content})
			charged, allocated := work(t, d, false)
			if allocated > 2*charged || charged == 0 {
				t.Errorf("%s in %s: %d bytes are allocated, want at most twice %d", name, file, allocated, charged)
			}
		}
	}
}

// FuzzExpression: no expression ends the process or takes memory that is not charged, no error has a sensitive value,
// and a value is the one of hcl.
func FuzzExpression(f *testing.F) {
	const secret = "s3cr3t"
	const names = `
variable "secret" {
  default   = "s3cr3t"
  sensitive = true
}
locals {
  s    = "x"
  n    = 1.50
  b    = true
  null = null
  list = ["a", 1, true, null, ["b"]]
  map  = { a = "m", b = { c = "d" }, x = 2, s3cr3t = "y" }
}
`
	for _, line := range strings.Split(string(must.Get(os.ReadFile("testdata/expressions/cases.txt"))(f)), "\n") {
		if text, _, ok := strings.Cut(line, "\t"); ok {
			f.Add(text)
		}
	}
	for _, text := range []string{`local.map[local.b ? "a" : local.s]`, `"${local.list[0]}-${local.map.b["c"]}"`, `join(local.s, [local.n, local.b])`, `(local.b ? local.n : "x") == 1.5`, `format("%v-%d", local.n, 2)`, `lookup(local.map, "z", local.s)`, `"a${var.secret}"`} {
		f.Add(text)
	}
	text := func(s string) function.Parameter {
		return function.Parameter{Name: s, Type: cty.DynamicPseudoType, AllowNull: true, AllowMarked: true}
	}
	sameType := func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil }
	context := &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"var": cty.ObjectVal(map[string]cty.Value{"secret": cty.StringVal(secret).Mark(sensitive)}),
			"local": cty.ObjectVal(map[string]cty.Value{
				"s": cty.StringVal("x"), "n": cty.NumberFloatVal(1.5), "b": cty.True, "null": cty.NullVal(cty.DynamicPseudoType),
				"list": cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(1), cty.True, cty.NullVal(cty.DynamicPseudoType), cty.TupleVal([]cty.Value{cty.StringVal("b")})}),
				"map":  cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("m"), "b": cty.ObjectVal(map[string]cty.Value{"c": cty.StringVal("d")}), "x": cty.NumberIntVal(2), secret: cty.StringVal("y")}),
			}),
			"path":      cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal("."), "root": cty.StringVal(".")}),
			"terraform": cty.ObjectVal(map[string]cty.Value{"workspace": cty.StringVal("default")}),
		},
		Functions: map[string]function.Function{
			"format": stdlib.FormatFunc, "join": stdlib.JoinFunc,
			"sensitive": function.New(&function.Spec{Params: []function.Parameter{text("v")}, Type: sameType, Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return args[0].Mark(sensitive), nil
			}}),
			"nonsensitive": function.New(&function.Spec{Params: []function.Parameter{text("v")}, Type: sameType, Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				v, _ := args[0].Unmark()
				return v, nil
			}}),
		},
	}
	dir := f.TempDir()
	must.Do(f, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(names), 0o644))
	f.Fuzz(func(t *testing.T, text string) {
		w := must.Get((&Dir{Path: dir}).walk(true, true))(t)
		s, b := w.top(), &w.budget
		must.Do(t, w.read(t.Context(), s))
		s.config.load(b)
		e := b.parse(text, hcl.Range{Filename: "x.tf", Start: hcl.InitialPos}, hclsyntax.LexExpression, hclsyntax.ParseExpression)
		if e == nil {
			return
		}
		var before, after runtime.MemStats
		left := b.left
		runtime.ReadMemStats(&before)
		v, err := b.result(b.as(b.eval(e, scope{spot: s}), textKind, e.Range()))
		runtime.ReadMemStats(&after)
		if charged, allocated := left-b.left, int(after.TotalAlloc-before.TotalAlloc); allocated > 2*charged+10_000 {
			t.Errorf("eval %q: %d bytes are allocated, want at most twice %d", text, allocated, charged)
		}
		if err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(text, secret) {
			t.Errorf("eval %q: %v, want an error without the value", text, err)
		}
		if err != nil || len(text) > 300 || strings.Contains(text, "lookup") { // which is not in the library
			return
		}
		plain, diags := e.Value(context)
		want, isMarked := plain, plain.IsMarked()
		want, _ = want.UnmarkDeep()
		want, err = convert.Convert(want, cty.String)
		if diags.HasErrors() || !want.IsKnown() {
			return // something that is not needed is wrong
		}
		if err != nil || want.IsNull() || want.AsString() != v.text || isMarked && v.marks&sensitive == 0 && !strings.ContainsAny(text, "?&|{%") {
			t.Errorf("eval %q: %q with marks %d, want %#v, %v", text, v.text, v.marks, plain, err)
		}
	})
}
