package httpx

import (
	"context"
	"sync"
	"time"
)

// inContext is what transports may know of the attempt whose request they make. It is in the context of the
// request, so that other transports may lie between.
type inContext struct {
	isPackage bool
	clock     *clock
}

type attemptKey struct{}

// IsForPackage reports whether a request with ctx is for a package. Requests of other programs are not.
func IsForPackage(ctx context.Context) bool {
	c, _ := ctx.Value(attemptKey{}).(inContext)
	return c.isPackage
}

// Pause stops the timeout of the attempt to which a request with ctx belongs, if there is one. The
// caller must call resume once. A transport calls Pause before it delays a request: the delay is no
// fault of the server.
func Pause(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(attemptKey{}).(inContext)
	if !ok {
		return func() {}
	}
	return c.clock.pause()
}

// clock is the timeout of an attempt, without pauses. It is safe for concurrent use: a transport may
// make several requests for one.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer // nil if there is no timeout, or no longer
	left   time.Duration
	began  time.Time
	pauses int
}

// startClock calls fn after d, unless d is 0.
func startClock(d time.Duration, fn func()) *clock {
	if d <= 0 {
		return &clock{}
	}
	return &clock{timer: time.AfterFunc(d, fn), left: d, began: time.Now()}
}

// stop ends the timeout, also for pauses that have begun. It returns false if fn has been called.
func (c *clock) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return true
	}
	inTime := c.timer.Stop() || c.pauses > 0
	c.timer = nil
	return inTime
}

func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil || c.pauses == 0 && !c.timer.Stop() {
		return func() {}
	}
	if c.pauses == 0 {
		c.left -= time.Since(c.began)
	}
	c.pauses++
	return c.resume
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses--
	if c.pauses == 0 && c.timer != nil {
		c.began = time.Now()
		c.timer.Reset(c.left)
	}
}
