package httpx

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// fetch is a request with all its attempts.
type fetch struct {
	client   *Client
	req      *Request
	ctx      context.Context
	document bool // whether the attempt reads the body

	url         *url.URL         // of the first hop
	header      http.Header      // of the first hop
	token       string           // may be empty
	tokenHost   svchost.Hostname // zero if token is empty
	tokenLookup bool             // whether Credentials was called
	login       string           // basic credentials; may be empty
	secrets     secrets

	overHTTP bool // whether a hop of the last attempt was http

	earlier int // failed attempts before this fetch
	made    int // attempts of this fetch
}

// newFetch checks the request and finds its credentials. The error is a *failure.RequestError.
func newFetch(ctx context.Context, c *Client, r *Request, document bool) (*fetch, error) {
	f := &fetch{client: c, req: r, ctx: ctx, document: document, url: r.URL}
	if r.URL != nil {
		f.secrets.addURL(r.URL)
	}
	if err := ctx.Err(); err != nil {
		return nil, f.fail(r.URL, nil, fault.Ended(ctx))
	}
	u, err := c.Admit(r.URL)
	if err != nil {
		return nil, f.fail(r.URL, nil, err)
	}
	if presigned(u, svchost.Hostname{}) {
		u.User = nil
	}
	f.url = u
	if err := f.findToken(); err != nil {
		return nil, f.fail(u, nil, err)
	}
	f.findLogin()
	f.header = f.firstHeader()
	return f, nil
}

// firstHeader returns the headers of the request.
func (f *fetch) firstHeader() http.Header {
	h := make(http.Header)
	h.Set("Accept", cmp.Or(f.req.Accept, "*/*"))
	h.Set("User-Agent", cmp.Or(f.client.UserAgent, userAgent()))
	if a := f.authorization(); a != "" {
		h.Set("Authorization", a)
	}
	if !f.document {
		// Lengths and ranges must refer to the bytes in the body.
		h.Set("Accept-Encoding", "identity")
	}
	return h
}

// run makes attempts and returns a successful response. The error is a *failure.RequestError.
func (f *fetch) run() (*http.Response, error) {
	resp, err := f.do()
	if err == nil && !f.isSuccess(resp) {
		return nil, f.rejected(resp)
	}
	return resp, err
}

// do makes attempts and returns the last response, also if it is not successful.
func (f *fetch) do() (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(f.ctx) // ends a wait that exceeds the deadline
	defer cancel(nil)
	var last *failure.RequestError
	rc := &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport: attempts{f},
			// attempt follows redirects.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax: max(0, f.client.maxAttempts(f.document)-f.earlier-1),
		CheckRetry: func(_ context.Context, resp *http.Response, err error) (bool, error) {
			if err == nil && f.isSuccess(resp) {
				return false, nil
			}
			before := last
			last = f.failed(resp, err)
			if f.ctx.Err() != nil {
				return false, f.ended(last, before)
			}
			return resp != nil && transientStatus(resp.StatusCode) || err != nil && transient(last.Err), nil
		},
		Backoff: func(_, _ time.Duration, n int, resp *http.Response) time.Duration {
			wait := backoff(f.earlier+n, resp)
			if err := checkDeadline(ctx, wait); err != nil {
				cancel(err)
			} else {
				f.log("http retry", last.URL, last.Err, slog.Duration("wait", wait))
			}
			return wait
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := (&http.Request{Method: http.MethodGet, URL: f.url, Header: http.Header{}}).WithContext(ctx)
	resp, err := rc.Do(&retryablehttp.Request{Request: req})
	switch err {
	case nil:
		return resp, nil
	case ctx.Err(): // during a wait
		why := context.Cause(ctx)
		if f.ctx.Err() != nil {
			why = fault.Ended(f.ctx)
		}
		return nil, last.Because(withLast(why, last.Err))
	}
	return nil, f.failed(nil, err)
}

// attempts is the transport of the retrying client. Each round trip is an attempt. The retrying
// client reads the bodies of failed attempts without a timeout, so they are in memory. It calls
// CloseIdleConnections when it gives up, so attempts does not have that method.
type attempts struct{ *fetch }

func (f attempts) RoundTrip(*http.Request) (*http.Response, error) {
	f.made++
	f.overHTTP = false
	started := time.Now()
	resp, e := f.attempt()
	took := slog.Duration("took", time.Since(started))
	if e != nil {
		f.log("http request", e.URL, e.Err, slog.Int("status", e.Status), took)
		return nil, e
	}
	f.log("http request", f.secrets.url(resp.Request.URL), nil, slog.Int("status", resp.StatusCode), took)
	return resp, nil
}

// failed returns the error of an attempt with the result (resp, err).
func (f *fetch) failed(resp *http.Response, err error) *failure.RequestError {
	if err == nil {
		return f.rejected(resp)
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		return e
	}
	return f.fail(f.url, nil, err)
}

// rejected returns the error of an unsuccessful response.
func (f *fetch) rejected(resp *http.Response) *failure.RequestError {
	return f.fail(resp.Request.URL, resp, statusError(resp.StatusCode, messageOf(resp)))
}

// ended returns the error of an attempt during which the context ended. It includes the failure of
// the attempt before if this one failed because of the context.
func (f *fetch) ended(e, before *failure.RequestError) *failure.RequestError {
	last := e.Err
	if errors.Is(last, f.ctx.Err()) || errors.Is(last, context.Cause(f.ctx)) {
		last = nil
		if before != nil {
			last = before.Err
		}
	}
	return e.Because(withLast(fault.Ended(f.ctx), last))
}

// fail returns the error of this fetch. The last request was for u, and resp is its response or nil.
func (f *fetch) fail(u *url.URL, resp *http.Response, err error) *failure.RequestError {
	e := &failure.RequestError{
		URL:      f.secrets.url(u),
		HadToken: f.token != "" && f.made > 0,
		Attempts: f.earlier + f.made,
		Err:      f.secrets.scrub(err),
	}
	if resp != nil {
		e.Status, e.RetryAfter = resp.StatusCode, RetryAfter(resp.Header, time.Now())
		if !f.isSuccess(resp) {
			e.Message = messageOf(resp)
		}
	}
	return e
}

// log writes a debug record about the last attempt.
func (f *fetch) log(msg, shownURL string, err error, attrs ...slog.Attr) {
	l := f.client.Logger
	if l == nil || !l.Enabled(f.ctx, slog.LevelDebug) {
		return
	}
	attrs = append(attrs, slog.String("url", shownURL), slog.Int("attempt", f.earlier+f.made))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	l.LogAttrs(f.ctx, slog.LevelDebug, msg, attrs...)
}
