package verify_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestSameRelease: a SHA256SUMS document must list an archive that is known of the version,
// signed or not.
func TestSameRelease(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for name, test := range map[string]struct {
		known  []checksum.Hash
		policy verify.Policy
		change func(*verify.Evidence)
		want   error
	}{
		"no known archive":      {change: func(*verify.Evidence) {}},
		"one of several listed": {known: []checksum.Hash{wrongHash, p.other}, change: func(*verify.Evidence) {}},
		"another release":       {known: []checksum.Hash{wrongHash}, change: func(*verify.Evidence) {}, want: verify.ErrOtherRelease},
		"another release, AllowUnsigned": {
			known: []checksum.Hash{wrongHash}, policy: verify.Policy{AllowUnsigned: true}, change: unsigned, want: verify.ErrOtherRelease,
		},
		"no document, AllowUnsigned": {known: []checksum.Hash{wrongHash}, policy: verify.Policy{AllowUnsigned: true}, change: bare},
		"no document":                {known: []checksum.Hash{p.other}, change: bare, want: verify.ErrUnsigned},
	} {
		test.policy.SameRelease = test.known
		if _, err := p.check(test.policy, p.with(test.change)); !errors.Is(err, test.want) {
			t.Errorf("%s: Check returned %v, want %v", name, err, test.want)
		}
	}
}
