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

// atOnce is how many new bytes a stream must have brought for the next one to
// be asked for without a wait. Without such a bound, a server that breaks off
// after each byte would be asked in a tight loop.
const atOnce = 64 << 10

// resume takes the transfer up again after err broke it. It returns nil when
// reading can go on, io.EOF when it turns out that nothing was missing, and an
// *failure.RequestError otherwise.
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
		if b.fresh < atOnce {
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

// reopen asks for what is missing and makes the answer the present stream. An
// error that is no *failure.RequestError means that the new stream broke before it brought
// anything new.
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
	b.take(resp)
	b.pending = end
	b.resumes.Add(1)
	f.log("http resume", f.secrets.url(resp.Request.URL), nil, slog.Int("status", resp.StatusCode), slog.Int64("offset", b.read), slog.Int64("skipped", skip))
	return nil
}

// rejected deals with an answer that is no success. Where bytes beyond the last
// one of a file of unknown length were asked for, that may mean its end.
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
		return b.fetch.fail(resp.Request.URL, resp, changed("status %d to a request for the bytes from %d on", resp.StatusCode, b.read))
	}
	return b.fetch.rejected(resp)
}

// accept checks that an answer carries on the file that was begun, and returns
// how many of its bytes are known already.
func (b *Body) accept(resp *http.Response) (skip int64, err error) {
	if b.validator.differs(newValidator(resp.Header, time.Now())) {
		return 0, changed("its entity tag or date is another")
	}
	total := resp.ContentLength
	switch resp.StatusCode {
	case http.StatusPartialContent:
		r, ok := parseContentRange(resp.Header.Get("Content-Range"))
		if !ok || r.first != b.read || resp.ContentLength >= 0 && resp.ContentLength != r.last-r.first+1 {
			return 0, changed("the bytes from %d on were asked for, and the answer is %q of length %d",
				b.read, weburl.Clean(resp.Header.Get("Content-Range"), 80), resp.ContentLength)
		}
		total, b.until = r.total, r.last+1
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		skip, b.until = b.read, 0
	default:
		return 0, changed("status %d to a request for the bytes from %d on", resp.StatusCode, b.read)
	}
	switch {
	case total < 0:
		return skip, nil
	case b.total < 0 && total >= b.read:
		b.total = total
	case total != b.total:
		return 0, changed("it has %d bytes, and had %d", total, max(b.total, b.read))
	}
	if l := b.fetch.req.Limit; l > 0 && total > l {
		return 0, fmt.Errorf("%w: it has %d bytes, %d are allowed", fault.ErrTooLarge, total, l)
	}
	return skip, nil
}

// changed is an error that says by what it shows that the file is not the same.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{fault.ErrChanged}, args...)...)
}

// skip reads past the first n bytes of resp and compares them with what was delivered,
// whatever the validators say: this answer may have none, and is what If-Range brings
// where the file is another. The error end, if not nil, came with the last of these bytes.
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
			return nil, changed("it is shorter than what was read of it")
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
	if sum.Sum64() != b.sum.Sum64() {
		return nil, changed("its first %d bytes are others", b.read)
	}
	return end, nil
}
