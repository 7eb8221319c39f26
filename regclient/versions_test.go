package regclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
)

func TestProviderVersions(t *testing.T) {
	t.Parallel()
	reg := regtest.New(host)
	for _, v := range []string{"1.2.0", "1.10.0", "2.0.0-beta1", "1.9.0"} {
		reg.AddProvider(regtest.Provider{
			Address: "acme/alpha", Version: v, Platforms: []string{"linux_amd64", "darwin_arm64"},
			Protocols: []string{"5.0", "6.0"}, Warnings: []string{"about " + v},
		})
	}
	versions := must.Get(client(reg).ProviderVersions(t.Context(), alpha))(t)
	if versions.Provider != alpha {
		t.Errorf("versions of %s", versions.Provider)
	}
	want := "2.0.0-beta1 5.0,6.0 darwin_arm64,linux_amd64\n1.10.0 5.0,6.0 darwin_arm64,linux_amd64\n" +
		"1.9.0 5.0,6.0 darwin_arm64,linux_amd64\n1.2.0 5.0,6.0 darwin_arm64,linux_amd64\n"
	if got := lines(versions); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if len(versions.Warnings) != 4 || versions.Warnings[0] != "about 1.2.0" {
		t.Errorf("warnings %q", versions.Warnings)
	}
	if best, err := versions.Newest(addrs.MustParseProviderConstraint("~> 1.0")); err != nil || best.String() != "1.10.0" {
		t.Errorf("newest %s, %v", best, err)
	}
}

// TestVersionsDocuments: documents of real and hostile servers.
func TestVersionsDocuments(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Sections(t, "versions.txt") {
		doc, want, _ := strings.Cut(test.Text, "\n\n")
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			reg := registry()
			reg.AddFault(raw(regtest.Versions, doc))
			versions := must.Get(client(reg).ProviderVersions(t.Context(), alpha))(t)
			got := lines(versions)
			for _, w := range versions.Warnings {
				got += "warning: " + w + "\n"
			}
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ doc, want string }{
		"nothing":    {"", "unexpected end"},
		"null":       {"null", ""},
		"login page": {"<!doctype html><title>Log in</title>", `text/html; charset=utf-8`},
		"bad UTF-8":  {"{\"versions\":[{\"version\":\"\xff\"}]}", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := registry()
			f := raw(regtest.Versions|regtest.Package, test.doc)
			f.Header = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
			reg.AddFault(f)
			c := client(reg)
			_, err := c.ProviderVersions(t.Context(), alpha)
			if e := asError(t, err); e.Status != http.StatusOK || e.Op != "list versions of" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("versions: %v, want %q in it", err, test.want)
			}
			_, err = c.ProviderPackage(t.Context(), alpha, v120, linux)
			if e := asError(t, err); e.Status != http.StatusOK || e.Op != "find" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("package: %v, want %q in it", err, test.want)
			}
		})
	}
	reg := registry()
	reg.AddFault(raw(regtest.Versions, `{"versions":[{"platforms":1,"version":1.0}]}`))
	if _, err := client(reg).ProviderVersions(t.Context(), alpha); !strings.Contains(err.Error(), "versions.version") {
		t.Errorf("a number for a version: %v", err)
	}
}

// TestVersionsLimits: n is accepted, n+1 is not.
func TestVersionsLimits(t *testing.T) {
	t.Parallel()
	elements := func(n int, element string) string { return strings.Repeat(element+",", n-1) + element }
	tests := map[string]func(n int) string{
		"versions": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `,{"version":"1.0.%d"}`, i)
			}
			return `{"versions":[` + b.String()[1:] + `]}`
		},
		"platforms": func(n int) string {
			return `{"versions":[{"version":"1.0.0","platforms":[` + elements(n, `{"os":"linux","arch":"amd64"}`) + `]}]}`
		},
		"protocols": func(n int) string {
			return `{"versions":[{"version":"1.0.0","protocols":[` + elements(n, `"5.0"`) + `]}]}`
		},
		"members": func(n int) string { return `{"extra":[` + numbers(n) + `]}` },
		"bytes":   func(n int) string { return `{"extra":"` + strings.Repeat("x", n-12) + `"}` },
	}
	for name, limit := range map[string]int{
		"versions": 100_000, "platforms": 1000, "protocols": 100, "members": 500_000, "bytes": 16 << 20,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
				reg := registry()
				reg.AddFault(raw(regtest.Versions, tests[name](n)))
				if _, err := client(reg).ProviderVersions(t.Context(), alpha); !errors.Is(err, want) {
					t.Errorf("%d: %v, want %v", n, err, want)
				}
			}
		})
	}
}

// numbers returns n numbers, in lists of 1,000.
func numbers(n int) string {
	const row = 1000
	lists := strings.Repeat(",["+strings.Repeat("0,", row-1)+"0]", n/row) + strings.Repeat(",0", n%row)
	return lists[1:]
}

// TestEmptyVersions: a document that is short, but long in memory, is refused before it is decoded.
// Not parallel, because it measures memory.
func TestEmptyVersions(t *testing.T) {
	for name, frame := range map[string]struct {
		document string
		modules  bool
	}{
		"versions":           {`{"versions":[%s]}`, false},
		"platforms":          {`{"versions":[{"platforms":[%s]}]}`, false},
		"modules":            {`{"modules":[%s]}`, true},
		"versions of module": {`{"modules":[{"versions":[%s]}]}`, true},
	} {
		for _, element := range []string{"{}", "0", "[]", `""`} { // the others are of a wrong type
			body := fmt.Appendf(nil, frame.document, strings.Repeat(element+",", 499_990)+element)
			c := answering(t, func() []byte { return body })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var err error
			if frame.modules {
				_, err = c.ModuleVersions(t.Context(), network)
			} else {
				_, err = c.ProviderVersions(t.Context(), alpha)
			}
			runtime.ReadMemStats(&after)
			if !errors.Is(err, failure.ErrTooLarge) || !strings.Contains(err.Error(), "100000 versions") {
				t.Errorf("%s of %s: %.200v, want ErrTooLarge", name, element, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 50<<20 {
				t.Errorf("%s of %s: it took %d MB for a document of %d", name, element, took>>20, len(body)>>20)
			}
		}
	}
}

func TestWarningsAreCapped(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(raw(regtest.Versions, `{"versions":[`+strings.Repeat(`{"version":"x"},`, 150)+`{"version":"1.0.0"}],"warnings":["`+strings.Repeat("w", 5000)+`"]}`))
	versions := must.Get(client(reg).ProviderVersions(t.Context(), alpha))(t)
	if n := len(versions.Warnings); n != 101 || versions.Warnings[100] != "and 51 more warnings" {
		t.Errorf("%d warnings, the last %q", n, versions.Warnings[n-1])
	}
	if n := len(versions.Warnings[0]); n > 1000 {
		t.Errorf("a warning of %d bytes", n)
	}
}
