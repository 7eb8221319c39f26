// Package flight shares work between concurrent callers.
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

// Group joins concurrent calls with the same key. The zero value is ready to
// use. A Group must not be copied after its first use; its method is safe for
// concurrent use.
type Group[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V] // that a new caller may join
}

// call is one run of the work. Until done is closed, the counts belong to the
// mutex of the group, and the times do always; value, err and panicked are written
// before it closes.
type call[V any] struct {
	done      chan struct{}
	cancel    context.CancelFunc
	waiting   int // callers that have not left
	unlimited int // of these, without a deadline
	joined    int // callers that ever came

	latest time.Time // deadline of all that came

	value    V
	err      error
	panicked string // value and stack of a panic
}

// ErrExited is returned to the callers when the work ended its goroutine by
// runtime.Goexit (as testing's FailNow does) and so has no result.
var ErrExited = errors.New("shared call exited without a result")

// Do runs fn, or waits for the run that another caller with the same key has
// begun, and returns its result. When fn fails, the value returned is the zero
// value.
//
// A caller whose ctx ends returns at once, with an error for which errors.Is
// finds ctx.Err() and context.Cause(ctx). The context that fn gets carries the
// values of the first caller's context, but neither its deadline nor its
// cancellation: it is cancelled when the last caller has left, and when fn has
// returned; [Deadline] tells when that will be. A caller that comes after the last
// one left starts a new run.
//
// The value is shared, so clone, if it is not nil, is called to make each
// caller's own; several calls of it may run at the same time, and it must not
// change its argument. A value that only one caller asked for is handed over
// as it is. With a nil clone all callers get the same value.
//
// If fn panics, every waiting caller panics with the value and the stack of fn as text.
func (g *Group[K, V]) Do(ctx context.Context, key K, clone func(V) V, fn func(context.Context) (V, error)) (V, error) {
	var zero V
	if ctx.Err() != nil {
		return zero, fault.Ended(ctx)
	}
	deadline, _ := Deadline(ctx) // zero: none
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

// join enters the run that is under way for key, or begins one.
func (g *Group[K, V]) join(ctx context.Context, deadline time.Time, key K, fn func(context.Context) (V, error)) *call[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[key]
	if c == nil {
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

// leave takes one caller out of c and cancels the work if it was the last. It
// reports false when the result has come in the meantime and can be used.
func (g *Group[K, V]) leave(deadline time.Time, key K, c *call[V]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-c.done:
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

// forget closes c to new callers. The key may already belong to a later run.
func (g *Group[K, V]) forget(key K, c *call[V]) {
	if g.calls[key] == c {
		delete(g.calls, key)
	}
}

// run does the work and publishes its result, however fn ends.
func (g *Group[K, V]) run(ctx context.Context, key K, c *call[V], fn func(context.Context) (V, error)) {
	c.err = ErrExited // unless fn returns
	defer func() {
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
