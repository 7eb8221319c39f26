package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// A Password is what a [Netrc] holds beside a user, for
// [net/http.Request.SetBasicAuth], or a secret for an OCI registry. The zero Password is
// the empty one.
//
// Like a [Token] it shows itself through [Password.Reveal] and nothing else.
// Unlike a Token it may contain any character.
type Password struct {
	reveal func() string // a function for the same reason as in Token
}

// NewPassword returns the Password that holds secret.
func NewPassword(secret string) Password {
	return Password{reveal: func() string { return secret }}
}

// Reveal returns the secret, to be put into a request.
func (p Password) Reveal() string {
	if p.reveal == nil {
		return ""
	}
	return p.reveal()
}

// String returns "[redacted]", also for the empty Password.
func (p Password) String() string { return redacted }

// Format prints what String returns, whatever the verb and the flags.
func (p Password) Format(f fmt.State, verb rune) {
	_, _ = io.WriteString(f, p.String()) // a fmt.State reports no errors
}

// LogValue returns what String returns, for log/slog.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText returns what String returns. The password is not part of it.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
