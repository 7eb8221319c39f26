package mirrorserve_test

import (
	"context"
	"errors"
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

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// client of a server that takes its time for each piece of an answer, and never takes one if that is
// negative. A deadline ends the wait, as it does at a connection.
type slowClient struct {
	*httptest.ResponseRecorder
	pause    time.Duration
	deadline chan struct{}
	once     sync.Once
}

func newSlowClient(pause time.Duration) *slowClient {
	return &slowClient{ResponseRecorder: httptest.NewRecorder(), pause: pause, deadline: make(chan struct{})}
}

func (c *slowClient) SetWriteDeadline(time.Time) error {
	c.once.Do(func() { close(c.deadline) })
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	var taken <-chan time.Time // nil: blocks
	if c.pause >= 0 {
		taken = time.After(c.pause)
	}
	select {
	case <-taken:
		return c.ResponseRecorder.Write(p)
	case <-c.deadline:
		return 0, os.ErrDeadlineExceeded
	}
}

// openings is a source that counts opened and unclosed archives.
type openings struct {
	provider.Source
	opened atomic.Int64
}

func (o *openings) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	o.opened.Add(1)
	return o.Source.Open(ctx, pkg)
}

// serve requests an archive, and reports whether the response was aborted.
func serveSlowly(t *testing.T, h http.Handler, c *slowClient, name string) (broken bool) {
	defer func() {
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			t.Errorf("panic: %v", v)
		} else if v != nil {
			broken = true
		}
	}()
	h.ServeHTTP(c, httptest.NewRequestWithContext(t.Context(), "GET", "/"+name, nil))
	return false
}

// TestIdleClientsHoldLittle checks that clients that read nothing use a limited number of files and
// are disconnected.
func TestIdleClientsHoldLittle(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(t *testing.T, src provider.Source) *mirrorserve.Handler{
		"pulled through": func(t *testing.T, src provider.Source) *mirrorserve.Handler {
			return &mirrorserve.Handler{Source: src, Parallel: 1, TempDir: t.TempDir()}
		},
		"cached in an object store": func(t *testing.T, src provider.Source) *mirrorserve.Handler {
			m := &mirrordir.Mirror{Storage: &bucket{}, TempDir: t.TempDir()}
			return &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Parallel: 1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const clients, most = 20, 4
				reg, all := manyVersions(clients)
				src := &openings{Source: client(reg)}
				h := handler(t, src)
				var wg sync.WaitGroup
				for _, w := range all {
					wg.Go(func() { serveSlowly(t, h, newSlowClient(-1), archive(w.Version, linux)) })
				}
				for range clients / most {
					synctest.Wait()
					before := src.opened.Load()
					time.Sleep(5*time.Minute - time.Second)
					synctest.Wait()
					if n := src.opened.Load(); n != before {
						t.Errorf("%d archives more were begun while clients hold %d", n-before, most)
					}
					if before%most != 0 {
						t.Errorf("%d archives were begun, want a multiple of %d", before, most)
					}
					time.Sleep(time.Second)
				}
				wg.Wait() // all clients have been disconnected
				if n := src.opened.Load(); n != clients {
					t.Errorf("%d archives were begun in all, want %d", n, clients)
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
		c := newSlowClient(4 * time.Minute)
		start := time.Now()
		if serveSlowly(t, h, c, archive(v1, linux)) || c.Body.String() != want {
			t.Errorf("%d bytes of %d after %v", c.Body.Len(), len(want), time.Since(start))
		}
		if time.Since(start) < 20*time.Minute {
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
		pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if _, err := io.CopyN(io.Discard, body, 1000); err != nil {
			t.Fatal(err)
		}
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
		h := &mirrorserve.Handler{Source: &ending{Source: src, end: leave}, Parallel: 1, TempDir: t.TempDir()}
		w := httptest.NewRecorder()
		func() {
			defer func() { _ = recover() }() // the response is aborted
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/"+archive(v1, linux), nil))
		}()
		whole := mustFetch(t, h, archive(v1, linux))
		if w.Body.Len() >= len(whole) {
			t.Errorf("a client that had left got %d bytes of %d", w.Body.Len(), len(whole))
		}
	})
}

// ending is a source that calls end when the first archive has been downloaded.
type ending struct {
	provider.Source
	end  func()
	once sync.Once
}

func (e *ending) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := e.Source.Open(ctx, pkg)
	if err == nil {
		body.ReadCloser = &endingBody{body.ReadCloser, e}
	}
	return body, err
}

type endingBody struct {
	io.ReadCloser
	*ending
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.once.Do(func() {
			b.end()
			synctest.Wait() // the client has left
		})
	}
	return n, err
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
	h.Policy.RequireSignature, h.Policy.Fingerprints = true, []string{strings.Repeat("0", 40)}
	content := mustFetch(t, h, archive(v1, linux))
	if read(t, dir, archive(v1, linux)) != content {
		t.Error("the archive is not kept")
	}
}
