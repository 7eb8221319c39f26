package httpx

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/tofureg/tofureg/internal/fault"
)

// Fail returns the error of a request that was answered all the same.
func (r *Response) Fail(err error) *Error {
	return &Error{URL: Redact(r.URL), Status: r.Status, HadToken: r.HadToken, Attempts: r.Attempts, Err: err}
}

// Unusable is Fail for an answer that is not what the protocol says. An err that is an
// *Error already, as that of [Response.DecodeJSON], is returned as it is.
func (r *Response) Unusable(err error) error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return r.Fail(fmt.Errorf("unusable answer: %w", err))
}

// Because returns e with another cause.
func (e *Error) Because(cause error) *Error {
	changed := *e
	changed.Err = cause
	return &changed
}

// Refusal returns err if it may mean that the server does not have what was asked for:
// most answer 404, and some 400 or 500. Otherwise it returns nil, also for what wraps
// another error, as that of discovery: it is about something else.
func Refusal(err error) *Error {
	e, ok := err.(*Error)
	if ok && (errors.Is(e.Err, fault.ErrNotFound) || e.Status == http.StatusBadRequest || e.Status == http.StatusInternalServerError) {
		return e
	}
	return nil
}

// CheckMembers refuses documents with max members or more, whose decoded form may be
// much larger than they are.
func CheckMembers(document []byte, max int) error {
	if bytes.Count(document, []byte{','}) >= max {
		return TooMany("members", max)
	}
	return nil
}

// TooMany is the error of a count above its limit.
func TooMany(what string, limit int) error {
	return fmt.Errorf("more than %d %s: %w", limit, what, fault.ErrTooLarge)
}

// Limits of Notes.
const (
	maxNotes = 100  // those that follow are counted
	MaxNote  = 1000 // bytes of one
)

// Notes collects warnings about a document, safe to print and not too many.
type Notes struct {
	list []string
	more int
}

// Add takes up a text from wherever. An empty one says nothing.
func (n *Notes) Add(text string) {
	switch {
	case text == "":
	case len(n.list) == maxNotes:
		n.more++
	default:
		n.list = append(n.list, Clean(text, MaxNote))
	}
}

// Addf is Add with a format.
func (n *Notes) Addf(format string, args ...any) { n.Add(fmt.Sprintf(format, args...)) }

// Lines returns the warnings, the last of which may say how many are left out.
func (n *Notes) Lines() []string {
	if n.more > 0 {
		return append(n.list, fmt.Sprintf("and %d more warnings", n.more))
	}
	return n.list
}

// Clip keeps what is shown of a bad name short.
func Clip(s string) string { return s[:min(len(s), 100)] }
