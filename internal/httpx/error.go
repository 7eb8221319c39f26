package httpx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Error is any failure of a request. Its text, and that of Err, contains no
// token, no user information, query or fragment of a URL, and no character that
// a terminal would obey.
type Error struct {
	URL        string        // that failed, redacted: after redirects, the last one asked
	Status     int           // of the last answer of any attempt; 0: none came
	RetryAfter time.Duration // how long the last answer asked to wait; 0: it did not say
	HadToken   bool          // whether a token went along (not whether it followed each redirect)
	Attempts   int           // requests made in a row without success; 0: refused before the first
	Message    string        // what the server said about the status, one printable line; "": nothing

	// Err is the cause, never nil. It wraps fault.ErrUnauthorized for status
	// 401 and 403, fault.ErrNotFound for 404 and 410, fault.ErrTooLarge,
	// fault.ErrInsecure, fault.ErrChanged, the error of VetoHost, an
	// *auth.SourceError, or what the network and the context said.
	// A timeout of this package wraps os.ErrDeadlineExceeded and not
	// context.DeadlineExceeded, which is left to the caller's own deadline.
	Err error
}

// Error tells URL, status, cause and the number of attempts.
func (e *Error) Error() string {
	var b strings.Builder
	if !named[*redirectError](e.Err) { // which names both ends itself
		b.WriteString(e.URL + ": ")
	}
	answered := named[*statusError](e.Err)
	if answered {
		fmt.Fprintf(&b, "status %d: ", e.Status)
	}
	b.WriteString(e.Err.Error())

	var notes []string
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		notes = append(notes, map[bool]string{true: "a token was sent", false: "no token was sent"}[e.HadToken])
	}
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d attempts", e.Attempts))
		if !answered && e.Status >= 300 {
			notes = append(notes, fmt.Sprintf("last status %d", e.Status))
		}
	}
	if notes != nil {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// named reports whether err itself, not something that it wraps, is a T.
func named[T error](err error) bool {
	_, ok := err.(T)
	return ok
}

// statusError is an answer that is no success.
type statusError struct {
	kind    error // fault.ErrNotFound and so on, or the status in words
	message string
}

func newStatusError(status int, message string) *statusError {
	e := &statusError{message: message}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.kind = fault.ErrUnauthorized
	case http.StatusNotFound, http.StatusGone:
		e.kind = fault.ErrNotFound
	case http.StatusPartialContent:
		e.kind = errors.New("a part was sent where the whole was asked for")
	default:
		text := strings.ToLower(http.StatusText(status))
		e.kind = errors.New(orDefault(text, "unexpected status"))
	}
	return e
}

func (e *statusError) Error() string {
	if e.message == "" {
		return e.kind.Error()
	}
	return e.kind.Error() + `, the server says "` + strings.ReplaceAll(e.message, `"`, `\"`) + `"`
}

func (e *statusError) Unwrap() error { return e.kind }

// redirectError is a redirect that was not followed.
type redirectError struct {
	from, to string // redacted
	err      error
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirect from %s to %s refused: %v", e.from, e.to, e.err)
}

func (e *redirectError) Unwrap() error { return e.err }

// timeoutError is the cause of a context that this package cancelled because
// a server was too slow. To net.Error and os.ErrDeadlineExceeded it is a timeout.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e *timeoutError) Error() string { return fmt.Sprintf("%s within %v", e.what, e.after) }

func (e *timeoutError) Timeout() bool { return true }

// Temporary completes net.Error.
func (e *timeoutError) Temporary() bool { return true }

func (e *timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// permanentError is a failure that another attempt cannot mend.
type permanentError struct{ error }

// endedError is what comes of a request whose context ended, or whose deadline
// would pass before the next attempt.
type endedError struct {
	context error // context.Canceled or DeadlineExceeded, or a cause that wraps it
	detail  string
	last    error // of the last attempt; nil: none failed
}

func newEndedError(ctx context.Context, last error) *endedError {
	e := &endedError{context: ctx.Err(), last: last}
	if cause := context.Cause(ctx); errors.Is(cause, e.context) {
		e.context = cause
	} else {
		e.context = fmt.Errorf("%w: %w", e.context, cause)
	}
	return e
}

func (e *endedError) Error() string {
	text := e.context.Error() + e.detail
	if e.last != nil {
		text += "; before that: " + e.last.Error()
	}
	return text
}

func (e *endedError) Unwrap() []error {
	if e.last == nil {
		return []error{e.context}
	}
	return []error{e.context, e.last}
}
