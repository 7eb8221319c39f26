package cliconfig_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// oracle reads a file with the HCL library, as the CLI does, and returns the expected
// result of cliconfig.ParseFile. It returns false if the library refuses the file or
// panics.
func oracle(src string) (result string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	file, err := hcl.Parse(src)
	if err != nil {
		return "", false
	}
	return oracleItems(file.Node.(*ast.ObjectList)), true
}

func oracleItems(list *ast.ObjectList) string {
	s := "{"
	for _, it := range list.Items {
		for _, k := range it.Keys {
			s += fmt.Sprintf("%q ", k.Token.Value())
		}
		s += oracleValue(it.Val) + ";"
	}
	return s + "}"
}

func oracleValue(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ObjectType:
		return oracleItems(n.List)
	case *ast.ListType:
		s := "["
		for _, e := range n.List {
			s += oracleValue(e) + ","
		}
		return s + "]"
	case *ast.LiteralType:
		switch n.Token.Type {
		case token.STRING, token.HEREDOC:
			return fmt.Sprintf("%q", n.Token.Value())
		}
		return n.Token.Text
	}
	return fmt.Sprintf("%T", n)
}

var nativeSeeds = []string{
	"", "a = 1", "a = -1.5e3\nb=0x1F c=017", "a b \"c d\" { e = true, f = [1, \"x\", [2], {g = 1},] }",
	"# c\n// d\n/* e */ a = \"\\u00e9\\x41\\101\\n\\\"\\\\\"", `a = "${b("c") {"}"}} d"`, "a = \"${x\ny}\"",
	"a = <<E\n x\ny\nE\n", "a = <<-E\n  x\n   y\n  E\n", "a = <<-E\n  x\n y\n  E\n", "a = <<E\nx\n  E\nb = 1",
	"a = <<-E\n  x \ny\n \vE\n", "a = <<-E\n  x\ny\n\v\vE\n",
	"a.b-c = 1", "é = \"ü\"", "a {} b {}", "a = [1,,2,]", "a = .5", "a = {} b = []", "\"a\" \"b\" {}",
	"a = \"\r\n\"", "a\r\n=\r\n1\r\n", "a = <<E\r\nx\r\nE\r\n", "a = 1,b = 2", "a = [[1] [2]]", "a = [{} {}]",
	`a = "\400"`, `a = "\q"`, "a =", "a", "= 1", "}", "a {", "[", "a = 99999999999999999999", "a = \"\\ud800\"",
	"a = 1.", "a = 1e", "a = 08", "a = 0x", "a = 1abc = 2", "a = 1ebc = 2", "a = tru", "true = 1", "a = <<\nx\n\n", "a = <<-\n\n", "a = \"\\U00110000\"",
}

// TestNative compares the parser with the HCL library, which the CLI uses.
func TestNative(t *testing.T) {
	t.Parallel()
	for _, src := range nativeSeeds {
		_, ok := oracle(src)
		if both := compareNative(t, src); ok && !both && src != "a =" && !strings.Contains(src, "1abc") && !strings.Contains(src, "1ebc") { // see TestNativeDeviations
			t.Errorf("ParseFile refuses %q, which the library accepts", src)
		}
	}
}

// compareNative reports whether both accept src.
func compareNative(t *testing.T, src string) bool {
	t.Helper()
	got, err := cliconfig.ParseFile(strings.ReplaceAll(src, "\r\n", "\n"), false)
	want, ok := oracle(src)
	if ok && err == nil && got != want {
		t.Errorf("%q:\n got %s\nwant %s", src, got, want)
	}
	return ok && err == nil
}

// TestNativeDeviations has sources that only the parser or only the library accepts.
func TestNativeDeviations(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[struct {
		Src  string
		Ours bool
	}](t, "tables/native-deviations.txt") {
		if _, err := cliconfig.ParseFile(c.Src, false); (err == nil) != c.Ours {
			t.Errorf("%q: %v", c.Src, err)
		}
	}
}

// TestDepth checks the limit of nesting at n and n+1, in both syntaxes.
func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, open, middle, shut string
		json                             bool
		atTop                            int // levels that the file has by itself
	}{
		{name: "blocks", open: "a {", shut: "}"},
		{name: "lists", before: "a = ", open: "[", shut: "]"},
		{name: "JSON objects", open: `{"a":`, middle: "1", shut: "}", json: true},
		{name: "JSON lists", before: `{"a":`, open: "[", shut: "]", json: true, atTop: 1},
	} {
		for _, extra := range []int{0, 1} {
			n := 64 - c.atTop + extra
			src := c.before + strings.Repeat(c.open, n) + c.middle + strings.Repeat(c.shut, n)
			if c.atTop > 0 {
				src += "}"
			}
			_, err := cliconfig.ParseFile(src, c.json)
			if (err != nil) != (extra == 1) || err != nil && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s, %d levels: %v", c.name, n, err)
			}
		}
	}
}

// FuzzNative compares the parser with the HCL library for sources that both accept.
func FuzzNative(f *testing.F) {
	for _, src := range nativeSeeds {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 || strings.ContainsAny(src, "\x00\ue123\ufffd") || strings.Contains(strings.ReplaceAll(src, "\r\n", ""), "\r") {
			return // refused earlier, reserved by the library, or with unusual line ends
		}
		if !strings.HasPrefix(strings.TrimSpace(src), "{") {
			compareNative(t, src)
		}
	})
}

// decoded is the type into which the CLI decodes a file with the HCL library.
type decoded struct {
	Credentials map[string]map[string]any                     `hcl:"credentials"`
	Hosts       map[string]*struct{ Services map[string]any } `hcl:"host"`
	Helpers     map[string]*struct{ Args []string }           `hcl:"credentials_helper"`
	MayBreak    bool                                          `hcl:"plugin_cache_may_break_dependency_lock_file"`
}

// decode returns false if the library refuses the file or panics.
func decode(src string) (d *decoded, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	d = &decoded{}
	return d, hcl.Decode(d, src) == nil
}

// summary lists the tokens and services of hosts. It returns false if the result of the
// library is random.
func (d *decoded) summary() (lines []string, ok bool) {
	seen := map[string]bool{}
	add := func(label, format string, what any) bool {
		host, err := svchost.Parse(label)
		again := seen[format+host.String()]
		seen[format+host.String()] = true
		lines = append(lines, fmt.Sprintf(format, host, what))
		return err == nil && !again
	}
	for label, block := range d.Credentials {
		token, _ := block["token"].(string)
		if !add(label, "token of %s: %q", token) {
			return nil, false
		}
	}
	for label, block := range d.Hosts {
		if !add(label, "services of %s: %q", slices.Sorted(maps.Keys(block.Services))) {
			return nil, false
		}
	}
	slices.Sort(lines)
	return lines, true
}

func summaryOf(t *testing.T, cfg *cliconfig.Config, d *decoded) (lines []string) {
	for label := range d.Credentials {
		host := svchost.MustParse(label)
		token, err := cfg.Credentials().Token(t.Context(), host)
		secret := token.Reveal()
		if err != nil { // an invalid token, which Credentials does not return
			secret, _ = d.Credentials[label]["token"].(string)
		}
		lines = append(lines, fmt.Sprintf("token of %s: %q", host, secret))
	}
	for host, services := range cfg.Discovery().Hosts.Overrides {
		ids := []string{}
		for _, id := range services.IDs() {
			ids = append(ids, string(id))
		}
		lines = append(lines, fmt.Sprintf("services of %s: %q", host, ids))
	}
	slices.Sort(lines)
	return lines
}

var decodeSeeds = []string{
	`credentials "a.test" { token = "x" } credentials "a.test" {}`,
	`{"credentials": {"a.test": {"token": "x", "token": "y"}}}`,
	`credentials a.test { token = "x" } CREDENTIALS { a.test { token = "y" } b.test { token = "z" } }`,
	`host a.test { services { x = "y" } services = { z = { a = [1, {}] } } } host a.test { services = { b = 1 } }`,
	`{"credentials": {"a.test": {"token": "x"}}, "credentials": {"b.test": {"token": "y"}}}`,
	`{"credentials": [{"a.test": {"token": "x"}}, {"a.test": {"token": "y", "z": {}}}], "host": [{"a.test": [{"services": [{"x": "y"}]}]}]}`,
	`{"credentials_helper": {"a": {"args": ["b"]}}, "plugin_cache_may_break_dependency_lock_file": true}`,
}

// TestDecode compares sources with repeated blocks and arguments.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, src := range decodeSeeds {
		if !compareDecoded(t, src, true) {
			t.Errorf("%q was not compared", src)
		}
	}
}

// sections returns the files and reports in the cases of testdata.
func sections(f *testing.F) (texts []string) {
	for _, path := range must.Get(filepath.Glob("testdata/*.txt"))(f) {
		data := must.Get(os.ReadFile(path))(f)
		for part := range strings.SplitSeq(string(data), "\n-- ") {
			if _, text, ok := strings.Cut(part, " --\n"); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// FuzzDecode compares the content of a file with the content that the HCL library decodes.
func FuzzDecode(f *testing.F) {
	for _, text := range sections(f) {
		f.Add(text + "\n")
	}
	for _, src := range decodeSeeds {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 4096 && !strings.Contains(src, "\r") {
			compareDecoded(t, src, false)
		}
	})
}

// compareDecoded reports whether the source could be compared. It skips sources with
// repeated blocks unless twice is set: for these, the library makes a string of a number.
func compareDecoded(t *testing.T, src string, twice bool) bool {
	t.Helper()
	sys := cliconfig.System{GOOS: "linux", Home: "/h", Open: fakeFiles(map[string]string{"/h/.tofurc": src})}
	cfg, err := cliconfig.Load(t.Context(), sys)
	d, ok := decode(src)
	if err != nil || !ok {
		return false
	}
	repeats := func(p *cliconfig.Problem) bool { return strings.Contains(p.Message, "already") }
	want, ok := d.summary()
	if !ok || !twice && slices.ContainsFunc(cfg.Warnings(), repeats) {
		return false
	}
	if diff := cmp.Diff(want, summaryOf(t, cfg, d)); diff != "" {
		t.Errorf("%q: -library +here\n%s", src, diff)
	}
	if d.MayBreak != cfg.Installer("x").TrustCache {
		t.Errorf("%q: may break %v", src, d.MayBreak)
	}
	return true
}

// home returns a System on the real disk with these files in the home directory, which is
// the working directory too.
func home(t *testing.T, files map[string]string) cliconfig.System {
	t.Helper()
	sys := cliconfig.System{GOOS: "linux", GOARCH: "amd64", Home: t.TempDir()}
	if runtime.GOOS == "windows" {
		sys.GOOS = runtime.GOOS // other systems do not accept its absolute paths
	}
	sys.Dir = sys.Home
	for name, text := range files {
		write(t, filepath.Join(sys.Home, native(name)), text)
	}
	return sys
}

// native returns the path of a file in the home directory on this system, from its path on
// Unix.
func native(name string) string {
	if runtime.GOOS == "windows" {
		first, rest, _ := strings.Cut(name, "/")
		there := map[string]string{".tofurc": "tofu.rc", ".terraformrc": "terraform.rc", ".terraform.d": "terraform.d"}
		if first, ok := there[first]; ok {
			return filepath.Join("AppData", "Roaming", first, rest)
		}
	}
	return filepath.FromSlash(name)
}

// TestLimits loads a main file at a limit, and one beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	for extra := range 2 {
		for name, c := range map[string]struct {
			text     string
			variable string // A
			refused  bool   // at the limit as well
			cause    string
		}{
			"file size": {text: "#" + strings.Repeat("x", cliconfig.MaxFile-1+extra), cause: "bytes"},
			"methods":   {text: "provider_installation {\n" + strings.Repeat("  direct {}\n", 1000+extra) + "}\n", cause: "methods"},
			"path length": { // of a directory that does not exist
				text:     "plugin_cache_dir = \"${A}" + strings.Repeat("x", 16<<10-len("${A}")) + "\"\n",
				variable: strings.Repeat("y", 16<<10+extra), refused: true, cause: ": the path is too long",
			},
		} {
			sys := home(t, map[string]string{".tofurc": c.text})
			sys.Environ = []string{"A=" + c.variable}
			_, err := cliconfig.Load(t.Context(), sys)
			tooLarge := err != nil && strings.HasSuffix(err.Error(), c.cause)
			if tooLarge != (extra == 1) || (err == nil) == (tooLarge || c.refused) || tooLarge && !c.refused && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s, %d beyond the limit: Load: %v", name, extra, err)
			}
		}
	}
}

// TestWords loads two files that have as many names, values and punctuation as permitted, and one more. One
// MiB of them would take 300 MB of memory.
func TestWords(t *testing.T) {
	t.Parallel()
	for extra := range 2 {
		for name, texts := range map[string][2]string{
			"native": {strings.Repeat("a{}", 30_000), "a=[" + strings.Repeat("0,", 4998) + strings.Repeat(",", extra) + "]"},
			"JSON":   {`{"a":[0` + strings.Repeat(",0", 89_994) + "]}", `{"a":[0` + strings.Repeat(",0", 9_994+extra) + "]}"},
		} {
			_, err := cliconfig.Load(t.Context(), home(t, map[string]string{".tofurc": texts[0], ".terraform.d/a.tfrc": texts[1]}))
			if (err != nil) != (extra == 1) || err != nil && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s, %d beyond %d words: Load: %v", name, extra, cliconfig.MaxWords, err)
			}
		}
	}
}

// TestTotal loads files that are as large as permitted together, and one byte more.
func TestTotal(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range cliconfig.MaxTotal / cliconfig.MaxFile {
		files[fmt.Sprintf(".terraform.d/%d.tfrc", i)] = strings.Repeat("#", cliconfig.MaxFile)
	}
	sys := home(t, files)
	load(t, sys)
	write(t, filepath.Join(sys.Home, native(".terraform.d/z.tfrc")), "#")
	if _, err := cliconfig.Load(t.Context(), sys); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("one byte more than %d in all files: Load: %v, want ErrTooLarge", cliconfig.MaxTotal, err)
	}
}

func TestFileCount(t *testing.T) {
	t.Parallel()
	files := map[string]string{".terraform.d/other.txt": ""}
	for i := range cliconfig.MaxFiles {
		files[fmt.Sprintf(".terraform.d/%d.tfrc", i)] = ""
	}
	sys := home(t, files)
	cfg, err := cliconfig.Load(t.Context(), sys)
	if err != nil || len(cfg.Files()) != cliconfig.MaxFiles {
		t.Fatal(err)
	}
	write(t, filepath.Join(sys.Home, native(".terraform.d/more.tfrc.json")), "{}")
	if _, err := cliconfig.Load(t.Context(), sys); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("one file more: %v", err)
	}
}

// TestProblemCount loads files with more problems than Load lists. The only error comes
// after the limit.
func TestProblemCount(t *testing.T) {
	t.Parallel()
	warnings := func(n int) string { return strings.Repeat("odd {}\n", n) }
	for _, n := range []int{100, 200} {
		if listed := len(load(t, home(t, map[string]string{".tofurc": warnings(n)})).Warnings()); listed != 100 {
			t.Errorf("%d warnings: %d are listed, want 100", n, listed)
		}
	}
	_, err := cliconfig.Load(t.Context(), home(t, map[string]string{".tofurc": warnings(200) + "plugin_cache_dir = []\n"}))
	all, ok := errors.AsType[*cliconfig.Error](err)
	if !ok || len(all.Problems) != 101 || len(all.Unwrap()) != 1 {
		t.Errorf("an error behind 200 warnings: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	_, err := cliconfig.Load(t.Context(), home(t, map[string]string{".tofurc": "a = \n}", ".terraform.d/x.tfrc": "plugin_cache_dir = []\nodd = 1\n"}))
	all, ok := errors.AsType[*cliconfig.Error](err)
	if !ok || len(all.Problems) != 3 || len(all.Unwrap()) != 2 || strings.Count(err.Error(), "\n") != 2 || strings.Contains(err.Error(), "odd") {
		t.Errorf("%v", err)
	}
	problem, ok := errors.AsType[*cliconfig.Problem](err)
	if !ok || problem.Line != 2 || problem.Warning || !strings.HasSuffix(problem.File, native(".tofurc")) {
		t.Errorf("%+v", problem)
	}
}

// TestPlace prints places, some with control characters.
func TestPlace(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]cliconfig.Place{
		"default":                        {},
		"environment variable TF_X":      {Variable: "TF_X"},
		"/a":                             {File: "/a"},
		"/a:2:3":                         {File: "/a", Line: 2, Column: 3},
		":2:3":                           {Line: 2, Column: 3},
		`"/a\x1b[2J":2:3`:                {File: "/a\x1b[2J", Line: 2, Column: 3},
		`environment variable "TF_\x1b"`: {Variable: "TF_\x1b"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzLoad loads any content as each kind of file. Load must not panic, and an accepted
// configuration must be usable.
func FuzzLoad(f *testing.F) {
	for _, text := range sections(f) {
		f.Add([]byte(text), false)
	}
	for _, s := range []string{"{}", `{"a": [1, {"b": null}], "a": true}`, `{"a"}`, `{"a":}`, `[`, `{"a": [{}, {}]}`, "{\"a\": 1}\n", `{"a": 1e400, "b": "\ud800"}`} {
		f.Add([]byte(s), true)
	}
	f.Add([]byte(`{"credentials":{"a.test":{"token":"x"}},"host":{"b.test":{"services":{"login.v1":{"ports":[1,2]}}}}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, windows bool) {
		sys := cliconfig.System{GOOS: "linux", GOARCH: "amd64", Home: "/home/alice", Dir: "/project"}
		file := "/home/alice/.tofurc"
		if windows {
			sys.GOOS, sys.Home, sys.Dir = "windows", `C:\alice`, `C:\work`
			file = `C:\alice\AppData\Roaming\terraform.d\x.tfrc.json`
		}
		sys.Open = fakeFiles(map[string]string{file: string(data)})
		cfg, err := cliconfig.Load(t.Context(), sys)
		if err != nil {
			all, ok := errors.AsType[*cliconfig.Error](err)
			if !ok || len(all.Problems) == 0 {
				t.Fatalf("%T", err)
			}
			return
		}
		use(t, cfg)
	})
}

// use calls the methods that send no requests.
func use(t *testing.T, cfg *cliconfig.Config) {
	for _, m := range cfg.Methods() {
		_, _ = m.String(), m.Repository(addrs.MustParseProvider("a/b"))
	}
	for host, services := range cfg.Discovery().Hosts.Overrides {
		for _, id := range services.IDs() {
			_, _ = services.URL(id)
		}
		_, _ = services.OAuthClient()
		if _, err := cfg.Store(host); err != nil {
			_ = err.Error()
		}
	}
	_ = cfg.Policy(addrs.MustParseProvider("a/b"))
	_ = cfg.ProviderSource()
	_ = cfg.OCICredentials()
	_, _, _ = cfg.TokenOrigin(t.Context(), svchost.MustParse("a.test"))
}

// FuzzVariables checks that TokenOrigin returns the variable that has the token of a host.
func FuzzVariables(f *testing.F) {
	f.Add("a_test", "a.test", "A_TEST")
	f.Add("b__c_test", "b-c_test", "xn____caf__dma_fr")
	f.Add("a_test:8443", "a___test", "=")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var environ []string
		for i, name := range []string{a, b, c, a} {
			environ = append(environ, fmt.Sprintf("TF_TOKEN_%s=%d", name, i))
		}
		cfg := load(t, cliconfig.System{GOOS: "linux", Environ: environ, Open: fakeFiles(nil)})
		for _, name := range []string{a, b, c} {
			host, err := svchost.FromWire(strings.ReplaceAll(strings.ReplaceAll(name, "__", "-"), "_", "."))
			if err != nil {
				continue
			}
			from, found, err := cfg.TokenOrigin(t.Context(), host)
			token, _ := cfg.Credentials().Token(t.Context(), host)
			if err == nil && found && !slices.Contains(environ, from.Variable+"="+token.Reveal()) {
				t.Errorf("%q: the token of %s is not from %s", environ, host, from.Variable)
			}
		}
	})
}

// FuzzPaths checks that cleaning paths of both systems never panics, and that a clean path
// does not change.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"", ".", `C:`, `C:\..\a`, `\\server\share\..`, `//a/b/c`, `\a`, "../..", "/a/./b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, sys := range []cliconfig.System{{GOOS: "linux", Dir: "/project"}, {GOOS: "windows", Dir: `C:\work`}} {
			once := sys.CleanPath(s)
			if twice := sys.CleanPath(once); twice != once && !strings.Contains(s, ":") {
				t.Errorf("%s: %q is cleaned to %q and then to %q", sys.GOOS, s, once, twice)
			}
			_ = fmt.Sprint(sys.AbsPath(s))
		}
	})
}
