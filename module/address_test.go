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
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
)

// addresses are sources of module blocks, and the registry address, location or path that the
// CLI makes of them.
var addresses = []struct{ text, registry, location, path string }{
	{"hashicorp/consul/aws", "registry.opentofu.org/hashicorp/consul/aws", "", ""},
	{"hashicorp/consul/aws//modules/a", "registry.opentofu.org/hashicorp/consul/aws//modules/a", "", ""},
	{"Registry.Example.com/acme/vpc/aws", "registry.example.com/acme/vpc/aws", "", ""},
	{"example.com:8443/acme/vpc/aws", "example.com:8443/acme/vpc/aws", "", ""},
	{"gitlab.com/acme/vpc/aws", "gitlab.com/acme/vpc/aws", "", ""},
	{"./vpc", "", "", "./vpc"},
	{"../vpc", "", "", "../vpc"},
	{"../../vpc//a/./b/", "", "", "../../vpc/a/b"},
	{`.\vpc\a`, "", "", "./vpc/a"},
	{`..\vpc`, "", "", "../vpc"},
	{"./../vpc", "", "", "../vpc"},
	{"./", "", "", "./."},
	{"../", "", "", "./.."},
	{"./a b?c", "", "", "./a b?c"},
	{"./https://example.com/x.zip", "", "", "./https:/example.com/x.zip"},
	{"./hashicorp/consul/aws", "", "", "./hashicorp/consul/aws"},
	{"https://example.com/vpc.zip", "", "https://example.com/vpc.zip", ""},
	{"github.com/acme/vpc", "", "git::https://github.com/acme/vpc.git", ""},
	{"github.com/acme/vpc/aws", "", "git::https://github.com/acme/vpc.git//aws", ""},
	{"github.com/acme/vpc/modules/aws", "", "git::https://github.com/acme/vpc.git//modules/aws", ""},
	{"GitHub.com/acme/vpc/aws", "", "", ""},
	{"git@example.com:acme/vpc.git?ref=v1", "", "git::ssh://git@example.com/acme/vpc.git?ref=v1", ""},
	{"git::https://user:secret@example.com/vpc.git?token=secret", "", "git::https://example.com/vpc.git?...", ""},
	{"s3-eu-west-1.amazonaws.com/bucket/vpc.zip", "", "s3::https://s3-eu-west-1.amazonaws.com/bucket/vpc.zip", ""},
	{"oci://registry.example.com/vpc", "", "oci://registry.example.com/vpc", ""},
	{"/srv/modules/vpc", "", "file:///srv/modules/vpc", ""},
	{`C:\modules\vpc`, "", "file:///C:/modules/vpc", ""},
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, test := range addresses {
		got, err := module.ParseAddress(test.text)
		if test.registry+test.location+test.path == "" {
			if err == nil {
				t.Errorf("%s is accepted: %+v", test.text, got)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if got.Registry.String() != test.registry || got.Path != test.path || got.Location == nil != (test.location == "") {
			t.Errorf("ParseAddress(%q) = %+v, want %+v", test.text, got, test)
		}
		if got.Location != nil && got.Location.String() != test.location {
			t.Errorf("ParseAddress(%q): location %s, want %s", test.text, got.Location, test.location)
		}
		if want := test.registry + test.location + test.path; got.String() != want {
			t.Errorf("%s: String is %q, want %q", test.text, got, want)
		}
		if test.registry != "" || test.path != "" {
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
	for _, test := range []struct{ text, reason, suggestion string }{
		{"", "empty", ""},
		{"vpc", "neither a path", "./vpc"},
		{"modules/vpc", "neither a path", "./modules/vpc"},
		{"a/b/c/d/e", "neither a path", "./a/b/c/d/e"},
		{".", "must start with", "./"},
		{"..", "must start with", "../"},
		{".hidden/vpc", "neither a path", "./.hidden/vpc"},
		{"~/vpc", "neither a path", "./~/vpc"},
		{"hashicorp/consul/AWS", "(for a registry: the system", "./hashicorp/consul/AWS"},
		{"hashicorp/consul/aws?ref=v1", "(for a registry: the address of a module in a registry has no query)", ""},
		{"localhost/acme/vpc/aws", "(for a registry: the hostname localhost must contain a dot)", "./localhost/acme/vpc/aws"},
		{"GitHub.com/acme/vpc/aws", "(for a registry: github.com is not a module registry", "./GitHub.com/acme/vpc/aws"},
		{"gitlab.com/acme/vpc", "(for a registry: after a hostname", "./gitlab.com/acme/vpc"},
		// Registry addresses with an invalid directory.
		{"hashicorp/consul/aws//../x", "out of the package", ""},
		{"hashicorp/consul/aws//..", "out of the package", ""},
		{"hashicorp/consul/aws//../etc", "out of the package", ""},
		{`hashicorp/consul/aws//a\b`, "backslash", ""},
		// Invalid locations.
		{"https:vpc.zip", "short forms", ""},
		{"https://", "the host is missing", ""},
		{"https://example.com/x.zip//..", "out of the package", ""},
		{"git::https://user:secret@example.com/vpc.git?ref=-x&token=secret", "ref", ""},
		{"user:secret@example.com/vpc", "neither", ""},
		{"git::ssh://git@github.com:acme/vpc.git", "port", "git::git@github.com:acme/vpc.git"},
		{" hashicorp/consul/aws", "space", ""},
		{"https://example.com/x.zip\n", "space", ""},
		{" ./vpc", "space", ""},
		{"./a\x1b[2J", "control", ""},
		{"./\xff", "UTF-8", ""},
		{"./" + strings.Repeat("x", 16<<10), "too long", ""},
	} {
		_, err := module.ParseAddress(test.text)
		e, ok := errors.AsType[*addrs.ParseError](err)
		if !ok {
			t.Errorf("%.100q: %v, want an *addrs.ParseError", test.text, err)
			continue
		}
		if e.Kind != "module source" || !strings.Contains(e.Reason, test.reason) || e.Suggestion != test.suggestion {
			t.Errorf("%.100q: %+v, want %s, suggestion %q", test.text, *e, test.reason, test.suggestion)
		}
		if strings.Contains(err.Error(), "secret") || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
			t.Errorf("ParseAddress(%.100q): error %q, want at most 1,000 printable bytes without secrets", test.text, err)
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
	for _, a := range addresses {
		f.Add(a.text)
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
	for _, a := range addresses {
		if a.registry+a.location != "" && !strings.HasPrefix(a.text, "bitbucket") {
			sources = append(sources, a.text)
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
	for source, want := range map[string]string{
		"git::https://example.com/r.git?depth=1&ref=v1":                                                              same,
		"git::https://example.com/r.git?ref=":                                                                        same,
		"git::https://example.com/r.git?ref=feature%2Fx":                                                             same,
		"git::https://example.com/r.git?ref=feature/x":                                                               same,
		"git::https://example.com/r.git?ref=v1&foo=bar":                                                              same,
		"git::https://example.com/r.git//a/../b/?ref=v1&depth=1":                                                     "git::https://example.com/r.git//b?ref=v1&depth=1",
		"git::https://user:secret@example.com/r.git//sub?ref=v1":                                                     same,
		"git::https://example.com/r.git?":                                                                            same,
		"https://example.com/m.zip?archive=zip&token=a":                                                              same,
		"https://example.com/m?token=a&archive=tar.gz":                                                               same,
		"https://example.com/m.zip?checksum=SHA256:ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD": same,
		"https://example.com/m.zip?filename=x.zip":                                                                   same,
		"https://example.com/m.zip//sub?filename=x.zip":                                                              same,
		"https://example.com/a b.zip":                                                                                same,
		"https://example.com/a b.zip?x=a b":                                                                          same,
		"https://example.com/a//b?x=//c":                                                                             same,
		"/opt/../m":                                                                                                  "file:///opt/../m",
		"/opt//m":                                                                                                    "file:///opt//m",
		"/opt/my module":                                                                                             "file:///opt/my module",
		"/opt/m?archive=zip":                                                                                         "file:///opt/m?archive=zip",
		"git@github.com:acme/a.git":                                                                                  "git::ssh://git@github.com/acme/a.git",
		"git@github.com:acme/a.git?ref=v1&depth=1":                                                                   "git::ssh://git@github.com/acme/a.git?depth=1&ref=v1",
		"git@github.com:acme/a.git//sub/?ref=feature/x":                                                              "git::ssh://git@github.com/acme/a.git//sub?ref=feature%2Fx",
		"git@github.com:/acme/a.git":                                                                                 "git::ssh://git@github.com/acme/a.git",
		"git::git@example.com:acme/a.git?ref=v1":                                                                     "git::ssh://git@example.com/acme/a.git?ref=v1",
		"github.com/acme/a":                                                                                          "git::https://github.com/acme/a.git",
		"github.com/acme/a?ref=v1&depth=1":                                                                           "git::https://github.com/acme/a.git?ref=v1&depth=1",
		"github.com/acme/a?":                                                                                         "git::https://github.com/acme/a.git",
		"github.com/acme/a.git//sub?ref=feature/x":                                                                   "git::https://github.com/acme/a.git//sub?ref=feature/x",
		"github.com/acme/a/sub/dir?ref=v1":                                                                           "git::https://github.com/acme/a.git//sub/dir?ref=v1",
		"github.com/acme/a/sub//dir?ref=v1":                                                                          "git::https://github.com/acme/a.git//sub/dir?ref=v1",
		"git::github.com/acme/a?ref=v1":                                                                              "git::https://github.com/acme/a.git?ref=v1",
		"s3::https://s3.amazonaws.com/bucket/a.zip":                                                                  same,
		"bucket.s3.amazonaws.com/a.zip?version=1&archive=zip":                                                        "s3::https://s3.amazonaws.com/bucket/a.zip?version=1&archive=zip",
		"bucket.s3-eu-west-1.amazonaws.com/a.zip":                                                                    "s3::https://s3-eu-west-1.amazonaws.com/bucket/a.zip",
		"bucket.s3.eu-west-1.amazonaws.com/a/b.zip//sub":                                                             "s3::https://s3.eu-west-1.amazonaws.com/bucket/a/b.zip//sub",
		"www.googleapis.com/storage/v1/bucket/a.zip":                                                                 "gcs::https://www.googleapis.com/storage/v1/bucket/a.zip",
		"gcs::https://www.googleapis.com/storage/v1/bucket/a.zip//b?x=1#1700":                                        same,
		"gcs::https://www.googleapis.com/storage/v1/bucket/a.zip":                                                    same,
		"oci://example.com/a?tag=1":                                                                                  same,
		"oci://example.com/a//sub?digest=sha256:abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcd": same,
		"hg::https://example.com/r?rev=1":            same,
		"hg::https://example.com/r?x=1&rev=1":        same,
		"file:///opt/../m":                           same,
		"ssh://git@example.com/r.git":                same,
		"git::ssh://git@example.com:22/r.git?ref=v1": same,
		"https://EXAMPLE.com/A.zip":                  same,
		"git::file:///r?ref=main":                    same,
		"git::file:///r///sub":                       same,
		"git::file:///r////sub///deep":               "git::file:///r///sub/deep",
		"git::FILE:///r///":                          same,
		"git::file:///r//":                           "git::file:///r",
		"git::file:///r///../sub":                    "git::file:///r///sub",
		"git::GitHub:acme/vpc.git//a?ref=v1":         same,
		"HTTPS://example.com/a.zip":                  same,
		"acme/vpc/aws////modules///x":                "registry.opentofu.org/acme/vpc/aws///modules/x",
		"./a//b/../c":                                "./a/c",
		"acme/vpc/aws//modules/x":                    "registry.opentofu.org/acme/vpc/aws//modules/x",
	} {
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
	for source, want := range map[string]string{
		"acme/vpc/aws//sub": "pkg:terraform/acme/vpc/aws@1.0.0?repository_url=registry.opentofu.org#sub",
		"git::https://user:secret@example.com/acme/network.git//modules/subnet?ref=v1&token=secret": "pkg:generic/network@" + commit + "?vcs_url=git%2Bhttps://example.com/acme/network.git#modules/subnet",
		"git@github.com:acme/network.git":                 "pkg:generic/network@" + commit + "?vcs_url=git%2Bssh://github.com/acme/network.git",
		"git::github:acme/network.git":                    "pkg:generic/network@" + commit + "?vcs_url=git%2Bssh://github/acme/network.git",
		"https://secret@example.com/a b.zip?token=secret": "pkg:generic/a%20b.zip?download_url=https://example.com/a%2520b.zip",
		"oci://example.com/acme/vpc?tag=1.0":              "pkg:generic/vpc@1.0?download_url=oci://example.com/acme/vpc",
		"./sub":                                           "", "/opt/m": "", "git::file:///opt/m": "",
	} {
		a := must.Get(module.ParseAddress(source))(t)
		if got := a.PURL(addrs.MustParseVersion("1.0.0"), commit); got != want {
			t.Errorf("PURL of %q: %q, want %q", source, got, want)
		}
	}
}
