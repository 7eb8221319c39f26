package addrs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
)

// maxPart is the maximum length of a namespace or type in ASCII, in bytes. The length of any
// other part is limited by the length of a label in a hostname.
const maxPart = 512

// normalisePart returns the normal form of a namespace or type of a provider, or the reason
// why it is invalid.
func normalisePart(s string) (part, reason string) {
	upper := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return partViaHost(s)
		case 'A' <= c && c <= 'Z':
			upper = true
		}
	}
	if reason := checkPart(s); reason != "" {
		return "", reason
	}
	if upper {
		s = strings.ToLower(s)
	}
	return s, ""
}

// checkPart returns the reason why s, in ASCII, is invalid, or "".
func checkPart(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case len(s) > maxPart:
		return reasonTooLong
	case s[0] == '-' || s[len(s)-1] == '-':
		return "it must not start or end with a hyphen"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isAlnum(c):
		case c != '-':
			return "the character " + strconv.QuoteRune(rune(c)) + " is not allowed"
		case s[i-1] == '-':
			return reasonHyphens
		}
	}
	return ""
}

const reasonHyphens = "it must not have two hyphens in a row"

// partViaHost normalises a part that is not ASCII, as a hostname of one label. The result is
// checked again, because normalisation can produce dots and hyphens, and because symbols,
// which are valid in hostnames, can look like slashes.
func partViaHost(s string) (part, reason string) {
	if strings.IndexByte(s, ':') >= 0 {
		return "", "the character ':' is not allowed"
	}
	host, err := svchost.Parse(s)
	if err != nil {
		return "", hostReason(err)
	}
	part = host.Display()
	switch {
	case strings.IndexByte(part, '.') >= 0:
		return "", "it must not contain a dot"
	case strings.Contains(part, "--"):
		return "", reasonHyphens
	}
	for _, r := range part {
		if r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.N) {
			return "", fmt.Sprintf("the character %U is not allowed", r)
		}
	}
	return part, ""
}
