package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Body is a download that resumes. If the connection breaks, is idle for the timeout, or ends early,
// Read requests the rest from the first URL, because the target of a redirect may have expired, and
// continues. So a hash over the bytes stays correct.
//
// The request has Range, and If-Range if the server sent a strong validator. If the server answers
// with the whole file, Read skips and compares the bytes that it has returned. If the file has
// changed, Read returns an error that wraps failure.ErrChanged, and the caller may start again.
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
	fetch     *fetch   // of the stream
	last      *attempt // that was answered: of the stream, or the one that failed to resume it
	total     int64    // size of the file; -1 if unknown
	until     int64    // end of the range of the stream; 0 if it is the whole file
	read      int64    // bytes that Read has returned
	fresh     int64    // bytes of read that came from the stream
	failed    int      // successive attempts without a new byte
	pending   error    // error of the stream after bytes that Read has returned
	err       error    // final error
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
// error. A body longer than r.Limit is failure.ErrTooLarge.
func (c *Client) Open(ctx context.Context, r Request) (*Body, error) {
	f, err := newFetch(ctx, c, &r, false)
	if err != nil {
		return nil, err
	}
	b := &Body{fetch: f}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	a := f.do(b.ctx)
	if a.failed != nil {
		b.cancel(a.failed)
		return nil, a.failed
	}
	b.Status, b.Size, b.URL, b.Header = a.resp.StatusCode, a.resp.ContentLength, a.url, a.resp.Header
	b.total = b.Size
	b.validator = newValidator(b.Header, time.Now())
	b.failed = f.made - 1
	b.last = a
	b.setStream(a.stream)
	return b, nil
}

// Unusable closes the body and returns the [*failure.RequestError] of an answer with an invalid status
// or header.
func (b *Body) Unusable(err error) error {
	b.Close()
	return b.fetch.fail(b.last.url, b.last.resp, err)
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

// setStream replaces the stream by s, which it closes if the body is closed.
func (b *Body) setStream(s *stream) {
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
	b.fresh, b.pending = 0, nil
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
		return 0, fmt.Errorf("%w: body exceeds %d bytes", failure.ErrTooLarge, l)
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
func (b *Body) fail(err error) *failure.RequestError {
	e := b.fetch.fail(b.last.url, b.last.resp, err)
	e.Attempts = b.failed
	return e
}

// noWait is the number of new bytes after which a download resumes without a wait. It prevents a
// tight loop with a server that interrupts the download after each byte.
const noWait = 64 << 10

// resume continues the download after err. It returns nil, io.EOF if the download was complete, or a
// *failure.RequestError.
func (b *Body) resume(err error) error {
	for {
		if context.Cause(b.ctx) == errClosed {
			return b.fail(errClosed)
		}
		if b.ctx.Err() != nil {
			return b.fail(fault.Ended(b.ctx))
		}
		if b.fresh > 0 {
			b.failed = 0 // the limit is for attempts in a row that bring nothing
		}
		b.failed++
		if !transient(err) || b.failed >= b.fetch.client.maxAttempts(false) {
			return b.fail(interrupted(err, b.read))
		}
		last := *b.last
		last.failed = b.fail(err)
		if b.fresh < noWait {
			last.wait = backoff(b.failed-1, nil)
		}
		b.fresh = 0
		ended := b.fetch.announce(b.ctx, &last)
		if ended == nil {
			ended = flight.Sleep(b.ctx, last.wait)
		}
		if ended != nil {
			return b.fail(withLast(ended, last.failed.Err))
		}
		if err = b.reopen(); err == nil || err == io.EOF {
			return err
		}
		if isA[*failure.RequestError](err) {
			return err
		}
	}
}

// reopen requests the rest of the file and makes it the stream. If the new stream breaks before a new
// byte, the error is not a *failure.RequestError.
func (b *Body) reopen() error {
	f, err := newFetch(b.ctx, b.fetch.client, b.fetch.req, false) // the token may be another by now
	if err != nil {
		return err
	}
	f.earlier = b.failed // one budget for both ways to fail
	if b.read > 0 {
		f.header.Set("Range", fmt.Sprintf("bytes=%d-", b.read))
		if b.validator.ifRange != "" {
			f.header.Set("If-Range", b.validator.ifRange)
		}
	}
	a := f.do(b.ctx)
	b.failed += f.made - 1
	if a.resp == nil {
		return a.failed
	}
	b.fetch, b.last = f, a
	if a.failed != nil {
		return b.rejected(a)
	}
	skip, err := b.accept(a.resp)
	if err != nil {
		_ = a.stream.Close()
		return b.fail(err)
	}
	end, err := b.skip(a.stream, a.resp.ContentLength, skip)
	if err != nil {
		_ = a.stream.Close()
		if errors.Is(err, failure.ErrChanged) {
			return b.fail(err)
		}
		return err
	}
	b.setStream(a.stream)
	b.pending = end
	b.resumes.Add(1)
	f.log(b.ctx, "http resume", a, slog.Int64("offset", b.read), slog.Int64("skipped", skip))
	return nil
}

// rejected returns the error of a failed attempt to resume, or what its answer says about the file. If the
// size of the file was unknown, status 416 may mean that the download was complete: io.EOF.
func (b *Body) rejected(a *attempt) error {
	if b.read == 0 || b.ctx.Err() != nil {
		return a.failed
	}
	switch a.resp.StatusCode {
	case http.StatusRequestedRangeNotSatisfiable:
		r, ok := parseContentRange(a.resp.Header.Get("Content-Range"))
		if ok && b.total < 0 && r.total == b.read && !b.validator.differs(newValidator(a.resp.Header, time.Now())) {
			return io.EOF
		}
	case http.StatusPreconditionFailed:
	default:
		return a.failed
	}
	return a.failed.Because(changed("status %d for the bytes from %d", a.resp.StatusCode, b.read))
}

// accept checks that a response continues the file, and returns the number of its bytes that Read has
// returned before.
func (b *Body) accept(resp *http.Response) (skip int64, err error) {
	now := newValidator(resp.Header, time.Now())
	if b.validator.differs(now) {
		return 0, changed("entity tag or date differs")
	}
	total := resp.ContentLength
	switch resp.StatusCode {
	case http.StatusPartialContent:
		if b.validator.etag != "" && now.etag == "" {
			return 0, changed("entity tag is missing") // a part must have it (RFC 9110, section 15.3.7)
		}
		r, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if !ok || r.first != b.read || resp.ContentLength >= 0 && resp.ContentLength != r.last-r.first+1 {
			return 0, changed("requested the bytes from %d, got range %q of length %d",
				b.read, weburl.Clean(resp.Header.Get("Content-Range"), 80), resp.ContentLength)
		}
		total, b.until = r.total, r.last+1
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		skip, b.until = b.read, 0
	default:
		return 0, changed("status %d for the bytes from %d", resp.StatusCode, b.read)
	}
	switch {
	case total < 0:
		return skip, nil
	case b.total < 0 && total >= b.read:
		b.total = total
	case total != b.total:
		return 0, changed("file has %d bytes, had %d", total, max(b.total, b.read))
	}
	if l := b.fetch.req.Limit; l > 0 && total > l {
		return 0, fmt.Errorf("%w: file has %d bytes, limit is %d", failure.ErrTooLarge, total, l)
	}
	return skip, nil
}

// changed returns the error of a changed file.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{failure.ErrChanged}, args...)...)
}

// skip reads the first n bytes of a body, whose declared length may be -1, and compares them with the bytes that Read has returned. It
// does not rely on validators: with If-Range, the server sends the whole file if it has changed.
// The error end, if not nil, came with the last of the n bytes.
func (b *Body) skip(body io.Reader, length, n int64) (end, err error) {
	if n == 0 {
		return nil, nil
	}
	var sum maphash.Hash
	sum.SetSeed(b.sum.Seed())
	buf := make([]byte, min(n, 32<<10))
	for n > 0 {
		m, err := body.Read(buf[:min(n, int64(len(buf)))])
		_, _ = sum.Write(buf[:m]) // never fails
		n -= int64(m)
		switch {
		case err != nil && n == 0:
			end = err
		case err == io.EOF && length < 0:
			return nil, changed("file is shorter than the bytes read so far")
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
	if sum.Sum64() != b.sum.Sum64() {
		return nil, changed("first %d bytes differ", b.read)
	}
	return end, nil
}

// stream is the body of a package.
type stream struct {
	body   io.ReadCloser
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	idle   time.Duration // limits each read, unless 0
	timer  *time.Timer   // cancels ctx; runs during a read
}

// newStream returns the body of a request with ctx, which cancel ends.
func (f *fetch) newStream(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser) *stream {
	s := &stream{body: body, ctx: ctx, cancel: cancel, idle: max(0, cmp.Or(f.client.Idle, defaultIdle))}
	if s.idle > 0 {
		s.timer = time.AfterFunc(s.idle, func() { s.cancel(timeoutError("no data", s.idle)) })
		s.timer.Stop()
	}
	return s
}

// Read reads from the body. If the context has ended, the error is its cause.
func (s *stream) Read(p []byte) (int, error) {
	if s.timer != nil {
		s.timer.Reset(s.idle)
		defer s.timer.Stop()
	}
	n, err := s.body.Read(p)
	if err != nil && err != io.EOF {
		err = causeOf(s.ctx, err)
	}
	return n, err
}

// Close closes the body.
func (s *stream) Close() error {
	s.cancel(nil)
	return s.body.Close()
}

// validator identifies a version of a file.
type validator struct {
	etag     string
	modified string
	ifRange  string // value of If-Range; may be empty
}

// newValidator returns the validator of an answer at the time now. If-Range is a strong entity tag, or
// a modification date at least a second before the answer: a later date may belong to two versions
// (RFC 9110, sections 8.8.2.2 and 13.1.5).
func newValidator(h http.Header, now time.Time) validator {
	v := validator{etag: h.Get("ETag"), modified: h.Get("Last-Modified")}
	if v.etag != "" {
		if strings.HasPrefix(v.etag, `"`) {
			v.ifRange = v.etag
		}
		return v
	}
	modified, err := http.ParseTime(v.modified)
	if err != nil {
		return v
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if now.Sub(modified) >= time.Second {
		v.ifRange = v.modified
	}
	return v
}

// differs reports whether v and w are validators of different versions.
func (v validator) differs(w validator) bool {
	if v.etag != "" && w.etag != "" {
		return strings.TrimPrefix(v.etag, "W/") != strings.TrimPrefix(w.etag, "W/")
	}
	return v.modified != "" && w.modified != "" && v.modified != w.modified
}

// contentRange is a Content-Range header. If first is -1, the range is not satisfiable. If total is
// -1, the size is unknown.
type contentRange struct{ first, last, total int64 }

var contentRangeForm = regexp.MustCompile(`^(?i:bytes) +(?:(\d+)-(\d+)|\*)/(\d+|\*)$`)

// parseContentRange parses "bytes 5-9/10", "bytes 5-9/*" and "bytes */10".
func parseContentRange(s string) (r contentRange, ok bool) {
	m := contentRangeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return r, false
	}
	r = contentRange{-1, -1, -1}
	for i, field := range []*int64{&r.first, &r.last, &r.total} {
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err == nil {
			*field = n
		} else if errors.Is(err, strconv.ErrRange) {
			return r, false
		}
	}
	if r.first < 0 {
		return r, r.total >= 0
	}
	return r, r.first <= r.last && (r.total < 0 || r.last < r.total)
}
