package addrs_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

const opentofu = "registry.opentofu.org/"

func TestParseModule(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "modules.txt") {
		m, err := addrs.ParseModule(in)
		if err != nil {
			t.Errorf("ParseModule(%q): %v", in, err)
			continue
		}
		if built := m.Host().Display() + "/" + m.Namespace() + "/" + m.Name() + "/" + m.System(); m.String() != want || built != want {
			t.Errorf("ParseModule(%q) = %q with the parts %q; want %q", in, m, built, want)
		}
		checkText(t, m)
		if built, err := addrs.NewModule(m.Host(), m.Namespace(), m.Name(), m.System()); built != m {
			t.Errorf("NewModule of the parts of %q = %q, %v", m, built, err)
		}
		if src, err := addrs.ParseModuleSource(in); err != nil || src != (addrs.ModuleSource{Module: m}) {
			t.Errorf("ParseModuleSource(%q) = %q, %v", in, src, err)
		}
	}
	if a, b := addrs.MustParseModule("A/b/c"), addrs.MustParseModule("a/b/c"); a == b {
		t.Error("A/b/c and a/b/c are equal")
	}
	if z := (addrs.Module{}); !z.IsZero() || z.String() != "" {
		t.Errorf("zero Module: %q, want an empty text and IsZero", z)
	}
}

func TestParseModuleRefuses(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "modules-refused.txt") {
		m, err := addrs.ParseModule(in)
		checkRefused(t, err, "module address", in, reason)
		src, err := addrs.ParseModuleSource(in)
		checkRefused(t, err, "module source", in, reason)
		if !m.IsZero() || !src.IsZero() {
			t.Errorf("parsing %q: Module %q, ModuleSource %q; want zero values", in, m, src)
		}
	}
	_, err := addrs.ParseModule("a/b/c//d")
	checkRefused(t, err, "module address", "a/b/c//d", "no subdirectory")
}

func TestNewModuleRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host                    svchost.Hostname
		namespace, name, system string
		reason                  string
	}{
		{svchost.Hostname{}, "a", "b", "c", "missing"},
		{wire(t), "a", "b", "c", "hostname"},
		{svchost.MustParse("github.com"), "a", "b", "c", "not a module registry"},
		{addrs.DefaultHost(), "a/b", "c", "d", "namespace"},
		{addrs.DefaultHost(), "a", "..", "d", "name"},
		{addrs.DefaultHost(), "a", "b", "", "system"},
	} {
		m, err := addrs.NewModule(tt.host, tt.namespace, tt.name, tt.system)
		checkRefused(t, err, "module address", tt.namespace+"/"+tt.name+"/"+tt.system, tt.reason)
		if !m.IsZero() {
			t.Errorf("NewModule(%q, %q, %q, %q) = %q with an error, want the zero value", tt.host, tt.namespace, tt.name, tt.system, m)
		}
	}
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
	for _, tt := range casetest.Read[struct{ In, Want, Subdir string }](t, "module-sources.txt") {
		s, err := addrs.ParseModuleSource(tt.In)
		if err != nil || s.String() != tt.Want || s.Subdir != tt.Subdir {
			t.Errorf("ParseModuleSource(%q) = %q, subdirectory %q, %v; want %q, %q", tt.In, s, s.Subdir, err, tt.Want, tt.Subdir)
		}
		checkText(t, s)
	}
	for in, reason := range casetest.Pairs(t, "module-sources-refused.txt") {
		_, err := addrs.ParseModuleSource(in)
		checkRefused(t, err, "module source", in, reason)
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
