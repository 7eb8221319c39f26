package svchost

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/tofureg/tofureg/internal/fault"
)

const (
	// maxInput limits the work. The longest valid name has 253 ASCII characters, each of which
	// can be written in at most four bytes, and a port.
	maxInput = 1100
	maxLabel = 63
	// maxUnicodeLabel limits a label after the mapping: punycode has at least a byte for each character.
	maxUnicodeLabel = 4 * maxLabel
	maxName         = 253
	maxPort         = 65535
	defaultPort     = 443
	acePrefix       = "xn--"
)

// Parse parses a hostname that a user has written: Unicode in any case. It refuses punycode (xn--...), which
// hides the name.
func Parse(s string) (Hostname, error) { return parse(s, strict) }

// MustParse is [Parse], but panics.
func MustParse(s string) Hostname {
	h, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return h
}

// FromWire parses a hostname that a program has written. Unlike [Parse], it accepts valid punycode, with the
// same result as the Unicode form, and names that are valid only in DNS: with underscores, or with hyphens as
// third and fourth character of a label.
func FromWire(s string) (Hostname, error) { return parse(s, wire) }

// FromURL returns the host of an https or http URL, parsed by [FromWire]. The default port of http is 80:
// http://example.com gives example.com:80. User information, path and query are ignored.
func FromURL(s string) (Hostname, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Hostname{}, invalid(s, "want a URL that starts with https:// or http:// and a hostname")
	}
	host := strings.TrimSuffix(u.Host, ":")
	if u.Scheme == "http" && u.Port() == "" {
		host += ":80"
	}
	return FromWire(host)
}

// mode selects one of the two parsers.
type mode int

const (
	strict mode = iota
	wire
)

func parse(s string, m mode) (Hostname, error) {
	if err := checkShape(s); err != nil {
		return Hostname{}, err
	}
	name, port, hasPort := strings.Cut(s, ":")
	number := defaultPort
	if hasPort {
		var reason string
		if number, reason = parsePort(port); reason != "" {
			if isHTTP(name) {
				reason = reasonURL
			}
			return Hostname{}, invalid(s, "%s", reason)
		}
	}
	ascii, reason := normalise(name, m)
	if reason != "" {
		return Hostname{}, invalid(s, "%s", reason)
	}
	if number == defaultPort {
		return Hostname{ascii}, nil
	}
	if len(ascii)+1+len(port) == len(s) && s[:len(ascii)] == ascii && port[0] != '0' {
		return Hostname{s}, nil
	}
	return Hostname{ascii + ":" + strconv.Itoa(number)}, nil
}

const reasonURL = "want a hostname such as registry.example.com, not a URL"

// checkShape returns an error for URLs, paths and other texts that users mistake for hostnames.
func checkShape(s string) error {
	switch {
	case s == "":
		return invalid(s, "it is empty")
	case len(s) > maxInput:
		return invalid(s, "it is too long")
	case strings.Contains(s, "://"):
		return invalid(s, reasonURL)
	case strings.IndexByte(s, '@') >= 0:
		return invalid(s, "want a hostname without user information")
	case strings.IndexByte(s, '/') >= 0:
		if name, rest, _ := strings.Cut(s, ":"); strings.HasPrefix(rest, "/") && isHTTP(name) {
			return invalid(s, reasonURL)
		}
		return invalid(s, "want a hostname without a path")
	case s[0] == '[' || strings.Count(s, ":") > 1:
		return invalid(s, "IPv6 addresses are not supported; use a DNS name or an IPv4 address")
	}
	return nil
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// parsePort returns the port, or the reason why it is invalid.
func parsePort(s string) (port int, reason string) {
	if s == "" {
		return 0, "the port after the colon is missing"
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, "the port must consist of decimal digits"
		}
		// Checked in the loop: a long text with leading zeros is a small number.
		if port = port*10 + int(s[i]-'0'); port > maxPort {
			return 0, "the port must not exceed 65535"
		}
	}
	if port == 0 {
		return 0, "the port must not be 0"
	}
	return port, ""
}

// normalise returns the ASCII form of name, or the reason why it is invalid.
func normalise(name string, m mode) (ascii, reason string) {
	plain, upper := true, false
	for i := range len(name) {
		c := name[i]
		plain = plain && c < utf8.RuneSelf
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !plain {
		return normaliseIDNA(name, m)
	}
	if upper {
		name = strings.ToLower(name)
	}
	if m == wire && strings.Contains(name, acePrefix) {
		return normaliseIDNA(name, m)
	}
	return name, checkASCII(name, m, false)
}

// checkASCII returns the reason why name, in lower-case ASCII, is invalid, or "". If punycode is
// true, punycode labels are valid.
func checkASCII(name string, m mode, punycode bool) string {
	if len(name) > maxName {
		return "it is longer than the 253 bytes that DNS allows"
	}
	if name != "" && name[len(name)-1] == '.' {
		return "it must not end with a dot"
	}
	for more := true; more; {
		var label string
		label, name, more = strings.Cut(name, ".")
		if reason := checkLabel(label, m, punycode); reason != "" {
			return reason
		}
	}
	return ""
}

func checkLabel(label string, m mode, punycode bool) string {
	n := len(label)
	if n == 0 {
		return "it has an empty label"
	}
	if n > maxLabel {
		return reasonLabel
	}
	if label[0] == '-' || label[n-1] == '-' {
		return "a label must not start or end with a hyphen"
	}
	ace := strings.HasPrefix(label, acePrefix)
	if ace && !punycode {
		return reasonPunycode
	}
	if !ace && m == strict && n > 4 && label[2] == '-' && label[3] == '-' {
		return "a label must not have hyphens as third and fourth character"
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		case c == '_' && m == wire:
		default:
			return "the character " + strconv.QuoteRune(rune(c)) + " is not allowed"
		}
	}
	return ""
}

const reasonLabel = "a label is longer than the 63 bytes that DNS allows"

const reasonPunycode = "punycode (xn--) is not accepted; write the name in Unicode"

// wireProfile maps like [idna.Lookup], but does not check ASCII characters and hyphens, which
// this package checks after the mapping.
var wireProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

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
	// Punycode in the result comes from the conversion, not from the input.
	if reason := checkASCII(ascii, m, true); reason != "" {
		return "", reason
	}
	// The conversion may accept a name whose Unicode form it refuses: it does not notice a character that
	// is mapped to a right-to-left character, such as U+2135.
	u, err := wireProfile.ToUnicode(ascii)
	if again, failed := profile.ToASCII(u); err != nil || failed != nil || again != ascii {
		return "", "it is not a valid internationalised name (its Unicode form is not valid)"
	}
	return ascii, ""
}

// checkMapped checks for labels that the conversion to ASCII hides, punycode and empty labels, and for those for which
// it takes long: its time is quadratic.
func checkMapped(mapped string, m mode) string {
	if strings.HasSuffix(mapped, ".") {
		return "it must not end with a dot"
	}
	for label := range strings.SplitSeq(mapped, ".") {
		switch {
		case label == "":
			return "it has an empty label"
		case len(label) > maxUnicodeLabel:
			return reasonLabel
		case !strings.HasPrefix(label, acePrefix):
		case m == strict:
			return reasonPunycode
		case strings.ContainsFunc(label, func(r rune) bool { return r >= utf8.RuneSelf }):
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
