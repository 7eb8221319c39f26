package provider

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// What a caller branches on, with errors.Is. ErrNoVersion, ErrNoPlatform and ErrNoFile
// are kinds of ErrNotFound, so ask for them first where the difference matters.
var (
	// ErrNotFound: the source does not know what it was asked for.
	ErrNotFound = fault.ErrNotFound
	// ErrNoVersion: the provider has no such version, or none that a
	// constraint allows.
	ErrNoVersion = fault.ErrNoVersion
	// ErrNoPlatform: the version exists, but not for the platform.
	ErrNoPlatform = fault.Narrow("no package for this platform", fault.ErrNotFound)
	// ErrNoFile: the source describes the package, but the archive, the checksums
	// or the signature is not where it says.
	ErrNoFile = fault.Narrow("no such file", fault.ErrNotFound)
	// ErrProtocol: the package exists, but speaks none of the wanted plugin
	// protocols.
	ErrProtocol = errors.New("no supported plugin protocol")
	// ErrUnauthorized: the server wants credentials, or other ones (HTTP status 401
	// or 403). Object stores answer 403 also for a file that is not there.
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrTooLarge: a document or a package exceeds its limit.
	ErrTooLarge = fault.ErrTooLarge
	// ErrInsecure: a step would leave https.
	ErrInsecure = fault.ErrInsecure
	// ErrChanged: the file on the server was replaced while it was fetched.
	ErrChanged = fault.ErrChanged
	// ErrOffline: the source would have to be asked, and must not be, or there is
	// none.
	ErrOffline = fault.ErrOffline
	// ErrUnpacked: the source holds the package as a directory, so there is
	// no archive to fetch.
	ErrUnpacked = errors.New("package is unpacked, there is no archive")
)

// Error is a job about a provider or a module that failed, most often at a
// request. All but Op and Err may be zero.
//
// What it wraps tells the kind of failure: one of the variables of this package, of
// package verify or of package disco; context.Canceled or DeadlineExceeded only where the
// caller's own context ended; os.ErrDeadlineExceeded where a server took too long;
// [io.ErrUnexpectedEOF] where a transfer broke off; otherwise what the network said.
// Statuses have no variables of their own: 429 in Status means that the server asks to
// wait. [IsFault] tells whether another source, or a later attempt, may have an answer.
type Error struct {
	Op         string        // what was to be done: "list versions of"
	Subject    string        // of what: "registry.example.com/acme/demo"
	URL        string        // that was asked, without userinfo and query values
	Status     int           // HTTP status of the last answer; 0: there was none
	RetryAfter time.Duration // how long the server asks to wait; 0: it did not say
	HadToken   bool          // a token went along
	Attempts   int           // requests made, repeats included; 0: none
	Err        error         // the cause, never nil
}

// Error returns operation, subject, URL, status and cause in one line, each once.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		b.WriteString(" " + e.Subject)
	}
	cause := "unknown cause"
	if e.Err != nil {
		cause = strings.ReplaceAll(e.Err.Error(), "\n", "; ") // of several errors
	}
	if e.URL != "" && strings.Contains(cause, e.URL) {
		// The error of another request, such as discovery, tells all of it itself.
		return b.String() + ": " + cause
	}
	if e.URL != "" {
		b.WriteString(": " + e.URL)
	}
	if e.Status != 0 {
		b.WriteString(": HTTP status " + strconv.Itoa(e.Status))
	}
	b.WriteString(": " + cause)
	if e.Status != 0 && errors.Is(e.Err, ErrUnauthorized) {
		b.WriteString(map[bool]string{true: " (a token was sent)", false: " (no token was sent)"}[e.HadToken])
	}
	if e.Attempts > 1 {
		b.WriteString(" (" + strconv.Itoa(e.Attempts) + " attempts)")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
