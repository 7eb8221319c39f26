// Package failure has the two errors that all clients of this module share: an operation
// that failed, and the request that it failed at.
//
//	if e, ok := errors.AsType[*failure.RequestError](err); ok && e.Status == http.StatusTooManyRequests {
//		time.Sleep(e.RetryAfter)
//	}
package failure

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// An Error is an operation on a provider, a module or a host that failed. Packages provider
// and module export it under the same name.
//
// What it wraps tells the kind of failure: a sentinel of the package that returned it;
// context.Canceled or DeadlineExceeded only if the context of the caller ended;
// os.ErrDeadlineExceeded if a server took too long; [io.ErrUnexpectedEOF] if a transfer
// broke off; otherwise what the network said. If a request failed, or its answer was
// unusable, a [*RequestError] is in its chain.
type Error struct {
	Op      string // what was to be done: "list versions of"
	Subject string // of what: "registry.example.com/acme/demo"; may be empty
	Err     error  // the cause, never nil
}

// Error returns operation, subject and cause in one line.
func (e *Error) Error() string {
	text := e.Op
	if e.Subject != "" {
		text += " " + e.Subject
	}
	if e.Err == nil {
		return text + ": unknown cause"
	}
	return text + ": " + strings.ReplaceAll(e.Err.Error(), "\n", "; ") // of several errors
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A RequestError is a request that failed, or whose answer was unusable. Its text, and that
// of Err, contains no token, no user information, query or fragment of a URL, and no
// control character.
type RequestError struct {
	URL        string        // that was asked last, after redirects, redacted
	Status     int           // of the answer to the last attempt; 0: none came
	RetryAfter time.Duration // how long that answer asks to wait; 0: it does not say
	HadToken   bool          // whether a token went along (not whether it followed each redirect)
	Attempts   int           // requests made in a row without success; 0: refused before the first
	Message    string        // what the server said about the status, one printable line; "": nothing

	// Err is the cause, never nil.
	Err error
}

// Error returns URL, status, cause and the number of attempts.
func (e *RequestError) Error() string {
	var b strings.Builder
	b.WriteString(e.URL + ": ")
	if e.Status != 0 && e.Status != 200 {
		b.WriteString("HTTP status " + strconv.Itoa(e.Status) + ": ")
	}
	b.WriteString(e.Err.Error())
	var notes []string
	if e.Status != 0 && errors.Is(e.Err, fault.ErrUnauthorized) {
		notes = append(notes, map[bool]string{true: "a token was sent", false: "no token was sent"}[e.HadToken])
	}
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d attempts", e.Attempts))
	}
	if notes != nil {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// Because returns e with another cause.
func (e *RequestError) Because(cause error) *RequestError {
	changed := *e
	changed.Err = cause
	return &changed
}
