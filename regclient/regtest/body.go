package regtest

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// A body is the body of a reply. It ends with the context of the request, or breaks off as a
// fault says.
type body struct {
	ctx  context.Context
	src  io.Reader
	left int64 // until the end, according to the header
	sent int64

	count func(n int) // is called for sent bytes
	how   Fault       // Break, After, Pause and Rate

	closing sync.Once
	closed  chan struct{}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if len(p) > 0 && b.how.Break != NoBreak && b.sent == b.how.After {
		if err := b.breakOff(); err != nil {
			return 0, err
		}
	}
	n, err := b.src.Read(p[:b.window(len(p))])
	if b.how.Rate > 0 {
		d := time.Duration(float64(n) / float64(b.how.Rate) * float64(time.Second))
		if err := sleep(b.ctx, b.closed, d); err != nil {
			return 0, err
		}
	}
	b.sent += int64(n)
	b.count(n)
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// ended returns an error if the body is closed or the context has ended.
func (b *body) ended() error {
	select {
	case <-b.closed:
		return http.ErrBodyReadAfterClose
	default:
	}
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return nil
}

// breakOff applies the break.
func (b *body) breakOff() error {
	how := b.how.Break
	switch {
	case how == Cut:
		return io.ErrUnexpectedEOF
	case how == Stall && b.how.Pause == 0:
		return wait(b.ctx, b.closed, nil)
	}
	b.how.Break = NoBreak
	return sleep(b.ctx, b.closed, b.how.Pause)
}

// window returns how many of n bytes may be read at once.
func (b *body) window(n int) int {
	limit := min(int64(n), b.left)
	if b.how.Break != NoBreak {
		limit = min(limit, b.how.After-b.sent)
	}
	if b.how.Rate > 0 {
		limit = min(limit, b.how.Rate)
	}
	return int(limit)
}

// Close implements [io.Closer]. It ends a waiting Read.
func (b *body) Close() error {
	b.closing.Do(func() { close(b.closed) })
	return nil
}
