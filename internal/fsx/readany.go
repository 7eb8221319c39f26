package fsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// ErrEmptyPipe means that no byte came from a pipe, for example because the program that writes to it
// has failed, or because it was read before.
var ErrEmptyPipe = errors.New("the pipe ended without a byte; " + os.DevNull + " is a file without content")

// ReadAny reads a file of any type up to its end: a regular file, a named pipe, /dev/stdin or
// /dev/null. It waits for the writer and the bytes of a pipe until ctx ends. A pipe that ends without
// a byte is [ErrEmptyPipe], and a file of more than max bytes is failure.ErrTooLarge. On Windows, it
// reads regular files and NUL only.
func ReadAny(ctx context.Context, path string, max int64) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	f, err := open(os.OpenFile, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(&contextReader{ctx: ctx, f: f}, max+1))
	switch {
	case err != nil:
		return nil, fault.Printable(err)
	case int64(len(data)) > max:
		return nil, fmt.Errorf("%s %w: more than %d bytes", fault.Name(path), failure.ErrTooLarge, max)
	case len(data) > 0:
		return data, nil
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		err = fmt.Errorf("%s: %w", fault.Name(path), ErrEmptyPipe)
	}
	return nil, fault.Printable(err)
}

// A contextReader reads a file that was opened with noBlock until ctx ends.
type contextReader struct {
	ctx   context.Context
	f     *os.File
	begun bool // bytes were read
}
