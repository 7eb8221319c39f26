// Package fault makes errors and their texts.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Narrow returns an error with this text that wraps another error.
func Narrow(text string, wider error) error { return &narrow{text, wider} }

type narrow struct {
	text  string
	wider error
}

func (n *narrow) Error() string { return n.text }
func (n *narrow) Unwrap() error { return n.wider }

// ErrNoTime means that the deadline of a context, which has not ended, is before the next attempt.
var ErrNoTime = Narrow(context.DeadlineExceeded.Error(), context.DeadlineExceeded)

// Ended returns the error of a context that has ended. It wraps ctx.Err() and the cause.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Shown returns an invalid input for an error: without user information and query of a URL, and
// shortened to max bytes.
func Shown(input string, max int) string {
	input, _, _ = strings.Cut(input, "?")
	if i := strings.LastIndexByte(input, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(input[:i], "://"); j >= 0 {
			scheme = input[:j+len("://")]
		}
		input = scheme + "..." + input[i:]
	}
	return Shorten(input, max)
}

// Shorten returns s, or at most max bytes of it and "...".
func Shorten(s string, max int) string {
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "..."
	}
	return s
}
