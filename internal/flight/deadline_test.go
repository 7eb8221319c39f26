package flight_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
)

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
