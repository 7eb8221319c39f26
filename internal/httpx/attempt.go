package httpx

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// attempt is one request with its redirects. It is also the transport of its http.Client.
type attempt struct {
	*fetch
	timer *timer
	next  http.RoundTripper

	hopURL       *url.URL       // of the last hop
	answer       *http.Response // of the last hop; may be nil
	credentialed bool           // whether the last hop had the token or the login
}

// attempt makes one request within the timeout. The body of the response is a [*stream] for a
// package, otherwise a [buffered].
func (f *fetch) attempt() (*http.Response, *failure.RequestError) {
	limit, what := f.client.headerTimeout(), "no answer"
	if f.document {
		limit, what = f.client.documentTimeout(), "no complete answer"
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	timeout := timeoutError(what, limit)
	a := &attempt{
		fetch:        f,
		timer:        startTimer(limit, func() { cancel(timeout) }),
		hopURL:       f.url,
		credentialed: f.authorization() != "",
	}
	resp, err := a.send(ctx)
	if err == nil {
		err = f.receive(resp)
	}
	inTime := a.timer.stop()
	if err == nil && !f.document && f.isSuccess(resp) {
		if inTime {
			resp.Body = newStream(ctx, cancel, resp.Body, max(0, cmp.Or(f.client.Idle, defaultIdle)))
			return resp, nil
		}
		_ = resp.Body.Close()
		err = timeout // at the same time as the headers
	}
	defer cancel(nil)
	if err != nil {
		return nil, f.fail(a.hopURL, a.answer, cause(ctx, err))
	}
	return resp, nil
}

// cause returns the cause of ctx if it has ended and the error results from that, or err. A timeout of
// the transport itself is no error of a context.
func cause(ctx context.Context, err error) error {
	switch {
	case isA[*redirectError](err):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		if u, ok := err.(*url.Error); ok {
			err = u.Err
		}
		return fault.Narrow(err.Error(), os.ErrDeadlineExceeded)
	}
	return err
}

// send makes the request and follows redirects.
func (a *attempt) send(ctx context.Context) (*http.Response, error) {
	hc := http.Client{Transport: sharedTransport()}
	if a.client.HTTP != nil {
		hc = *a.client.HTTP
		if hc.Transport == nil {
			hc.Transport = http.DefaultTransport
		}
	}
	a.next, hc.Transport = hc.Transport, a
	hc.CheckRedirect = a.follow
	hc.Timeout = 0 // part of documentTimeout

	req := (&http.Request{
		Method: http.MethodGet,
		URL:    a.url,
		Host:   a.url.Host,
		Header: a.header.Clone(),
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := hc.Do(req)
	if u, ok := err.(*url.Error); ok && u.Err == io.EOF {
		return nil, fmt.Errorf("connection was closed without an answer: %w", io.EOF)
	}
	if err != nil {
		return nil, err
	}
	a.invalidateToken(resp.StatusCode)
	return resp, nil
}

// RoundTrip makes the request of one hop. It refuses a redirect to an invalid URL, because net/http
// would report it unredacted.
func (a *attempt) RoundTrip(req *http.Request) (*http.Response, error) {
	a.hopURL, a.answer = req.URL, nil
	a.overHTTP = a.overHTTP || req.URL.Scheme != "https"
	resp, err := RoundTrip(a.next, req, a.timer.pause)
	if err != nil || resp == nil {
		return resp, err
	}
	resp.Request = req
	a.answer = resp
	if loc := resp.Header.Get("Location"); loc != "" && resp.StatusCode/100 == 3 {
		if _, err := req.URL.Parse(loc); err != nil {
			if resp.Body != nil {
				_ = resp.Body.Close()
			}
			return nil, &redirectError{weburl.Ellipsis, errors.New("the Location header is not a URL")}
		}
	}
	return resp, nil
}

// isSuccess reports whether a response has the requested body. Status 206 is a success only after
// a request for a range.
func (f *fetch) isSuccess(resp *http.Response) bool {
	return resp.StatusCode/100 == 2 && (resp.StatusCode != http.StatusPartialContent || f.header.Get("Range") != "")
}

// receive reads the body of a document or the message of the server about a failure.
func (f *fetch) receive(resp *http.Response) error {
	body, limit := resp.Body, f.req.Limit
	switch {
	case !f.isSuccess(resp):
		defer body.Close()
		resp.Body = newBuffered([]byte(f.readMessage(resp)))
	case limit > 0 && resp.ContentLength > limit:
		_ = body.Close()
		return fmt.Errorf("%w: body has %d bytes, limit is %d", fault.ErrTooLarge, resp.ContentLength, limit)
	case f.document:
		defer body.Close()
		data, err := readAll(body, resp.ContentLength, limit)
		if err != nil {
			return err
		}
		resp.Body = newBuffered(data)
	}
	return nil
}

// buffered is a body in memory.
type buffered struct {
	*bytes.Reader
	data []byte
}

func newBuffered(data []byte) buffered { return buffered{bytes.NewReader(data), data} }

func (b buffered) Close() error { return nil }

// readAll reads a body of at most limit bytes. The declared length may be -1. The result is not nil
// unless there is an error.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max(limit, limit+1))) // limit+1 may overflow
	n := int64(len(data))
	switch {
	case n > limit:
		return nil, fmt.Errorf("%w: body exceeds %d bytes", fault.ErrTooLarge, limit)
	case err == nil && n < length:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, interrupted(err, n)
	}
	return data, nil
}

// interrupted returns the error of an incomplete body.
func interrupted(err error, at int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("body ends early, after %d bytes: %w", at, err)
	}
	return fmt.Errorf("read body after %d bytes: %w", at, err)
}
