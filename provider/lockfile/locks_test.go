package lockfile_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// TestLocks: only an entry with this version and a hash locks, not one that may be hidden in unreadable content.
func TestLocks(t *testing.T) {
	t.Parallel()
	p, other := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseProvider("registry.example.com/acme/beta")
	v := addrs.MustParseVersion("1.0.0")
	for _, test := range casetest.Read[struct {
		Name, Text string
		Want       bool
	}](t, "locks.txt") {
		f := must.Get(lockfile.ParseLenient([]byte(test.Text), "lock.hcl"))(t)
		if got := f.Locks(p, v); got != test.Want {
			t.Errorf("%s: Locks = %t, want %t", test.Name, got, test.Want)
		}
		if f.Locks(other, v) || f.Locks(p, addrs.Version{}) || f.Locks(other, addrs.Version{}) {
			t.Errorf("%s: Locks of another provider or of no version is true", test.Name)
		}
	}
}
