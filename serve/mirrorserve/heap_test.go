//go:build !race

package mirrorserve_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/serve/mirrorserve"
)

// TestUnreadDocumentsHeap checks that many large documents that one client does not read need little
// memory: the bytes that may wait, and what is needed to make a few of them at the same time. It
// measures, so it is not parallel, and is not built for the race detector, which allocates for itself.
func TestUnreadDocumentsHeap(t *testing.T) {
	src := newWide()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before := heap()
	var peak uint64
	synctest.Test(t, func(t *testing.T) {
		h := &mirrorserve.Handler{Source: src}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				serveSlowly(t, h, newSlowClient(-1), "192.0.2.1:1", fmt.Sprintf("registry.example.com/acme/a%d/index.json", i))
			})
		}
		for range 100 {
			time.Sleep(10 * time.Millisecond) // all others have come to a stop
			peak = max(peak, heap())
		}
		wg.Wait()
	})
	if most := uint64(128 << 20); peak > before+most {
		t.Errorf("the heap grew by %d MiB, want at most %d", (peak-before)>>20, most>>20)
	}
	t.Logf("the heap grew by %d MiB", (peak-before)>>20)
}
