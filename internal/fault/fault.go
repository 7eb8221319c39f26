// Package fault contains the errors that several packages export, so that errors.Is matches across
// packages, and helpers for error texts.
package fault

import "errors"

var (
	// ErrNotFound means that the requested object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNoVersion means that the object has no such version, or no version that matches.
	ErrNoVersion = Narrow("no such version", ErrNotFound)
	// ErrUnauthorized means that the server requires credentials or has refused them (401, 403).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrTooLarge means that a body, archive, count or name exceeds its limit.
	ErrTooLarge = errors.New("too large")
	// ErrInsecure means that a URL is not https.
	ErrInsecure = errors.New("insecure")
	// ErrChanged means that the remote file changed during a download. Another download may
	// succeed.
	ErrChanged = errors.New("file changed during the transfer")
	// ErrArchive means that an archive is damaged or contains invalid entries.
	ErrArchive = errors.New("unacceptable archive")
	// ErrOffline means that a request is necessary but not permitted.
	ErrOffline = errors.New("offline")
)

// Narrow returns an error with this text that wraps another error.
func Narrow(text string, wider error) error { return &narrow{text, wider} }

type narrow struct {
	text  string
	wider error
}

func (n *narrow) Error() string { return n.text }
func (n *narrow) Unwrap() error { return n.wider }
