package flight

import (
	"context"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Deadline returns the time after which no caller waits for the work of ctx. In shared work it is
// the latest deadline of the callers so far, if all callers that wait have one. It changes when
// callers come and go, so it cannot be the deadline of the context, which is fixed. In any other
// context it is ctx.Deadline.
//
// Work that cannot finish before its deadline may fail early with an error that wraps
// context.DeadlineExceeded.
func Deadline(ctx context.Context) (at time.Time, ok bool) {
	at, ok = ctx.Deadline()
	if latest, shared := ctx.Value(deadlineKey{}).(func() time.Time); shared {
		if d := latest(); !d.IsZero() && (!ok || d.Before(at)) {
			return d, true
		}
	}
	return at, ok
}

// deadlineKey is the key of the deadline function in the context of a run.
type deadlineKey struct{}

// withDeadline returns ctx with the deadline of c.
func (g *Group[K, V]) withDeadline(ctx context.Context, c *call[V]) context.Context {
	return context.WithValue(ctx, deadlineKey{}, func() time.Time {
		g.mu.Lock()
		defer g.mu.Unlock()
		if c.unlimited > 0 {
			return time.Time{}
		}
		return c.latest
	})
}

// Sleep waits for d. If ctx ends before, it returns [fault.Ended].
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fault.Ended(ctx)
	}
}
