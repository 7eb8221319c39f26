package cliconfig_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// FuzzLoad loads any content as each kind of file. Load must not panic, and an accepted
// configuration must be usable.
func FuzzLoad(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txt")
	for _, path := range paths {
		data := must.Get(os.ReadFile(path))(f)
		for part := range strings.SplitSeq(string(data), "\n-- ") {
			if _, text, ok := strings.Cut(part, " --\n"); ok {
				f.Add([]byte(text), false)
			}
		}
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
		cfg, err := cliconfig.Load(sys)
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
