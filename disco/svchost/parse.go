package svchost

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxInput bounds the work on hostile input. The longest legal name has 253 ASCII
	// characters, which can be written in at most four bytes each, and a port.
	maxInput    = 1100
	maxLabel    = 63
	maxName     = 253
	maxPort     = 65535
	defaultPort = 443
	acePrefix   = "xn--"
)

// Parse parses a hostname as a person writes it: Unicode, any case, optionally with a port.
// The package comment states the rules. The error is a *[ParseError].
func Parse(s string) (Hostname, error) { return parse(s, strict) }

// MustParse is like [Parse] but panics on an error. It is for names that are constants in
// the program.
func MustParse(s string) Hostname {
	h, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return h
}

// FromWire parses a hostname that comes from a place where the ASCII form of a name is
// legal: the host part of a URL, or the name of an environment variable with a token.
//
// It differs from [Parse] in three points. Valid punycode is accepted in any spelling, and
// the result equals that of the Unicode form. Underscores are accepted, and so are labels
// with two hyphens as third and fourth character, because such names exist in DNS and so
// in URLs, although no registry can be addressed by one. All else is as strict.
// The error is a *[ParseError].
func FromWire(s string) (Hostname, error) { return parse(s, wire) }

// ParseURL parses the URL of a host: https://HOST or https://HOST:PORT, optionally with a
// final slash. HOST is read as by [Parse], the scheme in any case. Any other scheme, user
// information, a path, a query or a fragment is an error. The error is a *[ParseError].
func ParseURL(s string) (Hostname, error) {
	const scheme = "https://"
	if len(s) < len(scheme) || !strings.EqualFold(s[:len(scheme)], scheme) {
		return Hostname{}, refuse(s, "the URL of a host is wanted, such as https://registry.example.com")
	}
	h, err := Parse(strings.TrimSuffix(s[len(scheme):], "/"))
	if e, ok := errors.AsType[*ParseError](err); ok {
		return Hostname{}, refuse(s, "%s", e.Reason)
	}
	return h, err
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
			return Hostname{}, refuse(s, "%s", reason)
		}
	}
	ascii, reason := normalise(name, m)
	if reason != "" {
		return Hostname{}, refuse(s, "%s", reason)
	}
	if number == defaultPort {
		return Hostname{ascii}, nil
	}
	if len(ascii)+1+len(port) == len(s) && s[:len(ascii)] == ascii && port[0] != '0' {
		return Hostname{s}, nil
	}
	return Hostname{ascii + ":" + strconv.Itoa(number)}, nil
}

const reasonURL = "a bare hostname is wanted, such as registry.example.com, not a URL"

// checkShape refuses what is no hostname at all, with a reason that helps whoever took it
// for one.
func checkShape(s string) error {
	switch {
	case s == "":
		return refuse(s, "it is empty")
	case len(s) > maxInput:
		return refuse(s, "it is too long")
	case strings.Contains(s, "://"):
		return refuse(s, reasonURL)
	case strings.IndexByte(s, '@') >= 0:
		return refuse(s, "a bare hostname is wanted, without user information")
	case strings.IndexByte(s, '/') >= 0:
		if name, rest, _ := strings.Cut(s, ":"); strings.HasPrefix(rest, "/") && isHTTP(name) {
			return refuse(s, reasonURL)
		}
		return refuse(s, "a bare hostname is wanted, without a path")
	case s[0] == '[' || strings.Count(s, ":") > 1:
		return refuse(s, "IPv6 addresses are not supported; use a DNS name or an IPv4 address")
	}
	return nil
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// parsePort returns the port, or the reason why s is none.
func parsePort(s string) (port int, reason string) {
	if s == "" {
		return 0, "the port after the colon is missing"
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, "the port must consist of decimal digits"
		}
		// Leading zeros make the text long without making the number large.
		if port = port*10 + int(s[i]-'0'); port > maxPort {
			return 0, "the port must not exceed 65535"
		}
	}
	if port == 0 {
		return 0, "the port must not be 0"
	}
	return port, ""
}

// normalise returns the ASCII form of name, or the reason why there is none.
func normalise(name string, m mode) (ascii, reason string) {
	plain, upper := true, false
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			plain = false
		case 'A' <= c && c <= 'Z':
			upper = true
		}
	}
	if !plain {
		return viaIDNA(name, m)
	}
	if upper {
		name = strings.ToLower(name)
	}
	if m == wire && strings.Contains(name, acePrefix) {
		return viaIDNA(name, m)
	}
	return name, checkASCII(name, m, false)
}

// checkASCII returns the reason why name, in lower-case ASCII, is not acceptable, or "".
// Punycode labels must have been checked before, or not be allowed.
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
	switch n := len(label); {
	case n == 0:
		return "it has an empty label"
	case n > maxLabel:
		return "a label is longer than the 63 bytes that DNS allows"
	case label[0] == '-' || label[n-1] == '-':
		return "a label must not start or end with a hyphen"
	case strings.HasPrefix(label, acePrefix):
		if !punycode {
			return reasonPunycode
		}
	case m == strict && n > 4 && label[2] == '-' && label[3] == '-':
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

const reasonPunycode = "punycode (xn--) is not accepted; write the name in Unicode"
