package throttle

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxHosts = 1000 // that are remembered while nothing is asked of them
	maxHost  = 100  // bytes of a name in an error
)

// host is what is known of one host.
type host struct {
	slots chan struct{} // holds one for each request under way; nil: any number
	rate  *rate.Limiter // nil: any
	next  chan struct{} // holds one while a request waits for rate; nil if that is

	users int // requests that wait or are under way; guarded by Transport.mu

	mu    sync.Mutex
	until time.Time // when the server can be asked again
}

// hostOf returns host and port of u in a form that can be compared.
func hostOf(u *url.URL) string {
	name := strings.TrimSuffix(strings.ToLower(u.Host), ":")
	switch u.Scheme {
	case "https":
		name = strings.TrimSuffix(name, ":443")
	case "http":
		if u.Port() == "" {
			name += ":80"
		}
	}
	return name
}

// enter returns the host of that name, which is kept until leave is called.
func (t *Transport) enter(name string) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[name]
	if h == nil {
		t.makeRoom()
		h = t.newHost()
		if t.hosts == nil {
			t.hosts = map[string]*host{}
		}
		t.hosts[name] = h
	}
	h.users++
	return h
}

func (t *Transport) leave(h *host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.users--
}

// makeRoom forgets hosts of which nothing is asked, where there are many: all that are
// at rest, and if that is none, any.
func (t *Transport) makeRoom() {
	if len(t.hosts) < maxHosts {
		return
	}
	now, some := time.Now(), ""
	for name, h := range t.hosts {
		switch {
		case h.users > 0:
		case h.atRest(now):
			delete(t.hosts, name)
		default:
			some = name
		}
	}
	if len(t.hosts) >= maxHosts && some != "" {
		delete(t.hosts, some)
	}
}

func (t *Transport) newHost() *host {
	h := &host{}
	if n := cmp.Or(t.Parallel, defaultParallel); n > 0 {
		h.slots = make(chan struct{}, n)
	}
	if t.PerSecond > 0 && !math.IsInf(t.PerSecond, 1) {
		burst := t.Burst
		if burst <= 0 {
			burst = int(min(max(1, t.PerSecond), math.MaxInt32))
		}
		h.rate = rate.NewLimiter(rate.Limit(t.PerSecond), burst)
		h.next = make(chan struct{}, 1)
	}
	return h
}

// atRest reports whether a new host would be no different.
func (h *host) atRest(now time.Time) bool {
	return h.paused(now) == 0 && (h.rate == nil || h.rate.TokensAt(now) >= float64(h.rate.Burst()))
}

// wait returns when a request may begin, which must be followed by release, or with an
// error when ctx has ended.
func (h *host) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := take(ctx, h.slots); err != nil {
		return err
	}
	if err := h.idle(ctx); err != nil {
		h.release()
		return err
	}
	return nil
}

// take gets one of the places that a channel has. Those who wait for one get it in the
// order in which they came.
func take(ctx context.Context, places chan struct{}) error {
	if places == nil {
		return nil
	}
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives the slot back.
func (h *host) release() {
	if h.slots != nil {
		<-h.slots
	}
}

// idle waits for what the rate allows, and while the server wants to be left in peace.
// Where there is a rate, one request does so at a time, and the others wait for that one.
func (h *host) idle(ctx context.Context) error {
	if h.next != nil {
		if err := take(ctx, h.next); err != nil {
			return err
		}
		defer func() { <-h.next }()
	}
	for {
		// A pause may begin while something else is waited for.
		delay := h.delay(time.Now())
		if delay <= 0 {
			return nil
		}
		if err := sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// sleep waits until d has passed, or ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delay returns how long to wait before asking again; 0: the request may begin, and has
// been counted. Nothing is reserved before that: what is would come due in a pause, and
// all that did would begin together at its end.
func (h *host) delay(now time.Time) time.Duration {
	if d := h.paused(now); d > 0 || h.rate == nil {
		return d
	}
	r := h.rate.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d > 0 {
		r.CancelAt(now) // undoes all of it, as nobody has reserved anything since
	}
	return d
}

// pause has requests wait until a time.
func (h *host) pause(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
}

// paused returns how much longer requests have to wait; 0: not at all.
func (h *host) paused(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, h.until.Sub(now))
}
