package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"

	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// repositoryOf returns the path of a git repository.
func repositoryOf(t *testing.T, c tree) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	dir := t.TempDir()
	c.write(t, &world{}, dir)
	commit(t, dir, "init", "-q", "-b", "main")
	return dir
}

// commit runs git, and commits all files.
func commit(t *testing.T, dir string, first ...string) {
	t.Helper()
	for _, args := range [][]string{first, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}, {"tag", "-f", "v1"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}

func (c tree) with(repository string) tree {
	files := map[string]string{}
	for name, text := range c.files {
		files[name] = strings.ReplaceAll(text, "REPO", filepath.ToSlash(repository))
	}
	c.files = files
	return c
}

// TestLinksInPackages: links that stay in their package are kept, and others are left out with a warning.
func TestLinksInPackages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{
		files: map[string]string{"main.tf": `module "l" { source = "./link" }`, "real/main.tf": `module "sub" { source = "./sub" }`, "real/sub/m.tf": "", "common.tf": ""},
		links: map[string]string{"link": "real", "real/common.tf": "../common.tf"},
	})
	same(t, w, tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"git::file://REPO\"\n}\nmodule \"b\" {\n  source = \"git::file://REPO//link\"\n}\n"}}.with(repository))

	bad := repositoryOf(t, tree{files: map[string]string{"main.tf": ""}, links: map[string]string{"out.tf": "../../../../etc/passwd"}})
	dir := t.TempDir()
	tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"git::file://REPO\"\n}\n"}}.with(bad).write(t, w, dir)
	result, err := w.dir(t, dir, false).Prepare(t.Context())
	if err != nil || len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "out.tf") {
		t.Errorf("Prepare: %v, %v; want a warning that names out.tf", result, err)
	}
	strict := w.dir(t, t.TempDir(), false)
	strict.Modules.SkipLinks = false
	tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"git::file://REPO\"\n}\n"}}.with(bad).write(t, w, strict.Path)
	if err := prepare(t.Context(), strict); err == nil || !strings.Contains(err.Error(), "out.tf") {
		t.Errorf("Prepare without SkipLinks: %v, want an error that names out.tf", err)
	}
}

// TestOnePackage: a package that many modules call is fetched once, subdirectories included.
func TestOnePackage(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	var root strings.Builder
	for i := range 8 {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source  = \"HOST/acme/network/aws%s\"\n  version = \"1.0.0\"\n}\n", i, []string{"", "//modules/subnet"}[i%2])
	}
	same(t, w, tree{files: map[string]string{"main.tf": root.String()}})
	before := w.registry.Count(regtest.ModulePackage)
	dir := t.TempDir()
	tree{files: map[string]string{"main.tf": root.String()}}.write(t, w, dir)
	must.Do(t, prepare(t.Context(), w.dir(t, dir, false)))
	if n := w.registry.Count(regtest.ModulePackage) - before; n != 1 {
		t.Errorf("%d requests for the package, want 1", n)
	}
}

// TestOneClone: a git repository that many modules call is cloned once.
func TestOneClone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": "", "sub/main.tf": ""}})
	var root strings.Builder
	for i := range 8 {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = \"git::file://REPO%s\"\n}\n", i, []string{"", "//sub"}[i%2])
	}
	d := w.dir(t, t.TempDir(), false)
	tree{files: map[string]string{"main.tf": root.String()}}.with(repository).write(t, w, d.Path)
	clones := 0
	d.Modules.Progress = func(e progress.Event) {
		if e.Kind == progress.Stored {
			clones++
		}
	}
	result, err := d.Prepare(t.Context())
	if err != nil || clones != 1 || len(result.Modules) != 9 {
		t.Errorf("Prepare: %d clones, %+v, %v; want 1 for 8 modules", clones, result, err)
	}
}

// together is a fetcher whose calls wait until all of them have begun.
type together struct {
	waiting atomic.Int32
	all     chan struct{}
}

func (f *together) FetchModule(ctx context.Context, _ *module.Location, dir string, _ module.Options) ([]string, error) {
	if f.waiting.Add(-1) == 0 {
		close(f.all)
	}
	select {
	case <-f.all:
		return nil, os.WriteFile(filepath.Join(dir, "main.tf"), nil, 0o644)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestSideBySide: packages of several fetchers are fetched at the same time.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := newWorld(t).dir(t, t.TempDir(), false)
	write(t, d.Path, map[string]string{"main.tf": `
module "a" {
  source = "s3::https://s3.amazonaws.com/bucket/a.zip"
}
module "b" {
  source = "oci://example.com/modules/b?tag=1"
}
module "c" {
  source = "oci://example.com/modules/c?tag=1"
}
`})
	f := &together{all: make(chan struct{})}
	f.waiting.Store(3)
	d.Modules.Fetcher = module.Fetchers{"s3": f, "oci": f}
	if result, err := d.Prepare(ctx); err != nil || len(result.Modules) != 4 {
		t.Errorf("Prepare: %+v, %v; want 3 modules that were fetched at the same time", result, err)
	}
}

// crowd is a source whose calls wait until 64 of them have begun.
type crowd struct {
	module.Source
	inside, most atomic.Int32
	once         sync.Once
	full         chan struct{}
}

func (s *crowd) ModuleVersions(ctx context.Context, _ addrs.Module) (*module.Versions, error) {
	n := s.inside.Add(1)
	defer s.inside.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	if n == 64 {
		s.once.Do(func() { close(s.full) })
	}
	select {
	case <-s.full:
		return &module.Versions{Versions: []module.Release{{Version: addrs.MustParseVersion("1.0.0")}}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAsksForAFew: sources are asked for 64 modules at a time, however many a module calls.
func TestAsksForAFew(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	source := &crowd{full: make(chan struct{})}
	d := &Dir{Path: t.TempDir(), Registry: source}
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"acme/m%d/aws\"\n}\n", i, i)
	}
	write(t, d.Path, map[string]string{"main.tf": b.String()})
	if result, err := d.Plan(ctx); err != nil || len(result.Modules) != 301 || source.most.Load() != 64 {
		t.Errorf("Plan: %d modules, %v, %d at a time; want 301, 64 at a time", len(result.Modules), err, source.most.Load())
	}
}

// TestValues: values of variables come from the environment, files and the caller, the last of which counts.
func TestValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, c := range map[string]struct {
		typ     string
		files   map[string]string
		environ []string
		given   map[string]string
	}{
		"default":   {typ: "string"},
		"environ":   {typ: "string", environ: []string{"TF_VAR_v=x", "TF_VAR_v=environ"}},
		"file":      {typ: "string", environ: []string{"TF_VAR_v=x"}, files: map[string]string{"terraform.tfvars": "v = \"file\""}},
		"given":     {typ: "string", files: map[string]string{"a.auto.tfvars": "v = \"file\""}, given: map[string]string{"v": "given"}},
		"list":      {typ: "list(string)", given: map[string]string{"v": "[\"list\"]"}},
		"workspace": {typ: "string", given: map[string]string{"v": "workspace"}, environ: []string{"TF_WORKSPACE=other"}},
		"selected":  {typ: "string", environ: []string{"TF_WORKSPACE=selected"}},
	} {
		d := w.dir(t, t.TempDir(), false)
		d.Environ, d.Variables = c.environ, c.given
		if want == "workspace" {
			d.Workspace = want
		}
		source := map[string]string{"list": "var.v[0]", "default": "var.v", "workspace": "terraform.workspace", "selected": "terraform.workspace"}[want]
		write(t, d.Path, map[string]string{
			"main.tf":      fmt.Sprintf("variable \"v\" {\n  type = %s\n  default = %s\n}\nmodule \"m\" {\n  source = \"./${%s}\"\n}\n", c.typ, map[bool]string{true: "[]", false: `"default"`}[want == "list"], cmp.Or(source, "var.v")),
			want + "/m.tf": "",
		})
		write(t, d.Path, c.files)
		if err := prepare(t.Context(), d); err != nil {
			t.Errorf("Prepare: %v, want the module in %s", err, want)
		}
	}
}

// TestHostileExpressions: no expression takes much memory or time.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	double := "locals {\n  a0 = \"aaaaaaaaaaaaaaaa\"\n"
	objects := "locals {\n  a0 = { x = \"\", y = \"\" }\n"
	for i := range 30 {
		double += fmt.Sprintf("  a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
		objects += fmt.Sprintf("  a%d = { x = \"${local.a%d.x}${local.a%d.y}\", y = \"${local.a%d.y}${local.a%d.x}\" }\n", i+1, i, i, i, i)
	}
	local := func(value, source string) string {
		return "locals {\n  a = " + value + "\n}\nmodule \"m\" {\n  source = " + source + "\n}\n"
	}
	many := "[" + strings.Repeat(`"",`, 10_000) + "]"
	const work = "take too much work"
	long := strings.Repeat("a", 1<<20)
	JSON := func(value, source string) string { // with two long texts
		return `{"locals":{"a":"` + long + `","b":"` + long + `",` + value + `},"module":{"m":{"source":"` + source + `"}}}`
	}
	for name, c := range map[string]struct{ text, want string }{
		"doubled":    {double + "}\nmodule \"m\" {\n  source = local.a30\n}\n", "main.tf:11: a text of more than 4096 bytes"},
		"objects":    {objects + "}\nmodule \"m\" {\n  source = \"./x${local.a30.x}\"\n}\n", ""},
		"regex":      {local(`"`+strings.Repeat("a", 100_000)+`"`, `regex("(?:a?){1000}b", local.a)`), `main.tf:5: this call of the function "regex" is not evaluated here`},
		"references": {local(`"`+strings.Repeat("a", 16_000)+`"`, `"${local.b}"`) + "locals {\n  b = \"" + strings.Repeat("${local.a}", 25_000) + "\"\n}\n", "main.tf:8: a text of more than 4096 bytes"},
		"joins":      {local(many, `"./x${local.b}"`) + "locals {\n  b = \"" + strings.Repeat("${join(\"\", local.a)}", 1_000) + "\"\n}\n", work},
		"types":      {"variable \"v\" {\n  type = list(any)\n  default = [\"./x\"," + strings.Repeat("1,{},[],", 10_000) + "]\n}\nmodule \"m\" {\n  source = var.v[0]\n}\n", ""},
		"optionals":  {"variable \"v\" {\n  type = list(object({ a = optional(list(object({ b = optional(string, \"./x\") })), [" + strings.Repeat("{},", 5_000) + "]) }))\n  default = [" + strings.Repeat("{},", 300) + "]\n}\nmodule \"m\" {\n  source = var.v[0].a[0].b\n}\n", ""},
		"compared":   {JSON(`"c":"`+strings.Repeat("${local.a==local.b}", 500)+`"`, "${local.c}"), work},
		"keys":       {JSON(`"o":{"x":1},"c":"`+strings.Repeat("${lookup(local.o, local.a, 1)}", 500)+`"`, "${local.c}"), work},
		"JSON":       {`{"locals":{"a":["${"` + strings.Repeat(`,"${1}"`, 1_000) + `]},"module":{"m":{"source":"${local.a[0]}"}}}`, "main.tf.json:1: "},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if err := called(t, w, c.text); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		runtime.ReadMemStats(&after)
		t.Logf("%s: %v, %d MiB", name, time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// TestManyCallsOfADirectory: what is evaluated once more for each call of a module is charged each time.
func TestManyCallsOfADirectory(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("a", 1<<20) + `"`
	var root strings.Builder
	for i := range 200 {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source = \"./x\"\n}\n", i)
	}
	for name, variable := range map[string]string{
		"default": `"default":` + long, "flag": `"default":"","sensitive":` + long, "type": `"default":"","type":[` + strings.Repeat(`"",`, 60_000) + `""]`,
	} {
		d := &Dir{Path: t.TempDir()}
		write(t, d.Path, map[string]string{"main.tf": root.String(), "x/main.tf.json": `{"variable":{"v":{` + variable + `}},"module":{"m":{"source":"${var.v}"}}}`})
		if _, err := d.ReadTree(t.Context()); err == nil || !strings.Contains(err.Error(), "take too much work") {
			t.Errorf("%s: ReadTree: %.300v, want that it takes too much work", name, err)
		}
	}
	root.Reset()
	version := strings.Repeat(">1,", maxText/3-10) + ">1"
	for i := range 600 {
		fmt.Fprintf(&root, `,"m%d":{"source":"a/b/c","version":%q}`, i, version)
	}
	d := &Dir{Path: t.TempDir()}
	write(t, d.Path, map[string]string{"main.tf.json": `{"module":{` + root.String()[1:] + `}}`})
	if _, err := d.ReadTree(t.Context()); err == nil || !strings.Contains(err.Error(), "take too much work") {
		t.Errorf("versions: ReadTree: %.300v, want that they take too much work", err)
	}
}

// called prepares a configuration that calls a module in the directory x.
func called(t *testing.T, w *world, text string) error {
	t.Helper()
	d := w.dir(t, t.TempDir(), false)
	name := "main.tf"
	if strings.HasPrefix(text, "{") {
		name += ".json"
	}
	write(t, d.Path, map[string]string{name: text, "x/main.tf": ""})
	return prepare(t.Context(), d)
}

// TestExpressionLimits: each limit of expressions holds at n, and n+1 is refused with file and line.
func TestExpressionLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		n    int
		text func(n int) string
		want string
	}{
		"text": {maxText, func(n int) string {
			return "module \"m\" {\n  source = \"./" + strings.Repeat("./", (n-5)/2) + x(1+(n-5)%2) + "\"\n}\n"
		}, "main.tf:2: \"source\" has more than 4096 bytes"},
		"text that is put together": {maxText, func(n int) string {
			return "locals {\n  a = \"" + x(n-1) + "${1}\"\n}\nmodule \"m\" {\n  source = local.a == \"\" ? \"./x\" : \"./x\"\n}\n"
		}, "main.tf:2: a text of more than 4096 bytes"},
		"result": {maxText, func(n int) string { // of an expression
			return "locals {\n  a = \"./" + x(n-2) + "\"\n}\nmodule \"m\" {\n  source = local.a\n}\n"
		}, "main.tf:5: \"source\" has more than 4096 bytes"},
		"depth": {maxDepth - 2, func(n int) string { // the last one has two
			text := "locals {\n  a1 = \"./x\"\n"
			for i := range n - 1 {
				text += fmt.Sprintf("  a%d = local.a%d\n", i+2, i+1)
			}
			return text + "}\nmodule \"m\" {\n  source = local.a" + fmt.Sprint(n) + "\n}\n"
		}, "main.tf:2: more than 4000 expressions need one another"},
		"digits": {maxNumber, func(n int) string {
			return "variable \"v\" {\n  type = number\n  default = \"" + strings.Repeat("1", n) + "\"\n}\nmodule \"m\" {\n  source = var.v\n}\n"
		}, "main.tf:1: want a number, not a string"},
		"exponent": {999, func(n int) string {
			return fmt.Sprintf("variable \"v\" {\n  type = number\n  default = \"1e-%d\"\n}\nmodule \"m\" {\n  source = var.v\n}\n", n)
		}, "main.tf:1: want a number, not a string"},
		"power": {999, func(n int) string {
			return fmt.Sprintf("module \"m\" {\n  source = 1e%d\n}\n", n)
		}, "main.tf:2: a number of more than 100 bytes, or an exponent of more than 3 digits"},
	} {
		if err := called(t, w, c.text(c.n)); err != nil && strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, n = %d: %v, want no error", name, c.n, err)
		}
		if err := called(t, w, c.text(c.n+1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, n = %d: %v, want an error with %q", name, c.n+1, err, c.want)
		}
	}
}

// TestDataDirectory: the data directory may be elsewhere, and a link of the user's.
func TestDataDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := map[string]string{"c/main.tf": "module \"m\" {\n  source  = \"HOST/acme/network/aws\"\n  version = \"1.0.0\"\n}\n", "data/x": ""}
	t.Run("link", func(t *testing.T) {
		t.Parallel()
		same(t, w, tree{dir: "c", files: files, links: map[string]string{"c/.terraform": "../data"}})
	})
	t.Run("variable", func(t *testing.T) {
		t.Parallel()
		wantPorts(t)
		d := w.dir(t, t.TempDir(), false)
		tree{files: map[string]string{"main.tf": files["c/main.tf"]}}.write(t, w, d.Path)
		d.Environ = []string{"TF_DATA_DIR=./elsewhere/"}
		must.Do(t, prepare(t.Context(), d))
		if text := read(t, d.Path, "elsewhere/modules/modules.json"); !strings.Contains(text, `"Dir":"elsewhere/modules/m"`) {
			t.Errorf("the manifest is %s, want the module in elsewhere/modules/m", text)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		d := w.dir(t, t.TempDir(), false)
		write(t, d.Path, map[string]string{"main.tf": "resource \"terraform_data\" \"x\" {}\n"})
		must.Do(t, prepare(t.Context(), d))
		if _, err := os.Stat(filepath.Join(d.Path, ".terraform")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf(".terraform: %v, want that it is not made", err)
		}
	})
}

// TestFailedModule: if one module fails, those of before are still in use.
func TestFailedModule(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	call := func(version, more string) map[string]string {
		return map[string]string{"main.tf": fmt.Sprintf("module \"m\" {\n  source  = \"%s/acme/network/aws\"\n  version = %q\n}\n%s", w.host, version, more)}
	}
	write(t, d.Path, call("1.0.0", ""))
	must.Do(t, prepare(t.Context(), d))
	before := stateOf(t, d.Path, nil)
	write(t, d.Path, call("2.0.0", "module \"n\" {\n  source = \""+w.host+"/acme/nothing/aws\"\n}\n"))
	if err := prepare(t.Context(), d); err == nil {
		t.Fatal("Prepare succeeds without a module, want an error")
	}
	if different := differences(stateOf(t, d.Path, nil), before); len(different) > 0 {
		t.Errorf("after a failure: %q", different)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := prepare(ended, d); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare: %v, want context.Canceled", err)
	}
}

// TestFailedProvider: if one provider fails, the others are installed and locked, and those of before stay.
func TestFailedProvider(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	requires := func(entries string) {
		tree{files: map[string]string{"main.tf": "terraform {\n  required_providers {\n    alpha = {\n      source = \"HOST/acme/alpha\"\n    }\n" + entries + "  }\n}\n"}}.write(t, w, d.Path)
	}
	requires("")
	result, err := d.InstallModules(t.Context()) // the steps of Prepare
	if err == nil {
		_, err = d.InstallProviders(t.Context(), result.Required())
	}
	must.Do(t, err)
	requires("    beta = {\n      source = \"HOST/acme/beta\"\n    }\n    gone = {\n      source = \"HOST/acme/gone\"\n    }\n")
	result, err = d.Prepare(t.Context())
	if !errors.Is(err, failure.ErrNotFound) || !result.Locked || len(result.Providers.Selections) != 3 {
		t.Errorf("Prepare: %+v, %v; want ErrNotFound, and two of three providers", result, err)
	}
	requires("    beta = {\n      source = \"HOST/acme/beta\"\n    }\n")
	if err := prepare(t.Context(), w.offline(t, d.Path, false)); err != nil {
		t.Errorf("Prepare without a network: %v, want that alpha and beta are installed and locked", err)
	}
}

// TestPlan: a plan tells what would be done and writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	everyKind(t, "/nowhere").write(t, w, d.Path)
	d.Limits.Providers = 3
	result := must.Get(d.Plan(t.Context()))(t)
	missing := ""
	for _, m := range result.Modules {
		if m.Missing {
			missing += " " + m.Key + " " + m.Version.String()
		}
	}
	if want := " git  network 1.1.0 pinned 1.0.0"; missing != want || !result.Locked || len(result.Providers.Selections) != 3 {
		t.Errorf("Plan: missing %q, lock file changed %t, %d providers; want %q, true, 3", missing, result.Locked, len(result.Providers.Selections), want)
	}
	for _, name := range []string{".terraform", ".terraform.lock.hcl"} {
		if _, err := os.Stat(filepath.Join(d.Path, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want that it does not exist", name, err)
		}
	}
	d.Limits.Providers--
	before := w.registry.Count(regtest.Versions)
	if _, err := d.Plan(t.Context()); !errors.Is(err, failure.ErrTooLarge) || w.registry.Count(regtest.Versions) != before {
		t.Errorf("Plan of 3 providers with a limit of 2: %v, want ErrTooLarge before a request", err)
	}
	m, err := d.Read(t.Context())
	if err != nil || len(m.Calls) != 5 || m.Calls[3].Version != "1.0.0" || m.Calls[3].Place.File != "main.tf" || len(m.Providers) != 3 {
		t.Errorf("Read: %+v, %v; want the 5 calls and 3 providers", m, err)
	}
}

// TestReadTree: what is local or installed is read, the rest is Missing, and errors are beside the result.
func TestReadTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	installed := tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"HOST/acme/network/aws\"\n}\nmodule \"l\" {\n  source = \"./l\"\n}\n", "l/l.tf": ""}}
	installed.write(t, w, d.Path)
	must.Get(d.InstallModules(t.Context()))(t)
	tree{files: map[string]string{
		"l/l.tf":  "module \"again\" {\n  source = \"../l\"\n}\nmodule {\n}\nresource \"p_x\" \"r\" {}\n",
		"more.tf": "variable \"v\" {}\nmodule \"g\" {\n  source = \"git::https://example.com/g.git\"\n}\nmodule \"n\" {\n  source = \"./nowhere\"\n}\nmodule \"r\" {\n  source = \"HOST/acme/other/aws\"\n}\nmodule \"v\" {\n  source = var.v\n}\n",
	}}.write(t, w, d.Path)
	before := stateOf(t, d.Path, nil)
	requests := len(w.registry.Requests())
	result, err := d.ReadTree(t.Context())
	if result == nil {
		t.Fatalf("ReadTree: %v, want a result", err)
	}
	var got []string
	for _, m := range result.Modules {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %t", m.Key, m.Version, m.Missing)))
	}
	want := " false,a 2.0.0 false,a.inner  false,g  true,l  false,n  true,r  true,v  true"
	if text := strings.Join(got, ","); strings.ReplaceAll(" "+text, "  ", " ") != strings.ReplaceAll(want, "  ", " ") || len(result.Required()) != 2 {
		t.Errorf("ReadTree: modules %q, %d providers; want %q, 2", text, len(result.Required()), want)
	}
	for _, text := range []string{"l/l.tf:4: ", "l: the module calls itself", `more.tf:5: module "n": `, `the variable "v" has no value`} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("ReadTree: %v, want an error with %q", err, text)
		}
	}
	if different := differences(stateOf(t, d.Path, nil), before); len(different) > 0 || len(w.registry.Requests()) != requests {
		t.Errorf("ReadTree: %q and %d requests, want that it writes nothing and asks nobody", different, len(w.registry.Requests())-requests)
	}
	write(t, d.Path, map[string]string{modulesJSON: "{"})
	if result, err := d.ReadTree(t.Context()); result == nil || !strings.Contains(fmt.Sprint(err), "not a manifest") || !result.Modules[1].Missing {
		t.Errorf("ReadTree with a damaged manifest: %+v, %v; want a result without installed modules", result, err)
	}
	if _, err := d.ReadTree(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadTree after the end of the context: %v, want context.Canceled", err)
	}
}

// TestTwoProcesses: many calls for one directory leave one complete result.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	dir := t.TempDir()
	everyKind(t, repository(t)).write(t, w, dir)
	done := make(chan error)
	for range 4 {
		d := w.dir(t, dir, false)
		go func() { done <- prepare(t.Context(), d) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Errorf("Prepare: %v", err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".terraform"))
	if err != nil || len(entries) != 2 {
		t.Errorf(".terraform has %v, %v; want modules and providers", entries, err)
	}
}

// TestLockModules: a locked module is the one of before, and its tag must not move.
func TestLockModules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": ""}})
	dir := t.TempDir()
	tree{files: map[string]string{"main.tf": "locals {\n  c = \">= 1.0\"\n}\nmodule \"git\" {\n  source = \"git::file://REPO?ref=v1\"\n}\nmodule \"network\" {\n  source  = \"HOST/acme/network/aws\"\n  version = local.c\n}\n"}}.with(repository).write(t, w, dir)
	locked := func() *Dir {
		d := w.dir(t, dir, false)
		d.LockModules = true
		return d
	}
	readOnly := locked()
	readOnly.ReadOnly = true
	if err := prepare(t.Context(), readOnly); err == nil || !strings.Contains(err.Error(), "no entry") {
		t.Errorf("Prepare with ReadOnly and no lock file: %v, want that there is no entry", err)
	}
	if _, err := os.Stat(filepath.Join(dir, modulelock.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file: %v, want that ReadOnly writes none", err)
	}
	must.Do(t, prepare(t.Context(), locked()))
	first := read(t, dir, modulelock.Name)
	lock, err := modulelock.Load(filepath.Join(dir, modulelock.Name))
	if err != nil || lock.Len() != 2 || !strings.Contains(first, `"version":"2.0.0"`) || !strings.Contains(first, `"evaluated":"sha256:`) || !strings.Contains(first, `"commit":"`) {
		t.Fatalf("the lock file is %s, %v; want version, commit, and a digest of the expression", first, err)
	}

	// A module that writes into its directory is believed, and hashed if asked.
	write(t, dir, map[string]string{".terraform/modules/git/written": "x"})
	if err := prepare(t.Context(), locked()); err != nil || read(t, dir, ".terraform/modules/git/written") != "x" {
		t.Errorf("Prepare: %v, want that the package stays", err)
	}
	again := locked()
	again.Rehash = true
	must.Do(t, prepare(t.Context(), again))
	if _, err := os.Stat(filepath.Join(dir, ".terraform/modules/git/written")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Rehash: %v, want that the package is fetched again", err)
	}

	// A new version is not taken, and a tag that moved is an error.
	w.registry.AddModule(regtest.Module{Address: "acme/network/aws", Version: "3.0.0", Files: map[string]string{"main.tf": ""}})
	must.Do(t, os.RemoveAll(filepath.Join(dir, ".terraform")))
	if err := prepare(t.Context(), readOnly); err != nil || read(t, dir, modulelock.Name) != first {
		t.Errorf("Prepare with ReadOnly: %v, want the locked versions", err)
	}
	write(t, repository, map[string]string{"main.tf": "# other"})
	commit(t, repository, "status")
	must.Do(t, os.RemoveAll(filepath.Join(dir, ".terraform")))
	for _, d := range []*Dir{readOnly, locked()} {
		err = prepare(t.Context(), d)
		if changed, ok := errors.AsType[*modulelock.ChangedError](err); !ok || !errors.Is(err, checksum.ErrMismatch) || changed.Locked.Commit == changed.Found.Commit {
			t.Errorf("Prepare with a moved tag, ReadOnly %t: %v, want a ChangedError with both commits", d.ReadOnly, err)
		}
		if text := read(t, dir, modulelock.Name); text != first {
			t.Errorf("after a failure the lock file is %s, want the one of before", text)
		}
	}
	upgrade := locked()
	upgrade.Upgrade = true
	must.Do(t, prepare(t.Context(), upgrade))
	if text := read(t, dir, modulelock.Name); !strings.Contains(text, `"version":"3.0.0"`) || text == first {
		t.Errorf("after an upgrade the lock file is %s, want version 3.0.0", text)
	}
	write(t, dir, map[string]string{"main.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": ""})
	if err := prepare(t.Context(), readOnly); err == nil || !strings.Contains(err.Error(), "which no module calls") {
		t.Errorf("Prepare with ReadOnly and entries of sources that are gone: %v, want an error", err)
	}
	must.Do(t, prepare(t.Context(), locked()))
	if lock, err := modulelock.Load(filepath.Join(dir, modulelock.Name)); err != nil || lock.Len() != 0 {
		t.Errorf("the lock file has %d entries, %v; want none, since no source is left", lock.Len(), err)
	}
}

// TestLockedBranch: a git source without a tag or branch gets the locked commit.
func TestLockedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": "# 0"}})
	d := w.dir(t, t.TempDir(), false)
	d.LockModules = true
	tree{files: map[string]string{"main.tf": "module \"m\" {\n  source = \"git::file://REPO\"\n}\n"}}.with(repository).write(t, w, d.Path)
	for i, want := range []string{"# 0", "# 0", "# 2"} {
		d.Upgrade = i == 2
		must.Do(t, errors.Join(os.RemoveAll(filepath.Join(d.Path, ".terraform")), prepare(t.Context(), d)))
		if text := read(t, d.Path, ".terraform/modules/m/main.tf"); text != want {
			t.Errorf("Prepare with Upgrade %t: the module is %q, want %q", d.Upgrade, text, want)
		}
		write(t, repository, map[string]string{"main.tf": fmt.Sprintf("# %d", i+1)})
		commit(t, repository, "status")
	}
}

// TestReadOnly: a lock file of providers that would change is an error, for the clients with -lockfile=readonly too.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	requires := func(alpha, beta string) map[string]string {
		text := "terraform {\n  required_providers {\n"
		if alpha != "" {
			text += "    alpha = {\n      source  = \"" + w.host + "/acme/alpha\"\n      version = \"" + alpha + "\"\n    }\n"
		}
		if beta != "" {
			text += "    beta = {\n      source  = \"" + w.host + "/acme/beta\"\n      version = \"" + beta + "\"\n    }\n"
		}
		return map[string]string{"main.tf": text + "  }\n}\n"}
	}
	hashes := regexp.MustCompile(`"(h1|zh):[^"]*"`)
	for name, c := range map[string]struct {
		files map[string]string
		lock  func(string) string
		want  string // in the error; empty for none
	}{
		"same":          {files: requires("1.0.0", "3.0.0")},
		"other text":    {files: requires("~> 1.0", ">= 1.0")},
		"missing":       {requires("1.0.0", "3.0.0"), func(s string) string { return s[:strings.Index(s, "provider")] }, "no hashes for " + w.host + "/acme/alpha: "},
		"superfluous":   {files: requires("", "3.0.0"), want: "has an entry for " + w.host + "/acme/alpha, which no module requires"},
		"other version": {files: requires("2.0.0", "3.0.0"), want: "acme/alpha 1.0.0"},
		"other hashes": {requires("1.0.0", "3.0.0"), func(s string) string {
			return hashes.ReplaceAllString(s, `"h1:`+strings.Repeat("A", 43)+`="`)
		}, "acme/alpha 1.0.0"},
	} {
		terraformtest.Each(t, func(t *testing.T, program string) {
			theirs := terraformtest.New(t, program)
			theirs.Trust(t, w.server.CertPEM)
			ours := w.dir(t, t.TempDir(), theirs.Name() == "terraform")
			write(t, ours.Path, requires("1.0.0", "3.0.0"))
			must.Do(t, prepare(t.Context(), ours))
			lock := read(t, ours.Path, lockfile.Name)
			if c.lock != nil {
				lock = c.lock(lock)
			}
			for _, dir := range []string{ours.Path, theirs.Dir} {
				write(t, dir, c.files)
				write(t, dir, map[string]string{lockfile.Name: lock})
			}
			for _, d := range []*Dir{w.offline(t, ours.Path, ours.Terraform), ours} { // with the packages, then without
				d.ReadOnly = true
				err := prepare(t.Context(), d)
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: Prepare: %v, want an error with %q", name, err, c.want)
				}
				if text := read(t, ours.Path, lockfile.Name); text != lock {
					t.Errorf("%s: the lock file is\n%s\nwant the one of before\n%s", name, text, lock)
				}
				must.Do(t, os.RemoveAll(filepath.Join(ours.Path, ".terraform")))
			}
			if out, err := theirs.Try(t, "init", "-no-color", "-input=false", "-backend=false", "-lockfile=readonly"); (err == nil) != (c.want == "") {
				t.Errorf("%s: %s init -lockfile=readonly: %v, want an error: %t\n%s", name, theirs.Name(), err, c.want != "", out)
			}
		})
	}
	both := &Dir{Path: t.TempDir(), ReadOnly: true, Upgrade: true}
	if err := prepare(t.Context(), both); err == nil || !strings.Contains(err.Error(), "ReadOnly and Upgrade") {
		t.Errorf("Prepare with ReadOnly and Upgrade: %v, want that it is refused", err)
	}
}

// TestFieldsStay: calls do not change the fields of a Dir, which other calls read at the same time.
func TestFieldsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	d.Modules.Progress = func(progress.Event) {}
	write(t, d.Path, map[string]string{"main.tf": ""})
	before := reflect.ValueOf(d.Modules.Progress).Pointer()
	must.Do(t, prepare(t.Context(), d))
	if reflect.ValueOf(d.Modules.Progress).Pointer() != before {
		t.Error("Prepare has replaced Modules.Progress")
	}
}

// TestTreeLimits: each limit of a tree holds at n, and n+1 is refused.
func TestTreeLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := func(name, source string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "module \"%s%d\" {\n  source = \"%s\"\n}\n", name, i, source)
		}
		return text.String()
	}
	for name, c := range map[string]struct {
		n     int
		files func(n int) map[string]string
		want  string
	}{
		"nested calls": {maxCalls, func(n int) map[string]string {
			text := map[string]string{"main.tf": calls("m", "./m1", 1), fmt.Sprintf("m%d/main.tf", n): ""}
			for i := range n - 1 {
				text[fmt.Sprintf("m%d/main.tf", i+1)] = calls("m", fmt.Sprintf("../m%d", i+2), 1)
			}
			return text
		}, "more than 50 nested module calls"},
		"modules": {maxModules, func(n int) map[string]string { // the configuration, 99 with 100 each, and more
			return map[string]string{"main.tf": calls("a", "./a", 99) + calls("b", "./b", n-100*100), "a/main.tf": calls("b", "../b", 100), "b/main.tf": ""}
		}, "more than 10000 modules"},
		"names of calls": {maxText, func(n int) map[string]string {
			text := map[string]string{}
			for i, size := range []int{1000, 1000, 1000, 1000, n - 4003} { // with 3 dots
				text[strings.Repeat("m/", i)+"main.tf"] = calls(strings.Repeat("a", size-1), "./m", 1)
			}
			text["m/m/m/m/m/main.tf"] = ""
			return text
		}, "the names of the calls have more than 4096 bytes"},
		"files": {maxFiles, func(n int) map[string]string {
			text := map[string]string{}
			for i := range n {
				text[fmt.Sprintf("%d.tfstate", i)] = ""
			}
			return text
		}, ".: the directory has more than 10000 files"},
		"files of tests": {maxFiles, func(n int) map[string]string {
			text := map[string]string{"main.tf": ""}
			for i := range n {
				text[fmt.Sprintf("tests/%d.tfstate", i)] = ""
			}
			return text
		}, "tests: the directory has more than 10000 files"},
		"names and sources": {maxTexts, func(n int) map[string]string {
			var text strings.Builder
			for i := range maxText / 4 { // with as many bytes each, but for one
				rest := maxText - len("m0000./x")
				if i == 0 {
					rest -= maxTexts - n
				}
				fmt.Fprintf(&text, `,"m%04d":{"source":"./%sx%s"}`, i, strings.Repeat("./", rest/2), strings.Repeat("/", rest%2))
			}
			return map[string]string{"main.tf.json": `{"module":{` + text.String()[1:] + `}}`, "x/main.tf": ""}
		}, "the names and sources of all modules have more than 4194304 bytes"},
		"name of a module": {maxName, func(n int) map[string]string {
			return map[string]string{"main.tf": calls(strings.Repeat("a", n-1), "./m", 1), "m/main.tf": ""}
		}, "a name of more than 1024 bytes"},
		"name of a run": {maxName, func(n int) map[string]string {
			return map[string]string{"main.tf": "", "a.tftest.hcl": "run \"" + strings.Repeat("a", n) + "\" {\n  module {\n    source = \"./m\"\n  }\n}\n", "m/main.tf": ""}
		}, "a name of more than 1024 bytes"},
	} {
		for more, want := range []string{"", c.want} {
			d := w.dir(t, t.TempDir(), false)
			write(t, d.Path, c.files(c.n+more))
			if err := prepare(t.Context(), d); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, n = %d: %v, want an error with %q", name, c.n+more, err, want)
			}
		}
	}
}
