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

// ErrOffline is the error of a request that [Transport.Offline] does not permit and the
// cache cannot answer. It is ErrOffline of package provider.
var ErrOffline = fault.ErrOffline

// Transport is an [http.RoundTripper] that caches documents in a directory. Set the
// fields before the first request; after it a Transport is safe for concurrent use and
// must not be copied. The zero Transport caches nothing and passes all requests on.
type Transport struct {
	// Base makes the requests. If nil, the transport of clients whose settings have no
	// HTTP is used. Credentials that Base adds by itself, such as a client certificate, are
	// unknown to the cache: give each of them a Dir of its own.
	Base http.RoundTripper

	// Dir is the directory, such as "tool/documents" below [os.UserCacheDir]. It is
	// made with mode 0700 if it does not exist, and may be removed at any time. If
	// empty, nothing is cached.
	Dir string

	// FreshFor is how long an answer is used without asking again, even if the server
	// states a shorter time or none. It has no effect on answers with no-store or
	// no-cache, and none on temporary redirects. If zero, the server decides.
	FreshFor time.Duration

	// StaleIfError is how long after its time an answer may be used if the server
	// cannot be reached, is too slow, or answers 408, 429 or 500 and above. The server
	// may state a longer time (stale-if-error, RFC 5861, at most a day) or forbid it
	// (must-revalidate, no-cache). If zero, the server decides.
	StaleIfError time.Duration

	// Refresh asks the server about every document, also about fresh ones. A document
	// that has not changed is not sent again.
	Refresh bool

	// Offline answers all requests from the directory, whatever the age of the
	// document, and makes none. Other requests fail with [ErrOffline].
	Offline bool

	// MaxBytes bounds the directory. If a write exceeds the bound, the oldest
	// documents are removed, down to seven eighths. If zero, 256 MiB is used; a
	// negative number disables the bound. A document counts as 32 KiB at least. Each
	// process may exceed the bound by a sixteenth.
	MaxBytes int64

	// Logger gets a debug record for each answer, and a warning the first time that
	// the directory cannot be used. Records contain neither tokens nor queries. If
	// nil, nothing is logged.
	Logger *slog.Logger

	wait time.Duration // if zero, maxWait; for tests

	mu      sync.Mutex
	store   *store // the open directory; nil: none yet
	stats   Stats
	counted bool  // the directory has been listed
	written int64 // bytes since then
}

// Stats counts events of a [Transport].
type Stats struct {
	Hits        int64 // answered from the directory without asking
	Revalidated int64 // asked, and the document had not changed
	Stale       int64 // answered from the directory because the server did not answer
	Misses      int64 // fetched
	Failed      int64 // the directory could not be read or written
}

// Stats returns the counts so far.
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

// RoundTrip implements [http.RoundTripper]. An answer from the directory has an Age header
// and a Cache-Status header (RFC 9211) that begins with "tofureg". Errors of Base are
// returned unchanged. If the directory cannot be used, the request is passed on.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.RoundTripWaiting(req, func() func() { return func() {} })
}

// RoundTripWaiting implements [transport.Waiter]. It calls waiting before it waits for
// another request for the same document, and done after that.
func (t *Transport) RoundTripWaiting(req *http.Request, waiting func() (done func())) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, closing(req, err)
	}
	if t.Dir == "" || !asksForDocument(req) {
		return t.pass(req, waiting)
	}
	s, err := t.open()
	if err != nil {
		t.trouble(req.Context(), "open", err)
		return t.pass(req, waiting)
	}
	x := &exchange{t: t, store: s, req: req, name: entryName(req), began: time.Now(), waiting: waiting}
	return x.run()
}

// CloseIdleConnections closes the idle connections of Base, see [http.Client.CloseIdleConnections].
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

// errNotCached names neither method nor URL: an [http.Client] adds both.
var errNotCached = fmt.Errorf("%w, and the answer is not in the cache", ErrOffline)

// closing closes the body of a request that fails with err, as a RoundTripper must.
func closing(req *http.Request, err error) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return err
}

// trouble counts and logs that the directory could not be used.
func (t *Transport) trouble(ctx context.Context, op string, err error) {
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

// tell counts an answer and logs it.
func (t *Transport) tell(req *http.Request, n *int64, what string) {
	t.count(n)
	if t.Logger != nil {
		t.Logger.LogAttrs(req.Context(), slog.LevelDebug, "document cache",
			slog.String("url", weburl.Redact(req.URL)), slog.String("answer", what))
	}
}
