package svchost

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
)

// A Hostname is a normalised hostname with an optional port but 443, comparable with ==. The zero Hostname has
// an empty text.
type Hostname struct {
	ascii string // lower case, punycode labels, ":port" unless it is 443
}

// String returns the ASCII form, for DNS and https URLs: lower case, punycode.
func (h Hostname) String() string { return h.ascii }

// Display returns the Unicode form, for users, lock files and directory names. Parse accepts it if h came from
// Parse.
func (h Hostname) Display() string {
	if !strings.Contains(h.ascii, acePrefix) {
		return h.ascii
	}
	name, port := h.ascii, ""
	if i := strings.IndexByte(name, ':'); i >= 0 {
		name, port = name[:i], name[i:]
	}
	u, err := wireProfile.ToUnicode(name)
	if err != nil {
		return h.ascii
	}
	return u + port
}

// IsZero reports whether h is the zero Hostname.
func (h Hostname) IsZero() bool { return h.ascii == "" }

// Compare compares ASCII forms.
func (h Hostname) Compare(o Hostname) int { return strings.Compare(h.ascii, o.ascii) }

func (h Hostname) MarshalText() ([]byte, error) { return []byte(h.Display()), nil }

// UnmarshalText is like [Parse], but accepts empty text. MarshalText is like [Hostname.Display].
func (h *Hostname) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hostname{}
		return nil
	}
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// A ParseError is the error of all parsers.
type ParseError struct {
	Input  string // the invalid text, shortened, without user information and query of a URL
	Reason string // such as "it is empty"
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("invalid hostname %q: %s", e.Input, e.Reason)
}

// maxShown limits the input in an error, in bytes.
const maxShown = 100

func invalid(input, format string, args ...any) error {
	return &ParseError{Input: fault.Shown(input, maxShown), Reason: fmt.Sprintf(format, args...)}
}
