package lockfile_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// TestLocks: only an entry with this version and a hash locks, not one that may be hidden in unreadable content.
func TestLocks(t *testing.T) {
	t.Parallel()
	const alpha = `provider "registry.example.com/acme/alpha" {
  version = "1.0.0"
  hashes  = ["zh:0000000000000000000000000000000000000000000000000000000000000000"]
}
`
	p, other := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseProvider("registry.example.com/acme/beta")
	v := addrs.MustParseVersion("1.0.0")
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"locked":          {alpha, true},
		"unknown block":   {alpha + "unknown {}\n", false}, // its hashes cannot be used
		"no hashes":       {"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n}\n", false},
		"another version": {"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.1.0\"\n  hashes = [\"zh:0000000000000000000000000000000000000000000000000000000000000000\"]\n}\n", false},
		"damaged":         {"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\"zh:00\", 7]\n}\n", false},
		"only unknown":    {"unknown {}\n", false},
		"empty":           {"", false},
	} {
		f := must.Get(lockfile.ParseLenient([]byte(test.text), "lock.hcl"))(t)
		if got := f.Locks(p, v); got != test.want {
			t.Errorf("%s: Locks = %t, want %t", name, got, test.want)
		}
		if f.Locks(other, v) || f.Locks(p, addrs.Version{}) || f.Locks(other, addrs.Version{}) {
			t.Errorf("%s: Locks of another provider or of no version is true", name)
		}
	}
}
