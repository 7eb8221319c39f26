package doccache

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/httpx"
)

// exchange is one request for a document and its answer.
type exchange struct {
	t      *Transport
	store  *store
	req    *http.Request
	key    key
	asks   directives // of the request
	began  time.Time
	unlock func() // nil: no lock is held
}

func (x *exchange) run() (*http.Response, error) {
	e := x.load()
	if resp := x.fromCache(e, time.Now()); resp != nil {
		return resp, nil
	}
	if x.t.Offline {
		return nil, offline(x.req)
	}
	if x.lock() {
		// Whoever had the lock may have brought what is wanted.
		e = x.load()
		if resp := x.afterWait(e, time.Now()); resp != nil {
			x.release()
			return resp, nil
		}
	}
	return x.forward(e)
}

// load returns what is kept for the request, nil if there is nothing.
func (x *exchange) load() *entry {
	e, err := x.store.read(x.key)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		x.t.trouble(x.req.Context(), "read", err)
		return nil
	case e.vary != x.store.varied(x.req, e.header):
		return nil
	}
	return e
}

// fromCache answers without asking, where that is allowed.
func (x *exchange) fromCache(e *entry, now time.Time) *http.Response {
	switch {
	case e == nil:
		return nil
	case x.usable(e, now):
		x.t.counts.hits.Add(1)
		x.t.told(x.req, "hit")
		return e.response(x.req, now, "hit")
	case x.t.Offline:
		return x.stale(e, now)
	}
	return nil
}

// afterWait is fromCache after another request for the same has ended. What that one
// brought after this one began is as new as what this one would bring.
func (x *exchange) afterWait(e *entry, now time.Time) *http.Response {
	if resp := x.fromCache(e, now); resp != nil {
		return resp
	}
	if e == nil || !e.received.After(x.began) || e.received.After(now) || e.control.noCache || x.wantsNewer(e, now) {
		return nil
	}
	x.t.counts.hits.Add(1)
	x.t.told(x.req, "hit, just fetched")
	return e.response(x.req, now, "hit")
}

// stale answers with what should have been asked about.
func (x *exchange) stale(e *entry, now time.Time) *http.Response {
	x.t.counts.hits.Add(1)
	x.t.counts.stale.Add(1)
	x.t.told(x.req, "stale")
	return e.response(x.req, now, "hit; detail=stale")
}

// lock waits for others that ask for the same, but not for ever: they may be stuck. It
// reports whether it has the lock.
func (x *exchange) lock() bool {
	ctx, cancel := context.WithTimeout(x.req.Context(), cmp.Or(x.t.wait, maxWait))
	defer cancel()
	defer httpx.Waiting(x.req.Context())()
	l, err := fsx.AcquireLock(ctx, x.store.path(x.key.lockName()))
	if err != nil {
		return false // it is only there to save requests
	}
	x.unlock = func() { _ = l.Remove() }
	return true
}

// release gives up the lock, if there is one.
func (x *exchange) release() {
	if x.unlock != nil {
		x.unlock()
		x.unlock = nil
	}
}

// forward asks the server, about e if that is not nil.
func (x *exchange) forward(e *entry) (*http.Response, error) {
	out, conditional := x.conditional(e)
	requested := time.Now()
	resp, err := x.t.base().RoundTrip(out)
	now := time.Now()
	if err != nil || resp == nil {
		x.release()
		if x.mayBeStale(e, now) && !left(x.req.Context()) {
			return x.stale(e, now), nil
		}
		return nil, err
	}
	resp.Request = x.req
	if resp.Body == nil {
		resp.Body = http.NoBody // as http.Client does
	}
	switch {
	case conditional && resp.StatusCode == http.StatusNotModified:
		drop(resp)
		if !e.sameAs(resp.Header) {
			// The server speaks of another version than the one that is here.
			x.store.remove(x.key)
			return x.forward(nil)
		}
		return x.revalidated(e, resp.Header, requested, now), nil
	case isOutage(resp.StatusCode) && x.mayBeStale(e, now):
		drop(resp)
		x.release()
		return x.stale(e, now), nil
	}
	x.t.counts.misses.Add(1)
	x.t.told(x.req, "fetched")
	return x.take(resp, requested, now), nil
}

// conditional returns the request to be sent: that of the caller, or one that asks
// whether e is still right.
func (x *exchange) conditional(e *entry) (out *http.Request, conditional bool) {
	if e == nil {
		return x.req, false
	}
	etag, modified := e.header.Get("Etag"), e.header.Get("Last-Modified")
	if etag == "" && modified == "" {
		return x.req, false
	}
	out = x.req.Clone(x.req.Context())
	if out.Header == nil {
		out.Header = http.Header{}
	}
	if etag != "" {
		out.Header.Set("If-None-Match", etag)
	}
	if modified != "" {
		out.Header.Set("If-Modified-Since", modified)
	}
	return out, true
}

// revalidated answers with e, about which the server has said that it is still right.
func (x *exchange) revalidated(e *entry, h http.Header, requested, now time.Time) *http.Response {
	defer x.release()
	e.update(h, requested, now)
	if e.control.noStore {
		x.store.remove(x.key)
	} else {
		x.write(e)
	}
	x.t.counts.revalidated.Add(1)
	x.t.told(x.req, "not changed")
	return e.response(x.req, now, "fwd=stale; fwd-status=304")
}

// take returns an answer of the server, which is kept once it has been read, if it may be.
func (x *exchange) take(resp *http.Response, requested, now time.Time) *http.Response {
	e := newEntry(resp, requested, now)
	if e == nil || resp.ContentLength >= x.t.maxBytes() {
		if supersedes(resp.StatusCode) {
			x.store.remove(x.key)
		}
		x.release()
		return resp
	}
	e.vary = x.store.varied(x.req, e.header)
	if !hasBody(resp.StatusCode) {
		x.write(e)
		x.release()
		return resp
	}
	resp.Body = newRecorder(resp, func(body []byte, how ending) {
		defer x.release()
		switch {
		case how == broken, how == whole && !e.setBody(body):
			// This is no answer, and what is kept may still be the right one.
		case how == tooLarge, holdsPass(body):
			x.store.remove(x.key) // superseded, as above
		default:
			x.write(e)
		}
	})
	return resp
}

// write keeps e. If it is too large for that, what was there before is not kept either.
func (x *exchange) write(e *entry) {
	size, err := x.store.write(x.key, e, x.t.maxBytes())
	switch {
	case errors.Is(err, errNoRoom):
		x.store.remove(x.key)
	case err != nil:
		if errors.Is(err, os.ErrNotExist) {
			// The directory is gone. The next request makes it anew.
			x.t.store.CompareAndSwap(x.store, nil)
		}
		x.t.trouble(x.req.Context(), "write", err)
		x.t.evict(x.req.Context(), x.store, 0) // what dead processes have left may be in the way
	default:
		x.t.counts.stored.Add(1)
		x.t.evict(x.req.Context(), x.store, size)
	}
}
