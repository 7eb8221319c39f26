package flight_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/flight"
)

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
		var wg sync.WaitGroup
		for n := range 10 {
			wg.Go(func() { report(n) })
		}
		wg.Wait()
		if sum != 45 {
			t.Errorf("InTurn: the sum of the calls is %d, want 45", sum)
		}
	})
	func() { // A report that panics leaves the turn to the next one.
		report := flight.InTurn(func(v int) { panic(v) })
		for range 2 {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("InTurn: no panic")
					}
				}()
				report(1)
			}()
		}
	}()
	flight.InTurn[int](nil)(1)
}
