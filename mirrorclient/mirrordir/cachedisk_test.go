package mirrordir_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// TestCacheOnFullDisk: what there is no room for fails cleanly, and all else goes on.
func TestCacheOnFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 1<<16, func(t *testing.T, dir string) {
		c := &mirrordir.Cache{Source: client(growing()), Mirror: open(t, dir), Wait: -1}
		h := &mirrordir.Handler{Source: c}
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

// TestCacheInReadOnlyDirectory: what is kept is served, and so is what cannot be kept.
func TestCacheInReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		mustAdd(t, open(t, dir), client(growing()), wants(three, v1), mirrordir.Options{})
	}, func(t *testing.T, dir string) {
		var log strings.Builder
		m := open(t, dir)
		h := &mirrordir.Handler{Source: &mirrordir.Cache{
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

// TestCachesShareDirectory has several caches, as in processes of their own, and a refresh work
// on one directory.
func TestCachesShareDirectory(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	_, dir := newMirror(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			h := &mirrordir.Handler{Source: &mirrordir.Cache{Source: src, Mirror: open(t, dir), Wait: -1}}
			for j := range 6 {
				v := v1
				if (i+j)%2 == 1 {
					v = v2
				}
				mustFetch(t, h, archive(v, three[(i+j)%3]))
			}
		})
	}
	wg.Go(func() { mustAdd(t, open(t, dir), src, wants(three, v2), mirrordir.Options{}) })
	wg.Wait()
	m := open(t, dir)
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || report.Archives != 6 || len(report.Notes) > 0 {
		t.Errorf("%+v", report)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".tofureg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}
