package svchost

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
)

// A Hostname is a normalised hostname with an optional port. The zero Hostname has an empty text.
type Hostname struct {
	ascii string // lower case, punycode labels, ":port" unless it is 443
}

// String returns the ASCII form, for DNS and https URLs: lower case, punycode, the port unless 443.
func (h Hostname) String() string { return h.ascii }

// Display returns the Unicode form, for users, lock files and directory names, with the port
// unless 443. [Parse] accepts it if h came from Parse.
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

// Compare compares ASCII forms and returns -1, 0 or +1. It returns 0 only if h == o.
func (h Hostname) Compare(o Hostname) int { return strings.Compare(h.ascii, o.ascii) }

func (h Hostname) MarshalText() ([]byte, error) { return []byte(h.Display()), nil }

// UnmarshalText is like [Parse], but accepts empty text for the zero Hostname. MarshalText is like
// [Hostname.Display].
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

// A ParseError is the error of all parsers of this package.
type ParseError struct {
	// Input is the invalid text, shortened. User information and query of a URL are removed.
	Input string
	// Reason is the rest of the sentence "invalid hostname: ...".
	Reason string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("invalid hostname %q: %s", e.Input, e.Reason)
}

// maxShown limits the input in an error, in bytes.
const maxShown = 100

func invalid(input, format string, args ...any) error {
	return &ParseError{Input: fault.Shown(input, maxShown), Reason: fmt.Sprintf(format, args...)}
}
