package checksum

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The schemes that this package can compute.
const (
	SchemeZH = "zh" // SHA-256 of the archive, 64 lower-case hex digits
	SchemeH1 = "h1" // hash of names and contents, Base64 of a SHA-256
)

// maxHashLen bounds the text of a hash of whatever scheme, in bytes.
const maxHashLen = 512

// ErrEmptyHash says that a hash has a scheme but no value. Registries are known to
// send "h1:" where they have none; readers of such documents treat it as not stated.
var ErrEmptyHash = errors.New("hash has no value")

// A Hash is the hash of a package in the form of lock files and mirrors,
// "scheme:value". It is comparable, and equal hashes have equal text. The zero
// Hash is no hash at all; its text is empty.
//
// Hashes of schemes other than [SchemeZH] and [SchemeH1] are legal: they are kept
// as they are, and match nothing.
type Hash struct{ s string }

// ParseHash parses "scheme:value". A value of a known scheme must have the right
// form; the hex digits of a zh may be in upper case and are folded. The value of an
// unknown scheme may be any printable ASCII without spaces. The whole may have 512
// bytes.
//
// The error is a *HashError, which wraps [ErrEmptyHash] if the value is missing.
// See https://opentofu.org/docs/language/files/dependency-lock/ for the schemes.
func ParseHash(s string) (Hash, error) {
	if len(s) > maxHashLen {
		return Hash{}, &HashError{Input: s, Reason: fmt.Sprintf("longer than %d bytes", maxHashLen)}
	}
	scheme, value, found := strings.Cut(s, ":")
	switch {
	case !found || scheme == "":
		return Hash{}, &HashError{Input: s, Reason: `not of the form "scheme:value"`}
	case value == "":
		return Hash{}, &HashError{Input: s, Reason: ErrEmptyHash.Error(), err: ErrEmptyHash}
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Hash{}, &HashError{Input: s, Reason: "a character that is not printable ASCII"}
	}
	switch scheme {
	case SchemeZH:
		sum, err := hex.DecodeString(value)
		if err != nil || len(sum) != 32 {
			return Hash{}, &HashError{Input: s, Reason: "zh wants 64 hex digits"}
		}
		return ZHSum([32]byte(sum)), nil
	case SchemeH1:
		sum, err := base64.StdEncoding.Strict().DecodeString(value)
		if err != nil || len(sum) != 32 {
			return Hash{}, &HashError{Input: s, Reason: "h1 wants 32 bytes in padded Base64"}
		}
	}
	return Hash{s}, nil
}

// MustParseHash is like [ParseHash] but panics if s is no hash. It is for tests and
// for constants in programs.
func MustParseHash(s string) Hash {
	h, err := ParseHash(s)
	if err != nil {
		panic(err)
	}
	return h
}

// Scheme returns what stands before the colon, for example "zh".
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(h.s, ":")
	return scheme
}

// Value returns what stands after the colon.
func (h Hash) Value() string {
	_, value, _ := strings.Cut(h.s, ":")
	return value
}

// String returns "scheme:value", or "" for the zero Hash.
func (h Hash) String() string { return h.s }

// IsZero reports whether h is the zero Hash.
func (h Hash) IsZero() bool { return h.s == "" }

// Compare orders hashes by their text, as lock files list them. It returns -1, 0
// or +1.
func (h Hash) Compare(o Hash) int { return strings.Compare(h.s, o.s) }

// MarshalText implements [encoding.TextMarshaler] with the form of [Hash.String].
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.s), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] by [ParseHash]; empty text
// gives the zero Hash.
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

// Known reports whether this package can compute hashes of h's scheme, which is
// [SchemeZH] or [SchemeH1]. A hash of another scheme matches nothing.
func (h Hash) Known() bool {
	return strings.HasPrefix(h.s, SchemeZH+":") || strings.HasPrefix(h.s, SchemeH1+":")
}

// HashError is the error of [ParseHash].
type HashError struct {
	Input  string // what was parsed; may be hostile, Error quotes it
	Reason string // for people
	err    error
}

// Error returns the input, quoted and shortened, and the reason.
func (e *HashError) Error() string { return fmt.Sprintf("hash %.80q: %s", e.Input, e.Reason) }

// Unwrap returns [ErrEmptyHash] if the value is missing, otherwise nil.
func (e *HashError) Unwrap() error { return e.err }
