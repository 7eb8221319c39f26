package doccache

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Transport is an [http.RoundTripper] that keeps documents in a directory. Set the
// fields before the first request; after it a Transport is safe for concurrent use and
// must not be copied. The zero Transport keeps nothing and passes all requests on.
type Transport struct {
	// Base makes the requests; nil means the transport that all clients share whose
	// HTTP of transport.Client is nil. Credentials that Base adds by itself, such as a client
	// certificate, are not seen here: give each of them a Dir of its own.
	Base http.RoundTripper

	// Dir is the directory, such as "tool/documents" below [os.UserCacheDir]. It is
	// made, with mode 0700, when it is first needed; it may be removed at any time. It
	// should hold nothing else. Empty means that nothing is kept.
	Dir string

	// FreshFor is how long an answer is used without asking again, counted from when
	// it came, even if the server states a shorter time or none; it has no effect on
	// what the server forbids to store or to use unasked (no-store, no-cache), nor on
	// redirects that are temporary. Zero means that only the server decides. A bot that
	// runs every few minutes sets it to an hour.
	FreshFor time.Duration

	// StaleIfError is how long after its time an answer may still be used if the
	// server cannot be reached, is too slow, or answers 429, 500, 502, 503 or 504. The
	// server may state a longer time (stale-if-error, RFC 5861), or forbid it
	// (must-revalidate, no-cache). Zero means that only the server decides, for at most
	// a day.
	StaleIfError time.Duration

	// Refresh asks the server about every document, also about those that are fresh;
	// what has not changed is not sent again.
	Refresh bool

	// Offline answers all requests from the directory, whatever the age of what is
	// there and whatever the server said about it, and makes none. What is not there,
	// archives among it, is an [*OfflineError].
	Offline bool

	// MaxBytes bounds the directory. What was not used for longest goes first, down to
	// seven eighths of the bound. Zero means 256 MiB, negative no bound. A document
	// counts as 32 KiB at least, and each process may exceed the bound by a sixteenth
	// for a while.
	MaxBytes int64

	// Logger gets debug records of what the cache does, and a warning the first time
	// that the directory cannot be used. There are no tokens and no queries in them.
	// Nil means silence.
	Logger *slog.Logger

	wait   time.Duration // 0: maxWait; for tests
	store  atomic.Pointer[store]
	warned atomic.Bool
	counts counts
}

const (
	// maxWait is how long a request waits for another one that asks for the same
	// document.
	maxWait = 5 * time.Second

	defaultBytes = 256 << 20
)

// Stats says how often what has happened.
type Stats struct {
	Hits        int64 // answered from the directory, without asking
	Revalidated int64 // asked, and the document had not changed
	Stale       int64 // of Hits: too old, but the server did not answer, or was not to be asked
	Misses      int64 // fetched, because there was nothing, or it had changed
	Passed      int64 // not for a cache: archives, other methods than GET, and so on
	Stored      int64 // written to the directory
	Evicted     int64 // removed from the directory to make room
	Failed      int64 // times that the directory could not be read or written
}

type counts struct {
	hits, revalidated, stale, misses, passed, stored, evicted, failed atomic.Int64
}

// Stats returns the counts of this Transport so far.
func (t *Transport) Stats() Stats {
	c := &t.counts
	return Stats{
		Hits: c.hits.Load(), Revalidated: c.revalidated.Load(), Stale: c.stale.Load(), Misses: c.misses.Load(),
		Passed: c.passed.Load(), Stored: c.stored.Load(), Evicted: c.evicted.Load(), Failed: c.failed.Load(),
	}
}

// RoundTrip implements [http.RoundTripper]. An answer from the directory has an Age header
// and a Cache-Status header (RFC 9211) that begins with "tofureg". Errors of Base are
// returned as they are; trouble with the directory is never an error.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if !asksForDocument(req) {
		return t.pass(req)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := t.open(ctx)
	if s == nil {
		return t.pass(req)
	}
	x := &exchange{t: t, store: s, req: req, key: s.key(req), asks: parseDirectives(req.Header), began: time.Now()}
	return x.run()
}

// CloseIdleConnections closes those of Base, see [http.Client.CloseIdleConnections].
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok && t.Base != nil {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return httpx.SharedTransport()
	}
	return t.Base
}

// pass hands on what is not for the cache.
func (t *Transport) pass(req *http.Request) (*http.Response, error) {
	t.counts.passed.Add(1)
	if t.Offline {
		if req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper must
		}
		return nil, offline(req)
	}
	resp, err := t.base().RoundTrip(req)
	// Section 4.4: a change makes what is kept of the URL invalid.
	if err == nil && changes(req.Method) && resp.StatusCode < 400 {
		if s := t.open(req.Context()); s != nil {
			s.removeURL(req)
		}
	}
	return resp, err
}

// open returns the store, or nil if there is none to be had.
func (t *Transport) open(ctx context.Context) *store {
	if s := t.store.Load(); s != nil || t.Dir == "" {
		return s
	}
	s, err := openStore(ctx, t.Dir)
	if err != nil {
		t.trouble(ctx, "open", err)
		return nil
	}
	// Both would do, as the key is the same, but the bounds are kept by one.
	t.store.CompareAndSwap(nil, s)
	return t.store.Load()
}

// trouble notes that the directory could not be used.
func (t *Transport) trouble(ctx context.Context, op string, err error) {
	t.counts.failed.Add(1)
	if t.Logger == nil {
		return
	}
	level := slog.LevelDebug
	if !t.warned.Swap(true) {
		level = slog.LevelWarn
	}
	t.Logger.LogAttrs(ctx, level, "document cache", slog.String("op", op), slog.String("error", err.Error()))
}

// told writes a debug record about one request.
func (t *Transport) told(req *http.Request, what string) {
	if t.Logger == nil || !t.Logger.Enabled(req.Context(), slog.LevelDebug) {
		return
	}
	t.Logger.LogAttrs(req.Context(), slog.LevelDebug, "document cache",
		slog.String("url", weburl.Redact(req.URL)), slog.String("answer", what))
}
