package flight_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/testing/must"
)

type contextKey struct{}

// together calls do n times at the same time, with 0 to n-1, and waits for the calls.
func together(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func TestConcurrentCallersShareOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, int]
		var runs atomic.Int32
		work := func(context.Context) (int, error) {
			time.Sleep(time.Second)
			return int(runs.Add(1)), nil
		}
		start := time.Now()
		together(50, func(int) {
			if v, err := g.Do(t.Context(), "a", nil, work); v != 1 || err != nil {
				t.Errorf("Do = %d, %v; want 1, nil", v, err)
			}
		})
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %v, want 1s", d)
		}
		if v, err := g.Do(t.Context(), "a", nil, work); v != 2 || err != nil {
			t.Errorf("a later Do = %d, %v; want a run of its own", v, err)
		}
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[int, int]
		start := time.Now()
		together(5, func(key int) {
			v, err := g.Do(t.Context(), key, nil, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return key, nil
			})
			if v != key || err != nil {
				t.Errorf("Do(%d) = %d, %v", key, v, err)
			}
		})
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %v, want 1s", d)
		}
	})
}

func TestErrorReachesAllCallersWithTheZeroValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, int]
		boom := errors.New("boom")
		together(3, func(int) {
			v, err := g.Do(t.Context(), "a", func(v int) int { return v + 1 }, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return 7, boom
			})
			if v != 0 || !errors.Is(err, boom) {
				t.Errorf("Do = %d, %v; want 0, boom", v, err)
			}
		})
	})
}

// A caller that returns does not affect the others, even if it started the call. When the last caller
// returns, the work is cancelled.
func TestLastCallersLeavingStopsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, int]
		var stopped time.Time
		start := time.Now()
		work := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			stopped = time.Now()
			return 0, ctx.Err()
		}
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := g.Do(ctx, "a", nil, work)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("caller %d: %v", i, err)
				}
				if d := time.Since(start); d != time.Duration(i+1)*time.Second {
					t.Errorf("caller %d left after %v", i, d)
				}
			})
			synctest.Wait() // the one with the shortest deadline begins the run
		}
		wg.Wait()
		synctest.Wait()
		if d := stopped.Sub(start); d != 3*time.Second {
			t.Errorf("the work was stopped after %v, want 3s", d)
		}
	})
}

func TestCallerAfterTheLastLeftStartsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, string]
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := g.Do(ctx, "a", nil, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			time.Sleep(time.Minute) // slow to notice
			return "first", nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("first call: %v", err)
		}
		v, err := g.Do(t.Context(), "a", nil, func(ctx context.Context) (string, error) {
			time.Sleep(2 * time.Minute) // the first run ends in between, and must not end this one
			return "second", ctx.Err()
		})
		if v != "second" || err != nil {
			t.Errorf("second call = %q, %v", v, err)
		}
	})
}

func TestContextOfTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, string]
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), contextKey{}, "kept"), time.Hour)
		defer cancel()
		var work context.Context
		v, err := g.Do(ctx, "a", nil, func(ctx context.Context) (string, error) {
			work = ctx
			if _, ok := ctx.Deadline(); ok {
				t.Error("the work inherited one caller's deadline")
			}
			return ctx.Value(contextKey{}).(string), ctx.Err()
		})
		if v != "kept" || err != nil {
			t.Errorf("Do = %q, %v", v, err)
		}
		synctest.Wait()
		if work.Err() == nil {
			t.Error("the context of the work outlives it")
		}
	})
}

func TestEndedContextIsNotServed(t *testing.T) {
	t.Parallel()
	var g flight.Group[string, int]
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err := g.Do(ctx, "a", nil, func(context.Context) (int, error) {
		t.Error("the work ran")
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, because) {
		t.Errorf("error %v, want context.Canceled and its cause", err)
	}
}

func TestEachCallerGetsItsOwnCopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, map[int]bool]
		original := map[int]bool{-1: true}
		work := func(context.Context) (map[int]bool, error) {
			time.Sleep(time.Second)
			return original, nil
		}
		together(10, func(i int) {
			m, err := g.Do(t.Context(), "a", maps.Clone, work)
			if err != nil {
				t.Error(err)
			}
			m[i] = true // for the race detector
			if len(m) != 2 {
				t.Errorf("caller %d sees changes of other callers: %v", i, m)
			}
		})
		if len(original) != 1 {
			t.Errorf("the original was changed: %v", original)
		}
		never := func(m map[int]bool) map[int]bool { t.Error("copied for a single caller"); return m }
		if m, err := g.Do(t.Context(), "a", never, work); err != nil || len(m) != 1 {
			t.Errorf("single caller: %v, %v", m, err)
		}
	})
}

func TestPanicReachesEveryCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[string, int]
		together(3, func(int) {
			defer func() {
				said, _ := recover().(string)
				if !strings.HasPrefix(said, "boom\n") || !strings.Contains(said, "flight_test.go") {
					t.Errorf("recovered %q", said)
				}
			}()
			g.Do(t.Context(), "a", nil, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				panic("boom")
			})
			t.Error("Do returned")
		})
		if v, err := g.Do(t.Context(), "a", nil, func(context.Context) (int, error) { return 1, nil }); v != 1 || err != nil {
			t.Errorf("after the panic: %d, %v", v, err)
		}
	})
}

func TestGoexitHangsNobody(t *testing.T) {
	t.Parallel()
	var g flight.Group[string, int]
	_, err := g.Do(t.Context(), "a", nil, func(context.Context) (int, error) {
		runtime.Goexit()
		return 1, nil
	})
	if !errors.Is(err, flight.ErrExited) {
		t.Errorf("error %v, want ErrExited", err)
	}
}

// Many callers come and go at random. Each returns in time with the value or the error of its context,
// and no goroutine remains.
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[int, []int]
		clone := func(v []int) []int { return append([]int(nil), v...) }
		together(500, func(i int) {
			time.Sleep(time.Duration(i%37) * time.Millisecond)
			patience := time.Duration(i%23+1) * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			v, err := g.Do(ctx, i%3, clone, func(ctx context.Context) ([]int, error) {
				select {
				case <-time.After(10 * time.Millisecond):
					return []int{i % 3}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
			switch {
			case err == nil && (len(v) != 1 || v[0] != i%3):
				t.Errorf("caller %d got %v", i, v)
			case err != nil && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("caller %d: %v", i, err)
			case time.Since(start) > patience:
				t.Errorf("caller %d waited %v, longer than %v", i, time.Since(start), patience)
			}
			if err == nil {
				v[0] = -1
			}
		})
	})
}

func BenchmarkDo(b *testing.B) {
	var g flight.Group[string, int]
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		must.Get(g.Do(ctx, "key", nil, func(context.Context) (int, error) { return 1, nil }))(b)
	}
}

func Example() {
	var documents flight.Group[string, string]
	text, err := documents.Do(context.Background(), "https://registry.example.com/", nil, func(ctx context.Context) (string, error) {
		return "downloaded once for concurrent callers", nil
	})
	fmt.Println(text, err)
	// Output: downloaded once for concurrent callers <nil>
}

// TestShares: a key gets its share and no more, all keys get the total and no more, and what is
// released is free again.
func TestShares(t *testing.T) {
	t.Parallel()
	s := flight.NewShares[string](5, 3)
	ended, end := context.WithCancel(t.Context())
	end()
	for _, step := range []struct {
		key string
		n   int64
		ok  bool
	}{{"a", 2, true}, {"a", 2, false}, {"a", 1, true}, {"a", 1, false}, {"b", 3, false}, {"b", 2, true}, {"b", 1, false}, {"c", 1, false}} {
		release, ok := s.TryAcquire(step.key, step.n)
		if ok != step.ok {
			t.Errorf("TryAcquire(%q, %d) = %t, want %t", step.key, step.n, ok, step.ok)
		}
		if ok {
			defer func() {
				release()
				if again, err := s.Acquire(t.Context(), step.key, step.n); err != nil {
					t.Errorf("Acquire(%q, %d) after the release: %v", step.key, step.n, err)
				} else {
					again()
				}
			}()
			continue
		}
		if _, err := s.Acquire(ended, step.key, step.n); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire(%q, %d) = %v, want canceled", step.key, step.n, err)
		}
	}
	alone := flight.NewShares[string](5, 3)
	release, ok := alone.TryAcquire("a", 100)
	if !ok {
		t.Fatal("TryAcquire of more than a share refused a client that holds nothing")
	}
	defer release()
	if _, ok := alone.TryAcquire("a", 1); ok {
		t.Error("TryAcquire succeeded beside more than the whole share")
	}
}

func TestInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running, sum := 0, 0
		report := flight.InTurn(func(n int) {
			if running++; running != 1 {
				t.Errorf("InTurn: %d calls at a time, want 1", running)
			}
			time.Sleep(time.Second)
			running--
			sum += n
		})
		together(10, report)
		if sum != 45 {
			t.Errorf("InTurn: the sum of the calls is %d, want 45", sum)
		}
	})
	report := flight.InTurn(func(v int) { panic(v) })
	for range 2 { // a report that panics leaves the turn to the next one
		func() {
			defer func() {
				if recover() == nil {
					t.Error("InTurn: no panic")
				}
			}()
			report(1)
		}()
	}
	flight.InTurn[int](nil)(1)
}
