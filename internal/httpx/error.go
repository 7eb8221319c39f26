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

// statusError returns the error of a status that is not a success, with the message of the server.
func statusError(status int, message string) error {
	var kind error
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = fault.ErrUnauthorized
	case http.StatusNotFound, http.StatusGone:
		kind = fault.ErrNotFound
	case http.StatusPartialContent:
		kind = errors.New("unexpected part of the document")
	default:
		kind = errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unexpected status"))
	}
	if message == "" {
		return kind
	}
	return fault.Narrow(kind.Error()+`, the server says "`+strings.ReplaceAll(message, `"`, `\"`)+`"`, kind)
}

// timeoutError returns the error of a slow server. It is a net.Error and os.ErrDeadlineExceeded.
func timeoutError(what string, limit time.Duration) error {
	return fault.Narrow(fmt.Sprintf("%s within %v", what, limit), os.ErrDeadlineExceeded)
}

// redirectError is a refused redirect.
type redirectError struct {
	to  string // redacted URL
	err error
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirect to %s refused: %v", e.to, e.err)
}

func (e *redirectError) Unwrap() error { return e.err }

// withLast adds the error of the last attempt to err, which ended the attempts. The
// error last may be nil.
func withLast(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, last)
}
