package svchost_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

func addSeeds(f *testing.F) {
	for _, s := range []string{"example.com", "böb.example.com:8443", "straße.example", "例え。テスト", "1.2.3.4:80"} {
		f.Add(s)
	}
	for _, name := range []string{"hosts-refused.txt", "hosts-refused-strict.txt"} {
		for in := range casetest.Pairs(f, name) {
			f.Add(in)
		}
	}
}

// FuzzParse checks the invariants of every accepted name.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		h, err := svchost.Parse(s)
		if err != nil {
			if !h.IsZero() || len(err.Error()) > 2000 {
				t.Fatalf("Parse(%q) = %q, %v", s, h, err)
			}
			return
		}
		checkInvariants(t, s, h)
		if again, err := svchost.Parse(h.Display()); err != nil || again != h {
			t.Fatalf("Parse(%q) = %q, displayed as %q, parsed again as %q, %v", s, h, h.Display(), again, err)
		}
		if wire, err := svchost.FromWire(s); err != nil || wire != h {
			t.Fatalf("Parse(%q) = %q, FromWire = %q, %v", s, h, wire, err)
		}
		name, _, _ := strings.Cut(s, ":")
		want, _, _ := strings.Cut(h.String(), ":")
		if got, err := idna.Lookup.ToASCII(name); err != nil || got != want {
			t.Fatalf("idna.Lookup.ToASCII(%q) = %q, %v; want %q", name, got, err, want)
		}
	})
}

// FuzzFromWire checks the lenient parser.
func FuzzFromWire(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		h, err := svchost.FromWire(s)
		if err != nil {
			if h, err := svchost.Parse(s); err == nil {
				t.Fatalf("FromWire refuses %q, which Parse accepts as %q", s, h)
			}
			return
		}
		checkInvariants(t, s, h)
		for _, form := range []string{h.String(), h.Display()} {
			if again, err := svchost.FromWire(form); err != nil || again != h {
				t.Fatalf("FromWire(%q) = %q, from its form %q: %q, %v", s, h, form, again, err)
			}
		}
	})
}

func checkInvariants(t *testing.T, s string, h svchost.Hostname) {
	t.Helper()
	ascii := h.String()
	name, _, _ := strings.Cut(ascii, ":")
	if len(name) > 253 || strings.HasSuffix(ascii, ":443") || !utf8.ValidString(h.Display()) {
		t.Fatalf("%q gives %q, displayed %q", s, ascii, h.Display())
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("%q gives %q with the label %q", s, ascii, label)
		}
	}
}

// FuzzASCII checks that the parser for ASCII returns the same as the parser for Unicode.
func FuzzASCII(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return
		}
		for _, lenient := range []bool{false, true} {
			fast, ok := svchost.Normalise(s, lenient)
			slow, ok2 := svchost.NormaliseIDNA(s, lenient)
			if ok != ok2 || ok && fast != slow {
				t.Fatalf("lenient %v, %q: fast %q %v, general %q %v", lenient, s, fast, ok, slow, ok2)
			}
		}
	})
}
