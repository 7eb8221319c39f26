package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxExcerpt limits what an error repeats of an answer, in bytes.
const maxExcerpt = 40

// DecodeError is the error of an invalid document.
type DecodeError struct {
	Offset int64  // position of the error in the document
	Reason string // one printable line
	Err    error  // error of encoding/json, or nil
}

// Error returns reason and offset.
func (e *DecodeError) Error() string { return fmt.Sprintf("JSON: %s, at byte %d", e.Reason, e.Offset) }

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// DecodeJSON decodes a document of exactly one JSON value into v, like json.Unmarshal. A byte order
// mark, invalid UTF-8 and more than [jsondoc.MaxMembers] members are errors. The error is a [*DecodeError], or a
// *json.InvalidUnmarshalError if v is not a pointer.
//
// Member names are not case-sensitive, and the last of several members counts. [DecodeObject]
// refuses such documents.
func DecodeJSON(data []byte, v any) error {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return &DecodeError{Reason: "a byte order mark"}
	}
	if !utf8.Valid(data) {
		return &DecodeError{Offset: invalidUTF8(data), Reason: "invalid UTF-8"}
	}
	err := jsondoc.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if errors.Is(err, failure.ErrTooLarge) {
		return err
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &DecodeError{Offset: max(0, e.Offset-1), Reason: weburl.Clean(e.Error(), maxCause), Err: err}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // for a number, Value ends with its digits
		reason := fmt.Sprintf("%s where %s is wanted", kind, typeInJSON(e.Type))
		if e.Field != "" {
			reason += ", in " + e.Field
		}
		reason = weburl.Clean(reason, maxCause)
		return &DecodeError{Offset: e.Offset, Reason: reason, Err: &scrubbedError{reason, err}}
	}
	if isA[*json.InvalidUnmarshalError](err) {
		return err
	}
	// An error of UnmarshalText or UnmarshalJSON, which may quote the document.
	reason := weburl.Clean(weburl.OneLine(weburl.RedactText(err.Error())), maxCause)
	return &DecodeError{Reason: reason, Err: &scrubbedError{reason, err}}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(data []byte) int64 {
	text := string(data)
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return int64(i)
		}
	}
	return int64(len(text))
}

// typeInJSON returns the JSON type of values that are decoded into t.
func typeInJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "whole number"
	}
	return t.Kind().String()
}

// DecodeObject is DecodeJSON for an object whose member names differ, also without regard to case:
// some programs use the first of two members, others the last. Nested objects are not checked. If
// it returns an error, v is undefined.
func DecodeObject(data []byte, v any) error {
	if err := DecodeJSON(data, v); err != nil {
		return err
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); trimmed[0] != '{' {
		return &DecodeError{Offset: int64(len(data) - len(trimmed)), Reason: "an object is wanted"}
	}
	seen := make(map[string]bool)
	for m := range Members(data) {
		folded := fold(m.Name)
		if seen[folded] {
			return &DecodeError{Offset: int64(m.At), Reason: fmt.Sprintf("a second member %q", weburl.Clean(m.Name, maxExcerpt))}
		}
		seen[folded] = true
	}
	return nil
}

// fold returns the same string for names that are equal for encoding/json.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, s)
}

// DecodeJSON decodes the document like the function DecodeJSON. The error is a
// [*failure.RequestError] that wraps a [*DecodeError]. It contains the media type if that is not
// JSON.
func (r *Response) DecodeJSON(v any) error { return r.decode(DecodeJSON, v) }

// DecodeObject decodes the document like the function DecodeObject. For errors, see
// [Response.DecodeJSON].
func (r *Response) DecodeObject(v any) error { return r.decode(DecodeObject, v) }

func (r *Response) decode(as func([]byte, any) error, v any) error {
	err := as(r.Body, v)
	if errors.Is(err, failure.ErrTooLarge) {
		return r.Fail(err)
	}
	if err == nil || !isA[*DecodeError](err) {
		return err
	}
	if r.CheckMediaType() != nil {
		err = fmt.Errorf("%w (sent as %q)", err, weburl.Clean(r.Header.Get("Content-Type"), maxExcerpt))
	}
	return r.Fail(err)
}

// JSON is the media type of most documents.
const JSON = "application/json"

// CheckMediaType returns an error if the media type is not JSON or, as in the CLIs, if a parameter is
// malformed or duplicate.
func (r *Response) CheckMediaType() error {
	sent := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(sent)
	switch {
	case sent == "":
		return errors.New("media type is missing, want " + JSON)
	case err != nil:
		return fmt.Errorf(`malformed media type "%s", want `+JSON, weburl.Clean(sent, 100))
	case media != JSON:
		return fmt.Errorf(`media type is "%s", want `+JSON, weburl.Clean(media, 100))
	}
	return nil
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	At    int  // offset of the name
	Value byte // first byte of the value
}

// Members yields the members of a valid JSON object in order. It is twice as fast as decoding into a
// map.
func Members(object []byte) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		for i := bytes.IndexByte(object, '{') + 1; i < len(object); i++ {
			if object[i] != '"' {
				continue // white space, comma or end
			}
			m := Member{At: i}
			i = stringEnd(object, i)
			m.Name = Unquote(object[m.At:i])
			for bytes.IndexByte([]byte(": \t\r\n"), object[i]) >= 0 {
				i++
			}
			m.Value = object[i]
			if !yield(m) {
				return
			}
			i = valueEnd(object, i) - 1
		}
	}
}

// Unquote returns the value of a valid JSON string in valid UTF-8.
func Unquote(quoted []byte) (s string) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &s)
	return s
}

// stringEnd returns the index after the string that starts at i.
func stringEnd(doc []byte, i int) int {
	for i++; doc[i] != '"'; i++ {
		if doc[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index after the value that starts at i. For a number or literal, it returns
// i+1, since the rest does not contain names.
func valueEnd(doc []byte, i int) int {
	for depth := 0; ; i++ {
		switch doc[i] {
		case '"':
			i = stringEnd(doc, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth <= 0 {
			return i + 1
		}
	}
}

// TooMany returns the error of a count above its limit.
func TooMany(what string, limit int) error {
	return fmt.Errorf("more than %d %s: %w", limit, what, failure.ErrTooLarge)
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
