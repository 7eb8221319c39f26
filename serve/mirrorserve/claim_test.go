package mirrorserve_test

import (
	"sync"
	"testing"

	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestTwoCaches: two caches over one directory, as two processes have them, download an archive once. If the one that downloads
// fails, the other downloads it.
func TestTwoCaches(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	dir := t.TempDir()
	var clients sync.WaitGroup
	for range 2 {
		h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: open(t, dir), Wait: -1}}
		for range 4 {
			clients.Go(func() { mustFetch(t, h, archive(v1, linux)) })
		}
	}
	clients.Wait()
	if n := reg.Count(regtest.Archive); n != 1 {
		t.Errorf("two caches over one directory download the archive %d times, want once", n)
	}
	if r := mustCheck(t, open(t, dir), mirrordir.CheckOptions{}); !r.OK() || r.Archives != 1 {
		t.Errorf("Check: %+v, want one archive", r)
	}
}
