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
	to  string // redacted; "": not a URL
	err error
}

func (e *redirectError) Error() string {
	if e.to == "" {
		return fmt.Sprintf("redirect refused: %v", e.err)
	}
	return fmt.Sprintf("redirect to %s refused: %v", e.to, e.err)
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

// endedError is what comes of a request whose context ended, or whose deadline
// would pass before the next attempt.
type endedError struct {
	context error // context.Canceled or DeadlineExceeded, or a cause that wraps it
	detail  string
	last    error // of the last attempt; nil: none failed
}

func newEndedError(ctx context.Context, last error) *endedError {
	if e, ok := context.Cause(ctx).(*endedError); ok {
		return e
	}
	return &endedError{context: fault.Ended(ctx), last: last}
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
