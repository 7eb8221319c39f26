package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Helper is a [Store] behind a program, which the CLI calls a credentials
// helper. The program is run anew for each call, in one of three ways:
//
//	PATH ARGS... get HOST       writes an object such as {"token":"abc"}
//	PATH ARGS... store HOST     reads such an object
//	PATH ARGS... forget HOST
//
// HOST is [svchost.Hostname.String], and an exit status of 0 means success. Of
// the answer to get, only the member "token" counts. An empty object and null
// mean that the program has no token for this host, as a token that is null or
// empty does. Standard input is empty but for store; output to store and forget
// is discarded.
//
// An answer of another form, another exit status, more than 1 MiB of output or
// of error output, and more time than Timeout are errors: a [*SourceError] with
// a [*HelperError] in it. Then, or when the context ends, the program is killed
// together with what it has started, and the call returns. A process that
// outlives the program and keeps its output open is killed too, and makes the
// call fail after a second, because nobody can tell whether the answer is
// complete. What the program leaves behind otherwise when it succeeds is its
// own affair.
//
// On Unix, "what it has started" is its process group. The program leads a
// session of its own, so it has no terminal to ask on. On other systems only the
// program itself is killed.
//
// A program takes its time, so a Helper is best put into [Cached]. It is safe
// for concurrent use if the program is. How the CLI finds the program is at
// https://opentofu.org/docs/internals/credentials-helpers.
type Helper struct {
	// Path is the program. It must be absolute: no directory is searched.
	Path string
	// Args are the arguments before the verb and the host. They are visible to
	// other users of the machine, so they should hold no secrets.
	Args []string
	// Env returns the environment of the program, NAME=VALUE each; it is called
	// for each run, so it may be [os.Environ]. If it is nil, the program inherits
	// the environment of this process, as it does from the CLI. It is a function
	// because there may be tokens in it, and nothing prints what one returns.
	Env func() []string `json:"-"`
	// Timeout is how long one call may take: 30 seconds if it is 0, without
	// limit but that of the context if it is negative.
	Timeout time.Duration
}

var _ Store = Helper{}

// Token asks the program to get the token of host. For the zero Hostname there
// is none.
func (h Helper) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if host.IsZero() {
		return Token{}, nil
	}
	return h.call(ctx, "get", host, Token{})
}

// Save asks the program to store token as that of host.
func (h Helper) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	if err := storable(host, token); err != nil {
		return h.failed("store", host, "", err)
	}
	_, err := h.call(ctx, "store", host, token)
	return err
}

// Forget asks the program to forget the token of host.
func (h Helper) Forget(ctx context.Context, host svchost.Hostname) error {
	if host.IsZero() {
		return h.failed("forget", host, "", errNoHost)
	}
	_, err := h.call(ctx, "forget", host, Token{})
	return err
}

func (h Helper) failed(verb string, host svchost.Hostname, stderr string, err error) error {
	return &SourceError{Host: host, Source: h.String(), Err: &HelperError{Verb: verb, Stderr: stderr, Err: err}}
}

// String names the program.
func (h Helper) String() string { return fmt.Sprintf("credentials helper %q", h.Path) }

// A HelperError says how a [Helper] failed. It never contains the token, nor
// anything else that the program wrote to its standard output.
type HelperError struct {
	Verb string // what the program was to do: "get", "store" or "forget"
	// Stderr is what the program wrote to its standard error, for people: in
	// one line of printable characters, at most 512 bytes long, the middle left
	// out if need be. The token and whatever else looks like a secret there is
	// replaced.
	Stderr string
	// Err is the cause, never nil: [context.DeadlineExceeded] after Timeout,
	// the context's error, [ErrTooLarge], [ErrInvalidToken], an
	// [*os/exec.ExitError], what kept the program from being started, or an
	// error in words.
	Err error
}

// Error returns a sentence of verb, cause and what the program said.
func (e *HelperError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Verb, e.Err, e.Stderr)
}

// Unwrap returns the cause.
func (e *HelperError) Unwrap() error { return e.Err }
