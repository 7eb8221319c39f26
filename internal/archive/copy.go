package archive

import (
	"context"
	"crypto/sha256"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
)

// A copier copies content through one buffer and one hash.
type copier struct {
	ctx context.Context
	buf *[256 << 10]byte
	sum hash.Hash
}

// content is the size and the checksums of what was copied.
type content struct {
	size int64
	crc  uint32
	sum  [sha256.Size]byte
}

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

func newCopier(ctx context.Context) *copier {
	return &copier{ctx: ctx, buf: buffers.Get().(*[256 << 10]byte), sum: sha256.New()}
}

func (c *copier) release() { buffers.Put(c.buf) }

// copy reads r to its end and writes it to w, if w is not nil. It calls allow with the total size
// before each write.
func (c *copier) copy(w io.Writer, r io.Reader, allow func(size int64) error) (got content, err error) {
	c.sum.Reset()
	for {
		if c.ctx.Err() != nil {
			return got, fault.Ended(c.ctx)
		}
		n, err := r.Read(c.buf[:])
		got.size += int64(n)
		if err := allow(got.size); err != nil {
			return got, err
		}
		got.crc = crc32.Update(got.crc, crc32.IEEETable, c.buf[:n])
		c.sum.Write(c.buf[:n])
		if w != nil && n > 0 {
			if _, err := w.Write(c.buf[:n]); err != nil {
				return got, err
			}
		}
		if err == io.EOF {
			got.sum = [sha256.Size]byte(c.sum.Sum(nil))
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

// entry copies the content of e and checks its size.
func (c *copier) entry(w io.Writer, r io.Reader, e Entry) (content, error) {
	got, err := c.copy(w, r, func(size int64) error {
		if size > e.Size {
			return bad("entry %.100q is longer than the %d bytes announced", e.Name, e.Size)
		}
		return nil
	})
	switch {
	case err == nil && got.size < e.Size:
		err = bad("entry %.100q is shorter than the %d bytes announced", e.Name, e.Size)
	case damaged(err) != err:
		err = bad("entry %.100q: %w", e.Name, err)
	}
	return got, err
}
