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
	"strings"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/transport"
)

// Defaults of the fields of a Client and a Request.
const (
	defaultTimeout   = 10 * time.Second
	defaultIdle      = 30 * time.Second
	defaultRetries   = 2
	defaultRedirects = 10
)

// Client makes requests with the settings of a transport.Settings.
type Client transport.Settings

// New returns a Client with the settings of t. If t is nil, it is the zero Client.
func New(t *transport.Settings) *Client {
	if t == nil {
		t = &transport.Settings{}
	}
	return (*Client)(t)
}

// Request is a request, usually a GET.
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

	// Limit is the maximum size of the decompressed body, in bytes. Document requires it. For Open, zero
	// means that the size is not limited.
	Limit int64

	// Redirects is the maximum number of redirects. If zero, it is 10. If negative, redirects are
	// refused.
	Redirects int

	// Method, if not empty, is another method than GET. It is for Document only, whose requests are repeated also if they
	// change something. Body, if not nil, returns a reader of the body, of Size bytes and of the media type
	// ContentType, for each attempt.
	Method      string
	Body        func() io.Reader
	Size        int64
	ContentType string
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
	if c.HTTP != nil && c.HTTP.Timeout > 0 && (d == 0 || c.HTTP.Timeout < d) {
		return c.HTTP.Timeout
	}
	return d
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

// CacheName is the name of our cache of documents in the header Cache-Status (RFC 9211).
const CacheName = "tofureg"

// Cached reports whether our cache answered without the server.
func (r *Response) Cached() bool {
	return strings.HasPrefix(r.Header.Get("Cache-Status"), CacheName+"; hit")
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

// Document requests a document of at most r.Limit bytes. Any other status than 2xx, and status 206, is an
// error. The error is a [*failure.RequestError].
func (c *Client) Document(ctx context.Context, r Request) (*Response, error) {
	f, err := newDocument(ctx, c, &r)
	if err != nil {
		return nil, err
	}
	return f.get(ctx)
}

// Key identifies requests that can share an answer: they are equal, and made with the same HTTP client,
// AllowHTTP and credentials. It does not reveal the credentials.
type Key struct {
	url, accept string
	limit       int64
	redirects   int
	http        *http.Client
	allowHTTP   bool
	credentials [sha256.Size]byte
}

// Prepare is the first half of [Client.Document]: it checks the request, also with VetoHost, and finds its
// credentials, which may depend on ctx. The function get is the second half. It must be called once at
// most, unless a call with the same key gets an answer to share.
func (c *Client) Prepare(ctx context.Context, r Request) (key Key, get func(context.Context) (*Response, error), err error) {
	f, err := newDocument(ctx, c, &r)
	if err != nil {
		return Key{}, nil, err
	}
	key = Key{
		url: f.url.String(), accept: r.Accept, limit: r.Limit, redirects: r.Redirects, http: c.HTTP, allowHTTP: c.AllowHTTP,
		credentials: sha256.Sum256([]byte(f.tokenHost.String() + " " + f.authorization())),
	}
	return key, f.get, nil
}

// Shared requests and decodes documents. Concurrent callers share a request if it is equal and has
// the same credentials. The zero Shared is ready to use. It is safe for concurrent use.
type Shared[V any] struct {
	requests flight.Group[Key, V]
}

// Get returns the result of decode for the document that r requests. If several callers share the
// result, clone returns a copy for each of them; if clone is nil, all callers get the same value.
// Errors of decode are as of [Response.Unusable].
func (s *Shared[V]) Get(ctx context.Context, c *Client, r Request, clone func(V) V, decode func(context.Context, *Response) (V, error)) (v V, err error) {
	key, get, err := c.Prepare(ctx, r) // each caller its own: a token must not lend its answer to others
	if err != nil {
		return v, err
	}
	return s.requests.Do(ctx, key, clone, func(ctx context.Context) (v V, err error) {
		resp, err := get(ctx)
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
	document bool // whether an attempt includes the body

	url         *url.URL         // of the first hop
	header      http.Header      // of the first hop
	token       string           // may be empty
	tokenHost   svchost.Hostname // zero if token is empty
	tokenLookup bool             // whether Credentials was called
	login       string           // basic credentials; may be empty
	secrets     secrets

	earlier int // failed attempts before this fetch
	made    int // attempts of this fetch
}

// newFetch checks the request and finds its credentials. The error is a *failure.RequestError.
func newFetch(ctx context.Context, c *Client, r *Request, document bool) (*fetch, error) {
	f := &fetch{client: c, req: r, document: document, url: r.URL}
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
	if err := f.findToken(ctx); err != nil {
		return nil, f.fail(u, nil, err)
	}
	f.findLogin()
	f.header = f.firstHeader()
	return f, nil
}

// newDocument is newFetch for a document.
func newDocument(ctx context.Context, c *Client, r *Request) (*fetch, error) {
	f, err := newFetch(ctx, c, r, true)
	if err == nil && r.Limit <= 0 {
		return nil, f.fail(f.url, nil, errors.New("Request.Limit is missing"))
	}
	return f, err
}

// get makes the request for a document.
func (f *fetch) get(ctx context.Context) (*Response, error) {
	a := f.do(ctx)
	if a.failed != nil {
		return nil, a.failed
	}
	return &Response{
		Status:   a.resp.StatusCode,
		Header:   a.resp.Header,
		URL:      a.url,
		Body:     a.body,
		HadToken: f.token != "",
		OverHTTP: a.overHTTP,
		Attempts: f.made,
		secrets:  f.secrets,
	}, nil
}

// firstHeader returns the headers of the request.
func (f *fetch) firstHeader() http.Header {
	h := make(http.Header)
	h.Set("Accept", cmp.Or(f.req.Accept, "*/*"))
	h.Set("User-Agent", cmp.Or(f.client.UserAgent, UserAgent()))
	if f.req.Body != nil {
		h.Set("Content-Type", f.req.ContentType)
	}
	if a := f.authorization(); a != "" {
		h.Set("Authorization", a)
	}
	if !f.document {
		// Lengths and ranges must refer to the bytes in the body.
		h.Set("Accept-Encoding", "identity")
	}
	return h
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
	}
	return e
}

// log writes a debug record about a, the last attempt.
func (f *fetch) log(ctx context.Context, msg string, a *attempt, attrs ...slog.Attr) {
	l := f.client.Logger
	if l == nil || !l.Enabled(ctx, slog.LevelDebug) {
		return
	}
	number := f.earlier + f.made
	if a.failed != nil {
		number = a.failed.Attempts // also of a download that was interrupted after bytes
	}
	attrs = append(attrs, slog.String("url", f.secrets.url(a.url)), slog.Int("attempt", number))
	if a.resp != nil {
		attrs = append(attrs, slog.Int("status", a.resp.StatusCode))
	}
	if a.failed != nil {
		attrs = append(attrs, slog.String("error", a.failed.Err.Error()))
	}
	l.LogAttrs(ctx, slog.LevelDebug, msg, attrs...)
}
