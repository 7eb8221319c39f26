package flight_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
)

// numbers is a cache of the number of runs.
type numbers struct {
	flight.Cache[int, int]
	ttl  time.Duration
	runs atomic.Int32
}

// want gets key, whose work takes a second, and fails the test unless it is run n.
func (c *numbers) want(t *testing.T, key, n int) {
	t.Helper()
	v, err := c.Do(t.Context(), key, func(context.Context) (int, time.Duration, error) {
		time.Sleep(time.Second)
		return int(c.runs.Add(1)), c.ttl, nil
	})
	if v != n || err != nil {
		t.Errorf("key %d: %d, %v; want %d", key, v, err, n)
	}
}

func TestCacheKeepsForItsTime(t *testing.T) {
	t.Parallel()
	for ttl, kept := range map[time.Duration]time.Duration{0: time.Hour, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			c := &numbers{ttl: ttl}
			c.want(t, 1, 1)
			time.Sleep(kept - time.Nanosecond)
			c.want(t, 1, 1)
			time.Sleep(time.Nanosecond)
			c.want(t, 1, 2)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{ttl: -1}
		c.want(t, 1, 1)
		c.want(t, 1, 2)
	})
}

// is returns the condition of Forget for one key.
func is(key int) func(int) bool { return func(k int) bool { return k == key } }

func TestCacheForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{}
		c.Forget(is(1)) // which it has never seen
		c.want(t, 1, 1)
		c.want(t, 2, 2)
		c.Forget(is(1))
		c.want(t, 1, 3)
		c.want(t, 2, 2)
		// What began before is not kept, nor joined.
		c.Forget(is(1))
		var wg sync.WaitGroup
		wg.Go(func() { c.want(t, 1, 4) })
		time.Sleep(time.Second / 2)
		c.Forget(is(1))
		wg.Go(func() { c.want(t, 1, 5) })
		wg.Wait()
		c.want(t, 1, 5)
	})
}

func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	var c flight.Cache[string, int]
	boom, runs := errors.New("boom"), 0
	for range 2 {
		v, err := c.Do(t.Context(), "a", func(context.Context) (int, time.Duration, error) {
			runs++
			return 7, 0, boom
		})
		if v != 0 || !errors.Is(err, boom) {
			t.Errorf("Do = %d, %v", v, err)
		}
	}
	if runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}

// TestCacheIsBounded: one key above the limit evicts one other key, and failures evict none.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{ttl: 24 * time.Hour}
		cached := func() (n int) {
			before := c.runs.Load()
			for key := 1; key <= 1024; key++ {
				_, err := c.Do(t.Context(), key, func(context.Context) (int, time.Duration, error) { return 0, 0, errors.New("not cached") })
				if err == nil {
					n++
				}
			}
			if c.runs.Load() != before {
				t.Error("the cache ran other work")
			}
			return n
		}
		for key := 1; key <= 1024; key++ {
			c.want(t, key, key)
		}
		for key := 2000; key < 4000; key++ {
			if _, err := c.Do(t.Context(), key, func(context.Context) (int, time.Duration, error) { return 0, 0, errors.New("refused") }); err == nil {
				t.Fatal("no error")
			}
		}
		if n := cached(); n != 1024 {
			t.Errorf("after 1,024 keys and 2,000 failures %d are cached, want 1024", n)
		}
		c.want(t, 1025, 1025)
		c.want(t, 1025, 1025)
		if n := cached(); n != 1023 {
			t.Errorf("after one more key %d of the first 1,024 are cached, want 1023", n)
		}
	})
}
