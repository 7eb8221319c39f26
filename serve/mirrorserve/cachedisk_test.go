package mirrorserve_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestCacheOnFullDisk checks that a full disk fails only requests that need space.
func TestCacheOnFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 1<<16, func(t *testing.T, dir string) {
		c := &mirrorserve.Cache{Source: client(growing()), Mirror: open(t, dir), Wait: -1}
		h := &mirrorserve.Handler{Source: c}
		mustFetch(t, h, archive(v1, linux))
		for range 2 {
			if status, _ := fetch(h, archive(v2, linux)); status != 0 && status != 502 {
				t.Errorf("status %d", status)
			}
		}
		mustFetch(t, h, archive(v1, darwin))
		wantOnly(t, c.Mirror, dir)
	})
}

// TestCacheInReadOnlyDirectory checks that cached and other archives are served if the mirror
// cannot be written.
func TestCacheInReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		mustAdd(t, open(t, dir), client(growing()), wants(three, v1), mirrordir.AddOptions{})
	}, func(t *testing.T, dir string) {
		var log strings.Builder
		m := open(t, dir)
		h := &mirrorserve.Handler{Source: &mirrorserve.Cache{
			Source: client(growing()), Mirror: m, Wait: -1,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}}
		for range 2 {
			mustFetch(t, h, archive(v2, linux))
		}
		mustFetch(t, h, archive(v1, linux))
		if strings.Count(log.String(), "level=WARN") != 2 || !strings.Contains(log.String(), fs.ErrPermission.Error()) {
			t.Errorf("log: %s", &log)
		}
		wantOnly(t, m, dir)
	})
}

// TestCachesShareDirectory uses one directory with several caches, like several processes, and an
// Add.
func TestCachesShareDirectory(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	_, dir := newMirror(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: open(t, dir), Wait: -1}}
			for j := range 6 {
				v := v1
				if (i+j)%2 == 1 {
					v = v2
				}
				mustFetch(t, h, archive(v, three[(i+j)%3]))
			}
		})
	}
	wg.Go(func() { mustAdd(t, open(t, dir), src, wants(three, v2), mirrordir.AddOptions{}) })
	wg.Wait()
	m := open(t, dir)
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || report.Archives != 6 || len(report.Notes) > 0 {
		t.Errorf("%+v", report)
	}
	// A second Cache drops its download after it has served its client.
	for left := true; left; runtime.Gosched() {
		entries := must.Get(os.ReadDir(filepath.Join(dir, ".tofureg")))(t)
		left = slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".lock") })
	}
}

// TestCacheStartsWithoutSource starts a server while the registry is unavailable.
func TestCacheStartsWithoutSource(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"no connection":      {Drop: true},
		"status 503":         {Status: 503},
		"discovery, dropped": {Kind: regtest.Discovery, Drop: true},
		"discovery, 500":     {Kind: regtest.Discovery, Status: 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, reg, _ := filled(t)
			reg.AddFault(fault)
			h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: client(reg), Mirror: m}}
			if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
				t.Errorf("versions %s", got)
			}
			if w := ask(h, "GET", "/"+home+"/1.0.0.json"); w.Code != 200 || w.Body.String() != mirrortest.Served(t, read(t, dir, home+"/1.0.0.json")) {
				t.Errorf("document: %d %s", w.Code, w.Body)
			}
			mustFetch(t, h, archive(v1, linux))
		})
	}
}

// TestCacheInObjectStore checks that an archive in an object store is served only with its recorded
// hashes.
func TestCacheInObjectStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, src := newRegistry(t)
		b := &bucket{}
		m := &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}
		h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}}
		content := mustFetch(t, h, archive(v1, linux))
		down(reg)
		if mustFetch(t, h, archive(v1, linux)) != content || versionsOf(t, h) != "1.0.0" {
			t.Error("it is another")
		}
		bad := []byte(content)
		bad[len(bad)/2] ^= 1
		b.Put(must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t).URL, string(bad))
		if status, body := fetch(h, archive(v1, linux)); status == 200 {
			t.Errorf("%d bytes that are not on record were served", len(body))
		}
		synctest.Wait() // until temporary files are removed
		wantFiles(t, m.TempDir)
	})
}

var errFull = errors.New("no space left")

// TestCacheCannotKeep checks that an archive that cannot be added is served and logged.
func TestCacheCannotKeep(t *testing.T) {
	t.Parallel()
	for name, suffix := range map[string]string{
		"nothing can be written": "", "no archives": ".zip", "no records": "/record_", "no index": "index.json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, src := newRegistry(t)
				full := true
				storage := &mirrortest.WatchedStore{Store: &bucket{}, Before: func(op, name string) error {
					if full && op == "write" && strings.Contains(name, suffix) {
						return errFull
					}
					return nil
				}}
				var log strings.Builder
				m := &mirrordir.Mirror{Store: storage, TempDir: t.TempDir()}
				h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}}
				content := mustFetch(t, h, archive(v1, linux))
				if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, errFull.Error()) {
					t.Errorf("log: %s", got)
				}
				for range 2 {
					if mustFetch(t, h, archive(v1, linux)) != content || versionsOf(t, h) != "1.0.0 2.0.0" {
						t.Error("it is another")
					}
					full = false // the second download is added
				}
				reg.Reset()
				mustFetch(t, h, archive(v1, linux))
				if reg.Count(0) != 0 {
					t.Errorf("%v", reg.Requests())
				}
				synctest.Wait() // until temporary files are removed
				wantFiles(t, m.TempDir)
				mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{})
				if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
					t.Errorf("%+v", report)
				}
			})
		})
	}
}

// TestCacheSlowStorage checks that a slow storage delays a client for Wait at most.
func TestCacheSlowStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, src := newRegistry(t)
		storage := &mirrortest.WatchedStore{Store: &bucket{}, Before: func(op, name string) error {
			if op == "write" && strings.HasSuffix(name, ".zip") {
				time.Sleep(10 * time.Minute)
			}
			return nil
		}}
		m := &mirrordir.Mirror{Store: storage, TempDir: t.TempDir()}
		c := &mirrorserve.Cache{Source: src, Mirror: m}
		h := &mirrorserve.Handler{Source: c}
		for range 2 {
			start := time.Now()
			mustFetch(t, h, archive(v1, linux))
			if took := time.Since(start); took != 5*time.Second {
				t.Errorf("it took %v", took)
			}
		}
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		must.Get(provider.Download(t.Context(), c, pkg, t.TempDir()+"/a.zip", provider.DownloadOptions{}))(t)
		time.Sleep(2 * time.Hour)
		mustFetch(t, h, archive(v1, linux))
		if n := reg.Count(regtest.Archive); n != 1 {
			t.Errorf("the archive was fetched %d times", n)
		}
	})
}

// TestCacheAsSource uses a Cache as a source in a program.
func TestCacheAsSource(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	_, c, dir := newCache(t, src)
	to := filepath.Join(t.TempDir(), "a.zip")
	var before *provider.Package
	for i := range 3 {
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		if i == 0 {
			before = pkg
		}
		if i == 2 {
			pkg = before // the package of the registry
		}
		report, err := provider.Download(t.Context(), c, pkg, to, provider.DownloadOptions{})
		if err != nil || report.Trust != verify.Signed {
			t.Fatalf("%v, %v", report, err)
		}
		if data, err := os.ReadFile(to); err != nil || string(data) != read(t, dir, archive(v1, linux)) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		down(reg)
	}
	list, err := c.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.Versions) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta")); !provider.IsFault(err) {
		t.Errorf("what is not kept: %v", err)
	}
	if _, err := c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v1, Platform: linux, Dir: dir}); !errors.Is(err, provider.ErrUnpacked) {
		t.Errorf("%v, want ErrUnpacked", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx, before); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// TestCacheRemoved checks that an archive that is removed after the lookup is downloaded again.
func TestCacheRemoved(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	h, c, dir := newCache(t, src)
	mustFetch(t, h, archive(v1, linux))
	pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !strings.HasPrefix(pkg.URL, "file:") {
		t.Fatalf("%+v, %v", pkg, err)
	}
	must.Do(t, c.Mirror.Remove(t.Context(), alpha))
	body := must.Get(c.Open(t.Context(), pkg))(t)
	zh, err := checksum.ZH(t.Context(), body)
	if err != nil || zh != pkg.SHA256 || body.Size != pkg.Size {
		t.Errorf("%v, %v", zh, err)
	}
	body.Close()
	body.Close()
	if read(t, dir, archive(v1, linux)) == "" {
		t.Error("not kept")
	}
}
