package httpx

import (
	"context"
	"sync"
	"time"
)

// patience is how much longer an attempt may take. It is counted down, except
// while the attempt waits for leave to begin, see [Waiting].
type patience struct {
	mu    sync.Mutex
	timer *time.Timer // nil: there is no bound
	left  time.Duration
	since time.Time // when the timer was set last
	waits int       // under way
	over  bool      // stopped or run out
	out   bool      // run out
}

// newPatience calls fn once d has passed, unless stopped; never if d is 0.
func newPatience(d time.Duration, fn func()) *patience {
	p := &patience{left: d}
	if d <= 0 {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
	p.timer = time.AfterFunc(d, func() {
		if p.end() {
			fn()
		}
	})
	return p
}

// end reports whether the patience has just run out.
func (p *patience) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.waits > 0 {
		return false
	}
	p.over, p.out = true, true
	return true
}

// stop ends the countdown, and reports whether it had not run out.
func (p *patience) stop() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	return !p.out
}

// pause halts the countdown until resume is called as often as pause.
func (p *patience) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits++
	if p.waits == 1 && p.timer != nil && !p.over {
		p.timer.Stop()
		p.left = max(0, p.left-time.Since(p.since))
	}
}

func (p *patience) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits--
	if p.waits == 0 && p.timer != nil && !p.over {
		p.since = time.Now()
		p.timer.Reset(p.left)
	}
}

// patienceKey is the key of an attempt's patience in its context.
type patienceKey struct{}

// Waiting tells the attempt to which ctx belongs that it is being held back on
// this side, by a transport that limits requests. Until done is called, which
// must be once, that time does not count as the server's. For a context that is
// not of an attempt it does nothing.
func Waiting(ctx context.Context) (done func()) {
	p, ok := ctx.Value(patienceKey{}).(*patience)
	if !ok {
		return func() {}
	}
	p.pause()
	return p.resume
}
