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
