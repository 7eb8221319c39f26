package addrs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
)

// maxPart is the longest namespace or type in ASCII. Registries allow far less; one that is
// not ASCII must fit into a label of a hostname.
const maxPart = 512

// normalisePart returns the normal form of a provider's namespace or type, or the reason why
// there is none.
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

// checkPart returns the reason why s, in ASCII, is not acceptable, or "".
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

// partViaHost normalises a part that is not ASCII. It has the rules of a label of a hostname,
// so a hostname of a single label is what it must be; what the normal form shows is checked
// once more, since full-width and ideographic forms of dots and hyphens vanish only there.
// Symbols, some of which look like slashes, are for hostnames only.
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
