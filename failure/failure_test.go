package failure_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/tofureg/tofureg/failure"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	const url = "https://registry.example.com/v1"
	find := func(r failure.RequestError) error {
		r.URL = url
		return &failure.Error{Op: "find", Subject: "x", Err: &r}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&failure.Error{Op: "fetch", Err: io.EOF}, "fetch: EOF"},
		{&failure.Error{Op: "find"}, "find: unknown cause"},
		{&failure.Error{Op: "find", Err: errors.Join(io.EOF, io.ErrNoProgress)}, "find: EOF; multiple Read calls return no data or error"},
		{find(failure.RequestError{}), "find x: " + url + ": unknown cause"},
		{find(failure.RequestError{Status: 404, Err: failure.ErrNotFound}), "find x: " + url + ": HTTP status 404: not found"},
		{find(failure.RequestError{Status: 200, Err: io.EOF, Attempts: 1}), "find x: " + url + ": EOF"},
		{find(failure.RequestError{Err: io.EOF, Attempts: 3}), "find x: " + url + ": EOF (3 attempts)"},
		{find(failure.RequestError{Status: 401, Err: failure.ErrUnauthorized}), "find x: " + url + ": HTTP status 401: unauthorized (no token was sent)"},
		{find(failure.RequestError{Status: 401, HadToken: true, Attempts: 2, Err: failure.ErrUnauthorized}), "find x: " + url + ": HTTP status 401: unauthorized (a token was sent, 2 attempts)"},
		{&failure.Error{Op: "list versions of", Subject: "y", Err: find(failure.RequestError{Status: 500, Err: io.EOF})}, "list versions of y: find x: " + url + ": HTTP status 500: EOF"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("Error()\n got %s\nwant %s", got, test.want)
		}
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	request := &failure.RequestError{Status: 429, RetryAfter: time.Minute, Err: failure.ErrTooLarge}
	wrapped := fmt.Errorf("outer: %w", &failure.Error{Op: "find", Err: request})
	if e, ok := errors.AsType[*failure.RequestError](wrapped); !ok || e.RetryAfter != time.Minute || !errors.Is(wrapped, failure.ErrTooLarge) {
		t.Errorf("errors.As and errors.Is do not see into %v", wrapped)
	}
	if e := request.Because(io.EOF); e.Status != 429 || e.Err != io.EOF || request.Err != failure.ErrTooLarge {
		t.Errorf("Because(EOF) = %+v, and the request is %+v", e, request)
	}
}

// TestWrap: an error of an operation, and nil, stay as they are.
func TestWrap(t *testing.T) {
	t.Parallel()
	inner := &failure.Error{Op: "find", Subject: "a", Err: failure.ErrNotFound}
	for name, test := range map[string]struct{ err, want error }{
		"nil":     {nil, nil},
		"another": {inner, inner},
	} {
		if got := failure.Wrap("install", "b", test.err); got != test.want {
			t.Errorf("%s: Wrap returned %v, want %v", name, got, test.want)
		}
	}
	err := failure.Wrap("install", "b", fmt.Errorf("below: %w", inner))
	if e, ok := err.(*failure.Error); !ok || e.Op != "install" || e.Subject != "b" || !errors.Is(err, failure.ErrNotFound) || err.Error() != "install b: below: find a: not found" {
		t.Errorf("Wrap returned %v", err)
	}
}
