package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/transport"
)

// The defaults of transport.Settings.
const (
	defaultRetries = 2
	defaultTimeout = 10 * time.Second
	defaultIdle    = 30 * time.Second
)

// http returns the client for all requests, including redirects and requests for tokens. The value at has
// tells whether there is a credential.
func (c *Client) http(has *atomic.Bool) *http.Client {
	settings, client := c.settings(), &http.Client{}
	if settings.HTTP != nil {
		*client = *settings.HTTP
	}
	g := &guard{Settings: settings, has: has, next: cmp.Or[http.RoundTripper](client.Transport, http.DefaultTransport)}
	if client.Timeout > 0 {
		g.Timeout = min(client.Timeout, cmp.Or(max(0, g.Timeout), client.Timeout))
	}
	client.Timeout = 0
	client.Transport = &byKind{
		documents: repeating(g, orDefault(settings.Retries, defaultRetries)),
		blobs:     repeating(g, c.archiveRetries()),
	}
	return client
}

// repeating returns a transport that repeats failed requests.
func repeating(next http.RoundTripper, retries int) http.RoundTripper {
	policy := &retry.GenericPolicy{
		Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
		MinWait: 200 * time.Millisecond, MaxWait: 30 * time.Second, MaxRetry: retries,
	}
	return &retry.Transport{Base: next, Policy: func() retry.Policy { return policy }}
}

// byKind distinguishes requests for blobs and for documents.
type byKind struct{ documents, blobs http.RoundTripper }

func (k *byKind) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(blobKey{}) != nil {
		return k.blobs.RoundTrip(r)
	}
	return k.documents.RoundTrip(r)
}

// blobKey marks the context of requests for blobs, which have other limits than documents. For an
// upload, its value is a function that opens the content.
type blobKey struct{}

// An uploader gives uploads their content, which can be sent again.
type uploader struct{ *auth.Client }

func (u uploader) Do(r *http.Request) (resp *http.Response, err error) {
	if open, ok := r.Context().Value(blobKey{}).(func() (io.ReadCloser, error)); ok && r.Method == http.MethodPut {
		r.GetBody = open
		if r.Body, err = open(); err != nil {
			return nil, err
		}
	}
	return u.Client.Do(r)
}

// sentKey stores an *atomic.Bool in the context: whether a request of the operation had a
// credential.
type sentKey struct{}

func job(ctx context.Context) context.Context {
	return context.WithValue(ctx, sentKey{}, new(atomic.Bool))
}

func sentCredential(ctx context.Context) bool {
	sent, ok := ctx.Value(sentKey{}).(*atomic.Bool)
	return ok && sent.Load()
}

// guard refuses requests that are not allowed, and ends requests that take too long.
type guard struct {
	transport.Settings
	has  *atomic.Bool // without a credential, tokens are for anonymous users
	next http.RoundTripper
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.allowed(r.URL); err != nil {
		return nil, &failure.RequestError{URL: shown(r.URL), Err: err}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := newTimer(cancel, orDefault(g.Timeout, defaultTimeout))
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", cmp.Or(g.UserAgent, "tofureg-oci"))
	r.Header.Set("Accept-Encoding", "identity")
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok && r.Header.Get("Authorization") != "" && g.has.Load() {
		sent.Store(true)
	}
	at, _ := ctx.Value(tagKey{}).(*tagState)
	switch {
	case at == nil || r.Method != http.MethodPut:
	case at.none:
		r.Header.Set("If-None-Match", "*")
	case strings.HasPrefix(at.etag, `"`): // strong
		r.Header.Set("If-Match", at.etag)
	}
	if ctx.Value(blobKey{}) != nil && r.Method == http.MethodPut {
		sent := &guardedBody{ReadCloser: r.Body, ctx: ctx, timer: timer, idle: orDefault(g.Idle, defaultIdle), limit: -1}
		r.Body = struct { // whose end is not the end of the request
			io.Reader
			io.Closer
		}{sent, r.Body}
	}
	resp, err := g.next.RoundTrip(r)
	if g.Logger != nil {
		shown := failure.RedactURL(r.URL)
		if r.Response != nil { // a server may repeat the token in the path of a redirect
			shown = failure.RedactURL(&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: "/..."})
		}
		g.Logger.DebugContext(ctx, "request", "method", r.Method, "url", shown, "failed", err != nil)
	}
	if err != nil {
		timer.stop()
		return nil, timer.because(ctx, err)
	}
	if at != nil && r.Method == http.MethodHead {
		at.etag = resp.Header.Get("ETag")
	}
	body := &guardedBody{ReadCloser: resp.Body, ctx: ctx, timer: timer, limit: MaxManifest}
	if r.Context().Value(blobKey{}) != nil && resp.StatusCode < 300 {
		body.limit, body.idle = -1, orDefault(g.Idle, defaultIdle)
		timer.reset(body.idle)
	}
	resp.Body = body
	return resp, nil
}

// allowed refuses http and vetoed hosts. The library removes credentials from redirects to
// http.
func (g *guard) allowed(u *url.URL) error {
	if u.Scheme != "https" && !(u.Scheme == "http" && g.AllowHTTP) {
		return fmt.Errorf("%w: scheme %q", failure.ErrInsecure, u.Scheme)
	}
	if g.VetoHost == nil {
		return nil
	}
	host, _, err := svchost.Canonical(u)
	if err != nil {
		return err
	}
	return g.VetoHost(host)
}

// errSlow is the cause of a context that ended because of a timeout.
var errSlow = errors.New("timeout")

// timer ends a request after a timeout.
type timer struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// newTimer returns a timer that ends a request after d, or never if d is 0.
func newTimer(cancel context.CancelCauseFunc, d time.Duration) *timer {
	t := &timer{cancel: cancel, timer: time.AfterFunc(time.Hour, func() { cancel(errSlow) })}
	t.reset(d)
	return t
}

func (t *timer) reset(d time.Duration) {
	if d == 0 {
		t.timer.Stop()
		return
	}
	t.timer.Reset(d)
}

func (t *timer) stop() {
	t.timer.Stop()
	t.cancel(nil)
}

// because returns the error for the caller: os.ErrDeadlineExceeded after a timeout.
func (t *timer) because(ctx context.Context, err error) error {
	if context.Cause(ctx) == errSlow {
		return os.ErrDeadlineExceeded
	}
	return err
}

// guardedBody limits a body in bytes, unless limit is -1, and in time without bytes.
type guardedBody struct {
	io.ReadCloser
	ctx   context.Context
	timer *timer
	idle  time.Duration // if 0, the timer is not reset
	limit int64
	read  int64
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	switch {
	case b.limit >= 0 && b.read > b.limit:
		return n, fmt.Errorf("%w: more than %d bytes", failure.ErrTooLarge, b.limit)
	case err == nil && b.idle > 0:
		b.timer.reset(b.idle)
	case err != nil && err != io.EOF:
		err = b.timer.because(b.ctx, err)
	}
	return n, err
}

func (b *guardedBody) Close() error {
	defer b.timer.stop()
	return b.ReadCloser.Close()
}
