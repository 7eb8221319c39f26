package mirrorserve_test

import (
	"context"
	"errors"
	"github.com/tofureg/tofureg/storage"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// slow lets the archives of a registry arrive within ten seconds.
func slow(reg *regtest.Registry, size int) {
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Rate: int64(size / 10)})
}

// sized returns a registry with one package of about this size.
func sized(size int64) (*regtest.Registry, *regtest.Release) {
	reg := regtest.New("registry.example.com")
	return reg, reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64", "darwin_arm64"}, Size: size})
}

// TestCacheShared checks that many clients share one download, and that clients that leave do not
// affect others.
func TestCacheShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		reg, rel := sized(size)
		slow(reg, size)
		h, c, dir := newCache(t, client(reg))
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 250 * time.Millisecond) // up to 15 s
				switch i % 4 {
				case 0: // a client that leaves
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					r := httptest.NewRequestWithContext(ctx, "GET", "/"+archive(v1, linux), nil)
					aborted(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
				case 1: // a program
					pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
					if err != nil {
						t.Error(err)
						return
					}
					body, err := c.Open(t.Context(), pkg)
					if err != nil {
						t.Error(err)
						return
					}
					defer body.Close()
					if zh, err := checksum.ZH(t.Context(), body); err != nil || zh != rel.ZH("linux_amd64") {
						t.Errorf("%v, %v", zh, err)
					}
				default:
					if content := mustFetch(t, h, archive(v1, linux)); content == "" {
						t.Error("empty")
					} else if zh, _ := checksum.ZH(t.Context(), strings.NewReader(content)); zh != rel.ZH("linux_amd64") {
						t.Errorf("client %d has another archive", i)
					}
				}
			})
		}
		wg.Wait()
		if n := reg.Count(regtest.Archive); n != 1 {
			t.Errorf("the archive was fetched %d times", n)
		}
		if zh, _ := checksum.ZH(t.Context(), strings.NewReader(read(t, dir, archive(v1, linux)))); zh != rel.ZH("linux_amd64") {
			t.Error("not kept")
		}
		synctest.Wait() // until temporary files are removed
		if left := files(t, c.Mirror.TempDir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// TestCacheNobodyStays checks that a download ends when all clients have left, that nothing is
// added, and that the next client starts a new download.
func TestCacheNobodyStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		reg, _ := sized(size)
		slow(reg, size)
		h, c, dir := newCache(t, client(reg))
		c.Parallel = 1 // each download must release its slot
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*3*time.Second)
			r := httptest.NewRequestWithContext(ctx, "GET", "/"+archive(v1, linux), nil)
			if !aborted(func() { h.ServeHTTP(httptest.NewRecorder(), r) }) {
				t.Error("the response was not aborted")
			}
			cancel()
			synctest.Wait()
			wantFiles(t, dir)
			wantFiles(t, c.Mirror.TempDir)
		}
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		reg.AddFault(regtest.Fault{Kind: regtest.Archive, First: 1, Delay: 9 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Open(ctx, pkg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before anything has come: %v", err)
		}
		synctest.Wait()
		body := must.Get(c.Open(t.Context(), pkg))(t)
		must.Get(io.CopyN(io.Discard, body, 1000))(t)
		body.Close()
		synctest.Wait()
		wantFiles(t, dir)
		mustFetch(t, h, archive(v1, linux))
		if len(files(t, dir)) != 4 {
			t.Errorf("kept: %v", files(t, dir))
		}
	})
}

// TestCacheWaits checks that a source that does not answer delays clients once for Wait, and is
// then not asked for 30 seconds; and that a source that fails at once is asked each time.
func TestCacheWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait, want time.Duration
		fault      regtest.Fault
	}{
		"the default":     {0, 5 * time.Second, regtest.Fault{Delay: time.Hour}},
		"as set":          {2 * time.Second, 2 * time.Second, regtest.Fault{Delay: time.Hour}},
		"no limit":        {-1, 8 * time.Second, regtest.Fault{Delay: 8 * time.Second, Status: 500}},
		"a fast failure":  {0, 0, regtest.Fault{Drop: true}},
		"late but answer": {0, 0, regtest.Fault{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, src := newRegistry(t)
				h, c, _ := newCache(t, src)
				c.Wait = test.wait
				var log strings.Builder
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				mustFetch(t, h, archive(v1, linux))
				listed := "1.0.0"
				if test.fault.Drop || test.fault.Delay > 0 {
					reg.AddFault(test.fault)
				} else {
					reg.AddFault(regtest.Fault{Kind: regtest.Versions, Delay: 4 * time.Second})
					test.want, listed = 4*time.Second, "1.0.0 2.0.0"
				}
				for range 2 {
					reg.Reset()
					start := time.Now()
					if got := versionsOf(t, h); got != listed {
						t.Errorf("versions %s, want %s", got, listed)
					}
					if took := time.Since(start); took != test.want {
						t.Errorf("the list took %v, want %v", took, test.want)
					}
					if reg.Count(0) == 0 {
						t.Error("the registry was not asked")
					}
					if listed != "1.0.0" {
						return
					}
					if !strings.Contains(log.String(), "level=WARN") {
						t.Errorf("log: %s", &log)
					}
					reg.Reset()
					start = time.Now()
					if w := ask(h, "GET", "/"+home+"/1.0.0.json"); w.Code != 200 {
						t.Errorf("document: %d", w.Code)
					}
					versionsOf(t, h)
					mustFetch(t, h, archive(v1, linux))
					if took := time.Since(start); took != 0 || (reg.Count(0) == 0) != (test.want > 0) {
						t.Errorf("what is kept took %v, %v", took, reg.Requests())
					}
					if w := ask(h, "GET", "/registry.example.com/acme/beta/index.json"); w.Code != 502 || reg.Count(0) == 0 {
						t.Errorf("what is not kept: %d, %d requests", w.Code, reg.Count(0))
					}
					if test.want > 0 {
						time.Sleep(30 * time.Second)
					}
				}
				reg.ClearFaults()
				if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
					t.Errorf("when it is back: versions %s", got)
				}
			})
		})
	}
}

// TestCacheIsNotHeldUp checks that cached archives do not wait for downloads.
func TestCacheIsNotHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, src := newRegistry(t)
		h, c, _ := newCache(t, src)
		c.Parallel = 1
		mustFetch(t, h, archive(v1, linux))
		reg.AddFault(regtest.Fault{Kind: regtest.Archive, Delay: 8 * time.Second})
		var wg sync.WaitGroup
		for _, name := range []string{archive(v2, linux), archive(v2, darwin)} {
			wg.Go(func() { mustFetch(t, h, name) })
		}
		synctest.Wait()
		start := time.Now()
		mustFetch(t, h, archive(v1, linux))
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v2, windows))(t)
		if _, err := c.Open(ctx, pkg); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Open while another download runs: %v after %v, want DeadlineExceeded after 1s", err, time.Since(start))
		}
		wg.Wait()
		mustFetch(t, h, archive(v2, windows)) // no place for downloads was lost
	})
}

// TestCacheKeepsAside checks that an archive that waits for the lock of its version does not block
// downloads.
func TestCacheKeepsAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, src := newRegistry(t)
		h, c, dir := newCache(t, src)
		c.Parallel, c.Wait = 1, time.Second
		unlock := must.Get(c.Mirror.Store.(*storage.Dir).Lock(t.Context(), home+"/1.0.0.json"))(t)
		mustFetch(t, h, archive(v1, linux))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/"+archive(v2, linux), nil))
		if w.Code != http.StatusOK || w.Body.Len() == 0 || ctx.Err() != nil {
			t.Errorf("%d, %d bytes, %v", w.Code, w.Body.Len(), ctx.Err())
		}
		must.Do(t, unlock())
		time.Sleep(time.Second)
		synctest.Wait()
		if got := files(t, dir); len(got) != 7 {
			t.Errorf("kept: %v", got)
		}
	})
}
