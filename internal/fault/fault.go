// Package fault holds the sentinel errors that several packages export under their own
// names, so that errors.Is matches across packages. It also makes the error of a context that
// has ended, and shortens the input that an error repeats.
package fault

import "errors"

var (
	// ErrNotFound: the thing asked for does not exist there.
	ErrNotFound = errors.New("not found")
	// ErrNoVersion: there is no such version of it, or none that a constraint allows.
	ErrNoVersion = Narrow("no such version", ErrNotFound)
	// ErrUnauthorized: the server wants credentials, or other ones (401, 403).
	ErrUnauthorized = errors.New("unauthorized")
	// ErrTooLarge: a body, archive, count or name exceeds its limit.
	ErrTooLarge = errors.New("too large")
	// ErrInsecure: a step that would leave https.
	ErrInsecure = errors.New("insecure")
	// ErrChanged: the remote file changed while it was being fetched; a fetch
	// from the first byte may succeed.
	ErrChanged = errors.New("file changed during the transfer")
	// ErrArchive: an archive that is damaged or holds what a package must not.
	ErrArchive = errors.New("unacceptable archive")
	// ErrOffline: the network would have to be asked, and must not be.
	ErrOffline = errors.New("offline")
)

// Narrow returns a sentinel that is a narrower case of another one.
func Narrow(text string, wider error) error { return &narrow{text, wider} }

type narrow struct {
	text  string
	wider error
}

func (n *narrow) Error() string { return n.text }
func (n *narrow) Unwrap() error { return n.wider }
