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

	"github.com/tofureg/tofureg/internal/flight"
)

const (
	maxHosts    = 1000 // hosts in memory without a request
	maxHostName = 100  // bytes of a host in an error
)

// host has the limits of one host.
type host struct {
	slots chan struct{} // one element for each running request; nil if not limited
	rate  *rate.Limiter // nil if not limited
	turn  chan struct{} // one element while a request waits for rate; nil if rate is nil

	users int // requests that wait or run; guarded by Transport.mu

	mu    sync.Mutex
	until time.Time // end of the pause
}

// hostKey returns host and port of u in a canonical form.
func hostKey(u *url.URL) string {
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

// acquire returns the host of a key. It stays in memory until release is called.
func (t *Transport) acquire(key string) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[key]
	if h == nil {
		t.evict()
		h = t.newHost()
		if t.hosts == nil {
			t.hosts = map[string]*host{}
		}
		t.hosts[key] = h
	}
	h.users++
	return h
}

func (t *Transport) release(h *host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.users--
}

// evict removes unused hosts if there are maxHosts: all that have full limits, or else one.
func (t *Transport) evict() {
	if len(t.hosts) < maxHosts {
		return
	}
	now, unused := time.Now(), ""
	for key, h := range t.hosts {
		switch {
		case h.users > 0:
		case h.isFresh(now):
			delete(t.hosts, key)
		default:
			unused = key
		}
	}
	if len(t.hosts) >= maxHosts && unused != "" {
		delete(t.hosts, unused)
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
		h.turn = make(chan struct{}, 1)
	}
	return h
}

// isFresh reports whether h has the same limits as a new host.
func (h *host) isFresh(now time.Time) bool {
	return h.pauseLeft(now) == 0 && (h.rate == nil || h.rate.TokensAt(now) >= float64(h.rate.Burst()))
}

// start waits until a request may start. If it returns nil, the caller must call finish.
func (h *host) start(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := send(ctx, h.slots); err != nil {
		return err
	}
	if err := h.waitForRate(ctx); err != nil {
		h.finish()
		return err
	}
	return nil
}

// finish frees the slot of a request.
func (h *host) finish() {
	if h.slots != nil {
		<-h.slots
	}
}

// send adds an element to a channel. If the channel is full, callers succeed in the order in
// which they came. A nil channel is never full.
func send(ctx context.Context, to chan struct{}) error {
	if to == nil {
		return nil
	}
	select {
	case to <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waitForRate waits until the rate permits a request and the pause of the server is over. If
// there is a rate, only one request waits for it, and the others wait for that request.
func (h *host) waitForRate(ctx context.Context) error {
	if h.turn != nil {
		if err := send(ctx, h.turn); err != nil {
			return err
		}
		defer func() { <-h.turn }()
	}
	for {
		// A pause may start during the wait, so the delay is computed again after it.
		delay := h.reserve(time.Now())
		if delay <= 0 {
			return nil
		}
		if err := flight.Sleep(ctx, delay); err != nil {
			return err
		}
	}
}

// reserve returns how long to wait. If it returns 0, the request may start and is counted.
// It does not reserve a later time: requests reserved for times within a pause would all
// start at its end.
func (h *host) reserve(now time.Time) time.Duration {
	if d := h.pauseLeft(now); d > 0 || h.rate == nil {
		return d
	}
	r := h.rate.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d > 0 {
		r.CancelAt(now)
	}
	return d
}

// pause delays requests until a time.
func (h *host) pause(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
}

// pauseLeft returns the remaining time of the pause.
func (h *host) pauseLeft(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, h.until.Sub(now))
}
