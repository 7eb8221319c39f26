package svchost_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
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
		{strings.Repeat("e\u0302\u0301", 50), "xn--ilgaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", strings.Repeat("ế", 50)}, // 250 bytes before they are composed
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

// refused lists names that are invalid for both parsers, by a part of the reason. Some have a full-width
// colon, or punycode of ASCII, of punycode, and of what a decoder passes through.
var refused = map[string][]string{
	"empty":         {""},
	"empty label":   {":8080", ".example.com", "example..com", "example。。com", "\u00ad.com", "a.\u00ad.com", "\u00ad"},
	"missing":       {"example.com:"},
	"must not be 0": {"example.com:0", "example.com:00"},
	"decimal digits": {
		"example.com:+80", "example.com:-1", "example.com:8_0", "example.com:0x50", "example.com: 80", "example.com:80 ", "example.com:８０",
		"example.com:٨٠",
	},
	"65535":                    {"example.com:65536", "example.com:99999999999999999999999"},
	"":                         {"example.com：80", "xn--.example", "xn--ü-abc.example", "xn--日-.example", "xn--xn--b-bb-fka.example", "xn--example-.example"},
	"end with a dot":           {"example.com.", "example.com..", "example.com。", "example.com．:8443", ".", "｡", "a.\u00ad"},
	"not a URL":                {"https://example.com", "HTTPS://example.com/v1", "http:example", "https:", "http:/x", "ftp://example.com"},
	"without a path":           {"example.com/v1"},
	"without user information": {"user@example.com"},
	"IPv6":                     {"::1", "[::1]", "[::1]:8443", "[fe80", "fe80::1%eth0", "example.com:80:80"},
	"not allowed":              {"exa mple.com", " example.com", "example.com\n", "a\x00b", "a%2fb", "a?b", "a#b", "*.example.com", `a\b`},
	"hyphen":                   {"-a.example", "a-.example"},
	"UTF-8":                    {"a\xffb.example"},
	"internationalised":        {"a\u200db.example", "a\u202eb.example", "\u0300a.example", "אa.example"},
	"63 bytes":                 {label63 + "a.example", strings.Repeat("ö", 60) + ".example", strings.Repeat("e\u0302\u0301", 51)},
	"253 bytes":                {name253 + "b", strings.Repeat("a.", 126) + "ö"},
	"too long":                 {"a" + strings.Repeat("\u00ad", 549) + "bc", strings.Repeat("a", 5000)},
}

// strictOnly lists names that are invalid for Parse only.
var strictOnly = map[string][]string{
	"punycode": {
		"xn--bb-fka.example", "XN--bb-fka.example", "Xn--BB-FKA.example", "a.xn--bb-fka", "ｘｎ－－bb-fka.example", "x\u00adn--bb-fka.example",
		"foo。xn--bb-fka", "foo．ｘn--bb-fka", "foo｡xn--bb-fka:8443",
	},
	"not allowed":      {"my_registry.example"},
	"third and fourth": {"ab--c.example"},
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for reason, names := range refused {
		for _, in := range names {
			h, err := svchost.Parse(in)
			checkRefused(t, "Parse", in, reason, h, err)
			h, err = svchost.FromWire(in)
			checkRefused(t, "FromWire", in, reason, h, err)
		}
	}
	for reason, names := range strictOnly {
		for _, in := range names {
			h, err := svchost.Parse(in)
			checkRefused(t, "Parse", in, reason, h, err)
			if _, err := svchost.FromWire(in); err != nil {
				t.Errorf("FromWire(%q): %v", in, err)
			}
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
	for _, tt := range casetest.Read[struct{ In, ASCII, Display string }](t, "hosts-wire.txt") {
		h, err := svchost.FromWire(tt.In)
		if err != nil || h.String() != tt.ASCII || h.Display() != tt.Display {
			t.Errorf("FromWire(%q) = %q, displayed %q, %v; want %q, %q", tt.In, h, h.Display(), err, tt.ASCII, tt.Display)
		}
	}
	if a, b := svchost.MustParse("café.fr:81"), must.Get(svchost.FromWire("XN--CAF-DMA.fr:081"))(t); a != b {
		t.Errorf("%q != %q", a, b)
	}
}

func TestFromURL(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "hosts-of-urls.txt") {
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
