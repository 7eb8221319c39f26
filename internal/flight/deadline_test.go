package flight_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
)

// The work sees the latest deadline of those who wait for it, and none if one has none.
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

// Who has no deadline and leaves does not keep the others waiting for nothing.
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

// A caller that came when the work had already given up for the deadline of another has
// it run again; what fails for any other reason is not.
func TestLateCaller(t *testing.T) {
	t.Parallel()
	gaveUp := fmt.Errorf("it comes too early: %w", context.DeadlineExceeded)
	other := errors.New("another reason")
	for _, test := range []struct {
		fails error
		asks  bool          // for the deadline
		late  time.Duration // deadline of the late caller; 0: none
		runs  int32
		want  error
	}{
		{gaveUp, true, 0, 2, nil},
		{gaveUp, true, 3 * time.Hour, 2, nil},
		{gaveUp, true, time.Hour, 1, gaveUp},
		{gaveUp, false, 0, 1, gaveUp},
		{other, true, 0, 1, other},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g flight.Group[string, string]
			var runs atomic.Int32
			work := func(ctx context.Context) (string, error) {
				if runs.Add(1) > 1 {
					return "done", nil
				}
				if test.asks {
					flight.Deadline(ctx)
				}
				time.Sleep(time.Minute)
				return "", test.fails
			}
			early, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			go func() {
				if _, err := g.Do(early, "a", nil, work); err != test.fails {
					t.Errorf("the early caller: %v", err)
				}
			}()
			synctest.Wait()
			ctx := t.Context()
			if test.late != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.late)
				defer cancel()
			}
			v, err := g.Do(ctx, "a", nil, work)
			if err != test.want || (err == nil) != (v == "done") || runs.Load() != test.runs {
				t.Errorf("%+v: %q, %v after %d runs", test, v, err, runs.Load())
			}
			synctest.Wait()
		})
	}
}

// Work within work knows how long somebody waits for the outer one.
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
