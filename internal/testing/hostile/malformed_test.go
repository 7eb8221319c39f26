package hostile_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// jsonOperations yields the operations with JSON answers.
func jsonOperations() iter.Seq[operation] {
	return func(yield func(operation) bool) {
		for _, op := range operations {
			if op.json && !yield(op) {
				return
			}
		}
	}
}

// TestMalformed: a malformed document is a typed, printable error, and is not requested again.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for op := range jsonOperations() {
		for name, body := range casetest.Pairs(t, "malformed.txt") {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				op.mutilated(t, w, op.ready(t, w), []byte(body), name == "duplicates")
			})
		}
	}
}

// mutilated answers with another body and checks the result.
func (op *operation) mutilated(t *testing.T, w *world, run func(context.Context) (any, error), body []byte, mayPass bool) {
	t.Helper()
	w.reg.ClearFaults()
	w.reg.Reset()
	w.reg.AddFault(regtest.Fault{Kind: op.kind, Raw: body})
	result, err := run(t.Context())
	switch {
	case err != nil:
		typed(t, err)
	case mayPass:
		defined(t, result)
	default:
		t.Errorf("no error for %.80q", body)
	}
	if n := w.reg.Count(op.kind); n != 1 {
		t.Errorf("%d requests for %.80q", n, body)
	}
}

// TestMutants replaces every value of every document by values of every kind.
func TestMutants(t *testing.T) {
	t.Parallel()
	for op := range jsonOperations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := op.ready(t, w)
			doc := op.document(t, w, run)
			n := 0
			for what, body := range mutants(doc) {
				n++
				if c := op.fresh(w); c != nil {
					run = c
				}
				op.mutilated(t, w, run, body, true)
				if t.Failed() {
					t.Fatalf("%s: %.300q", what, body)
				}
			}
			if n < 30 {
				t.Errorf("only %d documents", n)
			}
		})
	}
}

// fresh returns a client without cached documents.
func (op *operation) fresh(w *world) func(context.Context) (any, error) {
	if op.kind != regtest.Discovery {
		return nil
	}
	c := w.disco()
	return func(ctx context.Context) (any, error) { return c.Discover(ctx, alpha.Host()) }
}

// document returns the answer of the registry.
func (op *operation) document(t *testing.T, w *world, run func(context.Context) (any, error)) map[string]any {
	t.Helper()
	var doc map[string]any
	w.reg.AddFault(regtest.Fault{Kind: op.kind, Edit: func(d map[string]any) { doc = maps.Clone(d) }})
	if _, err := run(t.Context()); err != nil || doc == nil {
		t.Fatalf("the %s: %v, %v", op.name, doc, err)
	}
	return doc
}

// wrong are the values that replace others.
var wrong = []any{
	nil, true, "", " ", nasty, "\ufffd", strings.Repeat("x", 70_000), 0, -1, 0.5, json.Number("1e400"), json.Number("-0"),
	json.Number("123456789012345678901234567890"), []any{}, []any{nil}, []any{[]any{}}, map[string]any{}, map[string]any{"": nil},
	map[string]any{nasty: nasty}, []any{map[string]any{}, nil, "", 0}, "../../../etc/passwd", "file:///etc/passwd", "javascript:alert(1)",
	"//" + elsewhere + "/x", "https://user:pa55word@" + elsewhere + "/", "https:///x", "https:x", "https://" + elsewhere + ":99999/",
	"https://" + elsewhere + "/?qu3ry=qu3ry#fragment", "https://[::1", "https://\u202e.example.com/", "%", "99999999999999999999.0.0", "v1", "h1:", "h1:" + nasty, "zh:zz", "git::ssh://-oProxyCommand=x/y", "linux",
}

// mutants yields documents that differ from doc in one value, with a description.
func mutants(doc map[string]any) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		mutate("", doc, func(v any) []byte {
			data, err := json.Marshal(v)
			if err != nil {
				panic(err) // all of it is made above
			}
			return data
		}, yield)
	}
}

// mutate yields documents with another value at path.
func mutate(path string, value any, build func(any) []byte, yield func(string, []byte) bool) bool {
	for _, w := range wrong {
		if !yield(fmt.Sprintf("%s is %.40q", path, w), build(w)) {
			return false
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			with := func(x any) map[string]any { m := maps.Clone(v); m[name] = x; return m }
			without := maps.Clone(v)
			delete(without, name)
			twice := with(mark)
			for what, body := range map[string][]byte{
				"without":          build(without),
				"in capitals":      build(merge(without, map[string]any{strings.ToUpper(name): member})),
				"twice":            replace(build(twice), name, member, member),
				"null, then right": replace(build(twice), name, nil, member),
				"right, then null": replace(build(twice), name, member, nil),
				"with a nasty one": build(merge(v, map[string]any{nasty: member, "": member})),
			} {
				if !yield(path+"/"+name+" "+what, body) {
					return false
				}
			}
			if !mutate(path+"/"+name, member, func(x any) []byte { return build(with(x)) }, yield) {
				return false
			}
		}
	case []any:
		for i, element := range v[:min(len(v), 2)] {
			with := func(x any) []byte { list := append([]any{}, v...); list[i] = x; return build(list) }
			if !mutate(fmt.Sprintf("%s/%d", path, i), element, with, yield) {
				return false
			}
		}
		if !yield(path+" with each twice", build(append(append([]any{}, v...), v...))) {
			return false
		}
	}
	return true
}

func merge(a, b map[string]any) map[string]any {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

// mark stands for two members of one name, which a map cannot have.
const mark = "two members of one name"

func replace(doc []byte, name string, first, second any) []byte {
	quote := func(v any) string { data, _ := json.Marshal(v); return string(data) }
	return []byte(strings.Replace(string(doc), quote(mark), quote(first)+","+quote(name)+":"+quote(second), 1))
}

// TestNastyAnswers: texts of servers are part of errors and must be printable.
func TestNastyAnswers(t *testing.T) {
	t.Parallel()
	quoted, _ := json.Marshal(nasty)
	answers := map[string]regtest.Fault{
		"text":      {Raw: []byte(nasty), Header: http.Header{"Content-Type": {"text/plain"}}},
		"no type":   {Raw: []byte(nasty), Header: http.Header{"Content-Type": nil}},
		"odd type":  {Raw: []byte(nasty), Header: http.Header{"Content-Type": {nasty}}},
		"error":     {Raw: []byte(`{"error":` + string(quoted) + `}`)},
		"errors":    {Raw: []byte(`{"errors":[` + string(quoted) + `,` + string(quoted) + `]}`)},
		"object":    {Raw: []byte(`{"errors":[{"detail":` + string(quoted) + `}]}`)},
		"deep":      {Raw: []byte(strings.Repeat(`{"errors":[`, 10_000))},
		"xml":       {Raw: []byte(`<?xml version="1.0"?><Error><Code>` + nasty + `</Code><Message>` + nasty + `</Message></Error>`), Header: http.Header{"Content-Type": {"application/xml"}}},
		"html":      {Raw: []byte(`<html>` + nasty), Header: http.Header{"Content-Type": {"text/html"}}},
		"secrets":   {},
		"endless":   {Raw: []byte(strings.Repeat("x", 1<<20))},
		"gzip junk": {Raw: []byte("\x1f\x8b\x08" + nasty), Header: http.Header{"Content-Encoding": {"gzip"}}},
		"retry":     {Raw: []byte("{}"), Header: http.Header{"Retry-After": {nasty}, "X-Ratelimit-Reset": {nasty}}},
		"location":  {Raw: []byte("{}"), Header: http.Header{"Location": {"https://" + nasty}}},
		"range":     {Raw: []byte("{}"), Header: http.Header{"Content-Range": {nasty}}},
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.retries = -1
			run := op.ready(t, w)
			for name, f := range answers {
				for _, status := range []int{200, 206, 302, 400, 401, 403, 404, 416, 429, 500, 503} {
					f.Kind, f.Status = op.kind, status
					if name == "secrets" {
						f.Raw = []byte("wrong token " + cmp.Or(op.token, "none") + " for https://user:pa55word@example.com/?qu3ry=qu3ry")
					}
					w.reg.ClearFaults()
					w.reg.AddFault(f)
					if c := op.fresh(w); c != nil {
						run = c
					}
					result, err := run(t.Context())
					if err != nil {
						typed(t, err)
					} else {
						defined(t, result)
					}
					if t.Failed() {
						t.Fatalf("%s with status %d: %v", name, status, err)
					}
				}
			}
		})
	}
}

// nasty contains control sequences for terminals: colours, a title, right-to-left text, an 8-bit
// control, a bell, and a line that imitates the output of a program.
const nasty = "\x1b[31m\x1b]0;owned\x07\u202eevil\u009b1m\u2028\r\nerror: all is well\x00\u200b"

// printable fails the test if text contains control characters.
func printable(t testing.TB, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8: %q", what, text)
	}
	for _, r := range text {
		if r < ' ' || r >= 0x7f && r < 0xa0 || strings.ContainsRune("\u2028\u2029\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff", r) {
			t.Errorf("%s has the character %U: %q", what, r, text)
			return
		}
	}
	if len(text) > 4000 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
	secretless(t, what, text, registryToken, mirrorToken)
}

// secretless fails the test if text contains a secret.
func secretless(t testing.TB, what, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %q: %s", what, secret, text)
		}
	}
}

// outcome is a description of a failed request.
type outcome struct {
	status, attempts int
	hadToken         bool
}

// typed checks that err has the documented type, and that no error in its chain contains secrets or
// control characters.
func typed(t testing.TB, err error) outcome {
	t.Helper()
	each(err, func(err error) {
		switch fmt.Sprintf("%T", err) {
		case "*errors.joinError", "*fault.joined": // which are made of lines
		default:
			printable(t, "the error", err.Error())
		}
	})
	if _, ok := errors.AsType[*failure.Error](err); !ok {
		t.Errorf("error %T %v, which callers cannot look into", err, err)
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		return outcome{e.Status, e.Attempts, e.HadToken}
	}
	return outcome{}
}

// each calls fn for err and all errors that it wraps.
func each(err error, fn func(error)) {
	if err == nil {
		return
	}
	fn(err)
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		each(e.Unwrap(), fn)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			each(err, fn)
		}
	}
}

// defined checks an accepted result: its texts are printable and it has only plain data.
func defined(t testing.TB, result any) {
	t.Helper()
	var texts []string
	switch r := result.(type) {
	case *provider.Versions:
		texts = slices.Clone(r.Warnings)
	case *module.Versions:
		texts = slices.Clone(r.Warnings)
		for _, release := range r.Versions {
			if d := release.Deprecated; d != nil {
				texts = append(texts, d.Reason, d.Link)
			}
		}
	case *module.Location:
		texts = []string{r.String()}
	case *provider.Package:
		texts = []string{r.String(), r.ArchiveName()}
	case *disco.Services:
		for _, id := range r.IDs() {
			if _, err := r.URL(id); err != nil {
				each(err, func(err error) { printable(t, "the error of a service", err.Error()) })
			}
		}
	}
	for _, text := range texts {
		printable(t, "a text", text)
	}
	if _, ok := result.(*disco.Services); ok {
		return
	}
	if _, err := json.Marshal(result); err != nil {
		t.Errorf("%T cannot be stored: %v", result, err)
	}
}
