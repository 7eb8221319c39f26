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
	v, err := c.Do(t.Context(), key, c.ttl, func(context.Context) (int, error) {
		time.Sleep(time.Second)
		return int(c.runs.Add(1)), nil
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
			if v, ok := c.Get(1); v != 1 || !ok {
				t.Errorf("Get = %d, %v", v, ok)
			}
			time.Sleep(time.Nanosecond)
			if _, ok := c.Get(1); ok {
				t.Errorf("still kept after %v", kept)
			}
			c.want(t, 1, 2)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{ttl: -1}
		c.want(t, 1, 1)
		if _, ok := c.Get(1); ok {
			t.Error("kept in spite of a negative time")
		}
		c.want(t, 1, 2)
	})
}

func TestCacheForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{}
		c.Forget(1) // which it has never seen
		c.want(t, 1, 1)
		c.want(t, 2, 2)
		c.Forget(1)
		c.want(t, 1, 3)
		c.want(t, 2, 2)
		// What began before is not kept, nor joined.
		c.Forget(1)
		var wg sync.WaitGroup
		wg.Go(func() { c.want(t, 1, 4) })
		time.Sleep(time.Second / 2)
		c.Forget(1)
		wg.Go(func() { c.want(t, 1, 5) })
		wg.Wait()
		c.want(t, 1, 5)
	})
}

func TestCacheSharesWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{ttl: -1}
		start := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { c.want(t, 1, 1) })
		}
		wg.Wait()
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %v, want 1s", d)
		}
	})
}

func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	var c flight.Cache[string, int]
	boom := errors.New("boom")
	for range 2 {
		v, err := c.Do(t.Context(), "a", 0, func(context.Context) (int, error) { return 7, boom })
		if v != 0 || !errors.Is(err, boom) {
			t.Errorf("Do = %d, %v", v, err)
		}
	}
	if v, ok := c.Get("a"); ok {
		t.Errorf("kept %d", v)
	}
}

// TestCacheIsBounded: the last key within the limit evicts no other.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &numbers{ttl: 24 * time.Hour}
		for key := 1; key <= 1024; key++ {
			c.want(t, key, key)
		}
		c.want(t, 1, 1)
		c.want(t, 1025, 1025)
		c.want(t, 1, 1026)
	})
}
