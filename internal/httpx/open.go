package httpx

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// Body is a download that takes itself up again. When the connection breaks,
// brings nothing for the idle timeout, or ends before the declared length, Read
// asks the first URL again for the rest (a redirect may have led to an address
// that has expired since) and goes on as if nothing had been, so that a hash
// over what is read carries on.
//
// The rest is asked for with Range, and with If-Range where the server gave a
// strong validator. A server that answers with the whole file is read past what
// was delivered already, if it begins with just that. Where anything shows that
// the file is not the same, Read returns an error that wraps fault.ErrChanged, and
// the caller may start again from zero.
//
// Attempts that bring no new byte are limited as those of any request, with the
// same waits; each new byte gives all of them back.
type Body struct {
	Status int         // of the answer at the start, 2xx
	Size   int64       // declared at the start, -1: unknown
	URL    *url.URL    // that answered at the start
	Header http.Header // of that answer

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Of the reading goroutine only:
	fetch     *fetch         // that opened the present stream
	resp      *http.Response // whose body that is
	total     int64          // known by now, -1: not
	until     int64          // where the range of the present stream ends; 0: it is none
	read      int64          // delivered
	fresh     int64          // of these, by the present stream
	failed    int            // attempts in a row that brought no byte
	pending   error          // of the stream, behind bytes that were delivered
	err       error          // final
	validator validator
	sum       maphash.Hash // of what was delivered; against accidents, since a liar could send the rest alone

	resumes atomic.Int64
	mu      sync.Mutex // guards stream, against Close
	stream  *stream    // nil after the end
	closed  bool
}

// errClosed is the cause of the context of a body that was closed.
var errClosed = fmt.Errorf("the body is closed: %w", os.ErrClosed)

// Open starts a download. There is no timeout for the whole, but one for the
// headers and one for each silence (Timeout and Idle of the client). The context
// holds for reading too. The caller must close the body.
//
// Any failure, and any status but 2xx, is an [*failure.RequestError], and so is every error of
// Read but io.EOF. With r.Limit, a longer body is fault.ErrTooLarge, at once
// where its length is declared. The bytes are those that the server keeps: no
// compression is asked for, and none is undone.
func (c *Client) Open(ctx context.Context, r Request) (*Body, error) {
	f, err := newFetch(ctx, c, &r, false)
	if err != nil {
		return nil, err
	}
	b := &Body{fetch: f}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	f.ctx = b.ctx
	resp, err := f.run()
	if err != nil {
		b.cancel(err)
		return nil, err
	}
	b.Status, b.Size, b.URL, b.Header = resp.StatusCode, resp.ContentLength, resp.Request.URL, resp.Header
	b.total = b.Size
	b.validator = newValidator(resp.Header, time.Now())
	b.failed = f.made - 1
	b.take(resp)
	return b, nil
}

// Unusable closes the body and returns the [*failure.RequestError] of an answer that has the wrong status or
// header, as err says.
func (b *Body) Unusable(err error) error {
	b.Close()
	return b.fetch.fail(b.resp.Request.URL, b.resp, err)
}

// Resumes returns how often the transfer was taken up again so far. It may be
// called while Read runs.
func (b *Body) Resumes() int { return int(b.resumes.Load()) }

// Close ends the download, also while Read waits in another goroutine. It
// returns nil, always.
func (b *Body) Close() error {
	b.end(errClosed)
	return nil
}

// end gives back what the transfer holds.
func (b *Body) end(why error) {
	b.cancel(why)
	b.mu.Lock()
	s := b.stream
	b.stream, b.closed = nil, true
	b.mu.Unlock()
	if s != nil {
		_ = s.Close() // what was wanted has been read
	}
}

// take makes the body of resp the stream that is read from.
func (b *Body) take(resp *http.Response) {
	s := resp.Body.(*stream)
	b.mu.Lock()
	old := b.stream
	if b.closed {
		old = s
	} else {
		b.stream = s
	}
	b.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	b.resp, b.fresh, b.pending = resp, 0, nil
}

// Read reads the next bytes. At the end of the file it returns io.EOF, and
// after any other error the transfer is over. Only one goroutine may call it at
// a time.
func (b *Body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for b.err == nil {
		n, err := b.next(p)
		if n > 0 {
			b.pending = err
			return n, nil
		}
		if err == nil {
			return 0, nil
		}
		if err != io.EOF {
			err = b.resume(err)
		}
		if err != nil {
			b.end(err)
		}
		b.err = err
	}
	return 0, b.err
}

// next reads from the present stream. An end that comes too early is
// io.ErrUnexpectedEOF.
func (b *Body) next(p []byte) (int, error) {
	if b.total >= 0 && b.read >= b.total {
		return 0, io.EOF
	}
	if b.pending != nil {
		return 0, b.whole(b.pending)
	}
	b.mu.Lock()
	s := b.stream
	b.mu.Unlock()
	if s == nil {
		return 0, errClosed
	}
	n, err := s.Read(b.window(p))
	n = max(0, n)
	if l := b.fetch.req.Limit; l > 0 && b.read+int64(n) > l {
		return 0, fmt.Errorf("%w: more than %d bytes", fault.ErrTooLarge, l)
	}
	_, _ = b.sum.Write(p[:n]) // never fails
	b.read += int64(n)
	b.fresh += int64(n)
	return n, b.whole(err)
}

// whole returns io.ErrUnexpectedEOF for an io.EOF that comes too early.
func (b *Body) whole(err error) error {
	if err == io.EOF && b.read < max(b.total, b.until) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// window is the part of p that may be filled: no more than what is declared or
// allowed, but one byte at least, to see whether there is more than is allowed.
func (b *Body) window(p []byte) []byte {
	if b.total >= 0 {
		p = p[:min(int64(len(p)), b.total-b.read)]
	}
	if l := b.fetch.req.Limit; l > 0 {
		p = p[:min(int64(len(p)), max(1, l-b.read))]
	}
	return p
}

// fail makes err the *failure.RequestError of a transfer that cannot go on.
func (b *Body) fail(err error) error {
	e := b.fetch.fail(b.resp.Request.URL, b.resp, err)
	e.Attempts = b.failed
	return e
}
