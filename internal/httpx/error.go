package httpx

import (
	"cmp"
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

// withLast adds to err, for which no further attempt is made, why the last one failed,
// unless last is nil.
func withLast(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, last)
}
