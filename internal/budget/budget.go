// Package budget bounds the bytes that the concurrent parts of a call hold together.
package budget

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/internal/fault"
)

// Bytes is a budget of bytes. It is safe for concurrent use.
type Bytes struct {
	limit int64
	free  *semaphore.Weighted
}

// New returns a budget of limit bytes.
func New(limit int64) *Bytes { return &Bytes{limit, semaphore.NewWeighted(limit)} }

// Take takes n bytes. If fewer are left, the error wraps fault.ErrTooLarge and names what.
func (b *Bytes) Take(n int64, what string) error {
	if !b.free.TryAcquire(n) {
		return fmt.Errorf("more than %d bytes in %s: %w", b.limit, what, fault.ErrTooLarge)
	}
	return nil
}

// Wait waits until n bytes are left and takes them, or all if the budget is smaller. Calling release
// again has no effect. If ctx ends first, the error is that of ctx.
func (b *Bytes) Wait(ctx context.Context, n int64) (release func(), err error) {
	n = min(n, b.limit)
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { b.free.Release(n) }), nil
}

type key struct{}

// Of returns the budget of the call that ctx belongs to. If it has none, it gets one of limit bytes: the
// budget of the outermost call holds for its parts, as its deadline does.
func Of(ctx context.Context, limit int64) (context.Context, *Bytes) {
	if b, ok := ctx.Value(key{}).(*Bytes); ok {
		return ctx, b
	}
	b := New(limit)
	return context.WithValue(ctx, key{}, b), b
}
