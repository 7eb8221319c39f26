package addrs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

func TestParseProvider(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ In, Want, Display string }](t, "providers.txt") {
		p, err := addrs.ParseProvider(tt.In)
		if err != nil {
			t.Errorf("ParseProvider(%q): %v", tt.In, err)
			continue
		}
		if tt.Display == "" {
			tt.Display = tt.Want
		}
		if p.String() != tt.Want || p.Display() != tt.Display {
			t.Errorf("ParseProvider(%q) = %q, displayed %q; want %q, %q", tt.In, p, p.Display(), tt.Want, tt.Display)
		}
		checkText(t, p)
		if again, err := addrs.ParseProvider(p.Display()); again != p {
			t.Errorf("ParseProvider(%q) = %q, %v; want %q", p.Display(), again, err, p)
		}
		if built, err := addrs.NewProvider(p.Host(), p.Namespace(), p.Type()); built != p {
			t.Errorf("NewProvider of the parts of %q = %q, %v", p, built, err)
		}
	}
}

func TestParseProviderRefuses(t *testing.T) {
	t.Parallel()
	check := func(in, reason, suggestion string) {
		t.Helper()
		got, err := addrs.ParseProvider(in)
		pe := checkRefused(t, err, "provider address", in, reason)
		if !got.IsZero() || pe.Suggestion != suggestion {
			t.Errorf("ParseProvider(%q) = %q, suggestion %q; want %q", in, got, pe.Suggestion, suggestion)
		}
	}
	for in, reason := range casetest.Pairs(t, "providers-refused.txt") {
		check(in, reason, "")
	}
	for _, tt := range casetest.Read[struct{ In, Reason, Suggestion string }](t, "providers-suggested.txt") {
		check(tt.In, tt.Reason, tt.Suggestion)
	}
}

func TestParseProviderIn(t *testing.T) {
	t.Parallel()
	host := svchost.MustParse("registry.example.com")
	for _, tt := range []struct{ in, want string }{
		{"aws", "registry.example.com/hashicorp/aws"},
		{"acme/alpha", "registry.example.com/acme/alpha"},
		{"registry.opentofu.org/acme/alpha", "registry.opentofu.org/acme/alpha"},
	} {
		if p, err := addrs.ParseProviderIn(host, tt.in); err != nil || p.String() != tt.want {
			t.Errorf("ParseProviderIn(%q, %q) = %q, %v; want %q", host, tt.in, p, err, tt.want)
		}
	}
	_, err := addrs.ParseProviderIn(host, "-/aws")
	checkRefused(t, err, "provider address", "-/aws", "registry.opentofu.org")
	for in, want := range map[string]string{
		"terraform-provider-aws":              "registry.example.com/hashicorp/aws",
		opentofu + "a/terraform-provider-aws": opentofu + "a/aws",
	} {
		_, err := addrs.ParseProviderIn(host, in)
		if pe := checkRefused(t, err, "provider address", in, ""); pe.Suggestion != want {
			t.Errorf("ParseProviderIn(%q, %q): suggestion %q, want %q", host, in, pe.Suggestion, want)
		}
	}
	_, err = addrs.ParseProviderIn(wire(t), "aws")
	checkRefused(t, err, "provider address", "aws", "hostname")
	if p, err := addrs.ParseProviderIn(svchost.Hostname{}, "aws"); err != nil || p.Host() != addrs.DefaultHost() {
		t.Errorf("with the zero host: %q, %v", p, err)
	}
}

func TestParseNamespacedProviderIn(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "providers-namespaced.txt") {
		p, err := addrs.ParseNamespacedProviderIn(svchost.MustParse("registry.example.com"), in)
		_, parse := errors.AsType[*addrs.ParseError](err)
		if p.String() != want || (want == "") != parse {
			t.Errorf("ParseNamespacedProviderIn(registry.example.com, %.50q) = %q, %v; want %q", in, p, err, want)
		}
	}
}

// TestProviderRunes tries the characters of the basic plane. Random input rarely contains
// valid ones.
func TestProviderRunes(t *testing.T) {
	t.Parallel()
	for r := range rune(0x10000) {
		if 0x3400 <= r && r < 0xf900 {
			continue // nearly all ideographs, Hangul and surrogates
		}
		for _, s := range []string{"acme/" + string(r), "a" + string(r) + "b/c", string(r) + string(r) + "/c"} {
			p, err := addrs.ParseProvider(s)
			if err != nil {
				continue
			}
			checkText(t, p)
			if strings.Count(p.String(), "/") != 2 || strings.ContainsAny(p.Namespace()+p.Type(), ". \\:") ||
				strings.Contains(p.Type(), "_") || strings.Contains(p.Namespace(), "_") != (r == '_') {
				t.Errorf("ParseProvider(%q) = %q", s, p)
			}
		}
	}
}

func TestNewProviderRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host           svchost.Hostname
		namespace, typ string
		reason         string
	}{
		{svchost.Hostname{}, "acme", "alpha", "missing"},
		{wire(t), "acme", "alpha", "hostname"},
		{addrs.DefaultHost(), "a/b", "alpha", "not allowed"},
		{addrs.DefaultHost(), "acme", "../alpha", "not allowed"},
		{addrs.DefaultHost(), "", "alpha", "empty"},
		{addrs.DefaultHost(), "acme", "", "empty"},
		{svchost.MustParse("example.com"), "-", "alpha", "exists only on"},
	} {
		_, err := addrs.NewProvider(tt.host, tt.namespace, tt.typ)
		checkRefused(t, err, "provider address", tt.namespace+"/"+tt.typ, tt.reason)
	}
}

// TestUnderscores: a namespace can have underscores (terraform-registry-address v0.5.0) wherever an address is read,
// so that its text can be read again. Rules of a CLI can refuse them.
func TestUnderscores(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "providers-underscores.txt") {
		p, err := addrs.ParseProvider(in)
		if p.String() != want || (err == nil) != (want != "") {
			t.Errorf("ParseProvider(%q) = %q, %v; want %q", in, p, err, want)
		}
		if _, err := (addrs.ProviderRules{NoUnderscores: true}).Parse(in); err == nil {
			t.Errorf("Parse(%q) succeeds with NoUnderscores", in)
		}
		if want == "" {
			continue
		}
		text, err := p.MarshalText()
		var unmarshalled addrs.Provider
		if err != nil || unmarshalled.UnmarshalText(text) != nil || unmarshalled != p {
			t.Errorf("UnmarshalText(%q) = %q, want the same provider", text, unmarshalled)
		}
		if parsed, err := addrs.ParseProvider(p.Display()); err != nil || parsed != p {
			t.Errorf("ParseProvider(%q) = %q, %v; want the same provider", p.Display(), parsed, err)
		}
		if made, err := addrs.NewProvider(p.Host(), p.Namespace(), p.Type()); err != nil || made != p {
			t.Errorf("NewProvider of the parts of %s = %q, %v; want the same provider", p, made, err)
		}
	}
}

func TestProviderKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct {
		In              string
		Legacy, BuiltIn bool
	}](t, "provider-kinds.txt") {
		p := addrs.MustParseProvider(tt.In)
		if p.IsLegacy() != tt.Legacy || p.IsBuiltIn() != tt.BuiltIn {
			t.Errorf("%q: IsLegacy %v, IsBuiltIn %v; want %v, %v", tt.In, p.IsLegacy(), p.IsBuiltIn(), tt.Legacy, tt.BuiltIn)
		}
	}
	if z := (addrs.Provider{}); z.IsLegacy() || z.IsBuiltIn() || !z.IsZero() || z.String() != "" || z.Display() != "" {
		t.Errorf("zero Provider: %q, want an empty text and IsZero", z)
	}
}

func TestProviderCompare(t *testing.T) {
	t.Parallel()
	sorted := []addrs.Provider{{}}
	// As in the CLI, hosts are compared in ASCII: ä is xn--4ca.
	for _, s := range []string{"a.example/z/z", "b.example/a/b", "b.example/a/c", "b.example/b/a", "ä.example/a/a", "y.example/a/a"} {
		sorted = append(sorted, addrs.MustParseProvider(s))
	}
	checkOrder(t, sorted, addrs.Provider.Compare)
}

// checkOrder checks that compare gives the order of the list for each pair, and that go-cmp
// agrees.
func checkOrder[T comparable](t *testing.T, sorted []T, compare func(a, b T) int) {
	t.Helper()
	for i, a := range sorted {
		for j, b := range sorted {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := compare(a, b); got != want {
				t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, want)
			}
		}
	}
	if !slices.IsSortedFunc(sorted, compare) {
		t.Error("not sorted")
	}
}
