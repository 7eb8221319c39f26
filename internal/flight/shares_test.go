package flight_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofureg/tofureg/internal/flight"
)

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
