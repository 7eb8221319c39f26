package addrs_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

const opentofu = "registry.opentofu.org/"

var w64 = strings.Repeat("a", 64)

func TestParseModule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"terraform-aws-modules/vpc/aws", opentofu + "terraform-aws-modules/vpc/aws"},
		{opentofu + "terraform-aws-modules/vpc/aws", opentofu + "terraform-aws-modules/vpc/aws"},
		{"Example.com:443/Acme/My_Net-2/aws", "example.com/Acme/My_Net-2/aws"},
		{"example.com:8443/a/b/c", "example.com:8443/a/b/c"},
		{"127.0.0.1:8443/a/b/c", "127.0.0.1:8443/a/b/c"},
		{"gitlab.com/a/b/c", "gitlab.com/a/b/c"},
		{"github.com:8443/a/b/c", "github.com:8443/a/b/c"},
		{"böb.example/a/b/c", "böb.example/a/b/c"},
		{"a/b/c", opentofu + "a/b/c"},
		{"a--b/c__d/0", opentofu + "a--b/c__d/0"},
		{w64 + "/" + w64 + "/" + w64, opentofu + w64 + "/" + w64 + "/" + w64},
	} {
		m, err := addrs.ParseModule(tt.in)
		if err != nil {
			t.Errorf("ParseModule(%q): %v", tt.in, err)
			continue
		}
		if built := m.Host().Display() + "/" + m.Namespace() + "/" + m.Name() + "/" + m.System(); m.String() != tt.want || built != tt.want {
			t.Errorf("ParseModule(%q) = %q with the parts %q; want %q", tt.in, m, built, tt.want)
		}
		checkText(t, m)
		if src, err := addrs.ParseModuleSource(tt.in); err != nil || src != (addrs.ModuleSource{Module: m}) {
			t.Errorf("ParseModuleSource(%q) = %q, %v", tt.in, src, err)
		}
	}
	if a, b := addrs.MustParseModule("A/b/c"), addrs.MustParseModule("a/b/c"); a == b {
		t.Error("A/b/c and a/b/c are equal")
	}
	if z := (addrs.Module{}); !z.IsZero() || z.String() != "" {
		t.Errorf("zero Module: %q, want an empty text and IsZero", z)
	}
}

// refusedModules are invalid as an address and as a source, by a part of the reason.
var refusedModules = map[string][]string{
	"must be NAMESPACE":    {"", "a", "a/b", "a/b/c/d/e", "git@github.com:acme/x.git"},
	"system":               {"a/b/", "a/b/C", "a/b/c-d", "a/b/..", `a/b/c\d`, "a/b/" + w64 + "a"},
	"":                     {"a//c"},
	"path":                 {"/a/b/c", "./a", "../a/b", ".", ".."},
	"URL":                  {"https://example.com/a/b/c", "git::https://example.com/x.git", "git::example.com/x"},
	"query":                {"a/b/c?ref=v1"},
	"github.com is not":    {"github.com/a/b/c", "GitHub.com:443/a/b/c", "ｇithub.com/a/b/c"},
	"bitbucket.org is not": {"bitbucket.org/a/b/c"},
	"three parts":          {"github.com/a/b", "example.com/a/b"},
	"dot":                  {"localhost/a/b/c", "localhost:8443/a/b/c", "example.com./a/b/c"},
	"punycode":             {"xn--bb-fka.example/a/b/c"},
	"port":                 {"example.com:0/a/b/c"},
	"namespace":            {"-a/b/c", "a_/b/c", "ä/b/c", "a b/b/c", "a\x00/b/c", w64 + "a/b/c"},
	"name":                 {"a/b.c/d", "a/../d", "a/" + w64 + "a/c"},
	"too long":             {strings.Repeat("a", 5000)},
}

func TestParseModuleRefuses(t *testing.T) {
	t.Parallel()
	for reason, list := range refusedModules {
		for _, in := range list {
			m, err := addrs.ParseModule(in)
			checkRefused(t, err, "module address", in, reason)
			src, err := addrs.ParseModuleSource(in)
			checkRefused(t, err, "module source", in, reason)
			if !m.IsZero() || !src.IsZero() {
				t.Errorf("parsing %q: Module %q, ModuleSource %q; want zero values", in, m, src)
			}
		}
	}
	_, err := addrs.ParseModule("a/b/c//d")
	checkRefused(t, err, "module address", "a/b/c//d", "no subdirectory")
}

func TestParseModuleIn(t *testing.T) {
	t.Parallel()
	host := svchost.MustParse("registry.example.com")
	for _, tt := range []struct {
		host     svchost.Hostname
		in, want string
	}{
		{host, "a/b/c", "registry.example.com/a/b/c"},
		{host, "example.com/a/b/c", "example.com/a/b/c"},
		{svchost.Hostname{}, "a/b/c", opentofu + "a/b/c"},
	} {
		if m, err := addrs.ParseModuleIn(tt.host, tt.in); err != nil || m.String() != tt.want {
			t.Errorf("ParseModuleIn(%q, %q) = %q, %v; want %q", tt.host, tt.in, m, err, tt.want)
		}
		if s, err := addrs.ParseModuleSourceIn(tt.host, tt.in+"//d"); err != nil || s.String() != tt.want+"//d" {
			t.Errorf("ParseModuleSourceIn(%q, %q) = %q, %v; want %q", tt.host, tt.in+"//d", s, err, tt.want+"//d")
		}
	}
	for host, reason := range map[svchost.Hostname]string{wire(t): "hostname", svchost.MustParse("localhost:8443"): "hostname localhost:8443 must contain a dot"} {
		_, err := addrs.ParseModuleIn(host, "a/b/c")
		checkRefused(t, err, "module address", "a/b/c", reason)
	}
}

func TestParseSubdir(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", ".": "", "a/..": "", "./": "", "a//b/": "a/b", "./a": "a", "*/x": "*/x"} {
		if got, err := addrs.ParseSubdir(in); got != want || err != nil {
			t.Errorf("ParseSubdir(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"..", "/", "a/../..", "\uff0e", " ", "a?b"} {
		_, err := addrs.ParseSubdir(in)
		checkRefused(t, err, "module subdirectory", in, "")
	}
}

func TestParseModuleSource(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want, subdir string }{
		{"a/b/c", opentofu + "a/b/c", ""},
		{"a/b/c//", opentofu + "a/b/c", ""},
		{"a/b/c//./", opentofu + "a/b/c", ""},
		{"a/b/c//.", opentofu + "a/b/c", ""},
		{"a/b/c//modules/x", opentofu + "a/b/c//modules/x", "modules/x"},
		{"example.com/a/b/c//modules//x/../y/", "example.com/a/b/c//modules/y", "modules/y"},
		{"a/b/c//foo/..", opentofu + "a/b/c", ""},
		{"a/b/c//...", opentofu + "a/b/c//...", "..."},
		{"a/b/c//..x/y", opentofu + "a/b/c//..x/y", "..x/y"},
		{"a/b/c///etc", opentofu + "a/b/c//etc", "etc"},
		{"a/b/c////", opentofu + "a/b/c", ""},
		{"a/b/c////../x///y", opentofu + "a/b/c//x/y", "x/y"},
		{"a/b/c//ü *", opentofu + "a/b/c//ü *", "ü *"},
		{"a/b/c//" + strings.Repeat("x", 2048), opentofu + "a/b/c//" + strings.Repeat("x", 2048), strings.Repeat("x", 2048)},
	} {
		s, err := addrs.ParseModuleSource(tt.in)
		if err != nil || s.String() != tt.want || s.Subdir != tt.subdir {
			t.Errorf("ParseModuleSource(%q) = %q, subdirectory %q, %v; want %q, %q", tt.in, s, s.Subdir, err, tt.want, tt.subdir)
		}
		checkText(t, s)
	}
	for reason, list := range map[string][]string{
		"too long":            {"a/b/c//" + strings.Repeat("x", 2049)},
		"leads out":           {"a/b/c//..", "a/b/c//../", "a/b/c//../x", "a/b/c//foo/../..", "a/b/c//foo/../../bar", "a/b/c//./.."},
		"backslashes":         {`a/b/c//..\x`, `a/b/c//x\y`},
		"colons":              {"a/b/c//C:x", "a/b/c//x:stream"},
		"unprintable":         {"a/b/c//x\x00", "a/b/c//x\ny", "a/b/c//x\u0085y", "a/b/c//x\u202ey"},
		"":                    {"a/b/c//x?y", "a/b/c//\xff"},
		"space":               {"a/b/c// x", "a/b/c//x/ "},
		"other forms of dots": {"a/b/c//\uff0e\uff0e/x", "a/b/c//\u2025/x", "a/b/c//\uff0e\uff0e\uff0fx", "a/b/c//x\uff3cy", "a/b/c//x\uff1ay"},
		"query":               {"a/b/c//x?ref=v1", "a/b/c?x//y"},
	} {
		for _, in := range list {
			_, err := addrs.ParseModuleSource(in)
			checkRefused(t, err, "module source", in, reason)
		}
	}
}

func TestModuleCompare(t *testing.T) {
	t.Parallel()
	modules := []addrs.Module{{}}
	sources := []addrs.ModuleSource{{}}
	for _, s := range []string{"a.example/z/z/z", "b.example/A/b/c", "b.example/a/b/c", "b.example/a/b/d", "b.example/a/c/a"} {
		modules = append(modules, addrs.MustParseModule(s))
		sources = append(sources, addrs.MustParseModuleSource(s), addrs.MustParseModuleSource(s+"//a"), addrs.MustParseModuleSource(s+"//b"))
	}
	checkOrder(t, modules, addrs.Module.Compare)
	checkOrder(t, sources, addrs.ModuleSource.Compare)
}
