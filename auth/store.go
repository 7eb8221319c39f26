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

// A Store is a [Source] whose tokens can be changed, as login and logout do.
// It must be safe for concurrent use.
//
// A [Cached] in front of a Store does not notice a change: whoever saves or
// forgets a token calls Invalidate on the cache.
type Store interface {
	Source
	// Save makes token that of host, in place of the one before. The zero
	// Token is refused with an error that wraps [ErrInvalidToken]. When Save
	// returns nil the token is kept; after an error it may or may not be.
	Save(ctx context.Context, host svchost.Hostname, token Token) error
	// Forget removes the token of host. That there is none is no error.
	Forget(ctx context.Context, host svchost.Hostname) error
}

// ErrTooLarge means that a file, or the output of a helper, exceeds its limit.
// It is the same value as that of this name in the packages that make requests.
var ErrTooLarge = fault.ErrTooLarge

// A SyntaxError says where a file is not what it should be. It repeats nothing
// of the file, which may be a secret.
type SyntaxError struct {
	Path   string // of the file; "" if the text came from elsewhere
	Line   int    // from 1
	Column int    // in bytes, from 1
	Err    error  // what is wrong, never nil
}

// Error returns path, line, column and cause.
func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Column, e.Err)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// syntaxError returns the error for what is wrong at offset in text.
func syntaxError(text []byte, offset int, cause error) error {
	before := text[:min(max(offset, 0), len(text))]
	return &SyntaxError{
		Line:   bytes.Count(before, []byte("\n")) + 1,
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Err:    cause,
	}
}

// in returns err with the path of the file filled in, if it is a SyntaxError.
func in(path string, err error) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		e.Path = path
	}
	return err
}

var errNoHost = errors.New("there is no host")

// storable refuses what no Store can keep.
func storable(host svchost.Hostname, token Token) error {
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
