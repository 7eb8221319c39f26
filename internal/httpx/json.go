package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/weburl"
)

// maxExcerpt bounds what an error shows of a document that is not JSON.
const maxExcerpt = 40

// DecodeError says why a document could not be decoded.
type DecodeError struct {
	Offset int64  // of the byte at which it shows, from 0
	Reason string // one printable line
	Start  string // how the document begins, printable and short, where it is no JSON at all; else ""
	Err    error  // of encoding/json as errors.As finds it, or nil
}

// Error tells reason, offset, and how the document begins.
func (e *DecodeError) Error() string {
	text := fmt.Sprintf("JSON: %s, at byte %d", e.Reason, e.Offset)
	if e.Start != "" {
		text += fmt.Sprintf("; the document begins with `%s`", e.Start)
	}
	return text
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// DecodeJSON decodes a document that is exactly one JSON value, as
// json.Unmarshal does, into v. A byte order mark, invalid UTF-8 and anything
// behind the value are refused. The error is a [*DecodeError]; a v that is no
// usable pointer gets encoding/json's own.
//
// As in encoding/json, member names match without regard to case, and the last
// of several wins; where that matters, use [DecodeObject].
func DecodeJSON(data []byte, v any) error {
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return &DecodeError{Reason: "a byte order mark"}
	}
	if !utf8.Valid(data) {
		return &DecodeError{Offset: invalidUTF8(data), Reason: "invalid UTF-8", Start: start(data)}
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &DecodeError{Offset: max(0, e.Offset-1), Reason: weburl.Clean(e.Error(), maxCause), Start: start(data), Err: err}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // "number" has the number behind it, however long
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
	// An UnmarshalText or UnmarshalJSON of v, which may quote the document.
	reason := weburl.Clean(weburl.OneLine(weburl.RedactText(err.Error())), maxCause)
	return &DecodeError{Reason: reason, Err: &scrubbedError{reason, err}}
}

// start shows how a document begins that is no JSON at all, such as a login
// page. Of one that begins as JSON, the offset tells more, and it may hold
// secrets.
func start(data []byte) string {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[' {
		return ""
	}
	return weburl.Clean(weburl.RedactText(string(data[:min(len(data), 4*maxExcerpt)])), maxExcerpt)
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

// typeInJSON returns what a document calls a value that is decoded into t.
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

// DecodeObject is DecodeJSON for documents on whose reading everything depends:
// the document must be an object, not null, and of its member names no two may
// be equal but for case, since a program that takes the first and one that takes
// the last would see different documents. Objects within it are not looked at.
// After an error, v must not be used.
func DecodeObject(data []byte, v any) error {
	if err := DecodeJSON(data, v); err != nil {
		return err
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); trimmed[0] != '{' {
		return &DecodeError{Offset: int64(len(data) - len(trimmed)), Reason: "an object is wanted", Start: start(data)}
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

// fold maps names that encoding/json takes for equal to one string.
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

// DecodeJSON decodes the document into v, see the function of that name. The
// error is an [*failure.RequestError] that wraps a [*DecodeError], and names the media type
// where the server did not say that it is JSON.
func (r *Response) DecodeJSON(v any) error { return r.decode(DecodeJSON, v) }

// DecodeObject decodes the document into v, see the function of that name. The
// error is as that of [Response.DecodeJSON].
func (r *Response) DecodeObject(v any) error { return r.decode(DecodeObject, v) }

func (r *Response) decode(as func([]byte, any) error, v any) error {
	err := as(r.Body, v)
	if err == nil || !isA[*DecodeError](err) {
		return err
	}
	r.Conceal(err)
	if r.CheckMediaType() != nil {
		err = fmt.Errorf("%w (sent as %q)", err, weburl.Clean(r.Header.Get("Content-Type"), maxExcerpt))
	}
	return r.Fail(err)
}

// JSON is the media type of most documents.
const JSON = "application/json"

// CheckMediaType refuses an answer whose media type is not that of JSON. Like the CLIs, it
// also refuses parameters that are malformed or come twice.
func (r *Response) CheckMediaType() error {
	sent := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(sent)
	switch {
	case sent == "":
		return errors.New("it has no media type, and " + JSON + " is wanted")
	case err != nil:
		return fmt.Errorf("it has the media type %s, which is malformed, and "+JSON+" is wanted", weburl.Clean(sent, 100))
	case media != JSON:
		return fmt.Errorf("it has the media type %s, and "+JSON+" is wanted", weburl.Clean(media, 100))
	}
	return nil
}

// Conceal takes the secrets of the request out of what a [DecodeError] in the chain of
// err shows of the document: it may be a page that repeats what it was sent. It returns
// err. The methods above do so by themselves.
func (r *Response) Conceal(err error) error {
	if e, ok := errors.AsType[*DecodeError](err); ok && e.Start != "" {
		e.Start = start([]byte(r.secrets.maskCut(string(r.Body[:min(len(r.Body), 4*maxExcerpt)]))))
	}
	return err
}
