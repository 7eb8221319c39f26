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

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ In, ASCII, Display string }](t, "hosts.txt") {
		h, err := svchost.Parse(tt.In)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.In, err)
			continue
		}
		if tt.Display == "" {
			tt.Display = tt.ASCII
		}
		if h.String() != tt.ASCII || h.Display() != tt.Display {
			t.Errorf("Parse(%q) = %q, displayed %q; want %q, %q", tt.In, h, h.Display(), tt.ASCII, tt.Display)
		}
		if again, err := svchost.Parse(h.Display()); again != h {
			t.Errorf("Parse(%q) = %q, %v; want %q", h.Display(), again, err, h)
		}
		if wire, err := svchost.FromWire(h.String()); wire != h {
			t.Errorf("FromWire(%q) = %q, %v; want %q", h, wire, err, h)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "hosts-refused.txt") {
		h, err := svchost.Parse(in)
		checkRefused(t, "Parse", in, reason, h, err)
		h, err = svchost.FromWire(in)
		checkRefused(t, "FromWire", in, reason, h, err)
	}
	for in, reason := range casetest.Pairs(t, "hosts-refused-strict.txt") {
		h, err := svchost.Parse(in)
		checkRefused(t, "Parse", in, reason, h, err)
		if _, err := svchost.FromWire(in); err != nil {
			t.Errorf("FromWire(%q): %v", in, err)
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
