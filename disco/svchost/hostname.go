package svchost

import (
	"strings"

	"golang.org/x/net/idna"
)

// A Hostname is a normalised hostname with an optional port. Equal values (==) are the same
// host and port. The zero Hostname has an empty text.
type Hostname struct {
	ascii string // lower case, punycode labels, ":port" unless it is 443
}

// String returns the ASCII form, for DNS and URLs: lower case, punycode, the port unless 443.
func (h Hostname) String() string { return h.ascii }

// Display returns the Unicode form, for users, lock files and directory names, with the port
// unless 443. [Parse] accepts it if h came from Parse. If a name has no Unicode form, Display
// returns the ASCII form.
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

// MarshalText returns [Hostname.Display]. It never fails.
func (h Hostname) MarshalText() ([]byte, error) { return []byte(h.Display()), nil }

// UnmarshalText parses a hostname like [Parse]. The empty text is the zero Hostname.
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

// wireProfile maps like [idna.Lookup], but does not check ASCII characters and hyphens, which
// this package checks after the mapping.
var wireProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))
