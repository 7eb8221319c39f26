package svchost

import (
	"strings"

	"golang.org/x/net/idna"
)

// Hostname is a normalised hostname with an optional port. Values are comparable with ==,
// usable as map keys, and equal exactly when they mean the same host and port.
//
// The zero Hostname means "no host"; its text forms are empty.
type Hostname struct {
	ascii string // lower case, punycode labels, ":port" unless it is 443
}

// String returns the ASCII form: lower case, with punycode labels, and with the port
// unless it is 443. It is the form for comparison, DNS and URLs.
func (h Hostname) String() string { return h.ascii }

// Display returns the Unicode form with the port unless it is 443. It is the form for
// people, for lock files and for directory names. [Parse] turns it back into h where h
// came from Parse. A name that has no Unicode form is returned as [Hostname.String]
// returns it.
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

// Compare orders hostnames by their ASCII form. It returns -1, 0 or +1, and 0 only when
// h == o.
func (h Hostname) Compare(o Hostname) int { return strings.Compare(h.ascii, o.ascii) }

// MarshalText returns the [Hostname.Display] form; the zero Hostname is the empty text.
// It never fails.
func (h Hostname) MarshalText() ([]byte, error) { return []byte(h.Display()), nil }

// UnmarshalText reads what [Parse] accepts; the empty text is the zero Hostname. What only
// [FromWire] accepts is refused, because marshalled text is read and written by people.
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

// wireProfile maps like [idna.Lookup], but leaves the choice of ASCII characters and of
// hyphens to this package, which checks them after the mapping.
var wireProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))
