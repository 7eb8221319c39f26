package hostile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

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
		if fmt.Sprintf("%T", err) != "*errors.joinError" { // which is made of lines
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
		for _, release := range r.List {
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
