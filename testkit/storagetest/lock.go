package storagetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tofureg/tofureg/storage"
)

// testLock checks that a lock is exclusive, that waiting ends with the context, and that locks with other
// names are independent.
func testLock(r *run) {
	if _, ok := storage.As[storage.Locker](r.storage(0)); !ok {
		return
	}
	name := r.path("version")
	unlock := r.lock(r.ctx, 0, name)
	if unlock == nil {
		return
	}
	if other := r.lock(r.ctx, 1, r.path("another")); other != nil {
		r.unlock(other)
	}
	for _, s := range r.storages {
		l, ok := storage.As[storage.Locker](s)
		if !ok {
			continue // r.lock reports it
		}
		ctx, cancel := context.WithTimeout(r.ctx, soon/50)
		err, ended := r.endsSoon(ctx, "Lock", func() error {
			second, err := l.Lock(ctx, name)
			if err == nil {
				second()
			}
			return err
		})
		cancel()
		switch {
		case !ended:
		case err == nil:
			r.errorf("a second Lock(%q) before unlock succeeds", name)
		case !errors.Is(err, context.DeadlineExceeded):
			r.errorf("a second Lock(%q) before unlock = %v, want the error of the context", name, err)
		}
	}
	r.unlock(unlock)
	r.takeTurns(name)
}

// takeTurns checks that one of several goroutines has the lock.
func (r *run) takeTurns(name string) {
	var inside atomic.Int64
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range 5 {
				if r.failed() {
					return
				}
				unlock := r.lock(r.ctx, i, name)
				if unlock == nil {
					return
				}
				if n := inside.Add(1); n != 1 {
					r.errorf("Lock(%q): %s goroutines have the lock", name, strconv.FormatInt(n, 10))
				}
				inside.Add(-1)
				r.unlock(unlock)
			}
		})
	}
	wg.Wait()
}

// lock waits for a lock. It returns nil after an error.
func (r *run) lock(ctx context.Context, i int, name string) func() error {
	ctx, cancel := context.WithTimeout(ctx, 10*soon)
	defer cancel()
	l, ok := storage.As[storage.Locker](r.storage(i))
	if !ok {
		r.errorf("only some of the stores have the method Lock")
		return nil
	}
	unlock, err := l.Lock(ctx, name)
	if err != nil {
		r.errorf("Lock(%q) = %v", name, err)
		return nil
	}
	return unlock
}

func (r *run) unlock(unlock func() error) {
	if err := unlock(); err != nil {
		r.errorf("unlock = %v", err)
	}
}
