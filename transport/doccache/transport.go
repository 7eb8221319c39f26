package doccache

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// ErrOffline is returned if [Transport.Offline] is set and the answer is not cached. It is the
// same value as [github.com/tofureg/tofureg/provider.ErrOffline].
var ErrOffline = fault.ErrOffline

// A Transport is an [http.RoundTripper] that caches documents. The zero Transport passes all
// requests to Base. Set the fields before the first request. After that, a Transport is safe for
// concurrent use and must not be copied.
type Transport struct {
	// Base makes the requests. It may be a throttle.Transport. If nil, the transport of clients
	// without their own HTTP client is used. Each credential that Base adds, such as a client
	// certificate, needs its own Dir.
	Base http.RoundTripper

	// Dir is the directory. It is created with mode 0700 if it does not exist, and may be
	// removed at any time. If empty, nothing is cached.
	Dir string

	// FreshFor is the minimum time for which an answer is used without a request. It does not
	// apply to temporary redirects and to answers with no-cache. If zero, the server decides.
	FreshFor time.Duration

	// StaleIfError is the time for which an expired answer is used if the server does not
	// answer, or answers 408, 429 or 5xx. The server may state a longer time (stale-if-error,
	// at most a day) or forbid it (must-revalidate, no-cache).
	StaleIfError time.Duration

	// Refresh asks the server whether each document has changed, even before it expires.
	Refresh bool

	// Offline uses cached documents of any age. Other requests fail with [ErrOffline].
	Offline bool

	// MaxBytes limits the directory. The oldest documents are evicted. A document counts as at
	// least 32 KiB, and each process may exceed the limit by a sixteenth and by the
	// documents that it writes at the time. If zero, 256 MiB is used. If negative, the size is not limited.
	MaxBytes int64

	// Logger, if not nil, receives a debug record for each answer, and a warning when the
	// directory first fails. Records contain no tokens and no URL queries.
	Logger *slog.Logger

	wait time.Duration // for tests; if zero, maxWait

	mu      sync.Mutex
	store   *store // the open directory
	stats   Stats
	counted bool  // the directory has been listed
	written int64 // bytes since then
}

// Stats counts the answers of a [Transport].
type Stats struct {
	Hits        int64 // cached documents, without a request
	Revalidated int64 // cached documents that the server has confirmed
	Stale       int64 // expired documents, because the server did not answer
	Misses      int64 // documents from the server
	Failed      int64 // failed reads and writes of the directory
}

// Stats returns the current counts.
func (t *Transport) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// count adds one to a field of t.stats.
func (t *Transport) count(n *int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n++
}

// RoundTrip implements [http.RoundTripper]. A cached answer has the headers Age and Cache-Status
// (RFC 9211). Errors of Base are returned unchanged.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.RoundTripWaiting(req, func() func() { return func() {} })
}

// RoundTripWaiting implements [github.com/tofureg/tofureg/transport.Waiter]. The
// delays are those of Base, and the wait for another request for the same document, at most
// 5 seconds.
func (t *Transport) RoundTripWaiting(req *http.Request, waiting func() (done func())) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, closing(req, err)
	}
	if t.Dir == "" || !asksForDocument(req) {
		return t.pass(req, waiting)
	}
	s, err := t.open()
	if err != nil {
		t.dirFailed(req.Context(), "open", err)
		return t.pass(req, waiting)
	}
	x := &exchange{t: t, store: s, req: req, name: entryName(req), began: time.Now(), waiting: waiting}
	return x.run()
}

// CloseIdleConnections closes the idle connections of Base, if Base supports it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return httpx.SharedTransport()
	}
	return t.Base
}

// pass makes a request without the cache.
func (t *Transport) pass(req *http.Request, waiting func() func()) (*http.Response, error) {
	if t.Offline {
		return nil, closing(req, errNotCached)
	}
	return httpx.RoundTrip(t.base(), req, waiting)
}

// errNotCached does not contain the URL: an [http.Client] adds it.
var errNotCached = fmt.Errorf("%w, and the document is not cached", ErrOffline)

// closing closes the body of a request that fails with err, as http.RoundTripper demands.
func closing(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return err
}

// dirFailed counts and logs an error of the directory.
func (t *Transport) dirFailed(ctx context.Context, op string, err error) {
	t.mu.Lock()
	t.stats.Failed++
	level := slog.LevelDebug
	if t.stats.Failed == 1 {
		level = slog.LevelWarn
	}
	t.mu.Unlock()
	if t.Logger != nil {
		t.Logger.LogAttrs(ctx, level, "document cache", slog.String("op", op), slog.String("error", err.Error()))
	}
}

// answered counts and logs an answer.
func (t *Transport) answered(req *http.Request, n *int64, what string) {
	t.count(n)
	if t.Logger != nil {
		t.Logger.LogAttrs(req.Context(), slog.LevelDebug, "document cache",
			slog.String("url", weburl.RedactHop(req.URL, req.Response != nil)), slog.String("answer", what))
	}
}
