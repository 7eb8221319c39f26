package module_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
)

// address is a source, and the registry address, location or path that it means.
type address struct{ Text, Registry, Location, Path string }

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[address](t, "addresses.txt") {
		got, err := module.ParseAddress(test.Text)
		if test.Registry+test.Location+test.Path == "" {
			if err == nil {
				t.Errorf("%s is accepted: %+v", test.Text, got)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Registry.String() != test.Registry || got.Path != test.Path || got.Location == nil != (test.Location == "") {
			t.Errorf("ParseAddress(%q) = %+v, want %+v", test.Text, got, test)
		}
		if got.Location != nil && got.Location.String() != test.Location {
			t.Errorf("ParseAddress(%q): location %s, want %s", test.Text, got.Location, test.Location)
		}
		if want := test.Registry + test.Location + test.Path; got.String() != want {
			t.Errorf("%s: String is %q, want %q", test.Text, got, want)
		}
		if test.Registry != "" || test.Path != "" {
			if again, err := module.ParseAddress(got.String()); err != nil || again != got {
				t.Errorf("%s is read as %+v, %v", got, again, err)
			}
		}
	}
	if s := (module.Address{}).String(); s != "" {
		t.Errorf("String of the zero Address is %q, want an empty text", s)
	}
}

func TestParseAddressIn(t *testing.T) {
	t.Parallel()
	host := svchost.MustParse("registry.example.com")
	got, err := module.ParseAddressIn(host, "acme/vpc/aws")
	if err != nil || got.Registry.Module != vpc {
		t.Errorf("ParseAddressIn = %+v, %v; want %s", got, err, vpc)
	}
	for _, text := range []string{"./acme/vpc/aws", "example.com/acme/vpc/aws", "https://example.com/vpc.zip"} {
		want := must.Get(module.ParseAddress(text))(t)
		if got, err := module.ParseAddressIn(host, text); err != nil || cmp.Diff(want, got, cmpAddrs, cmpopts.IgnoreUnexported(module.Address{})) != "" || got.Source() != want.Source() {
			t.Errorf("ParseAddressIn(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestAddressRefused checks the error for each kind of source.
func TestAddressRefused(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Text, Reason, Suggestion string }](t, "addresses-refused.txt") {
		_, err := module.ParseAddress(test.Text)
		e, ok := errors.AsType[*addrs.ParseError](err)
		if !ok {
			t.Errorf("%.100q: %v, want an *addrs.ParseError", test.Text, err)
			continue
		}
		if e.Kind != "module source" || !strings.Contains(e.Reason, test.Reason) || e.Suggestion != test.Suggestion {
			t.Errorf("%.100q: %+v, want %s, suggestion %q", test.Text, *e, test.Reason, test.Suggestion)
		}
		if strings.Contains(err.Error(), "secret") || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
			t.Errorf("ParseAddress(%.100q): error %q, want at most 1,000 printable bytes without secrets", test.Text, err)
		}
		if e.Suggestion != "" {
			if _, err := module.ParseAddress(e.Suggestion); err != nil {
				t.Errorf("suggested, but refused: %v", err)
			}
		}
	}
	// The longest path is accepted.
	if _, err := module.ParseAddress("./" + strings.Repeat("x", 16<<10-2)); err != nil {
		t.Error(err)
	}
}

// FuzzParseAddress checks that the order of paths, registry addresses and locations is the
// order of the CLI.
func FuzzParseAddress(f *testing.F) {
	for _, a := range casetest.Read[address](f, "addresses.txt") {
		f.Add(a.Text)
	}
	for _, s := range []string{"", ".", "vpc", "a/b/c//..", "a/b/c?x", "x@y/z", "./\x00", " a/b/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := module.ParseAddress(s)
		if err != nil {
			if e, ok := errors.AsType[*addrs.ParseError](err); !ok || e.Kind != "module source" || got != (module.Address{}) {
				t.Errorf("ParseAddress(%q) = %+v, %v; want a ParseError and the zero Address", s, got, err)
			}
		}
		for _, text := range []string{got.String(), fmt.Sprint(err)} {
			if strings.ContainsFunc(text, unicode.IsControl) || len(text) > 8<<10 {
				t.Errorf("text %q, want printable characters", text)
			}
		}
		local := false
		for _, prefix := range []string{"./", "../", `.\`, `..\`} {
			local = local || strings.HasPrefix(s, prefix)
		}
		registry, noModule := addrs.ParseModuleSource(s)
		location, noLocation := module.ParseLocation(s)
		switch {
		case local:
			if err == nil && !strings.HasPrefix(got.Path, "./") && !strings.HasPrefix(got.Path, "../") || got.Location != nil || !got.Registry.IsZero() {
				t.Errorf("ParseAddress(%q) = %+v, want only a path", s, got)
			}
		case noModule == nil:
			if err != nil || got.Registry != registry || got.Path != "" || got.Location != nil {
				t.Errorf("ParseAddress(%q) = %+v, %v; want registry address %s", s, got, err, registry)
			}
		case noLocation == nil && err == nil:
			if got.Location == nil || *got.Location != *location || got.Path != "" || !got.Registry.IsZero() {
				t.Errorf("ParseAddress(%q) = %+v, want location %s", s, got, location)
			}
		case noLocation != nil && err == nil:
			t.Errorf("ParseAddress(%q) = %+v, want an error as from the other parsers: %v, %v", s, got, noModule, noLocation)
		}
		if got.Path != "" {
			if again, err := module.ParseAddress(got.Path); err != nil || again != got {
				t.Errorf("%q is read as %+v, %v", got.Path, again, err)
			}
		}
	})
}

// calls returns a configuration with a module block for each source.
func calls(sources []string) string {
	var b strings.Builder
	for i, source := range sources {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = %q\n}\n", i, source)
	}
	return b.String()
}

// TestAddressAsTheClients checks that errors suggest "./" exactly where the CLI does.
func TestAddressAsTheClients(t *testing.T) {
	t.Parallel()
	sources := []string{
		"vpc", "modules/vpc", "a/b/c/d/e", ".", "..", ".hidden/vpc", "~/vpc", "hashicorp/consul/AWS", "localhost/acme/vpc/aws",
		"GitHub.com/acme/vpc/aws", "gitlab.com/acme/vpc", "hashicorp/consul/aws//../x", "https://example.com/x.zip//../x", "https:vpc.zip",
	}
	for _, a := range casetest.Read[address](t, "addresses.txt") {
		if a.Registry+a.Location != "" && !strings.HasPrefix(a.Text, "bitbucket") {
			sources = append(sources, a.Text)
		}
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		p.Write(t, "main.tf", calls(sources))
		// Some sources are invalid, so the CLI fetches none.
		said, err := p.Try(t, "get", "-no-color")
		if err == nil {
			t.Fatal("all sources are accepted")
		}
		said = strings.Join(strings.Fields(said), " ") // lines are broken to fit the screen
		for _, source := range sources {
			hints := strings.Contains(said, fmt.Sprintf("path relative to the current module, use %q instead", "./"+source))
			_, err := module.ParseAddress(source)
			e, refused := errors.AsType[*addrs.ParseError](err)
			if suggests := refused && strings.HasPrefix(e.Suggestion, "."); hints != suggests {
				t.Errorf("%s: the client hints: %v; here: %v", source, hints, e)
			}
		}
	})
}

// TestPathAsTheClients compares paths with the paths in modules.json of the CLI.
func TestPathAsTheClients(t *testing.T) {
	t.Parallel()
	sources := []string{"./a", "./a//b/", `.\a\b`, "./a/../a/./b", "../beside", "./a/../../beside/"}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		write(t, p.Dir, files{"root/a/b/x.tf": "", "root/a/x.tf": "", "beside/x.tf": "", "root/main.tf": calls(sources)})
		p.Run(t, "-chdir="+filepath.Join(p.Dir, "root"), "get")
		data := must.Get(os.ReadFile(filepath.Join(p.Dir, "root", ".terraform", "modules", "modules.json")))(t)
		var noted struct {
			Modules []struct{ Key, Source string }
		}
		must.Do(t, json.Unmarshal(data, &noted))
		as := map[string]string{}
		for _, m := range noted.Modules {
			as[m.Key] = m.Source
		}
		for i, source := range sources {
			got, err := module.ParseAddress(source)
			if want := as[fmt.Sprintf("m%d", i)]; err != nil || got.Path != want || want == "" {
				t.Errorf("%s: %q, %v; the client notes %q", source, got.Path, err, want)
			}
		}
	})
}

// TestAddressSource: the source as the CLI writes it to modules.json. The right side is that of go-getter 1.8.6 with the detectors
// of OpenTofu 1.12.6, in internal/getmodules and internal/addrs/module_source.go.
func TestAddressSource(t *testing.T) {
	t.Parallel()
	const same = "the same"
	for source, want := range casetest.Pairs(t, "address-sources.txt") {
		if strings.Contains(source, "/opt/") && runtime.GOOS == "windows" {
			continue // not absolute there
		}
		if want == same {
			want = source
		}
		got, err := module.ParseAddress(source)
		if err != nil || got.Source() != want {
			t.Errorf("ParseAddress(%q).Source() = %q, %v; want %q", source, got.Source(), err, want)
		}
	}
}

func TestAddressPURL(t *testing.T) {
	t.Parallel()
	const commit = "4b1c000000000000000000000000000000000000"
	for source, want := range casetest.Pairs(t, "address-purls.txt") {
		a := must.Get(module.ParseAddress(source))(t)
		if got := a.PURL(addrs.MustParseVersion("1.0.0"), commit); got != want {
			t.Errorf("PURL of %q: %q, want %q", source, got, want)
		}
	}
}
