package auth

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/tofureg/tofureg/disco/svchost"
)

// ErrInvalidToken means that a secret cannot be a token. Errors do not contain it.
var ErrInvalidToken = errors.New("invalid token")

// A Token is the API token of a host. The zero Token means no token. Only [Token.Reveal] returns the secret;
// [fmt], [log/slog] and [encoding/json] print a placeholder.
type Token struct {
	// A function, because packages such as fmt print the content of unexported fields.
	reveal func() string
}

// NewToken returns a Token of visible ASCII characters. Other secrets are [ErrInvalidToken].
func NewToken(secret string) (Token, error) {
	if secret == "" {
		return Token{}, fmt.Errorf("%w: it is empty", ErrInvalidToken)
	}
	for i := range len(secret) {
		if kind := invalidByte(secret[i]); kind != "" {
			return Token{}, fmt.Errorf("%w: byte %d of %d is %s", ErrInvalidToken, i+1, len(secret), kind)
		}
	}
	return Token{reveal: func() string { return secret }}, nil
}

// MustNewToken is [NewToken], but panics.
func MustNewToken(secret string) Token {
	t, err := NewToken(secret)
	if err != nil {
		panic(err)
	}
	return t
}

// For returns a Source that has t for only these hosts.
func (t Token) For(hosts ...svchost.Hostname) Source {
	tokens := make(map[svchost.Hostname]Token, len(hosts))
	for _, host := range hosts {
		tokens[host] = t
	}
	return &static{tokens: tokens}
}

// invalidByte returns a description of an invalid byte, or "" for a valid byte.
func invalidByte(b byte) string {
	switch {
	case b == '\n' || b == '\r':
		return "a line break"
	case b == ' ' || b == '\t':
		return "a space or tab"
	case b < ' ' || b == 0x7f:
		return "a control character"
	case b > 0x7f:
		return "not ASCII"
	}
	return ""
}

// Reveal returns the secret, or "" for the zero Token.
func (t Token) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Equal compares in constant time.
func (t Token) Equal(other Token) bool {
	return t.IsZero() == other.IsZero() &&
		subtle.ConstantTimeCompare([]byte(t.Reveal()), []byte(other.Reveal())) == 1
}

// String returns "[redacted]", or "[no token]" for the zero Token.
func (t Token) String() string {
	if t.IsZero() {
		return "[no token]"
	}
	return "[redacted]"
}

// Format prints String.
func (t Token) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, t.String()) // a fmt.State reports no errors
}

func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// A Password has any characters and prints as a placeholder. The zero Password is empty.
type Password struct {
	reveal func() string // a function for the same reason as in Token
}

// NewPassword returns a Password.
func NewPassword(secret string) Password {
	return Password{reveal: func() string { return secret }}
}

// Reveal returns the secret.
func (p Password) Reveal() string {
	if p.reveal == nil {
		return ""
	}
	return p.reveal()
}

// String returns "[redacted]", also for the empty Password.
func (p Password) String() string { return redacted }

// Format prints String.
func (p Password) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, p.String()) // a fmt.State reports no errors
}

func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
