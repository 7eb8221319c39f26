package svchost_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/disco/svchost"
)

var (
	label63 = strings.Repeat("a", 63)
	name253 = strings.Join([]string{label63, label63, label63, strings.Repeat("b", 61)}, ".")
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, ascii, display string }{
		{"registry.opentofu.org", "registry.opentofu.org", ""},
		{"localhost", "localhost", ""},
		{"localhost:8443", "localhost:8443", ""},
		{"127.0.0.1", "127.0.0.1", ""},
		{"127.0.0.1:8443", "127.0.0.1:8443", ""},
		{"Registry.EXAMPLE.com", "registry.example.com", ""},
		{"EXAMPLE.com:8080", "example.com:8080", ""},
		{"a-b.c--d.example", "a-b.c--d.example", ""},

		// Ports.
		{"example.com:443", "example.com", ""},
		{"example.com:00443", "example.com", ""},
		{"example.com:081", "example.com:81", ""},
		{"example.com:1", "example.com:1", ""},
		{"example.com:65535", "example.com:65535", ""},
		{"http:80", "http:80", ""},
		{"https:80", "https:80", ""},
		{"http", "http", ""},

		// Unicode and its foldings.
		{"böb.example.com", "xn--bb-fka.example.com", "böb.example.com"},
		{"BÖB.example.com:8443", "xn--bb-fka.example.com:8443", "böb.example.com:8443"},
		{"bo\u0308b.example.com", "xn--bb-fka.example.com", "böb.example.com"},
		{"straße.example", "xn--strae-oqa.example", "straße.example"},
		{"βόλος.example", "xn--nxasmm1c.example", "βόλος.example"},
		{"例え.テスト", "xn--r8jz45g.xn--zckzah", "例え.テスト"},
		{"例え。テスト", "xn--r8jz45g.xn--zckzah", "例え.テスト"},
		{"ｅｘａｍｐｌｅ．ｃｏｍ", "example.com", ""},
		{"\u212Aelvin.example", "kelvin.example", ""},
		{"ﬁrst.example", "first.example", ""},
		{"①.example", "1.example", ""},
		{"ex\u00adample.com", "example.com", ""},
		{"еxample.com", "xn--xample-2of.com", "еxample.com"}, // Cyrillic е

		// DNS lengths.
		{label63 + ".example", label63 + ".example", ""},
		{name253, name253, ""},
		{name253 + ":8443", name253 + ":8443", ""},
		{"a" + strings.Repeat("\u00ad", 549) + "b", "ab", ""}, // 1100 bytes
	}
	for _, tt := range tests {
		h, err := svchost.Parse(tt.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.in, err)
			continue
		}
		if tt.display == "" {
			tt.display = tt.ascii
		}
		if h.String() != tt.ascii || h.Display() != tt.display {
			t.Errorf("Parse(%q) = %q, displayed %q; want %q, %q", tt.in, h, h.Display(), tt.ascii, tt.display)
		}
		if again, err := svchost.Parse(h.Display()); again != h {
			t.Errorf("Parse(%q) = %q, %v; want %q", h.Display(), again, err, h)
		}
		if wire, err := svchost.FromWire(h.String()); wire != h {
			t.Errorf("FromWire(%q) = %q, %v; want %q", h, wire, err, h)
		}
	}
}

// refused lists names that are invalid for both parsers, with a part of the reason.
var refused = []struct{ in, reason string }{
	{"", "empty"},
	{":8080", "empty label"},
	{"example.com:", "missing"},
	{"example.com:0", "must not be 0"},
	{"example.com:00", "must not be 0"},
	{"example.com:+80", "decimal digits"},
	{"example.com:-1", "decimal digits"},
	{"example.com:65536", "65535"},
	{"example.com:99999999999999999999999", "65535"},
	{"example.com:8_0", "decimal digits"},
	{"example.com:0x50", "decimal digits"},
	{"example.com: 80", "decimal digits"},
	{"example.com:80 ", "decimal digits"},
	{"example.com:８０", "decimal digits"},
	{"example.com:٨٠", "decimal digits"},
	{"example.com：80", ""}, // full-width colon

	{".example.com", "empty label"},
	{"example..com", "empty label"},
	{"example.com.", "end with a dot"},
	{"example.com..", "end with a dot"},
	{"example.com。", "end with a dot"},
	{"example.com．:8443", "end with a dot"},
	{"example。。com", "empty label"},
	{".", "end with a dot"},
	{"｡", "end with a dot"},
	{"\u00ad.com", "empty label"},
	{"a.\u00ad.com", "empty label"},
	{"a.\u00ad", "end with a dot"},
	{"\u00ad", "empty label"},

	{"https://example.com", "not a URL"},
	{"HTTPS://example.com/v1", "not a URL"},
	{"http:example", "not a URL"},
	{"https:", "not a URL"},
	{"http:/x", "not a URL"},
	{"ftp://example.com", "not a URL"},
	{"example.com/v1", "without a path"},
	{"user@example.com", "without user information"},

	{"::1", "IPv6"},
	{"[::1]", "IPv6"},
	{"[::1]:8443", "IPv6"},
	{"[fe80", "IPv6"},
	{"fe80::1%eth0", "IPv6"},
	{"example.com:80:80", "IPv6"},

	{"exa mple.com", "not allowed"},
	{" example.com", "not allowed"},
	{"example.com\n", "not allowed"},
	{"a\x00b", "not allowed"},
	{"a%2fb", "not allowed"},
	{"a?b", "not allowed"},
	{"a#b", "not allowed"},
	{"*.example.com", "not allowed"},
	{`a\b`, "not allowed"},
	{"-a.example", "hyphen"},
	{"a-.example", "hyphen"},
	{"a\xffb.example", "UTF-8"},
	{"a\u200db.example", "internationalised"},
	{"a\u202eb.example", "internationalised"},
	{"\u0300a.example", "internationalised"},
	{"אa.example", "internationalised"}, // right to left, then left to right

	{label63 + "a.example", "63 bytes"},
	{strings.Repeat("ö", 60) + ".example", "63 bytes"},
	{name253 + "b", "253 bytes"},
	{strings.Repeat("a.", 126) + "ö", "253 bytes"},
	{"a" + strings.Repeat("\u00ad", 549) + "bc", "too long"}, // 1101 bytes
	{strings.Repeat("a", 5000), "too long"},

	{"xn--.example", ""},
	{"xn--ü-abc.example", ""},
	{"xn--日-.example", ""},           // what a decoder passes through
	{"xn--xn--b-bb-fka.example", ""}, // xn--§b-bb, which is punycode again
	{"xn--example-.example", ""},     // plain ASCII in disguise
}

// strictOnly lists names that are invalid for Parse only.
var strictOnly = []struct{ in, reason string }{
	{"xn--bb-fka.example", "punycode"},
	{"XN--bb-fka.example", "punycode"},
	{"Xn--BB-FKA.example", "punycode"},
	{"a.xn--bb-fka", "punycode"},
	{"ｘｎ－－bb-fka.example", "punycode"},
	{"x\u00adn--bb-fka.example", "punycode"},
	{"foo。xn--bb-fka", "punycode"},
	{"foo．ｘn--bb-fka", "punycode"},
	{"foo｡xn--bb-fka:8443", "punycode"},
	{"my_registry.example", "not allowed"},
	{"ab--c.example", "third and fourth"},
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range append(refused, strictOnly...) {
		h, err := svchost.Parse(tt.in)
		checkRefused(t, "Parse", tt.in, tt.reason, h, err)
	}
	for _, tt := range refused {
		h, err := svchost.FromWire(tt.in)
		checkRefused(t, "FromWire", tt.in, tt.reason, h, err)
	}
	for _, tt := range strictOnly {
		if _, err := svchost.FromWire(tt.in); err != nil {
			t.Errorf("FromWire(%q): %v", tt.in, err)
		}
	}
}

func checkRefused(t *testing.T, fn, in, reason string, h svchost.Hostname, err error) {
	t.Helper()
	var pe *svchost.ParseError
	if !errors.As(err, &pe) {
		t.Errorf("%s(%q) = %q, error %v; want a ParseError", fn, in, h, err)
		return
	}
	if !strings.Contains(pe.Reason, reason) || !h.IsZero() {
		t.Errorf("%s(%q) = %q, reason %q; want %q in it", fn, in, h, pe.Reason, reason)
	}
	if msg := err.Error(); strings.ContainsAny(msg, "\n\x00\u202e") || len(msg) > 1000 {
		t.Errorf("%s(%q): error is not printable: %q", fn, in, msg)
	}
}

func TestFromWire(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, ascii, display string }{
		{"xn--bb-fka.example:443", "xn--bb-fka.example", "böb.example"},
		{"XN--BB-FKA.Example:8443", "xn--bb-fka.example:8443", "böb.example:8443"},
		{"ｘｎ－－bb-fka.example", "xn--bb-fka.example", "böb.example"},
		{"foo。xn--bb-fka", "foo.xn--bb-fka", "foo.böb"},
		{"xn--caf-dma.fr", "xn--caf-dma.fr", "café.fr"},
		{"café.fr", "xn--caf-dma.fr", "café.fr"},
		{"my_mirror.example", "my_mirror.example", "my_mirror.example"},
		{"_x._y", "_x._y", "_x._y"},
		{"my_böb.example", "xn--my_bb-mua.example", "my_böb.example"},
		{"r3---sn-abc.example", "r3---sn-abc.example", "r3---sn-abc.example"},
		{"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080"},
	}
	for _, tt := range tests {
		h, err := svchost.FromWire(tt.in)
		if err != nil || h.String() != tt.ascii || h.Display() != tt.display {
			t.Errorf("FromWire(%q) = %q, displayed %q, %v; want %q, %q", tt.in, h, h.Display(), err, tt.ascii, tt.display)
		}
	}
	if a, b := svchost.MustParse("café.fr:81"), must(svchost.FromWire("XN--CAF-DMA.fr:081")); a != b {
		t.Errorf("%q != %q", a, b)
	}
}

func must(h svchost.Hostname, err error) svchost.Hostname {
	if err != nil {
		panic(err)
	}
	return h
}

func TestFromURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://registry.example.com":            "registry.example.com",
		"HTTPS://Registry.Example.com/":           "registry.example.com",
		"https://registry.example.com/v1/modules": "registry.example.com",
		"https://registry.example.com:8443/v1?a#": "registry.example.com:8443",
		"https://registry.example.com:443/":       "registry.example.com",
		"https://user:s3cret@registry.example":    "registry.example",
		"https://bücher.example.com/":             "xn--bcher-kva.example.com",
		"https://xn--bcher-kva.example.com/":      "xn--bcher-kva.example.com",
		"http://localhost/v1":                     "localhost:80",
		"http://localhost:/v1":                    "localhost:80",
		"http://localhost:443/v1":                 "localhost",
		"":                                        "",
		"https://":                                "",
		"https:///v1":                             "",
		"https:registry.example.com":              "",
		"registry.example.com/v1":                 "",
		"//registry.example.com/v1":               "",
		"ftp://registry.example.com":              "",
		"https://registry.example.com:0/":         "",
		"https://registry.example.com:/":          "",
		"https://[::1]/":                          "",
		"http://[::1]/":                           "",
		"https://a..b/":                           "",
		" https://registry.example.com":           "",
		"https://user:s3cret@a..b/?s3cret":        "",
		"https://user:s3cret@\n/?s3cret":          "",
	} {
		h, err := svchost.FromURL(in)
		_, parse := errors.AsType[*svchost.ParseError](err)
		if h.String() != want || (want == "") != parse || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("FromURL(%q) = %q, %v; want %q", in, h, err, want)
		}
	}
}

func TestParseErrorKeepsSecrets(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"https://user:s3cret@example.com/",
		"user:s3cret@example.com",
		"https://example.com/?token=s3cret",
		"https://a@s3cret@example.com/?x@y",
	} {
		_, err := svchost.Parse(in)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Parse(%q): %v", in, err)
		}
		if pe := (*svchost.ParseError)(nil); errors.As(err, &pe) && strings.Contains(pe.Input, "s3cret") {
			t.Errorf("Parse(%q): input %q", in, pe.Input)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	type doc struct {
		Host  svchost.Hostname
		Hosts map[svchost.Hostname]int
	}
	in := doc{Hosts: map[svchost.Hostname]int{svchost.MustParse("böb.example:8443"): 1, {}: 2}}
	b, err := json.Marshal(in)
	if want := `{"Host":"","Hosts":{"":2,"böb.example:8443":1}}`; err != nil || string(b) != want {
		t.Fatalf("got %s, %v; want %s", b, err, want)
	}
	out := doc{Host: svchost.MustParse("example.com")}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if out.Host != in.Host || len(out.Hosts) != 2 || out.Hosts[svchost.MustParse("böb.example:8443")] != 1 {
		t.Errorf("unmarshalled %v, want %v", out, in)
	}
	h := svchost.MustParse("example.com")
	if err := h.UnmarshalText([]byte("xn--bb-fka.example")); err == nil || h != svchost.MustParse("example.com") {
		t.Errorf("UnmarshalText of punycode: %v, %v", h, err)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	a, b := svchost.MustParse("a.example"), svchost.MustParse("b.example")
	if a.Compare(b) != -1 || b.Compare(a) != 1 || a.Compare(svchost.MustParse("A.example:443")) != 0 {
		t.Error("Compare does not order by ASCII form")
	}
	if (svchost.Hostname{}).Compare(a) != -1 {
		t.Error("the zero Hostname is not first")
	}
	type host struct{ H svchost.Hostname }
	if diff := cmp.Diff(host{a}, host{svchost.MustParse("A.example:443")}); diff != "" || cmp.Equal(host{a}, host{b}) {
		t.Errorf("go-cmp does not compare by the host: %s", diff)
	}
}

func TestAllocations(t *testing.T) {
	for in, want := range map[string]float64{
		"registry.example.com": 0, "registry.example.com:8443": 0, "Registry.example.com": 1,
	} {
		if got := testing.AllocsPerRun(100, func() { svchost.MustParse(in) }); got > want {
			t.Errorf("Parse(%q): %v allocations, want at most %v", in, got, want)
		}
	}
}
