package flight

import (
	"context"
	"time"
)

// Deadline returns the time after which nobody waits for what ctx is about: for a
// context of shared work the latest deadline of its callers so far, unless one that
// waits has none. It may change as callers come and go, which is why it is not the
// Deadline of the context: contexts that are made of that rely on it. For any other
// context it is the one that it has.
//
// Work that cannot have a result before its deadline may fail early, with an error that
// wraps context.DeadlineExceeded.
func Deadline(ctx context.Context) (at time.Time, ok bool) {
	at, ok = ctx.Deadline()
	if latest, shared := ctx.Value(deadlineKey{}).(func() time.Time); shared {
		if d := latest(); !d.IsZero() && (!ok || d.Before(at)) {
			return d, true
		}
	}
	return at, ok
}

// deadlineKey is the key of the latest deadline in the context of a run.
type deadlineKey struct{}

// withDeadline returns ctx with the deadline of c in it.
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
