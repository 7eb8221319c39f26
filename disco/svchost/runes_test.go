package svchost_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/disco/svchost"
)

// TestRunes tries each character of the basic plane alone and between others. Random input rarely
// has two characters that are valid together.
func TestRunes(t *testing.T) {
	t.Parallel()
	for r := range rune(0x10000) {
		if 0x3400 <= r && r < 0xf900 {
			continue // nearly all ideographs, Hangul and surrogates
		}
		c := string(r)
		for _, s := range []string{c, "a" + c + "b", c + ".example", "ö" + c + "." + c, "x" + c + "n--a", c + "ｎ--bb-fka", "xn-" + c + "bb-fka"} {
			h, err := svchost.Parse(s)
			if err != nil {
				continue
			}
			checkInvariants(t, s, h)
			if again, err := svchost.Parse(h.Display()); again != h {
				t.Errorf("Parse(%q) = %q, displayed %q, parsed again as %q, %v", s, h, h.Display(), again, err)
			}
			if strings.HasSuffix(s, "bb-fka") && strings.HasPrefix(h.String(), "xn--bb-fka") {
				t.Errorf("Parse(%q) = %q", s, h)
			}
		}
	}
}

// TestNewLetters: letters that are new in Unicode 16 and 17 are refused, as by tofu 1.12. OpenTofu 1.13, which is built with
// Unicode 17, accepts them. Go 1.26 and x/net have Unicode 15.
func TestNewLetters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"\u1c8a.example.com", "\U00010d70.example.com", "\ua7cf.example.com"} {
		if got, err := svchost.Parse(name); err == nil {
			t.Errorf("Parse(%q) = %v, want an error; if the tables are newer now, accept it here and in doc.go", name, got)
		}
	}
}
