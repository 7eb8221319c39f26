package hostile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/testkit/regtest"
)

// stuck are faults that could block a client for long.
var stuck = map[string]regtest.Fault{
	"no answer":         {Delay: time.Hour},
	"silence":           {Break: "stall", After: 1},
	"busy for a day":    {Status: 503, RetryAfter: "86400"},
	"busy till the end": {Status: 429, RetryAfter: "Fri, 31 Dec 9999 23:59:59 GMT"},
	"failing":           {Status: 500},
	"losing":            {Drop: true},
	"a trickle":         {Rate: 1},
}

// TestContextWins: every operation ends at once when its context ends, and the error wraps its
// cause.
func TestContextWins(t *testing.T) {
	t.Parallel()
	left := errors.New("the user has left")
	for _, op := range operations {
		for name, fault := range stuck {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, after := range []time.Duration{0, 300 * time.Millisecond, 1200 * time.Millisecond} {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						w.retries = 1000
						if after > time.Second {
							w.throttled()
						}
						run := op.ready(t, w, fault)
						ctx, cancel := context.WithCancelCause(t.Context())
						time.AfterFunc(after, func() { cancel(left) })
						start := time.Now()
						_, err := run(ctx)
						typed(t, err)
						if took := time.Since(start); took != after || !errors.Is(err, context.Canceled) && !errors.Is(err, left) {
							t.Errorf("after %v, want %v: %v", took, after, err)
						}
					})
				}
			})
		}
	}
}

// TestDeadlineIsKept: a client does not start to wait beyond its deadline.
func TestDeadlineIsKept(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, fault := range stuck {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const limit = 3 * time.Second
					w := newWorld(t)
					run := op.ready(t, w, fault)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					start := time.Now()
					_, err := run(ctx)
					told := typed(t, err)
					took := time.Since(start)
					if took > limit || !errors.Is(err, context.DeadlineExceeded) && (fault.Status != 500 && !fault.Drop) {
						t.Errorf("after %v: %v", took, err)
					}
					if fault.RetryAfter != "" && (took != 0 || told.status != fault.Status) {
						t.Errorf("a wait was begun that could not end, for %v, or the reason is missing: %v", took, err)
					}
				})
			})
		}
	}
}

// TestWaitsAreCapped: a client waits at most 30 seconds between two attempts, whatever a server
// asks for.
func TestWaitsAreCapped(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, name := range []string{"busy for a day", "busy till the end"} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := op.ready(t, w, stuck[name])
				start := time.Now()
				_, err := run(t.Context())
				if e := typed(t, err); time.Since(start) != time.Minute || e.attempts != 3 {
					t.Errorf("%s, %s: %d attempts in %v", op.name, name, e.attempts, time.Since(start))
				}
			})
		}
	}
}
