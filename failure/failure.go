// Package failure has the errors that several packages return. It is meant for 1.0.
//
//	if e, ok := errors.AsType[*failure.RequestError](err); ok && e.Status == http.StatusTooManyRequests {
//		time.Sleep(min(e.RetryAfter, time.Minute))
//	}
package failure

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Kinds of errors, for errors.Is. ErrNoVersion is also ErrNotFound: test for ErrNoVersion first.
var (
	ErrNotFound     = errors.New("not found")
	ErrNoVersion    = fault.Narrow("no such version", ErrNotFound)
	ErrUnauthorized = errors.New("unauthorized") // HTTP status 401 or 403
	ErrTooLarge     = errors.New("too large")    // a size, count or name exceeds its limit
	ErrInsecure     = errors.New("insecure")     // a URL is not https
	ErrChanged      = errors.New("file changed during the transfer")
	ErrArchive      = errors.New("unacceptable archive") // it is damaged, or must not be unpacked
	ErrOffline      = errors.New("offline")              // a request is needed, but not allowed
)

// An Error is a failed operation. If a request failed, it wraps a [*RequestError]. It can also wrap an exported error of
// the package that returned it, a context error (if the caller's context has ended, or ends before the next attempt),
// os.ErrDeadlineExceeded after a timeout, or [io.ErrUnexpectedEOF] after an interruption.
type Error struct {
	Op      string // such as "list versions of"
	Subject string // such as "registry.example.com/acme/demo"; may be empty
	Err     error  // cause, never nil
}

// errUnknown stands for a cause that is nil.
var errUnknown = errors.New("unknown cause")

func (e *Error) Error() string {
	text := e.Op
	if e.Subject != "" {
		text += " " + e.Subject
	}
	return text + ": " + strings.ReplaceAll(fault.Text(cmp.Or(e.Err, errUnknown)), "\n", "; ") // of errors.Join
}

func (e *Error) Unwrap() error { return e.Err }

// Wrap returns err as an [*Error], or err itself if it is nil or an [*Error].
func Wrap(op, subject string, err error) error {
	if _, ok := err.(*Error); ok || err == nil {
		return err
	}
	return &Error{Op: op, Subject: subject, Err: err}
}

// A RequestError is a request that failed or had an invalid answer. It contains no tokens, queries or control
// characters.
type RequestError struct {
	URL        string        // last URL after redirects, redacted
	Status     int           // of the answer to the last attempt, also an invalid one; 0 without an answer
	RetryAfter time.Duration // that this answer states, of any length; 0 if none
	HadToken   bool          // the first URL was requested with a token
	Attempts   int           // failed attempts in a row, of an archive since its last new byte; may be 0
	Message    string        // of the server about Status, one line; may be empty
	Err        error         // cause, never nil
}

func (e *RequestError) Error() string {
	var b strings.Builder
	b.WriteString(e.URL + ": ")
	if e.Status != 0 && e.Status != 200 {
		b.WriteString("HTTP status " + strconv.Itoa(e.Status) + ": ")
	}
	b.WriteString(cmp.Or(e.Err, errUnknown).Error())
	var notes []string
	if e.Status != 0 && errors.Is(e.Err, ErrUnauthorized) {
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

func (e *RequestError) Unwrap() error { return e.Err }

// Because returns a copy of e with another cause.
func (e *RequestError) Because(cause error) *RequestError {
	changed := *e
	changed.Err = cause
	return &changed
}

// A RefusedError means that the program itself refused a package, by a function such as Approve of
// [github.com/tofureg/tofureg/provider/install.Installer].
type RefusedError struct {
	Err error // the reason, never nil
}

func (e *RefusedError) Error() string { return fmt.Sprint("refused by this program: ", e.Err) }

func (e *RefusedError) Unwrap() error { return e.Err }
