package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// A Store is a [Source] that can save and forget tokens. It must be safe for concurrent use.
//
// If a [Cache] caches the Store, the caller must call [Cache.Invalidate] after a change.
type Store interface {
	Source
	// Save replaces the token of host. The error for the zero Token wraps
	// [ErrInvalidToken]. After another error, the token may have been saved.
	Save(ctx context.Context, host svchost.Hostname, token Token) error
	// Forget removes the token of host. It succeeds if the host has no token.
	Forget(ctx context.Context, host svchost.Hostname) error
}

// ErrTooLarge means that a file or the output of a helper exceeds its limit.
var ErrTooLarge = fault.ErrTooLarge

// A SyntaxError is a syntax error in a file, without text of the file.
type SyntaxError struct {
	Path   string // "" if the text is not from a file
	Line   int    // from 1
	Column int    // in bytes, from 1
	Err    error  // the cause, never nil
}

// Error returns all fields.
func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// syntaxError returns a SyntaxError at offset in text.
func syntaxError(text []byte, offset int, cause error) error {
	before := text[:min(max(offset, 0), len(text))]
	return &SyntaxError{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Err:    cause,
	}
}

// withPath sets the path of err if it is a SyntaxError.
func withPath(path string, err error) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		e.Path = path
	}
	return err
}

var errNoHost = errors.New("missing host")

// checkSave refuses an empty host or token.
func checkSave(host svchost.Hostname, token Token) error {
	if host.IsZero() {
		return errNoHost
	}
	if token.IsZero() {
		return fmt.Errorf("%w: it is empty", ErrInvalidToken)
	}
	return nil
}

// readFile reads a regular file of at most max bytes. A missing file is empty.
func readFile(path string, max int64) ([]byte, error) {
	f, err := fsx.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > max {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", path, max, ErrTooLarge)
	}
	return text, nil
}
