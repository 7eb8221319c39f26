package httpx

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

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
			b.failed = 0
		}
		b.failed++
		if !transient(err) || b.failed >= b.fetch.client.maxAttempts(false) {
			return b.fail(interrupted(err, b.read))
		}
		if b.fresh < noWait {
			if ended := sleep(b.ctx, backoff(b.failed-1, nil)); ended != nil {
				return b.fail(withLast(ended, b.fetch.secrets.scrub(err)))
			}
		}
		b.fresh = 0
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
	f, err := newFetch(b.ctx, b.fetch.client, b.fetch.req, false)
	if err != nil {
		return err
	}
	f.earlier = b.failed
	if b.read > 0 {
		f.header.Set("Range", fmt.Sprintf("bytes=%d-", b.read))
		if b.validator.ifRange != "" {
			f.header.Set("If-Range", b.validator.ifRange)
		}
	}
	resp, err := f.do()
	b.failed += f.made - 1
	if err != nil {
		return err
	}
	b.fetch, b.resp = f, resp
	if !f.isSuccess(resp) {
		return b.rejected(resp)
	}
	skip, err := b.accept(resp)
	if err != nil {
		_ = resp.Body.Close()
		return b.fail(err)
	}
	end, err := b.skip(resp, skip)
	if err != nil {
		_ = resp.Body.Close()
		if errors.Is(err, fault.ErrChanged) {
			return b.fail(err)
		}
		return err
	}
	b.setStream(resp)
	b.pending = end
	b.resumes.Add(1)
	f.log("http resume", f.secrets.url(resp.Request.URL), nil, slog.Int("status", resp.StatusCode), slog.Int64("offset", b.read), slog.Int64("skipped", skip))
	return nil
}

// rejected returns the error of an unsuccessful response. If the size of the file was unknown, status
// 416 may mean that the download was complete: io.EOF.
func (b *Body) rejected(resp *http.Response) error {
	switch {
	case b.read == 0:
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		r, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if ok && b.total < 0 && r.total == b.read && !b.validator.differs(newValidator(resp.Header, time.Now())) {
			return io.EOF
		}
		fallthrough
	case resp.StatusCode == http.StatusPreconditionFailed:
		return b.fetch.fail(resp.Request.URL, resp, changed("status %d for the bytes from %d", resp.StatusCode, b.read))
	}
	return b.fetch.rejected(resp)
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
		return 0, fmt.Errorf("%w: file has %d bytes, limit is %d", fault.ErrTooLarge, total, l)
	}
	return skip, nil
}

// changed returns the error of a changed file.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fault.ErrChanged}, args...)...)
}

// skip reads the first n bytes of resp and compares them with the bytes that Read has returned. It
// does not rely on validators: with If-Range, the server sends the whole file if it has changed.
// The error end, if not nil, came with the last of the n bytes.
func (b *Body) skip(resp *http.Response, n int64) (end, err error) {
	if n == 0 {
		return nil, nil
	}
	var sum maphash.Hash
	sum.SetSeed(b.sum.Seed())
	buf := make([]byte, min(n, 32<<10))
	for n > 0 {
		m, err := resp.Body.Read(buf[:min(n, int64(len(buf)))])
		_, _ = sum.Write(buf[:m]) // never fails
		n -= int64(m)
		switch {
		case err != nil && n == 0:
			end = err
		case err == io.EOF && resp.ContentLength < 0:
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
