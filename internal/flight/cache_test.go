package flight_test

import (
	"context"
	"errors"
	"strings"
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

// The work has the latest deadline of the callers that wait, and none if one of them has none.
func TestDeadlineOfTheWork(t *testing.T) {
	t.Parallel()
	const none = time.Duration(0)
	for _, test := range []struct {
		callers []time.Duration
		want    time.Duration
	}{
		{[]time.Duration{3 * time.Hour}, 3 * time.Hour},
		{[]time.Duration{2 * time.Hour, 3 * time.Hour}, 3 * time.Hour},
		{[]time.Duration{3 * time.Hour, 2 * time.Hour}, 3 * time.Hour},
		{[]time.Duration{none}, none},
		{[]time.Duration{2 * time.Hour, none}, none},
		{[]time.Duration{none, 2 * time.Hour}, none},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g flight.Group[string, time.Duration]
			start := time.Now()
			var wg sync.WaitGroup
			for _, d := range test.callers {
				ctx, cancel := t.Context(), func() {}
				if d != none {
					ctx, cancel = context.WithDeadline(ctx, start.Add(d))
				}
				wg.Go(func() {
					defer cancel()
					got, err := g.Do(ctx, "a", nil, func(ctx context.Context) (time.Duration, error) {
						time.Sleep(time.Minute) // until all have come
						// Contexts that are made of it have it too.
						ctx, cancel := context.WithCancel(ctx)
						defer cancel()
						if d, ok := flight.Deadline(ctx); ok {
							return d.Sub(start), nil
						}
						return none, nil
					})
					if got != test.want || err != nil {
						t.Errorf("%v: %v, %v; want %v", test.callers, got, err, test.want)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
		})
	}
}

// After a caller without a deadline has returned, the deadlines of the others count.
func TestPatientCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, bool]
		work := func(ctx context.Context) (bool, error) {
			time.Sleep(time.Minute)
			_, ok := flight.Deadline(ctx)
			return ok, nil
		}
		patient, leave := context.WithCancel(t.Context())
		go g.Do(patient, "a", nil, work)
		synctest.Wait()
		time.AfterFunc(time.Second, leave)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if bounded, err := g.Do(ctx, "a", nil, work); !bounded || err != nil {
			t.Errorf("bounded: %v, %v", bounded, err)
		}
	})
}

// Nested work has the deadline of the callers of the outer work.
func TestDeadlineOfNestedWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outer, inner flight.Group[string, time.Duration]
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got, err := outer.Do(ctx, "a", nil, func(ctx context.Context) (time.Duration, error) {
			if _, ok := ctx.Deadline(); ok {
				t.Error("the context has a deadline that may change")
			}
			return inner.Do(ctx, "b", nil, func(ctx context.Context) (time.Duration, error) {
				at, _ := flight.Deadline(ctx)
				return at.Sub(start), nil
			})
		})
		if got != time.Hour || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestDeadlineOfAnyContext(t *testing.T) {
	t.Parallel()
	if _, ok := flight.Deadline(context.Background()); ok {
		t.Error("a deadline without one")
	}
	want := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), want)
	defer cancel()
	if got, ok := flight.Deadline(ctx); !ok || !got.Equal(want) {
		t.Errorf("%v, %v", got, ok)
	}
}

// TestCacheBytes: values of the maximum size together stay. One byte more evicts some, what has expired first,
// and a value that is larger than all is not cached.
func TestCacheBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for more, want := range map[int]int{0: 4, 1: 3} {
			c := flight.Cache[int, string]{Bytes: 40, Size: func(_ int, v string) int64 { return int64(len(v)) }}
			for key := range 4 {
				c.Put(key, strings.Repeat("x", 10+max(0, more*(key-2))), time.Hour)
			}
			there := 0
			for key := range 4 {
				if _, ok := c.Get(key); ok {
					there++
				}
			}
			if _, ok := c.Get(3); there != want || !ok {
				t.Errorf("of 4 values of %d bytes in all %d are cached, the last one %t; want %d with the last one", 40+more, there, ok, want)
			}
			c.Put(5, strings.Repeat("x", 41), time.Hour)
			if _, ok := c.Get(5); ok {
				t.Error("a value of 41 bytes is cached, want none above 40")
			}
		}
		c := flight.Cache[int, string]{Bytes: 40, Size: func(_ int, v string) int64 { return int64(len(v)) }}
		for key := range 4 {
			c.Put(key, strings.Repeat("x", 10), time.Duration(key+1)*time.Hour)
		}
		c.Forget(func(key int) bool { return key == 0 })
		c.Put(4, strings.Repeat("x", 10), time.Hour)
		time.Sleep(2 * time.Hour)
		c.Put(5, strings.Repeat("x", 20), time.Hour)
		for key, want := range map[int]bool{0: false, 1: false, 2: true, 3: true, 4: false, 5: true} {
			if _, ok := c.Get(key); ok != want {
				t.Errorf("value %d is cached: %t, want %t", key, ok, want)
			}
		}
	})
}
