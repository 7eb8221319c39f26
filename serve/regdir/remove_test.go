package regdir_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
)

// TestRemoveNoVersion checks that a removal without a version removes nothing.
func TestRemoveNoVersion(t *testing.T) {
	t.Parallel()
	store := &mirrortest.Bucket{Generations: true}
	r := newRegistry(store)
	publish(t, r, dist(t, "1.0.0", 0, "linux_amd64"))
	_, loc := source(t, "# one\n")
	publishModule(t, r, v1, loc)
	before := len(files(t, store))
	for _, err := range []error{r.RemoveProvider(t.Context(), alpha, addrs.Version{}), r.RemoveModule(t.Context(), network, addrs.Version{})} {
		if err == nil || !strings.Contains(err.Error(), "the version is missing") {
			t.Errorf("a removal without a version: %v, want an error that says so", err)
		}
	}
	if after := len(files(t, store)); after != before {
		t.Errorf("removals without a version leave %d files of %d", after, before)
	}
}

// TestSlowRemoval stops a removal at each call of the store, and lets other processes remove the version and publish
// it again. The registry must have what its documents name, if revisions count writes also when the removal is killed
// after it has deleted something and begins again.
func TestSlowRemoval(t *testing.T) {
	t.Parallel()
	one, two := dist(t, "1.0.0", 0, "linux_amd64"), dist(t, "1.0.0", 1, "linux_amd64")
	slowRemoval(t, one, two, true)
	slowRemoval(t, one, one, false)
}

func slowRemoval(t *testing.T, one, two regdir.Release, generations bool) {
	t.Helper()
	for stop, calls := 0, 1; calls > stop; stop++ {
		store := &mirrortest.Bucket{Generations: generations}
		r := newRegistry(store)
		publish(t, r, one)
		calls = 0
		deleted := false
		err := newRegistry(&watched{Store: store, before: func(op, _ string) error {
			calls++
			if calls == stop+1 {
				must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
				publish(t, r, two)
			} else if generations && calls > stop && deleted && op != "delete" {
				return errDead
			}
			deleted = calls > stop && op == "delete"
			return nil
		}}).RemoveProvider(t.Context(), alpha, v1)
		if err != nil && !errors.Is(err, errDead) {
			t.Fatalf("stopped at call %d: %v", stop, err)
		}
		if got := wantTrue(t, store); got != "" && got != "1.0.0 linux_amd64" {
			t.Errorf("stopped at call %d, the registry has %q", stop, got)
		}
		if t.Failed() {
			t.Fatalf("stopped at call %d", stop)
		}
	}
}
