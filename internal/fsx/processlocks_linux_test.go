package fsx_test

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

// TestClassicExcludes: goroutines of one process exclude each other although the kernel would grant
// the lock to all of them.
func TestClassicExcludes(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	locks := fsx.NewClassic()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for done := 0; done < 50; {
				l, err := locks.Try(root, "lock")
				if err != nil {
					t.Error(err)
					return
				}
				if l == nil {
					runtime.Gosched()
					continue
				}
				if !mu.TryLock() {
					t.Error("two hold the lock")
					return
				}
				done++
				mu.Unlock()
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := locks.Held(); n != 0 {
		t.Errorf("%d locks are still known", n)
	}
}

// TestClassicIsKept: a failed attempt does not drop the lock of its holder.
func TestClassicIsKept(t *testing.T) {
	t.Parallel()
	root := openRoot(t)
	locks := fsx.NewClassic()
	l, err := locks.Try(root, "lock")
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	for range 3 {
		if other, err := locks.Try(root, "lock"); other != nil || err != nil {
			t.Fatal(other, err)
		}
	}
	// An open-file-description lock conflicts with it, as another process would.
	if other, err := fsx.TryLockIn(root, "lock"); other != nil || err != nil {
		t.Errorf("the lock is lost: %v, %v", other, err)
	}
	// TryLockIn closed a descriptor, which drops the lock. Classic never does that.
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := root.Stat("lock"); !os.IsNotExist(err) {
		t.Error("the file is still there")
	}
}
