package checksum

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/internal/scheme"
)

// The schemes.
const (
	SchemeZH = "zh" // SHA-256 of the archive, 64 lower-case hex digits
	SchemeH1 = "h1" // see [H1Dir], Base64
)

// maxHashLen is the maximum length of a hash in bytes, for all schemes.
const maxHashLen = 512

// A Hash is the hash of a package, "scheme:value". Equal hashes are equal by ==. Hashes of unknown
// schemes are valid, but match nothing.
type Hash struct{ s string }

// ParseHash parses "scheme:value" of at most 512 bytes. It converts the value of a zh to lower case. The value of an
// unknown scheme may be any printable ASCII without spaces. For a SHA-256 in bare hex, pass "zh:" + hex. Without a
// value, the error wraps [ErrEmptyHash].
func ParseHash(s string) (Hash, error) {
	invalid := func(reason error) (Hash, error) { return Hash{}, fmt.Errorf("hash %.80q: %w", s, reason) }
	if len(s) > maxHashLen {
		return invalid(fmt.Errorf("longer than %d bytes", maxHashLen))
	}
	name, value, found := strings.Cut(s, ":")
	switch {
	case !found || name == "":
		return invalid(errors.New(`want "scheme:value"`))
	case value == "":
		return invalid(ErrEmptyHash)
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return invalid(errors.New("a character that is not printable ASCII"))
	}
	if of, ok := scheme.Named(name); ok {
		sum, err := hex.DecodeString(value)
		if err != nil || len(sum) != of.Size {
			return invalid(fmt.Errorf("%s: want %d hex digits", name, 2*of.Size))
		}
		return Hash{name + ":" + strings.ToLower(value)}, nil
	}
	if name == SchemeH1 || name == scheme.L1 {
		sum, err := base64.StdEncoding.Strict().DecodeString(value)
		if err != nil || len(sum) != 32 {
			return invalid(errors.New(name + ": want 32 bytes in padded Base64"))
		}
	}
	return Hash{s}, nil
}

// MustParseHash is like [ParseHash] but panics on errors.
func MustParseHash(s string) Hash {
	h, err := ParseHash(s)
	if err != nil {
		panic(err)
	}
	return h
}

// Scheme returns the part before the colon, such as "zh".
func (h Hash) Scheme() string {
	name, _, _ := strings.Cut(h.s, ":")
	return name
}

// Value returns the part after the colon.
func (h Hash) Value() string {
	_, value, _ := strings.Cut(h.s, ":")
	return value
}

// String returns "scheme:value", or "" for the zero Hash.
func (h Hash) String() string { return h.s }

// IsZero reports whether h is the zero Hash.
func (h Hash) IsZero() bool { return h.s == "" }

// Compare compares the texts and returns -1, 0 or +1.
func (h Hash) Compare(o Hash) int { return strings.Compare(h.s, o.s) }

func (h Hash) MarshalText() ([]byte, error) { return []byte(h.s), nil }

// UnmarshalText calls [ParseHash]. Empty text is the zero Hash.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hash{}
		return nil
	}
	parsed, err := ParseHash(string(b))
	if err == nil {
		*h = parsed
	}
	return err
}

// WithScheme returns the hashes of the scheme, in order.
func WithScheme(list []Hash, name string) []Hash {
	var found []Hash
	for _, h := range list {
		if h.Scheme() == name {
			found = append(found, h)
		}
	}
	return found
}
