package doccache_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// TestOffline: cached documents of any age are used. Other requests fail with ErrOffline. No request
// is made.
func TestOffline(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"", "max-age=60", "no-cache", "max-age=0, must-revalidate"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := always(headers("Cache-Control", control, "Age", "7"), `{}`)
			want(t, &doccache.Transport{Base: o, Dir: dir}, doc, `{}`, 1)
			time.Sleep(1000 * time.Hour)
			tr := &doccache.Transport{Base: o, Dir: dir, Offline: true, Refresh: true}
			resp := want(t, tr, doc, `{}`, 1)
			if resp.Header.Get("Cache-Status") != "tofureg; hit; detail=stale" || resp.Header.Get("Age") != "3600007" {
				t.Errorf("headers %v", resp.Header)
			}
			for method, url := range map[string]string{
				"GET":  "https://user:s3cr3t@registry.example.com/other?page=s3cr3t",
				"POST": doc,
				"HEAD": "https://files.example.com/a.zip?sig=s3cr3t",
			} {
				req := request(t, url)
				closed := &closer{}
				req.Method, req.Body = method, closed
				resp, err := tr.RoundTrip(req)
				if !errors.Is(err, doccache.ErrOffline) || resp != nil || !closed.closed || err.Error() != "offline, and the document is not cached" {
					t.Fatalf("%s %s: %v, %v; want ErrOffline", method, url, resp, err)
				}
			}
			if o.count() != 1 {
				t.Errorf("%d requests", o.count())
			}
		})
	}
	// Without a directory there is nothing.
	if _, err := (&doccache.Transport{Offline: true}).RoundTrip(request(t, doc)); !errors.Is(err, doccache.ErrOffline) {
		t.Errorf("without a directory: %v", err)
	}
}

type closer struct {
	strings.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

type tooSlow struct{}

func (tooSlow) Error() string { return "no answer within 10s" }
func (tooSlow) Timeout() bool { return true }

// TestContext: after cancellation RoundTrip fails. After a timeout it returns the cached document.
func TestContext(t *testing.T) {
	t.Parallel()
	errLeft := errors.New("left")
	for _, test := range []struct {
		name  string
		end   func(context.Context) (context.Context, func())
		stale bool
	}{
		{"cancelled", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		}, false},
		{"for a reason", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(errLeft) }
		}, false},
		{"too slow", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(tooSlow{}) }
		}, true},
		{"deadline", func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(ctx, second)
			return ctx, func() { time.Sleep(2 * second); cancel() }
		}, true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			ctx, end := test.end(t.Context())
			o := &origin{answer: func(n int, req *http.Request) (*http.Response, error) {
				if n == 1 {
					return reply(http.StatusOK, headers(), `{}`), nil
				}
				end()
				return nil, req.Context().Err()
			}}
			tr := &doccache.Transport{Base: o, Dir: dir, StaleIfError: time.Hour}
			want(t, tr, doc, `{}`, 1)
			resp, err := tr.RoundTrip(request(t, doc).WithContext(ctx))
			switch {
			case test.stale && err != nil:
				t.Errorf("%s: error %v, want the cached document", test.name, err)
			case !test.stale && !errors.Is(err, context.Canceled):
				t.Errorf("%s: got %v, %v; want context.Canceled", test.name, resp, err)
			}
			if _, err := tr.RoundTrip(request(t, doc).WithContext(ctx)); err != ctx.Err() {
				t.Errorf("%s: error %v after the end of the context", test.name, err)
			}
		})
	}
}
