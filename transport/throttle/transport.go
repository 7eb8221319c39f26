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

// What the zero values of a Transport mean.
const (
	defaultParallel = 16
	defaultMaxPause = 30 * time.Second
)

// Transport is an http.RoundTripper that makes requests to one host wait for each
// other. The zero value bounds how many are under way at a time, and heeds what busy
// servers say. Set the fields before the first request; after it a Transport is safe
// for concurrent use and must not be copied.
//
// Memory is bounded: what is known of a host is forgotten when there are many others.
type Transport struct {
	// Base makes the requests. Nil means the transport that all clients of this
	// module share, which takes proxies from the environment.
	Base http.RoundTripper

	// PerSecond is how many requests to a host may begin in a second, in the long
	// run. Zero or less means any number.
	PerSecond float64

	// Burst is how many requests to a host may begin at once after it was left in
	// peace, where PerSecond is set. Zero or less means as many as in a second,
	// and at least one.
	Burst int

	// Parallel is how many requests to a host may be under way at a time. One is
	// until its body has been read to the end or to an error, or closed, or its
	// context has ended; a program that opens more bodies than that before it
	// reads one waits for itself. Zero means 16, negative any number.
	Parallel int

	// MaxPause is how long a busy server can have requests to its host held back.
	// Zero means 30 seconds, which is also the longest that the clients of this
	// module wait before they try again. Negative means that they are not held back.
	MaxPause time.Duration

	mu    sync.Mutex
	hosts map[string]*host
}

// RoundTrip makes a request when its turn has come. If its context ends before, the
// error wraps the context's cause, and nothing has been sent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.RoundTripWaiting(req, func() func() { return func() {} })
}

// RoundTripWaiting implements [transport.Waiter]. It calls waiting before it waits for the
// turn of the request, and done after that.
func (t *Transport) RoundTripWaiting(req *http.Request, waiting func() (done func())) (*http.Response, error) {
	if req.URL == nil {
		return httpx.RoundTrip(t.base(), req, waiting) // which knows what to say
	}
	ctx := req.Context()
	h := t.enter(hostOf(req.URL))
	done := waiting()
	err := h.wait(ctx)
	done()
	if err != nil {
		t.leave(h)
		if req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper must
		}
		return nil, fmt.Errorf("waiting for a turn at %s: %w", weburl.Clean(req.URL.Host, maxHost), err)
	}
	end := sync.OnceFunc(func() { h.release(); t.leave(h) })
	resp, err := httpx.RoundTrip(t.base(), req, waiting)
	if err != nil || resp == nil {
		end()
		return resp, err
	}
	t.heed(h, resp)
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		end()
		return resp, nil
	}
	forget := context.AfterFunc(ctx, end) // the body ends with ctx
	resp.Body = &body{resp.Body, func() { forget(); end() }}
	return resp, nil
}

// body is the body of a response, whose request is over with it.
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

// CloseIdleConnections closes the idle connections of Base, if it can do that.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return httpx.SharedTransport()
	}
	return t.Base
}

// heed notes how long the server wants to be left in peace.
func (t *Transport) heed(h *host, resp *http.Response) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return
	}
	now := time.Now()
	most := max(0, cmp.Or(t.MaxPause, defaultMaxPause))
	if d := min(httpx.RetryAfter(resp.Header, now), most); d > 0 {
		h.pause(now.Add(d))
	}
}
