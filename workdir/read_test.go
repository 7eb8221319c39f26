package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/module/manifest"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// facts returns what Read finds in a directory: the providers with constraints and places, and the problems.
func facts(t *testing.T, d *Dir) (providers []string, m *Module, err error) {
	t.Helper()
	m, err = d.Read(t.Context())
	if m == nil {
		t.Fatalf("Read: %v, want what can be read", err)
	}
	for _, r := range m.Providers {
		providers = append(providers, strings.TrimSpace(fmt.Sprintf("%s:%d %s %s", r.Place.File, r.Place.Line, r.Provider, r.Constraint)))
	}
	return providers, m, err
}

// TestProblems: a broken file or block does not hide the others, and Prepare refuses it.
func TestProblems(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.tf": "module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \n}\nresource \"x_y\" {}\ndata \"d_e\" \"f\" {}\n",
		"b.tf": "module \"c\" {\n  source = \"./c\"\n}\nmodule \"d\" {}\nterraform {\n  required_providers {\n    e = { source = \"a/b/c/d\" }\n    f = { source = \"acme/f\" }\n  }\n}\n",
		"c.tf": "x = \xff",
		"d.tf": "module \"e\" {\n  source = \"./${var.x}\"\n  version = local.y\n}\n",
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, files)
	providers, m, err := facts(t, d)
	var calls []string
	for _, c := range m.Calls {
		calls = append(calls, c.Key+" "+c.Source+c.SourceText+c.VersionText)
	}
	if want := []string{"a ./a", "b ", "c ./c", "d ", `e "./${var.x}"local.y`}; !slices.Equal(calls, want) {
		t.Errorf("Read: calls %q, want %q", calls, want)
	}
	if want := []string{"a.tf:8 registry.opentofu.org/hashicorp/d", "b.tf:8 registry.opentofu.org/acme/f"}; !slices.Equal(providers, want) {
		t.Errorf("Read: providers %q, want %q", providers, want)
	}
	problems, _ := errors.AsType[Problems](err)
	var places []string
	for _, p := range problems {
		places = append(places, p.Place.String())
	}
	if want := []string{"a.tf:5", "a.tf:7", "b.tf:4", "b.tf:7", "c.tf:1"}; !slices.Equal(slices.Compact(places), want) {
		t.Errorf("Read: problems at %q (%v), want %q", places, []*ConfigError(problems), want)
	}
	if first, ok := errors.AsType[*ConfigError](err); !ok || first != problems[0] || !strings.Contains(err.Error(), "more problems") {
		t.Errorf("Read: %v, want the first problem and their number", err)
	}
	for name, call := range map[string]func(context.Context) (*Result, error){"Prepare": d.Prepare, "Plan": d.Plan} {
		if _, err := call(t.Context()); !errors.As(err, &problems) {
			t.Errorf("%s: %v, want Problems", name, err)
		}
	}
	d = &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf": strings.Repeat("module \"m\" {}\n", maxProblems+2)})
	if _, err := d.Read(t.Context()); !errors.As(err, &problems) || len(problems) != maxProblems {
		t.Errorf("Read: %d problems, want at most %d", len(problems), maxProblems)
	}
}

// TestEvaluatedOnDemand: what no source needs is not evaluated, each value is evaluated once, and an error is in its
// block.
func TestEvaluatedOnDemand(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir(), Variables: map[string]string{"v": "a", "broken": "["}}
	write(t, d.Path, map[string]string{"main.tf": `
variable "v" {}
variable "unused" {
  type    = nothing
  default = [for a in [1] : a]
}
variable "broken" {
  type = list(string)
}
locals {
  bad    = uuid()
  unused = file("/etc/passwd")
}
module "a" {
  source = "./${var.v}"
}
module "b" {
  source = local.bad
}
module "c" {
  source = local.bad
}
module "d" {
  source = var.broken[0]
}
`})
	m, err := d.Evaluate(t.Context())
	if err != nil || m.Calls[0].Source != "./a" || m.Calls[0].Err != nil {
		t.Fatalf("Evaluate: %+v, %v; want the value ./a", m, err)
	}
	for i, want := range []string{"", "main.tf:11: this call of the function \"uuid\"", "main.tf:11: this call of the function \"uuid\"", "variable broken:1: the value is not a constant"} {
		if got := m.Calls[i].Err; (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("Evaluate: call %s: %v, want %q", m.Calls[i].Key, got, want)
		}
	}
	if m.Calls[1].Err != m.Calls[2].Err {
		t.Error("Evaluate: two errors of one value, want it to be evaluated once")
	}
	if m, err := d.Read(t.Context()); err != nil || m.Calls[0].Source != "" || m.Calls[1].Err != nil {
		t.Errorf("Read: %+v, %v; want that nothing is evaluated", m, err)
	}
}

// TestSensitiveValues: no error has a part of a sensitive value.
func TestSensitiveValues(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-zz"
	for _, source := range []string{
		"parseint(var.token, 10)", "tonumber(var.token)", "{ a = 1 }[var.token]", "{ for k in [1, 2] : var.token => k }[0]", "var.token",
		"tobool(var.token) ? 1 : 2", "element([], length(var.token))", "format(var.token, 1)", "regex(var.token, \"x\")", "var.token + 1", "var.typed", "\"${var.token}\" + 1", "local.a",
	} {
		d := &Dir{Path: t.TempDir(), Variables: map[string]string{"token": secret, "typed": "[\"" + secret + "\"]"}}
		write(t, d.Path, map[string]string{"main.tf": "variable \"token\" {\n  sensitive = true\n}\nvariable \"typed\" {\n  type = list(number)\n  sensitive = true\n}\nlocals {\n  a = tonumber(var.token)\n}\nmodule \"m\" {\n  source = " + source + "\n}\n"})
		m, err := d.Evaluate(t.Context())
		if err != nil || m.Calls[0].Err == nil || strings.Contains(m.Calls[0].Err.Error(), secret) || strings.Contains(m.Calls[0].Source, secret) {
			t.Errorf("Evaluate with source = %s: %+v, %v; want an error without the value", source, m.Calls[0], err)
		}
	}
}

// TestGeneratedFiles: a generated file of many addresses is read, and the fields of Limits hold at n and n+1.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&list, "%q,\n%60s", fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), "")
	}
	text := `{"module":{"m":{"source":"./m","list":[` + list.String() + `"x"]}},"terraform":{"required_providers":{"a":{"source":"x/a"}}}}`
	if len(text) < 3<<20-400_000 {
		t.Fatalf("%d bytes, want about 3 MiB", len(text))
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"cdk.tf.json": text})
	providers, m, err := facts(t, d)
	if err != nil || len(providers) != 1 || len(m.Calls) != 1 {
		t.Errorf("Read: %v, %+v, %v; want one provider and one call", providers, m, err)
	}
	small := map[string]string{"a.tf": "locals {\n  x = 1\n}\n", "b.tf.json": `{"locals":{"x":[1,2]}}`, "c.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": "#"}
	size := len(small["a.tf"]) + len(small["b.tf.json"]) + len(small["c.tf"])
	for name, c := range map[string]struct {
		n      int
		limits func(n int) Limits
		want   string
	}{
		"module": {size, func(n int) Limits { return Limits{Module: n} }, "Limits.Module"},
		"words":  {3*fileWords + 9 + 13 + 17, func(n int) Limits { return Limits{Words: n} }, "Limits.Words"},
		"files":  {size + 1, func(n int) Limits { return Limits{Files: n} }, "Limits.Files"},
	} {
		for less, want := range []string{"", c.want} {
			d := &Dir{Path: t.TempDir(), Limits: c.limits(c.n - less)}
			write(t, d.Path, small)
			if _, err := d.InstallModules(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, limit %d: %v, want an error with %q", name, c.n-less, err, want)
			}
		}
	}
}

// TestWordsOfAllModules: all modules have four times the words of one, and those that are parsed again have half as many
// as one, with their bytes.
func TestWordsOfAllModules(t *testing.T) {
	t.Parallel()
	const n = 200
	root := ""
	for i := range 4 {
		root += fmt.Sprintf("module \"m%d\" {\n  source = \"./m%d\"\n}\n", i, i)
	}
	for more, want := range []string{"", "m3/m.tf: the files of all modules together have more words"} {
		files := map[string]string{"main.tf": root}
		for i := range 4 {
			files[fmt.Sprintf("m%d/m.tf", i)] = strings.Repeat("\n", n-fileWords)
		}
		files["m3/m.tf"] = strings.Repeat("\n", n-2*fileWords-count([]byte(root)).words+more)
		d := &Dir{Path: t.TempDir(), Limits: Limits{Words: n}}
		write(t, d.Path, files)
		// Modules are read in any order.
		if _, err := d.Plan(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want[7:]) {
			t.Errorf("%d more: %v, want an error with %q", more, err, want[7:])
		}
		d.Limits.Words *= 2 // ReadTree keeps what it reads
		if _, err := d.ReadTree(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want[7:]) {
			t.Errorf("ReadTree with %d more: %v, want an error with %q", more, err, want[7:])
		}
	}
	again := "locals {\n  m = \"./m\"\n  x = \"" + strings.Repeat("x", 160) + "\"\n}\nmodule \"m\" {\n  source = local.m\n}\n"
	for less, want := range []string{"", "main.tf: the files of modules with expressions and of variables have more words"} {
		d := &Dir{Path: t.TempDir(), Limits: Limits{Words: 2 * (fileWords + count([]byte(again)).words + len(again)/16 - less)}}
		write(t, d.Path, map[string]string{"main.tf": again, "m/m.tf": ""})
		if _, err := d.Plan(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("parsed again, %d less: %v, want an error with %q", less, err, want)
		}
	}
	given := map[string]string{"main.tf": "variable \"v\" {\n  type = string\n}\nmodule \"m\" {\n  source = var.v\n}\n", "terraform.tfvars": "v = \"./m\"\nx = \"" + strings.Repeat("x", 160) + "\"\n"}
	size := 0
	for _, text := range given {
		size += fileWords + count([]byte(text)).words + len(text)/16
	}
	for less, want := range []string{"", "terraform.tfvars: the files of modules with expressions and of variables have more words"} {
		d := &Dir{Path: t.TempDir(), Limits: Limits{Words: 2 * (size - less)}}
		write(t, d.Path, given)
		write(t, d.Path, map[string]string{"m/m.tf": ""})
		if _, err := d.Plan(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with variables, %d less: %v, want an error with %q", less, err, want)
		}
	}
}

// TestLongNames: the words of a file with a long name count more than once.
func TestLongNames(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("#\n", 100)
	once := count([]byte(text)).words
	for size, want := range map[int]int{nameBytes - 1: fileWords + once, nameBytes: fileWords + 2*once} {
		dir := strings.Repeat(strings.Repeat("d", 99)+"/", size/100-1)
		dir += strings.Repeat("e", size-len(dir)-len("/m.tf")) // few words in the source
		d := &Dir{Path: t.TempDir()}
		write(t, d.Path, map[string]string{"main.tf": "module \"m\" {\n  source = \"./" + dir + "\"\n}\n", dir + "/m.tf": text})
		for less := range 2 {
			d.Limits.Words = want - less
			if _, err := d.Plan(t.Context()); (err == nil) != (less == 0) || err != nil && !strings.Contains(err.Error(), "Limits.Words") {
				t.Errorf("Plan with a name of %d bytes and %d words: %.300v, want an error if there are less than %d", size, want-less, err, want)
			}
		}
	}
}

// TestManyEntries: all directories that are read have a limit of entries.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf": "", "a": "", "tests/b": ""})
	for less, want := range []string{"", "more than 500000 files and directories"} {
		w := must.Get(d.walk(true, true))(t)
		w.budget.guard.entries = len([]string{"main.tf", "a", "tests", "tests/b"}) - less
		root := w.top()
		must.Do(t, w.read(t.Context(), root))
		if p := root.config.problems; (len(p) == 0) != (want == "") || len(p) > 0 && !strings.Contains(p.Error(), want) {
			t.Errorf("read with %d entries too many: %v, want %q", less, p, want)
		}
	}
}

// TestPatterns: where the subdirectories of sources are compared with the installed ones, which they may match as
// patterns, takes work too.
func TestPatterns(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{modulesPath + "/m/a/b/x.tf": "", modulesJSON: `{"Modules":[]}`})
	address := must.Get(module.ParseAddress("git::https://example.com/x.git//a/b"))(t)
	record := manifest.Record{Key: "m", Source: address.Source(), Dir: modulesPath + "/m/a/b"}
	for over := range 2 {
		w := must.Get(d.walk(true, true))(t)
		must.Do(t, w.open(t.Context()))
		resolved := 0
		for _, dir := range []string{"m", "m/a", "m/a/b"} {
			full := filepath.Join(w.store.Root.Name(), dir)
			resolved += pathWork + len(full) + elemWork*strings.Count(full, string(filepath.Separator)) + len("m/a/b") - len(dir) - min(1, len("m/a/b")-len(dir))
		}
		w.paths.spend(maxPaths - len("a/b")*len("a/b") - resolved + over)
		if ok, err := w.installed(t.Context(), &spot{record: record}, record, addrs.ModuleConstraint{}, address); ok != (over == 0) || errors.Is(err, errPaths) == ok {
			t.Errorf("installed with %d too much work: %v, %v", over, ok, err)
		}
		if ok, err := w.installed(canceled(t), &spot{record: record}, record, addrs.ModuleConstraint{}, address); ok || err == nil {
			t.Errorf("installed after the end of the context: %v, %v; want an error", ok, err)
		}
		w.store.Close(t.Context())
	}
}

// TestManyCalls: many calls of a directory share what was read, and calls are counted before they are followed.
func TestManyCalls(t *testing.T) {
	const calls, resources = 3_000, 2_000
	var root, module strings.Builder
	for i := range calls {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = \"./m\"\n}\n", i)
	}
	for i := range resources {
		fmt.Fprintf(&module, "resource \"p%d_x\" \"r\" {}\n", i)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf": root.String(), "m/m.tf": module.String()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result, err := d.modules(t.Context(), true, false, false)
	runtime.ReadMemStats(&after)
	if err != nil || len(result.Modules) != calls+1 || len(result.Required()) != resources {
		t.Fatalf("Plan: %v, want %d modules and %d providers", err, calls, resources)
	}
	each := (after.TotalAlloc - before.TotalAlloc) / calls
	t.Logf("%d bytes allocated for each module", each)
	if each > 40_000 {
		t.Errorf("%d bytes for each of %d modules, want at most 40,000: requirements are shared", each, calls)
	}
	// One of them is an expression, so that each module has calls of its own.
	write(t, d.Path, map[string]string{"m/m.tf": strings.ReplaceAll(root.String(), "./m", "./n") + "module \"e\" {\n  source = \"./n${path.cwd == \"\" ? \"\" : \"\"}\"\n}\n", "m/n/n.tf": ""})
	runtime.ReadMemStats(&before)
	_, err = d.Plan(t.Context())
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || !strings.Contains(err.Error(), "more than 10000 modules") || mib > 200 {
		t.Errorf("%d calls of a module with as many: %v and %d MiB, want an error with the limit of modules, and at most 200 MiB", calls, err, mib)
	}
}

// TestSharedNames: blocks that share long names in JSON share their memory, and the text of a problem is made for the
// first 100 only.
func TestSharedNames(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		mib        uint64
	}{
		"resources": {"a.tf.json", `{"resource":{"` + strings.Repeat("A", maxName) + `":{"a":{}` + strings.Repeat(`,"b":{}`, 60_000) + `}}}`, 290},
		"problems":  {strings.Repeat("\x01", 200) + ".tf.json", `{"provider":{"` + strings.Repeat("\x7f", maxName) + `":[0` + strings.Repeat(`,0`, 190_000) + `]}}`, 550},
	} {
		d := &Dir{Path: t.TempDir()}
		if err := os.WriteFile(filepath.Join(d.Path, c.file), []byte(c.text), 0o644); err != nil {
			t.Logf("%s: %v", name, err) // such a name is not possible on all systems
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := d.Read(t.Context())
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || mib > c.mib {
			t.Errorf("%s: %.200v and %d MiB, want problems and at most %d MiB", name, err, mib, c.mib)
		} else {
			t.Logf("%s: %d MiB", name, mib)
		}
	}
}

// TestManyProblems: all modules together keep 1,000 problems, and each one more.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	const modules = 20
	files := map[string]string{}
	for i := range modules {
		files["main.tf"] += fmt.Sprintf("module \"m%d\" {\n  source = \"./m%d\"\n}\n", i, i)
		files[fmt.Sprintf("m%d/m.tf", i)] = strings.Repeat("variable a {}\n", 150)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, files)
	w := must.Get(d.walk(true, true))(t)
	w.tolerant, w.lock, w.group = true, &modulelock.File{}, &errgroup.Group{}
	root := w.top()
	must.Do(t, w.visit(t.Context(), root))
	must.Do(t, w.group.Wait())
	kept := 0
	for _, c := range w.configs {
		kept += len(c.problems)
	}
	if want := maxAllProblems + modules - maxAllProblems/maxProblems; kept != want || len(w.configs) != modules+1 {
		t.Errorf("%d modules keep %d problems, want %d", len(w.configs), kept, want)
	}
}

// TestLinkedFiles: links among the files of a configuration are followed within the work for paths.
func TestLinkedFiles(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	write(t, dir, map[string]string{"d/m.tf": "", "p/d/m.tf": ""})
	for link, target := range map[string]string{"l.tf": "d/m.tf", "p/d/l.tf": "../d/m.tf", "p/d/out.tf": "../../d/m.tf"} {
		if err := symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skipf("skipped: this link cannot be made here: %v", err)
		}
	}
	root := must.Get(os.OpenRoot(filepath.Join(dir, "p")))(t)
	defer root.Close()
	own, inside := files{dir: dir}, files{root: root, base: filepath.Join(dir, "p"), dir: "d"}
	for name, c := range map[string]struct {
		files  files
		name   string
		isLink bool
		want   string
		work   int
	}{
		"file":            {own, "d/m.tf", false, filepath.Join(dir, "d/m.tf"), pathWork + len(filepath.Join(dir, "d/m.tf")) + elemWork*strings.Count(filepath.Join(dir, "d/m.tf"), string(filepath.Separator))},
		"link":            {own, "l.tf", true, filepath.Join(dir, "d/m.tf"), 0},
		"file of package": {inside, "m.tf", false, "d/m.tf", 2 * pathWork},
		"link of package": {inside, "l.tf", true, "d/m.tf", 0},
		"link out of it":  {inside, "out.tf", true, "", 0},
	} {
		b := &budget{ctx: t.Context(), paths: &paths{}}
		path, err := c.files.find(b, filepath.FromSlash(c.name), c.isLink)
		if path != filepath.FromSlash(c.want) && c.want != "" || (err == nil) != (c.want != "") || c.work > 0 && int(b.paths.spent.Load()) != c.work {
			t.Errorf("%s: find %s: %q, %v with work %d; want %q, with work %d", name, c.name, path, err, b.paths.spent.Load(), c.want, c.work)
		}
		work := int(b.paths.spent.Load())
		for over := range 2 {
			b := &budget{ctx: t.Context(), paths: &paths{}}
			b.paths.spend(maxPaths - work + over)
			if _, err := c.files.find(b, filepath.FromSlash(c.name), c.isLink); errors.Is(err, errPaths) != (over == 1) {
				t.Errorf("%s: find %s with %d too much work: %v", name, c.name, over, err)
			}
		}
	}
}

// TestManyResources: a module with many files of many resources is refused early, with little memory.
func TestManyResources(t *testing.T) {
	d := &Dir{Path: t.TempDir()}
	var text strings.Builder
	for i := range 18_000 {
		fmt.Fprintf(&text, "resource \"aws_x\" \"r%d\" {}\n", i)
	}
	for i := range 60 {
		write(t, d.Path, map[string]string{fmt.Sprintf("f%d.tf", i): strings.ReplaceAll(text.String(), "\"r", fmt.Sprintf("\"f%d_", i))})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Read(t.Context())
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || !strings.Contains(err.Error(), "Limits.") || mib > 900 {
		t.Errorf("Read: %v and %d MiB, want a limit of the module and at most 900 MiB", err, mib)
	}
}

// TestLinks: a path has at most 255 links, all paths have a limit of work, and none is followed longer than the context.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "d"), 0o755))
	for i := range maxLinks + 1 {
		target := "d"
		if i > 0 {
			target = fmt.Sprintf("d/../l%d", i)
		}
		if err := symlink(target, filepath.Join(dir, fmt.Sprintf("l%d", i+1))); err != nil {
			t.Skipf("skipped: this link cannot be made here: %v", err)
		}
	}
	must.Do(t, symlink("loop", filepath.Join(dir, "loop")))
	must.Do(t, symlink(dir, filepath.Join(dir, "d/absolute")))
	long := func(n int) string { // of links to one another, after the last of which n bytes are left
		for i, size := range append(slices.Repeat([]int{4_000}, 16), n-16*(4_000-3)) {
			target := fmt.Sprintf("%c%02d/", 'a'+n%2, i+1)
			must.Do(t, symlink(target+strings.Repeat("x", size-len(target)), filepath.Join(dir, fmt.Sprintf("%c%02d", 'a'+n%2, i))))
		}
		return fmt.Sprintf("%c00", 'a'+n%2)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	last := pathWork + len(filepath.Join(dir, "d")) + elemWork*strings.Count(filepath.Join(dir, "d"), string(filepath.Separator))
	for name, c := range map[string]struct {
		ctx        context.Context
		name, want string
		inside     bool
		paths      int // work for earlier paths
		refused    string
	}{
		"links":          {name: fmt.Sprintf("l%d", maxLinks), want: "d"},
		"too many links": {name: fmt.Sprintf("l%d", maxLinks+1), refused: "too many links"},
		"a loop":         {name: "loop", refused: "too many links"},
		"work":           {name: "d", paths: maxPaths - last, want: "d"},
		"too much work":  {name: "d", paths: maxPaths - last + 1, refused: errPaths.Error()},
		"inside":         {name: "l2", inside: true, want: "d"},
		"outside":        {name: "d/../..", inside: true, refused: errOutside.Error()},
		"absolute":       {name: "d/absolute/l1", want: filepath.Join(dir, "d")},
		"not inside":     {name: "d/absolute/l1", inside: true, refused: errOutside.Error()},
		"rest":           {name: long(maxRest), refused: "no such file"},
		"too long":       {name: long(maxRest + 1), refused: "too many links"},
		"ended":          {ctx: ended, name: "l3", refused: context.Canceled.Error()},
	} {
		var p paths
		p.spend(c.paths)
		to, err := p.resolve(cmp.Or(c.ctx, t.Context()), dir, filepath.FromSlash(c.name), c.inside)
		if to != c.want || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: resolve %s: %q, %v; want %q and the error %q", name, c.name, to, err, c.want, c.refused)
		}
	}
}

// ends is a context that ends after some looks at it.
type ends struct {
	context.Context
	looks atomic.Int64
}

func (c *ends) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestContext: whenever the context ends, reading and evaluating end at the next step: of each goroutine, which a module
// is. A step is a file, a link, or what is charged to the budget.
func TestContext(t *testing.T) {
	t.Parallel()
	const modules = 8
	files := map[string]string{
		"main.tf":          "locals {\n  a = \"" + strings.Repeat("${1}", 100) + "\"\n}\n",
		"a.tf.json":        `{"variable":{"v":{"type":"list(string)"}},"locals":{"b":["${local.a}","x"]},"terraform":{"required_providers":{"p":{"source":"a/b","version":"1.2"}}}}`,
		"terraform.tfvars": "v = [\"m\"]\n", "override.tf": "locals {\n  c = format(\"%s\", local.b[0])\n}\n",
		"a.tftest.hcl": "run \"r\" {\n  module {\n    source = \"./${\"m\"}\"\n  }\n}\n",
		"m/m.tf":       "variable \"v\" {\n  default = \"\"\n}\nmodule \"n\" {\n  source = var.v == join(\"-\", [\"x\"]) ? \"./n\" : \"./n\"\n}\n", "m/n/n.tf": "",
	}
	for i := range modules {
		files["main.tf"] += fmt.Sprintf("module \"m%d\" {\n  source = \"./${var.v[0]}/../m\"\n  v = local.c\n}\n", i)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, files)
	visit := func(looks int64) (left int64, err error) {
		ctx := &ends{Context: t.Context()}
		ctx.looks.Store(looks)
		w := must.Get(d.walk(true, true))(t)
		w.lock, w.locked, w.group = &modulelock.File{}, map[modulelock.Key]bool{}, &errgroup.Group{}
		w.group.Go(func() error { return w.visit(ctx, w.top()) })
		err = w.group.Wait()
		return ctx.looks.Load(), err
	}
	const most = 1 << 20
	left, err := visit(most)
	all := most - left
	if err != nil || all < 400 {
		t.Fatalf("visit: %d looks at the context, %v; want at least 400", all, err)
	}
	for looks := int64(0); looks < all; looks += all / 100 {
		if left, err := visit(looks); !errors.Is(err, context.Canceled) || left < -4*modules {
			t.Fatalf("visit with a context that ends at look %d of %d: %v after %d more, want context.Canceled after at most %d", looks, all, err, -left, 4*modules)
		}
	}
}

// TestWritten: a requirement has its constraint as written and in the canonical form.
func TestWritten(t *testing.T) {
	t.Parallel()
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf": "terraform {\n  required_providers {\n    a = { source = \"acme/a\", version = \"~>3.0,!=3.1\" }\n    b = { source = \"acme/b\" }\n  }\n}\n"})
	m, err := d.Read(t.Context())
	if err != nil || len(m.Providers) != 2 {
		t.Fatalf("Read: %+v, %v; want two providers", m, err)
	}
	for i, want := range []struct{ written, canonical string }{{"~>3.0,!=3.1", "~> 3.0, != 3.1"}, {"", ""}} {
		if r := m.Providers[i]; r.Written != want.written || r.Constraint != addrs.MustParseProviderConstraint(want.canonical) {
			t.Errorf("%s: written %q, constraint %q; want %q and %q", r.Provider, r.Written, r.Constraint, want.written, want.canonical)
		}
	}
}

// TestApart: a panic of a function that is called apart reaches the caller, and what it returns does.
func TestApart(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := recover(); v != "deep" {
			t.Errorf("the caller of apart recovers %v, want the panic", v)
		}
	}()
	done := false
	apart(func() { done = true })
	if !done {
		t.Error("apart has returned before the function")
	}
	apart(func() { panic("deep") })
}
