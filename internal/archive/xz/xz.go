// Package xz reads xz within limits. It is apart from package archive, so that programs that read no modules do not
// link a decompressor for it.
package xz

import (
	"errors"
	"fmt"
	"io"

	"github.com/therootcompany/xz"

	"github.com/tofureg/tofureg/failure"
)

// maxDictionary is the largest dictionary that the levels 0 to 9 of the xz program use.
const maxDictionary = 64 << 20

// NewReader returns a reader of the decompressed data of r. It takes at most 64 MiB of memory: of larger dictionaries,
// the error wraps [failure.ErrTooLarge].
func NewReader(r io.Reader) (io.Reader, error) {
	x, err := xz.NewReader(r, maxDictionary)
	if err != nil {
		return nil, limited(err)
	}
	return &reader{x}, nil
}

type reader struct{ *xz.Reader }

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, limited(err)
}

func limited(err error) error {
	if errors.Is(err, xz.ErrMemlimit) {
		return fmt.Errorf("archive %w: an xz dictionary of more than %d bytes", failure.ErrTooLarge, maxDictionary)
	}
	return err
}
