package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// A Password is a password of a [Netrc] or a secret for an OCI registry, with any
// characters. The zero Password is empty. Only [Password.Reveal] returns the secret.
// Printing it shows a placeholder.
type Password struct {
	reveal func() string // a function for the same reason as in Token
}

// NewPassword returns a Password with this secret.
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

// Format prints String for every verb.
func (p Password) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, p.String()) // a fmt.State reports no errors
}

// LogValue returns the placeholder.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText returns the placeholder.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
