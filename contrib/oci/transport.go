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

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
)

// http returns the client that makes all requests: those of redirects and for tokens too.
func (c *Client) http() *http.Client {
	client := &http.Client{}
	if c.HTTP != nil {
		*client = *c.HTTP
	}
	client.Timeout = 0
	client.Transport = &retry.Transport{
		Base: &guard{Client: c, next: cmp.Or[http.RoundTripper](client.Transport, http.DefaultTransport)},
		Policy: func() retry.Policy {
			return &retry.GenericPolicy{
				Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
				MinWait: 200 * time.Millisecond, MaxWait: 30 * time.Second, MaxRetry: c.retries(),
			}
		},
	}
	return client
}

// blobKey marks the context of requests for blobs, which are not limited as documents are.
type blobKey struct{}

// sentKey marks the context of a job with an *atomic.Bool, which tells whether one of its
// requests had a credential.
type sentKey struct{}

func job(ctx context.Context) context.Context {
	return context.WithValue(ctx, sentKey{}, new(atomic.Bool))
}

func sentCredential(ctx context.Context) bool {
	sent, ok := ctx.Value(sentKey{}).(*atomic.Bool)
	return ok && sent.Load()
}

// guard refuses requests before they are made, and ends those that take too long.
type guard struct {
	*Client
	next http.RoundTripper
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.allowed(r.URL); err != nil {
		return nil, &failure.RequestError{URL: shown(r.URL), Err: err}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	idle := &idleTimer{cancel: cancel, after: cmp.Or(g.Timeout, 30*time.Second)}
	idle.reset()
	r = r.Clone(ctx)
	r.Header.Set("User-Agent", cmp.Or(g.UserAgent, "tofureg-oci"))
	r.Header.Set("Accept-Encoding", "identity")
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok && r.Header.Get("Authorization") != "" {
		sent.Store(true)
	}
	resp, err := g.next.RoundTrip(r)
	if g.Logger != nil {
		g.Logger.DebugContext(ctx, "request", "method", r.Method, "url", shown(r.URL), "failed", err != nil)
	}
	if err != nil {
		idle.stop()
		return nil, idle.because(ctx, err)
	}
	limit := int64(MaxManifest)
	if r.Context().Value(blobKey{}) != nil && resp.StatusCode < 300 {
		limit = -1
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, ctx: ctx, idle: idle, limit: limit}
	return resp, nil
}

// allowed refuses http and the hosts that the caller does not want.
func (g *guard) allowed(u *url.URL) error {
	if u.Scheme != "https" {
		return fmt.Errorf("%w: the scheme is %q", provider.ErrInsecure, u.Scheme)
	}
	if g.VetoHost == nil {
		return nil
	}
	return g.VetoHost(strings.TrimSuffix(strings.ToLower(u.Host), ":443"))
}

// errIdle is the cause of a context that ended because a server sent nothing.
var errIdle = errors.New("the server sent nothing for too long")

// idleTimer ends a request if it is not reset in time.
type idleTimer struct {
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
}

func (t *idleTimer) reset() {
	switch {
	case t.after < 0:
	case t.timer == nil:
		t.timer = time.AfterFunc(t.after, func() { t.cancel(errIdle) })
	default:
		t.timer.Reset(t.after)
	}
}

func (t *idleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.cancel(nil)
}

// because returns the error by which the end of the request is known to callers.
func (t *idleTimer) because(ctx context.Context, err error) error {
	if context.Cause(ctx) == errIdle {
		return os.ErrDeadlineExceeded
	}
	return err
}

// limitedBody is a body with a limit of bytes, -1 for none, that must keep coming.
type limitedBody struct {
	io.ReadCloser
	ctx   context.Context
	idle  *idleTimer
	limit int64
	read  int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.limit >= 0 && b.read > b.limit {
		return n, fmt.Errorf("%w: more than %d bytes", provider.ErrTooLarge, b.limit)
	}
	if err == nil {
		b.idle.reset()
	} else if err != io.EOF {
		err = b.idle.because(b.ctx, err)
	}
	return n, err
}

func (b *limitedBody) Close() error {
	defer b.idle.stop()
	return b.ReadCloser.Close()
}
