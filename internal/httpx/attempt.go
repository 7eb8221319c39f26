package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
)

// answer is what an attempt brought: a document, an open stream, or a status
// that is no success.
type answer struct {
	status  int
	header  http.Header
	url     *url.URL // that answered
	length  int64    // declared, -1: not
	after   time.Duration
	body    []byte  // of a document
	stream  *stream // of a package
	message string  // of a status that is no success
}

// success reports whether the body is what was asked for. The rest of a package
// is a success only to the one who asked for a range, which sees to that itself.
func (a *answer) success() bool { return a.body != nil || a.stream != nil }

// attempt makes one request, follows its redirects, and reads what is to be
// read at once, all within the timeout.
func (f *fetch) attempt() (*answer, error) {
	limit, what := f.client.headerTimeout(), "no answer"
	if f.whole {
		limit, what = f.client.documentTimeout(), "no complete answer"
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	left := newPatience(limit, func() { cancel(&timeoutError{what, limit}) })
	streaming := false
	defer func() {
		left.stop()
		if !streaming {
			cancel(nil)
		}
	}()

	resp, err := f.send(context.WithValue(ctx, patienceKey{}, left))
	if err != nil {
		return nil, cause(ctx, unanswered(err))
	}
	a, err := f.receive(resp)
	if err != nil {
		return nil, cause(ctx, err)
	}
	if a.stream == nil {
		return a, nil
	}
	if !left.stop() { // the time was up just as the headers came, and ctx may end only now
		_ = resp.Body.Close()
		return nil, cause(ctx, &timeoutError{what, limit})
	}
	a.stream.start(ctx, cancel, f.client.idleTimeout())
	streaming = true
	return a, nil
}

// cause returns why ctx ended, if it did, in place of the error that came of it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !isA[permanentError](err) {
		return context.Cause(ctx)
	}
	return err
}

// unanswered puts into words what net/http reports as a bare "EOF".
func unanswered(err error) error {
	if u, ok := err.(*url.Error); ok && u.Err == io.EOF {
		return fmt.Errorf("the connection was closed without an answer: %w", io.EOF)
	}
	return err
}

// send makes the request and follows its redirects.
func (f *fetch) send(ctx context.Context) (*http.Response, error) {
	t := &trail{f: f, url: f.url, credentialed: f.authorization() != ""}
	defer func() { f.at = t.url }()
	hc := http.Client{Transport: sharedTransport()}
	if f.client.HTTP != nil {
		hc = *f.client.HTTP
		if hc.Transport == nil {
			hc.Transport = http.DefaultTransport
		}
	}
	hc.Transport = locationGuard{f, hc.Transport}
	hc.CheckRedirect = t.follow
	hc.Timeout = 0 // ours includes it

	req := (&http.Request{
		Method: http.MethodGet,
		URL:    f.url,
		Host:   f.url.Host,
		Header: f.header.Clone(),
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := hc.Do(req)
	if resp != nil {
		f.status = resp.StatusCode // also of a redirect that was refused
		f.after = RetryAfter(resp.Header, time.Now())
		f.refused(t, resp.StatusCode)
	}
	return resp, err
}

// receive turns a response into an answer. It closes the body, unless that
// becomes the stream of a package.
func (f *fetch) receive(resp *http.Response) (*answer, error) {
	a := &answer{
		status: resp.StatusCode,
		header: resp.Header,
		url:    f.at,
		length: resp.ContentLength, // -1 where the transport has decompressed
		after:  f.after,
	}
	wanted := a.status/100 == 2 && (a.status != http.StatusPartialContent || f.header.Get("Range") != "")
	switch {
	case !wanted:
		defer resp.Body.Close()
		a.message = f.readMessage(resp)
		return a, nil
	case f.req.Limit > 0 && a.length > f.req.Limit:
		_ = resp.Body.Close() // unread on purpose
		return nil, fmt.Errorf("%w: %d bytes are declared, %d are allowed", fault.ErrTooLarge, a.length, f.req.Limit)
	case !f.whole:
		a.stream = &stream{body: resp.Body}
		return a, nil
	}
	defer resp.Body.Close()
	var err error
	a.body, err = readAll(resp.Body, a.length, f.req.Limit)
	return a, err
}

// readAll reads a body of declared length (-1: none), and one byte more than
// limit to see whether it is too large. The result is never nil without an error.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max(limit, limit+1))) // the sum may overflow
	n := int64(len(data))
	switch {
	case n > limit:
		return nil, fmt.Errorf("%w: more than %d bytes", fault.ErrTooLarge, limit)
	case err == nil && n < length:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, broken(err, n)
	}
	return data, nil
}

// broken says that a body ended early, and where.
func broken(err error, at int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the body ends early, after %d bytes: %w", at, err)
	}
	return fmt.Errorf("reading the body after %d bytes: %w", at, err)
}
