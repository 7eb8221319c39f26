package doccache

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/httpx"
)

// maxWait limits the wait for another request for the same document.
const maxWait = 5 * time.Second

// exchange is a request for a document.
type exchange struct {
	t     *Transport
	store *store
	req   *http.Request
	name  string // of the entry
	began time.Time

	waiting func() (done func())
}

func (x *exchange) run() (*http.Response, error) {
	e := x.load()
	if e != nil && x.t.usable(e, time.Now()) {
		return x.hit(e), nil
	}
	s, err := x.t.reopen(x.store)
	if err != nil {
		x.t.dirFailed(x.req.Context(), "open", err)
		return x.t.pass(x.req, x.waiting)
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
	if e != nil && (x.t.usable(e, time.Now()) || x.isNew(e)) {
		return x.hit(e), nil
	}
	return x.ask(e)
}

// isNew reports whether e was received after the request began.
func (x *exchange) isNew(e *entry) bool {
	return e.Received.After(x.began) && !e.Received.After(time.Now()) && !e.control().noCache
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

// lock waits for other requests for the same document. If it fails, the request proceeds
// without the lock, which only saves requests.
func (x *exchange) lock() (unlock func()) {
	ctx, cancel := context.WithTimeout(x.req.Context(), cmp.Or(x.t.wait, maxWait))
	defer cancel()
	defer x.waiting()()
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
	resp, err := httpx.RoundTrip(x.t.base(), out, x.waiting)
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
	switch status := resp.StatusCode; {
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		if x.t.mayBeStale(e, time.Now()) {
			discard(resp)
			return x.staleHit(e), nil
		}
		return resp, nil
	case out != x.req && resp.StatusCode == http.StatusNotModified:
		discard(resp)
		e.update(resp.Header, requested)
		x.replace(e)
		x.t.answered(x.req, &x.t.stats.Revalidated, "not changed")
		return e.response(x.req, "fwd=stale; fwd-status=304"), nil
	}
	x.t.answered(x.req, &x.t.stats.Misses, "fetched")
	x.cache(resp, requested)
	return resp, nil
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

// discard reads a short body, so that its connection can be reused, and closes it.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}

// canceled reports whether the caller has cancelled ctx. If ctx timed out, the server was too
// slow.
func canceled(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](context.Cause(ctx))
	return !ok || !timeout.Timeout()
}
