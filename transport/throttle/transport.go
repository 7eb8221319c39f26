package throttle

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	defaultParallel = 16
	defaultMaxPause = 30 * time.Second
)

// A Transport has limits for each host and port. It is safe for concurrent use. Do not copy it or change fields after
// the first request.
type Transport struct {
	// Base makes the requests. If nil, as in the zero [github.com/tofureg/tofureg/transport.Settings].
	Base http.RoundTripper

	PerSecond float64 // maximum average; zero or less means no limit

	// Burst is the number of requests that PerSecond lets start at once after a pause. Zero or less means PerSecond, and
	// at least 1.
	Burst int

	// Parallel is the maximum number of requests at the same time. A request ends when its body has been read or closed,
	// or its context ends. Do not hold this many unread bodies during another request. Zero means 16, a negative number
	// no limit.
	Parallel int

	// MaxPause is the maximum time for which requests stop after a 429 or 503 with Retry-After or X-RateLimit-Reset,
	// which is returned, not repeated. Zero means 30 seconds, a negative time no pause.
	MaxPause time.Duration

	mu    sync.Mutex
	hosts map[string]*host
}

// RoundTrip waits until the limits permit the request. If its context ends first, nothing is sent, and the error wraps
// the cause.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return httpx.Base(t.Base).RoundTrip(req) // the error is up to Base
	}
	ctx := req.Context()
	h := t.acquire(hostKey(req.URL))
	resume := httpx.Pause(ctx)
	err := h.start(ctx)
	resume()
	if err != nil {
		t.release(h)
		if req.Body != nil {
			_ = req.Body.Close() // as http.RoundTripper demands
		}
		return nil, fmt.Errorf("waiting for the request limit of %q: %w", weburl.Clean(req.URL.Host, maxHostName), err)
	}
	end := sync.OnceFunc(func() { h.finish(); t.release(h) })
	resp, err := httpx.Base(t.Base).RoundTrip(req)
	if err != nil || resp == nil {
		end()
		return resp, err
	}
	t.pauseIfBusy(h, resp)
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		end()
		return resp, nil
	}
	stop := context.AfterFunc(ctx, end) // the body ends with ctx
	resp.Body = &body{resp.Body, func() { stop(); end() }}
	return resp, nil
}

// body is the body of a response. It calls end when it has been read or closed.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// CloseIdleConnections closes those of Base, if not nil.
func (t *Transport) CloseIdleConnections() {
	httpx.CloseIdle(t.Base)
}

// pauseIfBusy pauses requests to the host if the response of a busy server asks for it.
func (t *Transport) pauseIfBusy(h *host, resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	limit := max(0, cmp.Or(t.MaxPause, defaultMaxPause))
	if d := min(httpx.RetryAfter(resp.Header, now), limit); d > 0 {
		h.pause(now.Add(d))
	}
}
