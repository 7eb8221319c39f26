package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Helper is a [Store] that runs a credentials helper of the CLI
// (https://opentofu.org/docs/internals/credentials-helpers) once for each call:
//
//	PATH ARGS... get HOST       writes {"token":"abc"}, or {} if it has no token
//	PATH ARGS... store HOST     reads {"token":"abc"}
//	PATH ARGS... forget HOST
//
// An answer with another token than a string, such as {"token":5}, or with a string that is
// not a valid token, is an error.
//
// HOST is [svchost.Hostname.String]. A Helper is safe for concurrent use if the program is.
// Use [Cached] to run it less often.
//
// All errors are a [*SourceError] with a [*HelperError]. More than 1 MiB of output is an
// error. After an error, the program is killed with the programs that it has started: on Unix its
// process group, on Windows its job. The program has no terminal.
type Helper struct {
	// Path is the absolute path of the program.
	Path string
	// Args are the first arguments. Other users of the machine can see them.
	Args []string
	// Env returns the variables NAME=VALUE of the program. If nil, the program inherits all
	// variables.
	Env func() []string `json:"-"` // a function, so that its result is not printed
	// Timeout limits a call. If 0, it is 30 seconds; if negative, there is no limit.
	Timeout time.Duration
}

var _ Store = Helper{}

// Token runs the program with get.
func (h Helper) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if host.IsZero() {
		return Token{}, nil
	}
	return h.call(ctx, "get", host, Token{})
}

// Save runs the program with store.
func (h Helper) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	if err := checkSave(host, token); err != nil {
		return h.failed("store", host, "", err)
	}
	_, err := h.call(ctx, "store", host, token)
	return err
}

// Forget runs the program with forget.
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

// String describes the program.
func (h Helper) String() string { return fmt.Sprintf("credentials helper %q", h.Path) }

// A HelperError is the error of a [Helper], without the token and the output.
type HelperError struct {
	Verb string // "get", "store" or "forget"
	// Stderr is the error output: one line of printable characters, at most 512 bytes,
	// without words that look like secrets.
	Stderr string
	// Err is the cause, for example [context.DeadlineExceeded] after Timeout,
	// [ErrTooLarge], [ErrInvalidToken] or an [*os/exec.ExitError]. It is never nil.
	Err error
}

// Error returns all fields.
func (e *HelperError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("%s: %v", e.Verb, e.Err)
	}
	return fmt.Sprintf("%s: %v: %s", e.Verb, e.Err, e.Stderr)
}

// Unwrap returns the cause.
func (e *HelperError) Unwrap() error { return e.Err }
