package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// ShownURL returns the redacted URL.
func (r *Response) ShownURL() string { return r.secrets.url(r.URL) }

// Fail returns the error of a request that had an answer.
func (r *Response) Fail(err error) *failure.RequestError {
	return &failure.RequestError{URL: r.ShownURL(), Status: r.Status, HadToken: r.HadToken, Attempts: r.Attempts, Err: err}
}

// Unusable is Fail for an answer that violates the protocol. It returns err unchanged if it is a
// *failure.RequestError, such as an error of [Response.DecodeJSON].
func (r *Response) Unusable(err error) error {
	if e, ok := err.(*failure.RequestError); ok {
		return e
	}
	return r.Fail(fmt.Errorf("unusable answer: %w", err))
}

// Refusal returns err if it may mean that the server does not have the requested object: status 404,
// of some servers 400 or 500. Otherwise it returns nil, also for an error that wraps a
// *failure.RequestError, such as an error of discovery.
func Refusal(err error) *failure.RequestError {
	e, ok := err.(*failure.RequestError)
	if ok && (errors.Is(e.Err, fault.ErrNotFound) || e.Status == http.StatusBadRequest || e.Status == http.StatusInternalServerError) {
		return e
	}
	return nil
}

// Limits of JSON members, which need more memory than their text.
const (
	MaxListMembers    = 500_000 // in a list of versions
	MaxPackageMembers = 150_000 // in a document about one version
)

// CheckMembers returns an error if a document has max members or more.
func CheckMembers(document []byte, max int) error {
	if bytes.Count(document, []byte{','}) >= max {
		return TooMany("members", max)
	}
	return nil
}

// CheckList returns an error if an array or object in a valid document has more than max elements.
// It is called before the document is decoded, because encoding/json needs much memory for short
// elements, even of a wrong type.
func CheckList(document []byte, what string, max int) error {
	if bytes.Count(document, []byte{','}) < max || !json.Valid(document) || longestList(document) <= max {
		return nil
	}
	return TooMany(what, max)
}

// longestList returns the number of elements in the longest array or object of a valid document.
// If none has two elements, it returns 0.
func longestList(document []byte) int {
	longest := 0
	open := []int{1} // elements so far of each enclosing value
	for i := 0; i < len(document); i++ {
		last := len(open) - 1
		switch document[i] {
		case '"':
			i = stringEnd(document, i) - 1
		case '{', '[':
			open = append(open, 1)
		case '}', ']':
			open = open[:last]
		case ',':
			open[last]++
			longest = max(longest, open[last])
		}
	}
	return longest
}

// TooMany returns the error of a count above its limit.
func TooMany(what string, limit int) error {
	return fmt.Errorf("more than %d %s: %w", limit, what, fault.ErrTooLarge)
}

// Limits of Notes.
const (
	maxNotes = 100  // warnings; more are counted
	MaxNote  = 1000 // bytes of a warning
)

// Notes collects printable warnings about a document.
type Notes struct {
	list []string
	more int
}

// Add adds a warning, unless it is empty.
func (n *Notes) Add(text string) {
	switch {
	case text == "":
	case len(n.list) == maxNotes:
		n.more++
	default:
		n.list = append(n.list, weburl.Clean(text, MaxNote))
	}
}

// Addf is Add with a format.
func (n *Notes) Addf(format string, args ...any) { n.Add(fmt.Sprintf(format, args...)) }

// Lines returns the warnings. The last line may state the number of omitted warnings.
func (n *Notes) Lines() []string {
	if n.more > 0 {
		return append(n.list, fmt.Sprintf("and %d more warnings", n.more))
	}
	return n.list
}

// Clip returns a copy of at most 100 bytes of an invalid name.
func Clip(s string) string { return strings.Clone(s[:min(len(s), 100)]) }
