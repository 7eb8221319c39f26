package archive

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/internal/fault"
)

// Until returns a reader of r that fails with [fault.Ended] when ctx ends.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, fault.Ended(u.ctx)
	}
	return u.r.Read(p)
}

// untilAt is the same for an [io.ReaderAt].
type untilAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (u untilAt) ReadAt(p []byte, off int64) (int, error) {
	if u.ctx.Err() != nil {
		return 0, fault.Ended(u.ctx)
	}
	return u.r.ReadAt(p, off)
}
