package auth

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/tofureg/tofureg/disco/svchost"
)

// ErrInvalidToken is wrapped by every error about a secret that cannot be sent
// as an API token. Such an error never contains the secret.
var ErrInvalidToken = errors.New("invalid token")

// A Token is the API token of one host, sent as "Authorization: Bearer TOKEN".
// The zero Token means that there is no token.
//
// The secret comes out through [Token.Reveal] and nothing else. Every verb of
// package fmt, log/slog, encoding/json and the other encodings that honour
// MarshalText print a placeholder instead, also for a Token deep inside another
// value. Where they cannot call the methods of a Token, as in an unexported
// field, they find a function value and at most print its address.
//
// There is no UnmarshalText, because what MarshalText writes is no token.
// Tokens are compared with [Token.Equal]; the type has no == operator.
type Token struct {
	// A function, because fmt and its like print the content of unexported
	// fields but never call them.
	reveal func() string
}

// NewToken returns the Token that holds secret. It accepts one or more visible
// ASCII characters. The empty string, spaces, control characters and anything
// beyond ASCII are refused with an error that wraps [ErrInvalidToken]: such a
// secret would be cut, mangled or refused in an HTTP header. A line break at
// the end of a file that holds a token is the usual case.
func NewToken(secret string) (Token, error) {
	if secret == "" {
		return Token{}, fmt.Errorf("%w: it is empty", ErrInvalidToken)
	}
	for i := range len(secret) {
		if kind := illegal(secret[i]); kind != "" {
			return Token{}, fmt.Errorf("%w: byte %d of %d is %s", ErrInvalidToken, i+1, len(secret), kind)
		}
	}
	return Token{reveal: func() string { return secret }}, nil
}

// MustNewToken is like [NewToken] but panics if secret is not valid. It is for tests.
func MustNewToken(secret string) Token {
	t, err := NewToken(secret)
	if err != nil {
		panic(err)
	}
	return t
}

// For returns a [Source] that has t for hosts and no token for any other host. With the
// zero Token or without hosts it has no tokens.
func (t Token) For(hosts ...svchost.Hostname) Source {
	tokens := make(map[svchost.Hostname]Token, len(hosts))
	for _, host := range hosts {
		tokens[host] = t
	}
	return &static{tokens: tokens}
}

// illegal names what is wrong with one byte of a secret, without showing it.
func illegal(b byte) string {
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

// Reveal returns the secret, to be put into a request. It is "" for the zero
// Token.
func (t Token) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Equal reports whether both hold the same secret, or neither holds one. The
// time it takes does not depend on where they differ.
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

// Format prints what String returns, whatever the verb and the flags.
func (t Token) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, t.String()) // a fmt.State reports no errors
}

// LogValue returns what String returns, for log/slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText returns what String returns, so that a value with a Token in it
// can be written as JSON for people and logs. The token is not part of it.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
