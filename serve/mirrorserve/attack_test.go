package mirrorserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// slowClient is a client of a server that takes its time for each piece of an answer, and never takes
// one if that is negative. A deadline ends the wait, as it does at a connection.
type slowClient struct {
	*httptest.ResponseRecorder
	pause    time.Duration
	deadline time.Time
}

func newSlowClient(pause time.Duration) *slowClient {
	return &slowClient{ResponseRecorder: httptest.NewRecorder(), pause: pause}
}

func (c *slowClient) SetWriteDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	var taken, ended <-chan time.Time // nil: blocks
	if c.pause >= 0 {
		taken = time.After(c.pause)
	}
	if !c.deadline.IsZero() {
		ended = time.After(time.Until(c.deadline))
	}
	select {
	case <-taken:
		return c.ResponseRecorder.Write(p)
	case <-ended:
		return 0, os.ErrDeadlineExceeded
	}
}

// serveSlowly requests an archive for a client, and reports whether the response was aborted.
func serveSlowly(t *testing.T, h http.Handler, c *slowClient, client, name string) (broken bool) {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+name, nil)
	r.RemoteAddr = client
	return aborted(func() { h.ServeHTTP(c, r) })
}

// aborted reports whether a response is aborted.
func aborted(serve func()) (aborted bool) {
	defer func() {
		v := recover()
		if aborted = v != nil; aborted && v != http.ErrAbortHandler {
			panic(v)
		}
	}()
	serve()
	return false
}

// handlers returns a Handler that pulls packages through, and one with a Cache in an object store.
func handlers(policy verify.Policy) map[string]func(t *testing.T, src provider.Source) *mirrorserve.Handler {
	return map[string]func(t *testing.T, src provider.Source) *mirrorserve.Handler{
		"pulled through": func(t *testing.T, src provider.Source) *mirrorserve.Handler {
			return &mirrorserve.Handler{Source: src, Policy: policyOf(policy), Parallel: 1, TempDir: t.TempDir()}
		},
		"cached": func(t *testing.T, src provider.Source) *mirrorserve.Handler {
			m := &mirrordir.Mirror{Store: &bucket{}, TempDir: t.TempDir()}
			return &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Policy: policyOf(policy), Parallel: 1}}
		},
	}
}

// TestIdleClientsHoldLittle checks that clients that read nothing use a limited number of files and
// are disconnected.
func TestIdleClientsHoldLittle(t *testing.T) {
	t.Parallel()
	for name, handler := range handlers(verify.Policy{}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const clients, most, each = 48, 16, 4
				reg, all := manyVersions(clients)
				h := handler(t, client(reg))
				var wg sync.WaitGroup
				var busy atomic.Int32
				for i, w := range all {
					wg.Go(func() {
						c := newSlowClient(-1)
						serveSlowly(t, h, c, fmt.Sprintf("192.0.2.%d:1", i/8), archive(w.Version, linux))
						if c.Code == http.StatusServiceUnavailable {
							busy.Add(1)
						}
					})
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if n := reg.Count(regtest.Archive); n != most {
					t.Errorf("%d archives were begun, want %d", n, most)
				}
				time.Sleep(59 * time.Second)
				wg.Wait() // all clients have been disconnected
				if n, refused := reg.Count(regtest.Archive), busy.Load(); n != most || refused != clients-most {
					t.Errorf("%d archives were begun in all and %d refused, want %d and %d", n, refused, most, clients-most)
				}
				if fetch, body := fetch(h, archive(all[0].Version, linux)); fetch != 200 || body == "" {
					t.Errorf("then the status is %d", fetch)
				}
			})
		})
	}
}

// TestSlowClientIsServed checks that a slow client is not disconnected.
func TestSlowClientIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := sized(300 << 10)
		h := &mirrorserve.Handler{Source: client(reg), TempDir: t.TempDir()}
		want := mustFetch(t, h, archive(v1, linux))
		c := newSlowClient(59 * time.Second)
		start := time.Now()
		if serveSlowly(t, h, c, "192.0.2.1:1", archive(v1, linux)) || c.Body.String() != want {
			t.Errorf("%d bytes of %d after %v", c.Body.Len(), len(want), time.Since(start))
		}
		if time.Since(start) < 5*time.Minute {
			t.Errorf("it took only %v", time.Since(start))
		}
	})
}

// TestIdleReaderIsEnded checks that a program that does not read an archive of a Cache gets an
// error.
func TestIdleReaderIsEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := sized(300 << 10)
		_, c, _ := newCache(t, client(reg))
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		body := must.Get(c.Open(t.Context(), pkg))(t)
		defer body.Close()
		must.Get(io.CopyN(io.Discard, body, 1000))(t)
		time.Sleep(5*time.Minute + time.Second)
		if n, err := io.Copy(io.Discard, body); err == nil || n > 0 || !strings.Contains(err.Error(), "5m") {
			t.Errorf("reading on = %d bytes, %v, want an error", n, err)
		}
	})
}

// TestRangeWaitsForVerdict checks that no range of a refused archive is sent.
func TestRangeWaitsForVerdict(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"wrong bytes":   {Kind: regtest.Archive, Corrupt: true},
		"bad signature": {Kind: regtest.Signature, Corrupt: true},
	} {
		reg, _ := sized(1 << 20)
		reg.AddFault(fault)
		for _, ranges := range []string{"bytes=0-9", "bytes=-9", "bytes=100-"} {
			w := ask(&mirrorserve.Handler{Source: client(reg), TempDir: t.TempDir()}, "GET", "/"+archive(v1, linux), "Range", ranges)
			if w.Code != http.StatusBadGateway || w.Header().Get("Etag") != "" || !strings.Contains(w.Body.String(), "errors") {
				t.Errorf("%s: Range %s = %d with tag %q and %d bytes, want 502", name, ranges, w.Code, w.Header().Get("Etag"), w.Body.Len())
			}
		}
	}
}

// TestClientsLeaveWhileJudged checks that a downloaded archive is not verified if all clients have
// left.
func TestClientsLeaveWhileJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, src := newRegistry(t)
		ctx, leave := context.WithCancel(t.Context())
		ending := mirrortest.WatchedSource{Source: src, Read: func(_ context.Context, _ int, err error) {
			if errors.Is(err, io.EOF) && ctx.Err() == nil {
				leave()
				synctest.Wait() // the client has left
			}
		}}
		h := &mirrorserve.Handler{Source: ending, Parallel: 1, TempDir: t.TempDir()}
		w := httptest.NewRecorder()
		aborted(func() { h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/"+archive(v1, linux), nil)) })
		whole := mustFetch(t, h, archive(v1, linux))
		if w.Body.Len() >= len(whole) {
			t.Errorf("a client that had left got %d bytes of %d", w.Body.Len(), len(whole))
		}
	})
}

// TestCacheArrivesBesideTheMirror checks that a Cache downloads into the directory of its mirror,
// with its own policy.
func TestCacheArrivesBesideTheMirror(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, dir := newMirror(t)
	m.TempDir = filepath.Join(dir, "none")
	c := &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}
	h := &mirrorserve.Handler{Source: c, TempDir: m.TempDir}
	h.Policy = policyOf(verify.Policy{RequireSignature: true, Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("0", 40)))(t)})
	content := mustFetch(t, h, archive(v1, linux))
	if read(t, dir, archive(v1, linux)) != content {
		t.Error("the archive is not kept")
	}
}
