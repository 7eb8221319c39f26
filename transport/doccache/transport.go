package doccache

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A Transport caches documents. It is safe for concurrent use. Do not copy it or change fields after the first request.
type Transport struct {
	// Base makes the requests. If nil, as in the zero [github.com/tofureg/tofureg/transport.Settings]. Each credential
	// that Base adds, such as a client certificate, needs its own Dir.
	Base http.RoundTripper

	// Dir is created with mode 0700 if missing, and may be removed at any time. If empty, nothing is cached.
	Dir string

	// FreshFor replaces a shorter time of the server, except for temporary redirects and no-cache.
	FreshFor time.Duration

	// StaleIfError is the time for which an expired answer is used if the server does not answer, or answers 408, 429 or
	// 5xx. The server may state a longer time (stale-if-error, at most a day) or forbid it (must-revalidate, no-cache).
	StaleIfError time.Duration

	Refresh bool // asks the server whether each document has changed

	Offline bool // uses cached documents of any age; other requests fail with [failure.ErrOffline]

	// MaxBytes limits the directory; the oldest documents are evicted. A document counts as at least 32 KiB. Each process
	// may exceed it by a sixteenth and its current writes. Zero means 256 MiB, a negative number no limit.
	MaxBytes int64

	// Logger, if not nil, receives a debug record for each answer, and a warning when the directory first fails, without
	// tokens and URL queries.
	Logger *slog.Logger

	wait time.Duration // for tests; if zero, maxWait

	mu      sync.Mutex
	store   *store // the open directory
	stats   Stats
	counted bool  // the directory has been listed
	written int64 // bytes since then
}

// Stats counts answers.
type Stats struct {
	Hits        int64 // without a request
	Revalidated int64 // confirmed by the server
	Stale       int64 // see StaleIfError and Offline
	Misses      int64 // from the server
	Failed      int64 // failed uses of the directory
}

// Stats returns the current counts.
func (t *Transport) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// RoundTrip sets Age and Cache-Status (RFC 9211) of a cached answer. It returns errors of Base unchanged.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if ctx := req.Context(); ctx.Err() != nil {
		return nil, closing(req, context.Cause(ctx))
	}
	if t.Dir == "" || !asksForDocument(req) {
		return t.pass(req)
	}
	s, err := t.open(false)
	if err != nil {
		t.dirFailed(req.Context(), "open", err)
		return t.pass(req)
	}
	x := &exchange{t: t, store: s, req: req, name: entryName(req), began: time.Now()}
	return x.run()
}

// CloseIdleConnections closes those of Base, if not nil.
func (t *Transport) CloseIdleConnections() {
	httpx.CloseIdle(t.Base)
}

// pass makes a request without the cache.
func (t *Transport) pass(req *http.Request) (*http.Response, error) {
	if t.Offline {
		return nil, closing(req, errNotCached)
	}
	return httpx.Base(t.Base).RoundTrip(req)
}

// errNotCached does not contain the URL: an [http.Client] adds it.
var errNotCached = fmt.Errorf("%w, and the document is not cached", failure.ErrOffline)

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
	t.mu.Lock()
	*n++
	t.mu.Unlock()
	if t.Logger != nil {
		t.Logger.LogAttrs(req.Context(), slog.LevelDebug, "document cache",
			slog.String("url", weburl.RedactHop(req.URL, req.Response != nil)), slog.String("answer", what))
	}
}

// maxWait limits the wait for another request for the same document.
const maxWait = 5 * time.Second

// exchange is a request for a document.
type exchange struct {
	t     *Transport
	store *store
	req   *http.Request
	name  string // of the entry
	began time.Time
}

func (x *exchange) run() (*http.Response, error) {
	e := x.load()
	if e != nil && x.t.usable(e, time.Now()) {
		return x.hit(e), nil
	}
	// Whether the directory still has its name matters for writing. A hit does not pay for that.
	s, err := x.t.open(true)
	if err != nil {
		x.t.dirFailed(x.req.Context(), "open", err)
		return x.t.pass(x.req)
	}
	if s != x.store {
		x.store = s
		e = x.load()
	}
	switch {
	case e != nil && x.t.usable(e, time.Now()):
		return x.hit(e), nil
	case e != nil && x.t.Offline:
		return x.staleHit(e), nil
	case x.t.Offline:
		return nil, errNotCached
	}
	defer x.lock()()
	// Another request may have fetched the document during the wait.
	e = x.load()
	isNew := e != nil && e.Received.After(x.began) && !e.Received.After(time.Now()) && !e.control().noCache
	if e != nil && (isNew || x.t.usable(e, time.Now())) {
		return x.hit(e), nil
	}
	return x.ask(e)
}

// load returns the entry for the request, or nil.
func (x *exchange) load() *entry {
	e, err := x.store.read(x.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.t.dirFailed(x.req.Context(), "read", err)
	}
	return e
}

func (x *exchange) hit(e *entry) *http.Response {
	x.t.answered(x.req, &x.t.stats.Hits, "hit")
	return e.response(x.req, "hit")
}

func (x *exchange) staleHit(e *entry) *http.Response {
	x.t.answered(x.req, &x.t.stats.Stale, "stale")
	return e.response(x.req, "hit; detail=stale")
}

// lock waits for other requests for the same document, of other processes too. If it fails, the
// request proceeds without the lock, which only saves requests.
func (x *exchange) lock() (unlock func()) {
	ctx, cancel := context.WithTimeout(x.req.Context(), cmp.Or(x.t.wait, maxWait))
	defer cancel()
	defer httpx.Pause(ctx)()
	l, err := fsx.AcquireLockIn(ctx, x.store.Root, x.name+lockSuffix)
	if err != nil {
		return func() {}
	}
	return func() { _ = l.Remove() }
}

// ask requests the document from the server, or asks whether e has changed if e is not nil.
func (x *exchange) ask(e *entry) (*http.Response, error) {
	out := conditional(x.req, e)
	requested := time.Now()
	resp, err := httpx.Base(x.t.Base).RoundTrip(out)
	if err != nil || resp == nil {
		if x.t.mayBeStale(e, time.Now()) && !canceled(x.req.Context()) {
			return x.staleHit(e), nil
		}
		return nil, err
	}
	resp.Request = x.req
	if resp.Body == nil {
		resp.Body = http.NoBody // as http.Client does
	}
	if isBusy(resp.StatusCode) {
		if !x.t.mayBeStale(e, time.Now()) {
			return resp, nil // and e stays, for a server that answers again
		}
		httpx.Discard(resp)
		return x.staleHit(e), nil
	}
	if out != x.req && resp.StatusCode == http.StatusNotModified { // the answer to the condition in out
		httpx.Discard(resp)
		e.update(resp.Header, requested)
		x.replace(e)
		x.t.answered(x.req, &x.t.stats.Revalidated, "not changed")
		return e.response(x.req, "fwd=stale; fwd-status=304"), nil
	}
	x.t.answered(x.req, &x.t.stats.Misses, "fetched")
	x.cache(resp, requested)
	return resp, nil
}

// isBusy reports whether a status says nothing about the document.
func isBusy(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// conditional returns a request that asks whether e has changed, or req if e is nil or has no
// validator.
func conditional(req *http.Request, e *entry) *http.Request {
	if e == nil || e.Header.Get("Etag") == "" && e.Header.Get("Last-Modified") == "" {
		return req
	}
	out := req.Clone(req.Context())
	if out.Header == nil {
		out.Header = http.Header{}
	}
	if tag := e.Header.Get("Etag"); tag != "" {
		out.Header.Set("If-None-Match", tag)
	} else {
		out.Header.Set("If-Modified-Since", e.Header.Get("Last-Modified"))
	}
	return out
}

// cache replaces the entry by resp, or removes it if resp must not be cached. If the body is
// incomplete, the entry stays.
func (x *exchange) cache(resp *http.Response, requested time.Time) {
	e := newEntry(resp, requested)
	if e == nil || resp.StatusCode != http.StatusOK {
		x.replace(e)
		return
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		resp.Body = &replay{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		x.replace(nil)
		return
	}
	resp.Body = &replay{io.MultiReader(bytes.NewReader(body), errReader{cmp.Or(err, io.EOF)}), resp.Body}
	if err != nil || resp.ContentLength >= 0 && resp.ContentLength != int64(len(body)) {
		return
	}
	if e.body = body; !e.isDocument() {
		e = nil
	}
	x.replace(e)
}

// replay is a body of which the first part has been read.
type replay struct {
	io.Reader
	io.Closer
}

// errReader is an empty reader that ends with an error.
type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// replace writes e, or removes the entry if e is nil or must not be stored.
func (x *exchange) replace(e *entry) {
	if e == nil || e.control().noStore {
		_ = x.store.Remove(x.name + entrySuffix)
		return
	}
	size, err := x.store.write(x.name, e, x.t.maxBytes())
	if errors.Is(err, errTooLarge) {
		return
	}
	if err != nil {
		x.t.dirFailed(x.req.Context(), "write", err)
	}
	if err := x.t.evict(x.req.Context(), x.store, size, err != nil); err != nil {
		x.t.dirFailed(x.req.Context(), "evict from", err)
	}
}

// canceled reports whether the caller has cancelled ctx. If ctx timed out, the server was too
// slow.
func canceled(ctx context.Context) bool {
	timeout, ok := errors.AsType[net.Error](context.Cause(ctx))
	return ctx.Err() != nil && (!ok || !timeout.Timeout())
}
