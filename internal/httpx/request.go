package httpx

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/transport"
)

// Defaults of the fields of a Client and a Request.
const (
	defaultTimeout   = 10 * time.Second
	defaultIdle      = 30 * time.Second
	defaultRetries   = 2
	defaultRedirects = 10
)

// Client makes requests with the settings of a transport.Client.
type Client transport.Client

// New returns a Client with the settings of t. If t is nil, it is the zero Client.
func New(t *transport.Client) *Client {
	if t == nil {
		t = &transport.Client{}
	}
	return (*Client)(t)
}

// Request is a GET request.
type Request struct {
	// URL is the requested URL. User information is sent as basic credentials, over https only.
	URL *url.URL

	// Accept is the requested media type. If empty, any type is accepted.
	Accept string

	// TokenFor is the host whose token is sent. If zero, no token is sent.
	TokenFor svchost.Hostname

	// Login, if not nil, returns the user and password for the host of URL. They are sent as
	// basic credentials if there is neither a token nor user information in URL. Login is not
	// called if the rules of the package comment forbid credentials.
	Login func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	// Limit is the maximum size of the decompressed body, in bytes. Get requires it. For Open, zero
	// means that the size is not limited.
	Limit int64

	// Redirects is the maximum number of redirects. If zero, it is 10. If negative, redirects are
	// refused.
	Redirects int
}

// maxAttempts returns the maximum number of attempts for a document or a package.
func (c *Client) maxAttempts(document bool) int {
	retries := c.Retries
	if !document {
		retries = cmp.Or(c.ArchiveRetries, retries)
	}
	return 1 + min(max(0, cmp.Or(retries, defaultRetries)), 1<<30)
}

// headerTimeout limits the wait for the headers of a package, unless it is 0.
func (c *Client) headerTimeout() time.Duration {
	return max(0, cmp.Or(c.Timeout, defaultTimeout))
}

// documentTimeout limits an attempt for a document, unless it is 0.
func (c *Client) documentTimeout() time.Duration {
	d := c.headerTimeout()
	if c.HTTP == nil || c.HTTP.Timeout <= 0 {
		return d
	}
	if d == 0 {
		return c.HTTP.Timeout
	}
	return min(d, c.HTTP.Timeout)
}

// Response is a document. Its status is 2xx, but not 206.
type Response struct {
	Status   int
	Header   http.Header
	URL      *url.URL // after redirects, the base of relative URLs
	Body     []byte   // never nil
	HadToken bool     // whether the first URL was requested with a token
	OverHTTP bool     // whether a hop was http, so that the network may have chosen the document
	Attempts int      // number of attempts

	secrets secrets
}

// ShownURL returns the redacted URL.
func (r *Response) ShownURL() string { return r.secrets.url(r.URL) }

// Fail returns the error of a request that had an answer.
func (r *Response) Fail(err error) *failure.RequestError {
	return &failure.RequestError{URL: r.ShownURL(), Status: r.Status, HadToken: r.HadToken, Attempts: r.Attempts, Err: err}
}

// Unusable is Fail for an answer that violates the protocol. It returns err unchanged if it is a
// *failure.RequestError, such as an error of [Response.DecodeJSON].
func (r *Response) Unusable(err error) error {
	if e, ok := err.(*failure.RequestError); ok {
		return e
	}
	return r.Fail(fmt.Errorf("unusable answer: %w", err))
}

// Refusal returns err if it may mean that the server does not have the requested object: status 404,
// of some servers 400 or 500. Otherwise it returns nil, also for an error that wraps a
// *failure.RequestError, such as an error of discovery.
func Refusal(err error) *failure.RequestError {
	e, ok := err.(*failure.RequestError)
	if ok && (errors.Is(e.Err, failure.ErrNotFound) || e.Status == http.StatusBadRequest || e.Status == http.StatusInternalServerError) {
		return e
	}
	return nil
}

// Get returns a document of at most r.Limit bytes. Any other status than 2xx, and status 206, is an
// error. The error is a [*failure.RequestError].
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	q, err := c.Prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	return q.Get(ctx)
}

// Prepared is a request for a document, with its credentials.
type Prepared struct{ fetch *fetch }

// Credentials identifies the credentials of a request, without revealing them.
type Credentials [sha256.Size]byte

// Prepare is the first half of Get: it checks the request and finds its credentials.
func (c *Client) Prepare(ctx context.Context, r Request) (*Prepared, error) {
	f, err := newFetch(ctx, c, &r, true)
	if err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		return nil, f.fail(f.url, nil, errors.New("Request.Limit is missing"))
	}
	return &Prepared{f}, nil
}

// Credentials returns the same value for requests with the same credentials.
func (p *Prepared) Credentials() Credentials {
	return sha256.Sum256([]byte(p.fetch.tokenHost.String() + " " + p.fetch.authorization()))
}

// Get is the second half of [Client.Get]. It must be called once at most.
func (p *Prepared) Get(ctx context.Context) (*Response, error) {
	f := p.fetch
	f.ctx = ctx
	resp, err := f.do()
	if err != nil {
		return nil, err
	}
	return &Response{
		Status:   resp.StatusCode,
		Header:   resp.Header,
		URL:      resp.Request.URL,
		Body:     f.now.body,
		HadToken: f.token != "",
		OverHTTP: f.now.overHTTP,
		Attempts: f.made,
		secrets:  f.secrets,
	}, nil
}

// Shared requests and decodes documents. Concurrent callers share a request if it is equal and has
// the same credentials. The zero Shared is ready to use. It is safe for concurrent use.
type Shared[V any] struct {
	requests flight.Group[sharedKey, V]
}

// sharedKey identifies a request with its credentials.
type sharedKey struct {
	url, accept string
	limit       int64
	credentials Credentials
}

// Get returns the result of decode for the document that r requests. If several callers share the
// result, clone returns a copy for each of them; if clone is nil, all callers get the same value.
// Errors of decode are those of [Response.Unusable].
//
// Each caller finds its own credentials before it joins a request: they may depend on its context.
func (s *Shared[V]) Get(ctx context.Context, c *Client, r Request, clone func(V) V, decode func(context.Context, *Response) (V, error)) (v V, err error) {
	q, err := c.Prepare(ctx, r)
	if err != nil {
		return v, err
	}
	key := sharedKey{q.fetch.url.String(), r.Accept, r.Limit, q.Credentials()}
	return s.requests.Do(ctx, key, clone, func(ctx context.Context) (v V, err error) {
		resp, err := q.Get(ctx)
		if err != nil {
			return v, err
		}
		if v, err = decode(ctx, resp); err != nil {
			return v, resp.Unusable(err)
		}
		return v, nil
	})
}

// fetch is a request with all its attempts.
type fetch struct {
	client   *Client
	req      *Request
	ctx      context.Context
	document bool // whether an attempt includes the body

	url         *url.URL         // of the first hop
	header      http.Header      // of the first hop
	token       string           // may be empty
	tokenHost   svchost.Hostname // zero if token is empty
	tokenLookup bool             // whether Credentials was called
	login       string           // basic credentials; may be empty
	secrets     secrets

	earlier int      // failed attempts before this fetch
	made    int      // attempts of this fetch
	now     *attempt // the last one; nil before the first
}

// attempt is one request with its redirects.
type attempt struct {
	ctx     context.Context // ends with the time for the attempt
	cancel  context.CancelCauseFunc
	timer   *timer
	timeout error // cause of ctx after that time
	began   time.Time

	hopURL       *url.URL       // of the last hop
	answer       *http.Response // of the last hop; may be nil
	credentialed bool           // whether the last hop had the token or the login
	overHTTP     bool           // whether a hop was http
	refused      error          // of a redirect

	body    []byte // of a document
	message string // of the server about a failure
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
	h.Set("User-Agent", cmp.Or(f.client.UserAgent, UserAgent()))
	if a := f.authorization(); a != "" {
		h.Set("Authorization", a)
	}
	if !f.document {
		// Lengths and ranges must refer to the bytes in the body.
		h.Set("Accept-Encoding", "identity")
	}
	return h
}

// do makes attempts. If the last one is not successful, the error is a *failure.RequestError, and the
// response, if there was one, has no body.
func (f *fetch) do() (*http.Response, error) {
	hc := http.Client{Transport: SharedTransport()}
	if f.client.HTTP != nil {
		hc = *f.client.HTTP
		if hc.Transport == nil {
			hc.Transport = http.DefaultTransport
		}
	}
	hc.Transport = hops{f, hc.Transport}
	hc.CheckRedirect = f.follow
	hc.Timeout = 0 // part of documentTimeout

	attempts := f.client.maxAttempts(f.document)
	var failed *failure.RequestError // the last attempt; nil after a success
	var wait time.Duration
	rc := &retryablehttp.Client{
		HTTPClient: &hc,
		RetryMax:   attempts,
		RequestLogHook: func(_ retryablehttp.Logger, req *http.Request, _ int) {
			req.Header = f.header.Clone() // the client adds cookies
			f.begin()
		},
		CheckRetry: func(_ context.Context, resp *http.Response, err error) (bool, error) {
			before, again := failed, false
			failed, again = f.end(resp, err)
			switch {
			case failed == nil:
				return false, nil
			case f.ctx.Err() != nil:
				failed = f.ended(failed, before)
				return false, nil
			case !again || f.earlier+f.made >= attempts:
				return false, nil
			}
			wait = backoff(f.earlier+f.made-1, resp)
			if err := checkDeadline(f.ctx, wait); err != nil {
				failed = failed.Because(withLast(err, failed.Err))
				return false, nil
			}
			f.log("http retry", failed.URL, failed.Err, slog.Duration("wait", wait))
			return true, nil
		},
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := (&http.Request{
		Method: http.MethodGet,
		URL:    f.url,
		Host:   f.url.Host,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(f.ctx)
	resp, err := rc.Do(&retryablehttp.Request{Request: req})
	if failed == nil {
		return resp, nil
	}
	if err != nil && err == f.ctx.Err() { // during a wait
		failed = failed.Because(withLast(fault.Ended(f.ctx), failed.Err))
	}
	if err != nil {
		resp = nil // of a refused redirect
	}
	return resp, failed
}

// begin starts an attempt and its timeout.
func (f *fetch) begin() {
	limit, what := f.client.headerTimeout(), "no answer"
	if f.document {
		limit, what = f.client.documentTimeout(), "no complete answer"
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	timeout := timeoutError(what, limit)
	f.made++
	f.now = &attempt{
		ctx: ctx, cancel: cancel, timeout: timeout,
		timer:        startTimer(limit, func() { cancel(timeout) }),
		began:        time.Now(),
		hopURL:       f.url,
		credentialed: f.authorization() != "",
	}
}

// hops is the transport of a fetch. It makes the request of one hop, in the context of the attempt.
type hops struct {
	fetch *fetch
	next  http.RoundTripper
}

// RoundTrip refuses a redirect to an invalid URL, because net/http would report it unredacted.
func (h hops) RoundTrip(req *http.Request) (*http.Response, error) {
	a := h.fetch.now
	a.hopURL, a.answer = req.URL, nil
	a.overHTTP = a.overHTTP || req.URL.Scheme != "https"
	resp, err := RoundTrip(h.next, req.WithContext(a.ctx), a.timer.pause)
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
			a.refused = &redirectError{weburl.Ellipsis, errors.New("the Location header is not a URL")}
			return nil, a.refused
		}
	}
	return resp, nil
}

// end ends an attempt with the result of http.Client.Do: it reads the body of a document or the
// message about a failure. After a success it returns nil, and the attempt of a package goes on until
// its stream is closed. After a failure it reports whether another attempt may succeed.
func (f *fetch) end(resp *http.Response, err error) (failed *failure.RequestError, again bool) {
	a := f.now
	if err == nil {
		f.invalidateToken(resp.StatusCode)
		err = f.receive(resp)
	}
	inTime := a.timer.stop()
	streams := err == nil && !f.document && f.isSuccess(resp)
	if streams && !inTime {
		_ = resp.Body.Close()
		streams, err = false, a.timeout // at the same time as the headers
	}
	if !streams {
		defer a.cancel(nil)
	}
	took := slog.Duration("took", time.Since(a.began))
	if err == nil {
		f.log("http request", f.secrets.url(resp.Request.URL), nil, slog.Int("status", resp.StatusCode), took)
		if f.isSuccess(resp) {
			return nil, false
		}
		failed = f.fail(resp.Request.URL, resp, statusError(resp.StatusCode, a.message))
		return failed, transientStatus(resp.StatusCode)
	}
	if a.refused != nil {
		err = a.refused
	} else {
		err = cause(a.ctx, err)
	}
	failed = f.fail(a.hopURL, a.answer, err)
	f.log("http request", failed.URL, failed.Err, slog.Int("status", failed.Status), took)
	return failed, a.refused == nil && transient(failed.Err)
}

// receive reads the body of a document or the message of the server about a failure.
func (f *fetch) receive(resp *http.Response) (err error) {
	limit := f.req.Limit
	switch {
	case !f.isSuccess(resp):
		f.now.message = f.readMessage(resp)
	case limit > 0 && resp.ContentLength > limit:
		err = fmt.Errorf("%w: body has %d bytes, limit is %d", failure.ErrTooLarge, resp.ContentLength, limit)
	case f.document:
		f.now.body, err = readAll(resp.Body, resp.ContentLength, limit)
	default:
		return nil
	}
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	return err
}

// isSuccess reports whether a response has the requested body. Status 206 is a success only after
// a request for a range.
func (f *fetch) isSuccess(resp *http.Response) bool {
	return resp.StatusCode/100 == 2 && (resp.StatusCode != http.StatusPartialContent || f.header.Get("Range") != "")
}

// cause returns the cause of ctx if it has ended, or err as the error of an attempt. A timeout of the
// transport itself is no error of a context.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := err.(*url.Error); ok {
		err = u.Err
		if err == io.EOF {
			return fmt.Errorf("connection was closed without an answer: %w", io.EOF)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Narrow(err.Error(), os.ErrDeadlineExceeded)
	}
	return err
}

// readAll reads a body of at most limit bytes. The declared length may be -1. The result is not nil
// unless there is an error.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max(limit, limit+1))) // limit+1 may overflow
	n := int64(len(data))
	switch {
	case n > limit:
		return nil, fmt.Errorf("%w: body exceeds %d bytes", failure.ErrTooLarge, limit)
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

// fail returns the error of this fetch. The last request was for u, and resp is its response or nil.
func (f *fetch) fail(u *url.URL, resp *http.Response, err error) *failure.RequestError {
	e := &failure.RequestError{
		URL:      f.secrets.url(u),
		HadToken: f.token != "" && f.made > 0,
		Attempts: f.earlier + f.made,
		Err:      f.secrets.scrub(err),
	}
	if f.now != nil {
		e.Message = f.now.message
	}
	if resp != nil {
		e.Status, e.RetryAfter = resp.StatusCode, RetryAfter(resp.Header, time.Now())
	}
	return e
}

// ended returns the error of an attempt during which the context ended. If that is why the attempt
// failed, it does not count, and the error includes the failure of the attempt before.
func (f *fetch) ended(e, before *failure.RequestError) *failure.RequestError {
	last := e.Err
	if errors.Is(last, f.ctx.Err()) || errors.Is(last, context.Cause(f.ctx)) {
		last = nil
		if before != nil {
			last = before.Err
		}
		e.Attempts--
	}
	return e.Because(withLast(fault.Ended(f.ctx), last))
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

// statusError returns the error of a status that is not a success, with the message of the server.
func statusError(status int, message string) error {
	var kind error
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = failure.ErrUnauthorized
	case http.StatusNotFound, http.StatusGone:
		kind = failure.ErrNotFound
	case http.StatusPartialContent:
		kind = errors.New("unexpected part of the document")
	default:
		kind = errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unexpected status"))
	}
	if message == "" {
		return kind
	}
	return fault.Narrow(kind.Error()+`, the server says "`+strings.ReplaceAll(message, `"`, `\"`)+`"`, kind)
}

// timeoutError returns the error of a slow server. It is a net.Error and os.ErrDeadlineExceeded.
func timeoutError(what string, limit time.Duration) error {
	return fault.Narrow(fmt.Sprintf("%s within %v", what, limit), os.ErrDeadlineExceeded)
}

// withLast adds the error of the last attempt to err, which ended the attempts. The
// error last may be nil.
func withLast(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, last)
}

// timer is the timeout of an attempt, without pauses. It is not safe for concurrent use.
type timer struct {
	timer  *time.Timer // nil if there is no timeout
	left   time.Duration
	began  time.Time
	paused bool
}

// startTimer calls fn after d, unless d is 0.
func startTimer(d time.Duration, fn func()) *timer {
	if d <= 0 {
		return &timer{}
	}
	return &timer{timer: time.AfterFunc(d, fn), left: d, began: time.Now()}
}

// stop stops the timer. It returns false if fn has been called.
func (t *timer) stop() bool { return t.timer == nil || t.timer.Stop() }

// pause stops the timer until resume is called. A nested pause has no effect.
func (t *timer) pause() (resume func()) {
	if t.timer == nil || t.paused || !t.timer.Stop() {
		return func() {}
	}
	t.paused = true
	t.left -= time.Since(t.began)
	return func() {
		t.paused = false
		t.began = time.Now()
		t.timer.Reset(t.left)
	}
}
