package verify_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// tryOffer makes sure that JudgeOffer refuses only what JudgeArchive refuses for the same
// reason. It reports whether JudgeOffer refused.
func tryOffer(t *testing.T, p *pack, s situation) bool {
	ev := s.ev
	ev.Sums, ev.Signature = nil, nil
	offer := s.policy.JudgeOffer(ev, s.ev.Sums != nil, s.ev.Signature != nil)
	if offer == nil {
		return false
	}
	r, _, err := p.judgeArchive(t.Context(), s.policy, s.ev, true)
	for _, kind := range []error{verify.ErrUnsigned, verify.ErrUnchecked, verify.ErrNotAccepted} {
		if errors.Is(offer, kind) && !errors.Is(err, kind) && !errors.Is(err, checksum.ErrMismatch) {
			t.Errorf("%s: JudgeOffer %v, JudgeArchive %+v, %v", s.name, offer, r, err)
		}
	}
	if err == nil {
		t.Errorf("%s: JudgeOffer refuses (%v) what JudgeArchive accepts (%v)", s.name, offer, r)
	}
	return true
}

// TestJudgeOffer: what no archive can mend is known from the description of the package,
// and nothing else is.
func TestJudgeOffer(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	bareOf := func(h ...checksum.Hash) verify.Evidence {
		return p.with(func(ev *verify.Evidence) { bare(ev); ev.Hashes = h })
	}
	lax := verify.Policy{AllowUnsigned: true}
	lock := func(h ...checksum.Hash) verify.Policy { return verify.Policy{Accept: h} }
	tests := []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   error
	}{
		{"signed", verify.Policy{}, p.ev, nil},
		{"any mirror, zero policy", verify.Policy{}, bareOf(p.zh), verify.ErrUnsigned},
		{"no hashes, zero policy", verify.Policy{}, bareOf(), verify.ErrUnchecked},
		{"no signature", verify.Policy{}, p.with(unsigned), verify.ErrUnsigned},
		{"no keys", verify.Policy{}, p.with(func(ev *verify.Evidence) { ev.Keys = nil }), verify.ErrUnsigned},
		{"no keys, but pinned", verify.Policy{Keys: []verify.Key{p.key}}, p.with(func(ev *verify.Evidence) { ev.Keys = nil }), nil},
		{"another name", verify.Policy{}, p.with(func(ev *verify.Evidence) { ev.Requested = "random_3.7.0_linux_amd64" }), verify.ErrFilename},
		{"pins", verify.Policy{Fingerprints: []string{"no"}}, p.ev, verify.ErrPolicy},
		{"unsigned", lax, bareOf(p.zh), nil},
		{"unsigned, no hashes", lax, bareOf(), verify.ErrUnchecked},
		{"unsigned, must be signed", lax, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.MustBeSigned = true }), verify.ErrUnsigned},
		{"unsigned, no hashes, but sums", lax, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Hashes = nil }), nil},
		{"unchecked", verify.Policy{AllowUnchecked: true}, bareOf(), nil},
		{"unchecked, others stated", verify.Policy{AllowUnchecked: true}, p.with(func(ev *verify.Evidence) { empty(ev); ev.OthersStated = true }), verify.ErrUnchecked},
		{"locked", lock(p.zh), bareOf(p.zh), nil},
		{"locked by h1", lock(wrongHash, p.h1), bareOf(p.zh), nil},
		{"locked, another stated", lock(wrongHash), bareOf(p.zh), verify.ErrNotAccepted},
		{"locked, none stated", lock(p.zh), bareOf(), nil},
		{"locked, only h1 stated", lock(p.zh), bareOf(p.h1), nil},
		{"empty lock", lock([]checksum.Hash{}...), bareOf(p.zh), verify.ErrNotAccepted},
		{"empty lock, none stated", lock([]checksum.Hash{}...), bareOf(), verify.ErrNotAccepted},
		{"locked and signature wanted", with(lock(p.zh), func(a *verify.Policy) { a.RequireSignature = true }), bareOf(p.zh), verify.ErrUnsigned},
	}
	for _, tt := range tests {
		ev := tt.ev
		ev.Sums, ev.Signature = nil, nil
		if err := tt.policy.JudgeOffer(ev, tt.ev.Sums != nil, tt.ev.Signature != nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: JudgeOffer is %v, want %v", tt.name, err, tt.want)
		}
	}
}
