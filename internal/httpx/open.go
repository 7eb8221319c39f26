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

// Body is a download that resumes. If the connection breaks, is idle for the timeout, or ends early,
// Read requests the rest from the first URL, because the target of a redirect may have expired, and
// continues. So a hash over the bytes stays correct.
//
// The request has Range, and If-Range if the server sent a strong validator. If the server answers
// with the whole file, Read skips and compares the bytes that it has returned. If the file has
// changed, Read returns an error that wraps fault.ErrChanged, and the caller may start again.
//
// The number of successive attempts without a new byte is limited like the retries of a request.
type Body struct {
	Status int         // of the first answer, 2xx
	Size   int64       // declared in the first answer; -1 if unknown
	URL    *url.URL    // of the first answer
	Header http.Header // of the first answer

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Used by the reading goroutine only:
	fetch     *fetch         // of the stream
	resp      *http.Response // of the stream
	total     int64          // size of the file; -1 if unknown
	until     int64          // end of the range of the stream; 0 if it is the whole file
	read      int64          // bytes that Read has returned
	fresh     int64          // bytes of read that came from the stream
	failed    int            // successive attempts without a new byte
	pending   error          // error of the stream after bytes that Read has returned
	err       error          // final error
	validator validator
	sum       maphash.Hash // of the returned bytes; against accidents, not attacks

	resumes atomic.Int64
	mu      sync.Mutex // guards stream, against Close
	stream  *stream    // nil after the end
	closed  bool
}

// errClosed is the cause of the context after Close.
var errClosed = fmt.Errorf("body is closed: %w", os.ErrClosed)

// Open starts a download. Timeout of the client limits the wait for the headers, and Idle the wait for
// more bytes. The context also applies to reading. The caller must close the body. The body is not
// decompressed.
//
// The error, also of Read except io.EOF, is a [*failure.RequestError]. Any other status than 2xx is an
// error. A body longer than r.Limit is fault.ErrTooLarge.
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
	b.setStream(resp)
	return b, nil
}

// Unusable closes the body and returns the [*failure.RequestError] of an answer with an invalid status
// or header.
func (b *Body) Unusable(err error) error {
	b.Close()
	return b.fetch.fail(b.resp.Request.URL, b.resp, err)
}

// Resumes returns the number of times the download has resumed. It may be called concurrently with
// Read.
func (b *Body) Resumes() int { return int(b.resumes.Load()) }

// Close ends the download, also during a Read in another goroutine. It always returns nil.
func (b *Body) Close() error {
	b.end(errClosed)
	return nil
}

// end closes the stream.
func (b *Body) end(why error) {
	b.cancel(why)
	b.mu.Lock()
	s := b.stream
	b.stream, b.closed = nil, true
	b.mu.Unlock()
	if s != nil {
		_ = s.Close()
	}
}

// setStream makes the body of resp the stream.
func (b *Body) setStream(resp *http.Response) {
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

// Read reads the next bytes. Any error is final. Calls must not overlap.
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

// next reads from the stream.
func (b *Body) next(p []byte) (int, error) {
	if b.total >= 0 && b.read >= b.total {
		return 0, io.EOF
	}
	if b.pending != nil {
		return 0, b.checkEOF(b.pending)
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
		return 0, fmt.Errorf("%w: body exceeds %d bytes", fault.ErrTooLarge, l)
	}
	_, _ = b.sum.Write(p[:n]) // never fails
	b.read += int64(n)
	b.fresh += int64(n)
	return n, b.checkEOF(err)
}

// checkEOF replaces an early io.EOF by io.ErrUnexpectedEOF.
func (b *Body) checkEOF(err error) error {
	if err == io.EOF && b.read < max(b.total, b.until) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// window returns the part of p that may be filled: up to the declared size and the limit. At the limit
// it has one byte, to detect a longer body.
func (b *Body) window(p []byte) []byte {
	if b.total >= 0 {
		p = p[:min(int64(len(p)), b.total-b.read)]
	}
	if l := b.fetch.req.Limit; l > 0 {
		p = p[:min(int64(len(p)), max(1, l-b.read))]
	}
	return p
}

// fail returns the *failure.RequestError of a download that cannot resume.
func (b *Body) fail(err error) error {
	e := b.fetch.fail(b.resp.Request.URL, b.resp, err)
	e.Attempts = b.failed
	return e
}
