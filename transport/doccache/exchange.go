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

// maxWait is how long a request waits for another one for the same document.
const maxWait = 5 * time.Second

// exchange is one request for a document and its answer.
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
		x.t.trouble(x.req.Context(), "open", err)
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
		return x.stale(e), nil
	case x.t.Offline:
		return nil, errNotCached
	}
	defer x.lock()()
	// Another request may have fetched the document meanwhile.
	e = x.load()
	if e != nil && (x.t.usable(e, time.Now()) || x.isNew(e)) {
		return x.hit(e), nil
	}
	return x.ask(e)
}

// isNew reports whether e came after the request began, so that asking now would bring nothing
// newer.
func (x *exchange) isNew(e *entry) bool {
	return e.Received.After(x.began) && !e.Received.After(time.Now()) && !e.control().noCache
}

// load returns the entry for the request, or nil.
func (x *exchange) load() *entry {
	e, err := x.store.read(x.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.t.trouble(x.req.Context(), "read", err)
	}
	return e
}

func (x *exchange) hit(e *entry) *http.Response {
	x.t.tell(x.req, &x.t.stats.Hits, "hit")
	return e.response(x.req, "hit")
}

func (x *exchange) stale(e *entry) *http.Response {
	x.t.tell(x.req, &x.t.stats.Stale, "stale")
	return e.response(x.req, "hit; detail=stale")
}

// lock waits for other requests for the same document, for a while: the lock only saves
// requests.
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

// ask asks the server for the document, or whether e is still right if e is not nil.
func (x *exchange) ask(e *entry) (*http.Response, error) {
	out := conditional(x.req, e)
	requested := time.Now()
	resp, err := httpx.RoundTrip(x.t.base(), out, x.waiting)
	if err != nil || resp == nil {
		if x.t.mayBeStale(e, time.Now()) && !left(x.req.Context()) {
			return x.stale(e), nil
		}
		return nil, err
	}
	resp.Request = x.req
	if resp.Body == nil {
		resp.Body = http.NoBody // as http.Client does
	}
	switch {
	case isOutage(resp.StatusCode):
		if x.t.mayBeStale(e, time.Now()) {
			drop(resp)
			return x.stale(e), nil
		}
		return resp, nil
	case out != x.req && resp.StatusCode == http.StatusNotModified:
		drop(resp)
		e.update(resp.Header, requested)
		x.replace(e)
		x.t.tell(x.req, &x.t.stats.Revalidated, "not changed")
		return e.response(x.req, "fwd=stale; fwd-status=304"), nil
	}
	x.t.tell(x.req, &x.t.stats.Misses, "fetched")
	x.take(resp, requested)
	return resp, nil
}

// conditional returns req if e is nil or has no validator, and otherwise a request that asks
// whether e is still right.
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

// take replaces the entry by resp. If resp may not be cached, the entry is removed. A body
// that breaks off changes nothing.
func (x *exchange) take(resp *http.Response, requested time.Time) {
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
	resp.Body = &replay{io.MultiReader(bytes.NewReader(body), failed{cmp.Or(err, io.EOF)}), resp.Body}
	if err != nil || resp.ContentLength >= 0 && resp.ContentLength != int64(len(body)) {
		return
	}
	if e.body = body; !e.isDocument() {
		e = nil
	}
	x.replace(e)
}

// replay is a body of which a part has been read.
type replay struct {
	io.Reader
	io.Closer
}

// failed is the end of a body.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// replace writes e. If e is nil or may not be stored, the entry is removed.
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
		x.t.trouble(x.req.Context(), "write", err)
	}
	if err := x.t.evict(x.store, size, err != nil); err != nil {
		x.t.trouble(x.req.Context(), "make room in", err)
	}
}

// drop reads the rest of a short body, so that its connection can be used again, and closes it.
func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}

// isOutage reports whether a status says that the server could not answer.
func isOutage(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// left reports whether the caller has cancelled ctx. A deadline that has passed means that
// the server was too slow.
func left(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](context.Cause(ctx))
	return !ok || !timeout.Timeout()
}
