package svchost

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/tofureg/tofureg/internal/fault"
)

// normaliseIDNA normalises names that are not ASCII or contain punycode.
func normaliseIDNA(name string, m mode) (ascii, reason string) {
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
	// The conversion may accept a name whose Unicode form it refuses: it does not notice a character that
	// is mapped to a right-to-left character, such as U+2135.
	u, err := wireProfile.ToUnicode(ascii)
	if again, failed := profile.ToASCII(u); err != nil || failed != nil || again != ascii {
		return "", "it is not a valid internationalised name (its Unicode form is not valid)"
	}
	// Punycode in the result comes from the conversion, not from the input.
	return ascii, checkASCII(ascii, m, true)
}

// checkMapped checks for labels that the conversion to ASCII hides: punycode and empty labels.
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
			// The decoder would not report the other characters.
			return "a punycode label has characters that are not ASCII"
		}
	}
	return ""
}

// mapRunes applies the UTS #46 mapping to each rune of s without decoding punycode. So the result
// shows the punycode labels, also if dots, hyphens and letters in s are not ASCII. The result is
// not composed, which does not affect ASCII characters.
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
			// The conversion of the whole name reports the error.
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
