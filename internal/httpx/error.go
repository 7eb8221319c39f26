package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// statusError returns the error of an answer that is no success, with what the server
// says about it.
func statusError(status int, message string) error {
	var kind error
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = fault.ErrUnauthorized
	case http.StatusNotFound, http.StatusGone:
		kind = fault.ErrNotFound
	case http.StatusPartialContent:
		kind = errors.New("a part was sent where the whole was asked for")
	default:
		kind = errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unexpected status"))
	}
	if message == "" {
		return kind
	}
	return fault.Narrow(kind.Error()+`, the server says "`+strings.ReplaceAll(message, `"`, `\"`)+`"`, kind)
}

// timeoutError returns the cause of a context that this package cancelled because a
// server was too slow. It is a net.Error, and os.ErrDeadlineExceeded.
func timeoutError(what string, limit time.Duration) error {
	return fault.Narrow(fmt.Sprintf("%s within %v", what, limit), os.ErrDeadlineExceeded)
}

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

// endedError is what comes of a request whose context ended, or whose deadline
// would pass before the next attempt.
type endedError struct {
	context error // wraps context.Canceled or DeadlineExceeded
	last    error // of the last attempt; nil: none failed
}

func newEndedError(ctx context.Context, last error) *endedError {
	if e, ok := context.Cause(ctx).(*endedError); ok {
		return e
	}
	return &endedError{context: fault.Ended(ctx), last: last}
}

func (e *endedError) Error() string {
	if e.last == nil {
		return e.context.Error()
	}
	return e.context.Error() + "; before that: " + e.last.Error()
}

func (e *endedError) Unwrap() []error { return []error{e.context, e.last} }
