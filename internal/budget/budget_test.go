package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/internal/budget"
	"github.com/tofureg/tofureg/internal/fault"
)

// TestBytes: all bytes can be taken, and not one more until some are given back.
func TestBytes(t *testing.T) {
	t.Parallel()
	ctx, b := budget.Of(t.Context(), 10)
	if _, same := budget.Of(ctx, 100); same != b {
		t.Error("a part of the call has another budget")
	}
	if err := b.Take(10, "x"); err != nil {
		t.Error(err)
	}
	if err := b.Take(1, "all documents"); !errors.Is(err, fault.ErrTooLarge) || err.Error() != "more than 10 bytes in all documents: too large" {
		t.Errorf("one byte more: %v", err)
	}
}

// TestWait: a part waits for the bytes of another one, until its context ends.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(10)
		release, err := b.Wait(t.Context(), 11) // all
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.Wait(ctx, 1)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Wait: %v, want context.Canceled", err)
		}
		release()
		release()
		if err := b.Take(10, "x"); err != nil {
			t.Error(err)
		}
		if b.Take(1, "x") == nil {
			t.Error("the second release gave more bytes")
		}
	})
}
