// Package flight shares work between concurrent callers, and what is limited.
//
// Unlike in golang.org/x/sync/singleflight, a caller returns when its own context ends. When all
// callers have returned, the context of the work is cancelled. Each caller can get its own copy of
// the result.
package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Group shares concurrent calls with the same key. The zero Group is ready to use. It is safe for
// concurrent use and must not be copied after the first use.
type Group[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V] // running calls that accept callers
}

// call is one run of the work. The mutex of the group guards the counts until done is closed, and
// latest always. The results are written before done is closed.
type call[V any] struct {
	done      chan struct{}
	cancel    context.CancelFunc
	waiting   int // callers that wait
	unlimited int // waiting callers without a deadline
	joined    int // all callers so far

	latest time.Time // latest deadline of all callers so far

	value    V
	err      error
	panicked string // value and stack of a panic
}

// ErrExited is returned if the work has called runtime.Goexit, as FailNow of testing does.
var ErrExited = errors.New("shared call exited without a result")

// Do runs fn, or waits for a running call with the same key, and returns its result. If fn fails,
// the value is zero.
//
// When ctx ends, Do returns at once with the error of [fault.Ended]. The context of fn has the
// values of the first caller's context, but not its deadline: it is cancelled when all callers have
// returned, or when fn has returned. [Deadline] returns its deadline. A caller that comes after
// all others have returned starts a new call.
//
// If several callers share the value, clone returns a copy for each of them. It may run
// concurrently and must not change its argument. If clone is nil, all callers get the same value.
//
// If fn panics, all callers panic with the value and the stack as text.
func (g *Group[K, V]) Do(ctx context.Context, key K, clone func(V) V, fn func(context.Context) (V, error)) (V, error) {
	var zero V
	if ctx.Err() != nil {
		return zero, fault.Ended(ctx)
	}
	deadline, _ := Deadline(ctx)
	c := g.join(ctx, deadline, key, fn)
	select {
	case <-c.done:
	case <-ctx.Done():
		if g.leave(deadline, key, c) {
			return zero, fault.Ended(ctx)
		}
	}
	switch {
	case c.panicked != "":
		panic(c.panicked)
	case c.err != nil:
		return zero, c.err
	case clone != nil && c.joined > 1:
		return clone(c.value), nil
	}
	return c.value, nil
}

// join adds a caller to the running call for key, or starts one.
func (g *Group[K, V]) join(ctx context.Context, deadline time.Time, key K, fn func(context.Context) (V, error)) *call[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[key]
	if c == nil {
		// The first caller may leave before the others, so its end must not end the work.
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &call[V]{done: make(chan struct{}), cancel: cancel}
		if g.calls == nil {
			g.calls = make(map[K]*call[V])
		}
		g.calls[key] = c
		go g.run(g.withDeadline(work, c), key, c, fn)
	}
	if deadline.IsZero() {
		c.unlimited++
	} else if deadline.After(c.latest) {
		c.latest = deadline
	}
	c.waiting++
	c.joined++
	return c
}

// leave removes a caller from c and cancels the work if it was the last one. It returns false if
// the result is available.
func (g *Group[K, V]) leave(deadline time.Time, key K, c *call[V]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-c.done: // at the same time as the end of the context
		return false
	default:
	}
	c.waiting--
	if deadline.IsZero() {
		c.unlimited--
	}
	if c.waiting == 0 {
		c.cancel()
		g.forget(key, c)
	}
	return true
}

// forget prevents new callers of c. The key may already belong to a later call.
func (g *Group[K, V]) forget(key K, c *call[V]) {
	if g.calls[key] == c {
		delete(g.calls, key)
	}
}

// run runs fn and sets the result, also if fn panics or exits.
func (g *Group[K, V]) run(ctx context.Context, key K, c *call[V], fn func(context.Context) (V, error)) {
	c.err = ErrExited // unless fn returns
	defer func() {    // also if fn ends the goroutine
		if v := recover(); v != nil {
			c.panicked = fmt.Sprintf("%v\n\nin a shared call:\n%s", v, debug.Stack())
		}
		c.cancel()
		g.mu.Lock()
		g.forget(key, c)
		close(c.done)
		g.mu.Unlock()
	}()
	c.value, c.err = fn(ctx)
}
