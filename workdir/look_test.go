package workdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// parsed reads a text as a file of a configuration.
func parsed(t testing.TB, name, text string) error {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	m, err := (&Dir{Path: dir}).Evaluate(t.Context())
	if err == nil {
		for _, c := range m.Calls {
			err = errors.Join(err, c.Err)
		}
	}
	return err
}

// words is the default of Limits.Words.
const words = 400_000 - fileWords

// TestHostileText: no text ends the process, or takes long or much memory. The second text of each case is at the
// limit.
func TestHostileText(t *testing.T) {
	list := func(s string) string { return "x = [" + s + "]" }
	resources := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "resource \"%s%c%c_x\" \"r\" {}\n", strings.Repeat("数", 14), 0x4e00+i/200, 0x4e00+i%200)
		}
		return text.String()
	}
	// A string of JSON that is a module's source, type of a variable, provider or address.
	source := func(s string) string { return `{"module":{"m":{"source":"` + s + `"}}}` }
	typ := func(s string) string {
		return `{"variable":{"v":{"type":"` + s + `","default":"x"}},"module":{"m":{"source":"${var.v}"}}}`
	}
	provider := func(s string) string { return `{"resource":{"a_b":{"c":{"provider":"` + s + `"}}}}` }
	to := func(s string) string { return `{"import":{"to":"` + s + `"}}` }
	const deep, few = "too deep nesting", 100
	const number, parts = "a number of more than 100 bytes, or an exponent of more than 3 digits", "a template of too many parts, an expression with too many lines or comments, or too deep nesting"
	for name, c := range map[string]struct {
		file            string
		text            func(n int) string
		refused, atMost int
		want            string
	}{
		"bytes":       {"main.tf", func(n int) string { return "#" + strings.Repeat("x", n-1) }, 4<<20 + 1, 4 << 20, "main.tf: the file has more than 4194304 bytes"},
		"JSON bytes":  {"main.tf.json", func(n int) string { return "{" + strings.Repeat(" ", n-2) + "}" }, 16<<20 + 1, 16 << 20, "Limits.Module"},
		"tokens":      {"main.tf", func(n int) string { return list(strings.Repeat("1,", (n-4)/2)) }, words + 2, 0, "Limits.Words"},
		"lines":       {"main.tf", func(n int) string { return strings.Repeat("\n", n) }, words + 1, words, "Limits.Words"},
		"brackets":    {"main.tf", func(n int) string { return "x = " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }, maxChain + 1, maxChain, deep},
		"open":        {"main.tf", func(n int) string { return "x = " + strings.Repeat("[", n) }, words - 10, few, deep},
		"templates":   {"main.tf", func(n int) string { return "x = " + strings.Repeat(`"${`, n) }, 30_000, few, deep},
		"blocks":      {"main.tf", func(n int) string { return strings.Repeat("a {\n", n) + strings.Repeat("}\n", n) }, 2_900, 2_800, deep},
		"not":         {"main.tf", func(n int) string { return "x = " + strings.Repeat("!", n) + "1" }, maxChain + 1, maxChain, deep},
		"not lines":   {"main.tf", func(n int) string { return "x = (" + strings.Repeat("!\n", n-1) + "1)" }, maxChain + 1, maxChain - 10, deep},
		"not for":     {"main.tf", func(n int) string { return "x = {for a in b : c => " + strings.Repeat("!\n", n-2) + "1}" }, maxChain + 1, maxChain - 20, deep},
		"comments":    {"main.tf", func(n int) string { return "x = " + strings.Repeat("!/**/", n) + "1" }, maxChain + 1, few, deep},
		"sums":        {"main.tf", func(n int) string { return "x = 1" + strings.Repeat(" + 1", n) }, maxChain + 1, maxChain, deep},
		"questions":   {"main.tf", func(n int) string { return "x = " + strings.Repeat("a ? b : ", n) + "b" }, maxChain + 1, maxChain, deep},
		"splats":      {"main.tf", func(n int) string { return "x = b" + strings.Repeat("[*]", n) }, maxChain + 1, maxChain - 10, deep},
		"stars":       {"main.tf", func(n int) string { return "x = b" + strings.Repeat(".*", n) }, maxChain + 1, maxChain, deep},
		"indices":     {"main.tf", func(n int) string { return "x = b" + strings.Repeat("[a]", n) }, maxChain + 1, maxChain, deep},
		"closed":      {"main.tf", func(n int) string { return "x = " + strings.Repeat(")", n) + strings.Repeat("(", n) }, maxChain + 1, 0, `unexpected ")"`},
		"crossed":     {"main.tf", func(n int) string { return "x = " + strings.Repeat("(]", n) }, maxChain + 1, 0, `unexpected "]"`},
		"directives":  {"main.tf", func(n int) string { return "x = \"" + strings.Repeat("%{if a}", n) + "\"" }, maxChain + 1, few, deep},
		"heredoc":     {"main.tf", func(n int) string { return "x = <<E\n" + strings.Repeat("%{if a}\n", n) + "E\n" }, maxChain + 1, few, deep},
		"digits":      {"main.tf", func(n int) string { return "x = " + strings.Repeat("1", n) }, maxNumber + 1, maxNumber, number},
		"fraction":    {"main.tf", func(n int) string { return "x = 1." + strings.Repeat("1", n-2) }, maxNumber + 1, maxNumber, number},
		"exponent":    {"main.tf", func(n int) string { return "x = 1e-" + strings.Repeat("9", n) }, 4, 3, number},
		"Exponent":    {"main.tf", func(n int) string { return "x = [1.1E" + strings.Repeat("9", n) + "]" }, 4, 3, number},
		"name":        {"main.tf", func(n int) string { return strings.Repeat("a", n) + " = 1" }, maxName + 1, maxName, "a name of more than 1024 bytes"},
		"in a name":   {"main.tf", func(n int) string { return "x = a." + strings.Repeat("é", n/2) }, maxName + 2, maxName, "a name of more than 1024 bytes"},
		"joined":      {"main.tf", func(n int) string { return "x = <<E\n" + strings.Repeat("\n", n) + "E\n" }, 26_755 + 1, 26_755, parts},
		"dollars":     {"main.tf", func(n int) string { return "x = \"" + strings.Repeat("$", n) + "\"" }, 26_755 + 1, 26_755, parts},
		"moved":       {"main.tf", func(n int) string { return "x = <<E\n" + strings.Repeat("\n\n${x}", n) + "\nE\n" }, 18_917 + 1, 18_917, parts},
		"skipped":     {"main.tf", func(n int) string { return "x = (" + strings.Repeat("!", 3900) + "1" + strings.Repeat("\n", n) + ")" }, 17_190, 17_180, parts},
		"remarks":     {"main.tf", func(n int) string { return "x = (" + strings.Repeat("!", 3900) + "1" + strings.Repeat("/**/", n) + ")" }, 17_190, 17_180, parts},
		"UTF-8":       {"main.tf", func(n int) string { return "x = \"\xff\"" }, 1, 0, "main.tf:1: Invalid character encoding"},
		"JSON arrays": {"main.tf.json", func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }, maxChain + 1, maxChain, "main.tf.json:1: nesting of more than"},
		"JSON":        {"main.tf.json", func(n int) string { return `{"a":` + strings.Repeat(`{"a":`, n-1) + "1" + strings.Repeat("}", n) }, maxChain + 1, maxChain, "main.tf.json:1: nesting of more than"},
		"JSON digits": {"main.tf.json", func(n int) string { return `{"a":` + strings.Repeat("1", n) + "}" }, maxNumber + 1, maxNumber, "main.tf.json:1: " + number},
		"JSON power":  {"main.tf.json", func(n int) string { return "{\"a\":\n1E+" + strings.Repeat("1", n) + "}" }, 4, 3, "main.tf.json:2: " + number},
		"JSON closed": {"main.tf.json", func(n int) string {
			return strings.Repeat("[", 3000) + strings.Repeat("[1}],", n) + strings.Repeat("[", 3000)
		}, 1, 0, `unexpected '}'`},
		"JSON levels":  {"main.tf.json", func(n int) string { return strings.Repeat("[", 3990) + strings.Repeat("x ", n) }, 267_112 + 1, 267_112, "or too much of it"},
		"one of two":   {"main.tf.json", func(n int) string { return "[\"\u0600\", \"," + strings.Repeat("[", n) + "\"]" }, maxChain, maxChain - 1, "main.tf.json:1: nesting of more than"}, // the first quote is in a character
		"powers":       {"main.tf", func(n int) string { return list(strings.Repeat("1e-999,", n)) }, (words-4)/5 + 1, (words - 4) / 5, "Limits.Words"},
		"JSON powers":  {"main.tf.json", func(n int) string { return `{"a":[` + strings.Repeat("1E9,", n) + "1]}" }, (words-7)/5 + 1, (words - 7) / 5, "Limits.Words"},
		"quotes":       {"main.tf", func(n int) string { return "x = [" + strings.Repeat("“", n) + "]" }, (words-4)/3 + 1, (words - 4) / 3, "Limits.Words"},
		"not ASCII":    {"main.tf", func(n int) string { return resources(n) }, 22_309, 22_300, "names of providers that are not ASCII"},
		"signs":        {"main.tf", func(n int) string { return list(strings.Repeat("1-", n/2) + "1") }, words, words - 6, "Limits.Words"},
		"marks":        {"main.tf", func(n int) string { return list(strings.Repeat("\u0300", n)) }, (words-4)/3 + 1, (words - 4) / 3, "Limits.Words"},
		"after digits": {"main.tf", func(n int) string { return list(strings.Repeat("1a ", n/2)) }, words, words - 6, "Limits.Words"},
		"escapes":      {"main.tf", func(n int) string { return "x = \"" + strings.Repeat("\\\\", n) + "\"\n" }, words/6 + 1, words/6 - 2, "Limits.Words"},
		"deep escapes": {"main.tf", func(n int) string {
			return strings.Repeat("a {\n", 1_000) + "x = \"" + strings.Repeat("\\ ", n) + "\"\n" + strings.Repeat("}\n", 1_000)
		}, 67_000, few, "too deep nesting"},
		"deep lines": {"main.tf", func(n int) string {
			return strings.Repeat("a {\n", 1_000) + strings.Repeat("x = 1\n", n) + strings.Repeat("}\n", 1_000)
		}, 67_000, few, "too deep nesting"},
		"parts of a name": {"main.tf", func(n int) string { return "x = a" + strings.Repeat("::a", n) + "()" }, maxParts + 1, maxParts, "a name of more than 100 parts"},
		"lines in a name": {"main.tf", func(n int) string { return "x = (a" + strings.Repeat("\n::\n/**/a", n) + "())" }, maxParts + 1, maxParts, "a name of more than 100 parts"},
		"label":           {"main.tf", func(n int) string { return "variable \"" + strings.Repeat("a", n) + "\" {}\n" }, maxName + 1, maxName, "a block with a name of more than 1024 bytes"},
		"JSON label": {"main.tf.json", func(n int) string {
			return `{"resource":{"` + strings.Repeat("a", n) + `":{"b":{}` + strings.Repeat(`,"c":{}`, 50_000) + `}}}`
		}, 4 << 20, few, "a block with a name of more than 1024 bytes"},
		"JSON tokens": {"main.tf.json", func(n int) string { return `{"a":[` + strings.Repeat("1,", n/2) + "1]}" }, words + 2, words - 20, "Limits.Words"},

		// Each entry of hcl that parses strings of JSON.
		"Value":     {"main.tf.json", func(n int) string { return source("${" + strings.Repeat("!", n) + "true}") }, 190_000, few, `"source" has more than 4096 bytes`},
		"Variables": {"main.tf.json", func(n int) string { return source("${" + strings.Repeat("(", n) + "var.a") }, 190_000, few, `"source" has more than 4096 bytes`},
		"a comment": {"main.tf.json", func(n int) string { return source("#${" + strings.Repeat("(", n)) }, 190_000, few, `"source" has more than 4096 bytes`},
		"an escape": {"main.tf.json", func(n int) string { return source(`\\${` + strings.Repeat("(", n)) }, 190_000, few, `"source" has more than 4096 bytes`},
		"a line":    {"main.tf.json", func(n int) string { return source("${" + strings.Repeat(`!\n`, n)) }, 190_000, few, `"source" has more than 4096 bytes`},
		"a key": {"main.tf.json", func(n int) string {
			return `{"locals":{"a":{"${` + strings.Repeat("(", n) + `":1}},"module":{"m":{"source":"${local.a.b}"}}}`
		}, 40_000, few, deep},
		"typeexpr":   {"main.tf.json", func(n int) string { return typ(strings.Repeat("(", n)) }, 50_000, few, deep},
		"ExprCall":   {"main.tf.json", func(n int) string { return typ(strings.Repeat("list(", n)) }, 50_000, few, deep},
		"not a type": {"main.tf.json", func(n int) string { return typ(strings.Repeat(`!\n`, n)) }, 50_000, few, deep},
		"constraints": {"main.tf.json", func(n int) string {
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, `{"alias":"%d%s"},`, i, strings.Repeat(",1", 2000))
			}
			return `{"provider":{"a":[` + text.String() + `{}]}}`
		}, 140, 110, "take too much work"},
		"required": {"main.tf.json", func(n int) string {
			return `{"terraform":{"required_providers":{"` + strings.Repeat("a", n) + `":{"version":"1"}}}}`
		}, maxName + 1, maxName, "a name of more than 1024 bytes"},
		"AsTraversal": {"main.tf.json", func(n int) string { return provider(strings.Repeat("a[", n)) }, 190_000, 0, "invalid reference to a provider"},
		"not a name":  {"main.tf.json", func(n int) string { return provider(strings.Repeat("!", n)) }, 190_000, 0, "invalid reference to a provider"},
		"an address":  {"main.tf.json", func(n int) string { return to("a.b[" + strings.Repeat("!", n)) }, 190_000, 0, "invalid address"},
		"a quoted": {"main.tf", func(n int) string {
			return "resource \"a_b\" \"c\" {\n  provider = \"" + strings.Repeat("(", n) + "\"\n}\n"
		}, 190_000, 0, "invalid reference to a provider"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		err := parsed(t, c.file, c.text(c.refused))
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if _, ok := errors.AsType[*ConfigError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, n = %d: %v, want a ConfigError with %q", name, c.refused, err, c.want)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 450 {
			t.Errorf("%s, n = %d: %v and %d MiB, want at most 450 MiB", name, c.refused, took, mib)
		}
		if c.atMost > 0 {
			if err := parsed(t, c.file, c.text(c.atMost)); err != nil && strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, n = %d: %v, want no error", name, c.atMost, err)
			}
		}
	}
}

// TestOrdinaryText: the limits count what the parser recurses for, and not the parts of a long file.
func TestOrdinaryText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"hashes":     "x = [\n" + strings.Repeat("  \"7e55123\", \"1"+strings.Repeat("0", 300)+"\", \""+strings.Repeat("a", 2000)+"\", # 1e99999\n", 100) + "]\n",
		"attributes": strings.Repeat("  # a comment\n  x = !a && b[0][*].c ? -1 : f(g, [h])\n", maxChain),
		"objects":    "x = [\n" + strings.Repeat("  {\n    a = !b\n    (c) = { for d in e : d => d\n }\n  },\n", maxChain) + "]\n",
		"heredoc":    "x = <<-EOT\n" + strings.Repeat("  a line with ${a.b} and \"${c[\"d\"]}\"\n", maxChain) + "  EOT\n",
		"if":         "x = <<EOT\n" + strings.Repeat("%{ if a ~}\n b\n%{ else }\n c\n%{ endif }\n", 300) + "EOT\n",
		"policy":     "x = jsonencode({\n" + strings.Repeat("  \"a:b/${c}\" : [\"d\", var.e - 1]\n", maxChain) + "})\n",
	} {
		if err := parsed(t, "main.tf", "locals {\n"+text+"}\n"); err != nil && !strings.Contains(err.Error(), "Attribute redefined") {
			t.Errorf("%s: %v, want no error", name, err)
		}
	}
}

// TestManyCallsOfALargeModule: the files of many packages are not in memory at the same time.
func TestManyCallsOfALargeModule(t *testing.T) {
	w := newWorld(t)
	var file, root strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&file, "output \"o%d\" {\n  value = [1, 2, \"${x}\"] # aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n}\n", i)
	}
	w.registry.AddModule(regtest.Module{Address: "acme/large/aws", Files: map[string]string{"main.tf": file.String()}})
	for i := range 12 {
		fmt.Fprintf(&root, "module \"m%d\" { source = \"%s/acme/large/aws\" }\n", i, w.host)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"main.tf": root.String()})
	runtime.GC()
	ctx, stop := context.WithCancel(t.Context())
	var peak atomic.Uint64
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	err := prepare(t.Context(), w.dir(t, dir, false))
	stop()
	<-sampled
	if mib := peak.Load() >> 20; err != nil || mib > 150 {
		t.Errorf("initialise: %v, with %d MiB in use, want at most 150 MiB with the registry", err, mib)
	} else {
		t.Logf("%d MiB, file of %d KiB", mib, file.Len()>>10)
	}
}

// TestNamesStayInside: neither the name of a module, nor a link in the configuration, leads to a directory outside.
func TestNamesStayInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		module string // a file of the module acme/evil/aws
		link   string // to the directory outside
	}{
		"name":       {module: "module \"x/../../../../victim\" { source = \"" + w.host + "/acme/network/aws\" }"},
		"JSON name":  {module: `{"module": {"../../../victim": {"source": "` + w.host + `/acme/network/aws"}}}`},
		"modules":    {link: modulesPath},
		"providers":  {link: providersPath},
		"module":     {link: modulesPath + "/victim"},
		"manifest":   {link: modulesJSON},
		"empty name": {module: `module "" { source = "./x" }`},
	} {
		parent := t.TempDir()
		dir, victim := filepath.Join(parent, "config"), filepath.Join(parent, "victim")
		file, evil := "main.tf", "acme/"+strings.ToLower(strings.ReplaceAll(name, " ", "-"))+"/aws"
		if strings.HasPrefix(name, "JSON") {
			file = "main.tf.json"
		}
		w.registry.AddModule(regtest.Module{Address: evil, Files: map[string]string{file: c.module}})
		write(t, victim, map[string]string{"mine": "x"})
		write(t, dir, map[string]string{"main.tf": fmt.Sprintf("module \"victim\" { source = %q }", w.host+"/"+evil)})
		if c.link != "" {
			link := filepath.Join(dir, filepath.FromSlash(c.link))
			must.Do(t, os.MkdirAll(filepath.Dir(link), 0o755))
			if err := symlink(victim, link); err != nil {
				t.Skipf("skipped: this link cannot be made here: %v", err)
			}
		}
		err := prepare(t.Context(), w.dir(t, dir, false))
		if replaced := c.link == modulesPath+"/victim"; replaced != (err == nil) {
			t.Errorf("%s: %v, want an error unless the link was replaced", name, err)
		}
		entries, failed := os.ReadDir(victim)
		if failed != nil || len(entries) != 1 || read(t, victim, "mine") != "x" {
			t.Errorf("%s: the directory outside has %v, %v; want the file of before", name, entries, failed)
		}
	}
}

// fuzzRead reads a text as a file of a directory whose module blocks need what it may have, and limits the memory.
func fuzzRead(t *testing.T, name, text string) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"x.tf": "variable \"b\" {}\nmodule \"n\" {\n  source = var.b\n}\nmodule \"o\" {\n  source = local.a\n}\n"})
	write(t, dir, map[string]string{name: text})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, terraform := range []bool{false, true} {
		d := &Dir{Path: dir, Terraform: terraform}
		m, err := d.Evaluate(t.Context())
		if _, ok := errors.AsType[Problems](err); err != nil && !ok || m == nil {
			t.Errorf("Evaluate: %v, %v; want what can be read, and Problems", m, err)
		}
	}
	runtime.ReadMemStats(&after)
	for mode, lex := range map[string]lexer{"of a file": hclsyntax.LexConfig, "of a template": hclsyntax.LexTemplate} {
		tokens, _ := lex([]byte(text), name, hcl.InitialPos)
		if n := count([]byte(text)); n.words+n.lines < len(tokens)-2 { // without the end, and spaces at the begin of a text or line
			t.Errorf("%d words and %d lines are counted, want at least the %d tokens %s", n.words, n.lines, len(tokens)-2, mode)
		}
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 128 {
		t.Errorf("reading %d bytes took %d MiB, want at most 128", len(text), mib)
	}
}

// FuzzRead: no text of the native syntax ends the process, or takes much memory.
func FuzzRead(f *testing.F) {
	kinds := []string{"main.tf", "x_override.tf", "x.tofu", "a.tftest.hcl", "terraform.tfvars"}
	for _, text := range []string{
		"b = \"./m\"", "run \"r\" {\n  module {\n    source = \"./m\"\n  }\n}\n",
		"x = {for a in b : a => !\n!\n1}", "x = b[*][*].*.c", `x = "%{if a}${b}%{else}%{endif}"`, "x = <<-E\n  ${a}\n  E\n", "a \"b\" c {\n}\n",
		"x = (]", "/*", "\xef\xbb\xbfx = 1", "x = `'", "locals {\n  a = \"${upper(var.b)}%{if true}x%{endif}\"\n}\nvariable \"b\" {\n  type = map(any)\n  default = {}\n}\nmodule \"m\" {\n  source = format(\"%s\", local.a)\n  version = local.b[0]\n}\n",
		"module m {\nsource = \"${[for a in b : a]}\"\nproviders = { a = b }\n}", "locals {\n  a = try(convert([1, {}][*].x, list(object({ a = optional(any, 1) }))), {for a in range(9) : a => a...})\n}",
		"resource \"a_b\" \"c\" {\n  provider = null.a[\"k\"]\n}\nimport {\n  to = module.m[x].a_b.c\n  id = 1\n}\naction \"a_b\" \"c\" {}\ncheck \"a\" {\n  data \"b\" \"c\" {}\n}\n",
		"terraform {\n  required_version = \">= 1\"\n  required_providers {\n    a = 1.5\n    b = { source = \"x/${\"y\"}\", version = \"~> 1.0\", configuration_aliases = [b.c] }\n  }\n}\n",
		"variable \"b\" {\n  description = <<E\na\nE\n  sensitive = (!false)\n  deprecated = \"${1}\"\n  default = [\n  1]\n  validation {}\n}\noutput \"c\" {\n  type = \"a\"\n  description = x.y\n}\noutput a b {}\n",
	} {
		for kind := range kinds {
			f.Add(text, byte(kind))
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind byte) { fuzzRead(t, kinds[int(kind)%len(kinds)], text) })
}

// FuzzReadJSON: no JSON ends the process, or takes much memory.
func FuzzReadJSON(f *testing.F) {
	kinds := []string{"main.tf.json", "x_override.tf.json", "terraform.tfvars.json"}
	for _, text := range []string{
		`{"b": {"c": "./m"}}`, `{"a":[{"b":1e9}]}`, `{"variable":{"b":{"default":"x"}},"locals":{"a":"${var.b}"},"module":{"m":{"source":"./${local.a}"}}}`,
		`{"variable":{"b":{"default":["${x}"],"type":"list(object({a=optional(any)}))"}},"locals":[{"a":["${var.b[0]}",{"k${1}":"'{"}]}]}`,
		`{"resource":{"a_b":{"c":[{"provider":"null.a[\"k\"]"}]}},"import":{"to":"module.m[0].a_b.c"},"provider":[{"a":{"alias":"b","version":"1"}}]}`,
		`{"terraform":[{"required_providers":{"a":{"source":"x/y","version":"1"},"b":1.5},"required_version":">= 1"}],"module":{"m":{"source":"${true ? \"./m\" : \"git@example.com:o/m.git\"}"}}}`,
		`{"variable":{"b":{"description":"\u0600","type":{"a":[1]},"sensitive":1,"default":"\""}},"output":[{"c":{"description":null}}],"terraform":{"required_providers":{"a":{"configuration_aliases":["a.b","(",1]}}}}`, `{"module":{"m":{"source":"\\${((("}},"variable":{"b":{"type":"((("}}}`, `[{"module":{"m":{"source":"#${"}}}]`, `{"module":null,"locals":{"a":"%{for x in [1]}${x}%{endfor}"}}`,
	} {
		for kind := range kinds {
			f.Add(text, byte(kind))
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind byte) { fuzzRead(t, kinds[int(kind)%len(kinds)], text) })
}

// FuzzManifest: whatever a manifest says, nothing outside of its directory is changed.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"b","Source":"./b","Dir":"b"}]}`, `{"Modules":null}`, "[]", "{",
		`{"Modules":[{"Key":"b","Source":"./b","Dir":"../outside"},{"Key":"b.c","Source":"./c","Dir":"/"}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		above := t.TempDir()
		files := map[string]string{"outside/main.tf": "", "d/main.tf": "module \"b\" {\n  source = \"./b\"\n}\n", "d/b/main.tf": ""}
		write(t, above, files)
		write(t, filepath.Join(above, "d"), map[string]string{modulesJSON: text})
		_, _ = (&Dir{Path: filepath.Join(above, "d")}).InstallModules(t.Context())
		for name, want := range files {
			if got := read(t, above, name); got != want {
				t.Errorf("InstallModules changed %s to %q", name, got)
			}
		}
		entries, err := os.ReadDir(above)
		if err != nil || len(entries) != 2 {
			t.Errorf("InstallModules left %v above its directory (%v)", entries, err)
		}
	})
}

// symlink is [os.Symlink] with an error if no link was made: under Wine os.Symlink returns nil and makes nothing.
func symlink(target, path string) error {
	err := os.Symlink(target, path)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err
}
