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

// ShownURL is r.URL for people and logs, without the secrets of the request.
func (r *Response) ShownURL() string { return r.secrets.url(r.URL) }

// Fail returns the error of a request that was answered all the same.
func (r *Response) Fail(err error) *failure.RequestError {
	return &failure.RequestError{URL: r.ShownURL(), Status: r.Status, HadToken: r.HadToken, Attempts: r.Attempts, Err: err}
}

// Unusable is Fail for an answer that is not what the protocol says. An err that is an
// *failure.RequestError already, as that of [Response.DecodeJSON], is returned as it is.
func (r *Response) Unusable(err error) error {
	if e, ok := err.(*failure.RequestError); ok {
		return e
	}
	return r.Fail(fmt.Errorf("unusable answer: %w", err))
}

// Refusal returns err if it may mean that the server does not have what was asked for:
// most answer 404, and some 400 or 500. Otherwise it returns nil, also for what wraps
// another error, as that of discovery: it is about something else.
func Refusal(err error) *failure.RequestError {
	e, ok := err.(*failure.RequestError)
	if ok && (errors.Is(e.Err, fault.ErrNotFound) || e.Status == http.StatusBadRequest || e.Status == http.StatusInternalServerError) {
		return e
	}
	return nil
}

// Limits of members. The decoded form of a short one is much larger than its text.
const (
	MaxListMembers    = 500_000 // of a list of versions
	MaxPackageMembers = 150_000 // of a document about one version
)

// CheckMembers refuses documents with max members or more.
func CheckMembers(document []byte, max int) error {
	if bytes.Count(document, []byte{','}) >= max {
		return TooMany("members", max)
	}
	return nil
}

// CheckList refuses documents in which some array or object has more than max elements,
// before they are decoded: one takes two bytes there and much more in memory, which
// encoding/json takes even for those that are not of the type that it decodes into.
// Documents that are too short for that cost next to nothing, and invalid ones are left to
// the decoder.
func CheckList(document []byte, what string, max int) error {
	if bytes.Count(document, []byte{','}) < max || !json.Valid(document) || longestList(document) <= max {
		return nil
	}
	return TooMany(what, max)
}

// longestList returns how many elements the longest array or object of a valid document
// has, if any has two.
func longestList(document []byte) int {
	longest := 0
	open := []int{1} // how many each of the enclosing values has so far
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
		n.list = append(n.list, weburl.Clean(text, MaxNote))
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

// Clip keeps what is shown or remembered of a bad name short. The result does not keep
// the whole of s in memory.
func Clip(s string) string { return strings.Clone(s[:min(len(s), 100)]) }
