package svchost

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/tofureg/tofureg/internal/fault"
)

// viaIDNA is normalise for names that are not plain ASCII or have punycode labels.
func viaIDNA(name string, m mode) (ascii, reason string) {
	if !utf8.ValidString(name) {
		return "", "it is not valid UTF-8"
	}
	if reason := checkMapped(mapRunes(name), m); reason != "" {
		return "", reason
	}
	profile := idna.Lookup
	if m == wire {
		profile = wireProfile
	}
	ascii, err := profile.ToASCII(name)
	if err != nil {
		detail := strings.TrimPrefix(err.Error(), "idna: ")
		return "", "it is not a valid internationalised name (" + fault.Shorten(detail, maxShown) + ")"
	}
	if u, err := wireProfile.ToUnicode(ascii); err != nil || !sameASCII(profile, u, ascii) {
		return "", "it is not a valid internationalised name (its Unicode form is not valid)"
	}
	// In the result punycode is the work of the conversion above, no longer of the input.
	return ascii, checkASCII(ascii, m, true)
}

// sameASCII reports whether the Unicode form u leads to ascii again. The conversion does not
// see that a character becomes a right-to-left one by being mapped (U+2135, for example), so
// it may accept a name whose Unicode form it refuses.
func sameASCII(profile *idna.Profile, u, ascii string) bool {
	again, err := profile.ToASCII(u)
	return err == nil && again == ascii
}

// checkMapped looks for what the conversion to ASCII hides: labels that were punycode
// before, and labels that it lets vanish.
func checkMapped(mapped string, m mode) string {
	if strings.HasSuffix(mapped, ".") {
		return "it must not end with a dot"
	}
	for label := range strings.SplitSeq(mapped, ".") {
		switch {
		case label == "":
			return "it has an empty label"
		case !strings.HasPrefix(label, acePrefix):
		case m == strict:
			return reasonPunycode
		case !isASCII(label):
			// The decoder would pass the other characters through.
			return "a punycode label has characters that are not ASCII"
		}
	}
	return ""
}

// mapRunes applies the UTS #46 mapping to each rune of s and decodes nothing: the result
// shows which labels were written in punycode, whatever the dots, hyphens and letters in s
// looked like. It is not composed, which makes no difference to ASCII characters.
func mapRunes(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case 'A' <= r && r <= 'Z':
			b.WriteByte(byte(r) + 'a' - 'A')
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			// An error means that the rune is not allowed; the conversion of the
			// whole name reports it.
			u, _ := wireProfile.ToUnicode(string(r))
			b.WriteString(u)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
