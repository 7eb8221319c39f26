package fsx_test

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

var lockFor = flag.String("fsx.hold", "", "hold the lock of this `file` until the process is killed")

// TestChild is another process that holds a lock. Without the flag it does nothing.
func TestChild(t *testing.T) {
	if *lockFor == "" {
		return
	}
	must.Get(fsx.AcquireLock(t.Context(), *lockFor))(t)
	disktest.Stop("locked")
}

func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	holder := disktest.Start(t, "locked", "-fsx.hold="+path)
	enough := errors.New("waited enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, enough)
	defer cancel()
	if l, err := fsx.AcquireLock(ctx, path); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, enough) {
		t.Fatalf("while another process has it: %v, %v; want the end of the context and its cause", l, err)
	}
	// The lock is free as soon as its holder dies.
	got := make(chan error)
	go func() {
		l, err := fsx.AcquireLock(t.Context(), path)
		if err == nil {
			err = l.Release()
		}
		got <- err
	}()
	holder.Kill()
	if err := <-got; err != nil {
		t.Errorf("after the holder was killed: %v", err)
	}
}

// TestLockExcludes: holders exclude each other, whether the lock file stays or is removed each
// time.
func TestLockExcludes(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(*fsx.Lock) error{
		"release": (*fsx.Lock).Release,
		"remove":  (*fsx.Lock).Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			var mu sync.Mutex
			count := 0
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 20 {
						l, err := fsx.AcquireLock(t.Context(), path)
						if err != nil {
							t.Error(err)
							return
						}
						if !mu.TryLock() {
							t.Error("two hold the lock")
						} else {
							count++
							mu.Unlock()
						}
						if err := release(l); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if count != 160 {
				t.Errorf("the lock was had %d times, want 160", count)
			}
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) != (name == "remove") {
				t.Errorf("after %s the lock file is %v", name, err)
			}
		})
	}
}

func TestLockFailures(t *testing.T) {
	t.Parallel()
	if _, err := fsx.AcquireLock(t.Context(), filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such directory: %v, want fs.ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(fsx.AcquireLock(ctx, path))(t)
	defer l.Release()
	cancel()
	if _, err := fsx.AcquireLock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
