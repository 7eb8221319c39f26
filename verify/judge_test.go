package verify_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// judgeArchive judges p's archive and counts how often it is inflated.
func (p *pack) judgeArchive(ctx context.Context, policy verify.Policy, ev verify.Evidence, wantH1 bool) (r *verify.Report, inflated int, err error) {
	a := verify.Archive{Size: int64(len(p.zip)), ZH: p.zh, AlwaysH1: wantH1, H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) {
		inflated++
		return p.h1, p.hT, ctx.Err()
	}}
	r, err = policy.JudgeArchive(ctx, ev, a)
	return r, inflated, err
}

// TestRefusedBeforeInflating: what the zh or the size refutes is never inflated, also if an
// h1 is needed to accept it.
func TestRefusedBeforeInflating(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	locked := verify.Policy{Accept: []checksum.Hash{wrongHash, p.h1}}
	both := verify.Policy{Accept: []checksum.Hash{wrongHash, p.h1}, RequireSignature: true}
	stated := func(h ...checksum.Hash) verify.Evidence {
		return p.with(func(ev *verify.Evidence) { bare(ev); ev.Hashes = h })
	}
	tests := []struct {
		name     string
		policy   verify.Policy
		ev       verify.Evidence
		inflated int
		want     error
	}{
		{"accepted by h1", locked, p.ev, 1, nil},
		{"accepted by h1, size differs", locked, p.with(func(ev *verify.Evidence) { ev.Size++ }), 0, checksum.ErrMismatch},
		{"accepted by h1, stated zh differs", locked, stated(wrongHash), 0, checksum.ErrMismatch},
		{"accepted by h1, unsigned", both, p.with(unsigned), 0, verify.ErrUnsigned},
		{"stated h1 alone", verify.Policy{AllowUnsigned: true}, stated(p.hT), 1, nil},
		{"stated h1 differs", verify.Policy{AllowUnsigned: true}, stated(wrongH1), 1, checksum.ErrMismatch},
		{"signed", verify.Policy{Now: date2024}, p.ev, 1, nil},
		{"unsigned", verify.Policy{}, p.with(unsigned), 0, verify.ErrUnsigned},
		{"no hash", verify.Policy{AllowUnsigned: true}, stated(), 0, verify.ErrUnchecked},
	}
	for _, tt := range tests {
		r, inflated, err := p.judgeArchive(t.Context(), tt.policy, tt.ev, true)
		if !errors.Is(err, tt.want) || (r == nil) != (err != nil) || inflated != tt.inflated {
			t.Errorf("%s: %+v, %v, inflated %d times; want %v, %d times", tt.name, r, err, inflated, tt.want, tt.inflated)
		}
		if r != nil && len(r.Local) != 3 {
			t.Errorf("%s: computed are %v, want all three", tt.name, r.Local)
		}
	}
}

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

func date2024() time.Time { return today }

// TestJudgeStated: what is only stated is accepted as far as the archive would be.
func TestJudgeStated(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	h9 := checksum.MustParseHash("h9:x")
	strict := verify.Policy{Now: date2024}
	lax := verify.Policy{AllowUnsigned: true}
	lock := func(h ...checksum.Hash) verify.Policy { return verify.Policy{Accept: h} }
	states := func(h []checksum.Hash, change ...func(*verify.Evidence)) verify.Evidence {
		return p.with(func(ev *verify.Evidence) {
			ev.Hashes = h
			ev.Packages = [][]checksum.Hash{h}
			for _, c := range change {
				c(ev)
			}
		})
	}
	both := []checksum.Hash{p.zh, p.h1}
	signed := checksum.Sorted([]checksum.Hash{p.zh, p.other})
	all := checksum.Sorted([]checksum.Hash{p.zh, p.h1, p.other})
	tests := []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   error
		trust  verify.Trust
		record []checksum.Hash
	}{
		{"signed", strict, states(both), nil, verify.Signed, all},
		{"signed, stated dropped", verify.Policy{Now: date2024, DropStated: true}, states(both), nil, verify.Signed, signed},
		{"signed, nothing ties the h1 to it", strict, states(both[1:]), nil, verify.Signed, signed},
		{"signed, nothing stated", strict, states(nil), nil, verify.Signed, signed},
		{"signed, another zh stated", strict, states([]checksum.Hash{wrongHash, p.h1}), checksum.ErrMismatch, 0, nil},
		{"signed, not listed", strict, states(both, func(ev *verify.Evidence) { ev.Filename, ev.Requested = "x.zip", "" }), verify.ErrNotListed, 0, nil},
		{"signed, another version", strict, states(both, func(ev *verify.Evidence) { ev.Requested = "random_3.7.0_linux_amd64" }), verify.ErrFilename, 0, nil},
		{"signed, no name", strict, states(both, func(ev *verify.Evidence) { ev.Filename = "" }), verify.ErrFilename, 0, nil},
		{"unsigned", lax, states(both, unsigned), nil, verify.Checked, nil},
		{"unsigned, another zh stated", lax, states([]checksum.Hash{wrongHash}, unsigned), checksum.ErrMismatch, 0, nil},
		{"unsigned, must be signed", lax, states(both, unsigned, func(ev *verify.Evidence) { ev.MustBeSigned = true }), verify.ErrUnsigned, 0, nil},
		{"no sums", lax, states(both, bare), nil, verify.Checked, nil},
		{"no sums, h1 only", lax, states(both[1:], bare), nil, verify.Checked, nil},
		{"no sums, two zh", lax, states([]checksum.Hash{p.zh, p.other, p.h1}, bare), verify.ErrNotStated, 0, nil},
		{"no sums, unknown scheme", lax, states([]checksum.Hash{h9}, bare), verify.ErrNotStated, 0, nil},
		{"nothing", lax, p.with(empty), verify.ErrNotStated, 0, nil},
		{"nothing, unchecked allowed", verify.Policy{AllowUnchecked: true}, p.with(empty), verify.ErrNotStated, 0, nil},
		{"locked", lock(p.h1, wrongHash), states(both), nil, verify.Accepted, nil},
		{"locked, stated is another", lock(wrongH1), states(both), verify.ErrNotStated, 0, nil},
		{"locked by an unknown scheme", lock(h9), states([]checksum.Hash{h9, p.h1}), verify.ErrNotStated, 0, nil},
		{"locked and signed", with(lock(p.h1), func(a *verify.Policy) { a.RequireSignature, a.Now = true, date2024 }), states(both), nil, verify.Signed, signed},
	}
	for _, tt := range tests {
		sums, err := tt.policy.CheckSums(tt.ev)
		var r *verify.Report
		if err == nil {
			r, err = sums.JudgeStated(tt.ev)
		}
		if !errors.Is(err, tt.want) || (r == nil) != (err != nil) {
			t.Errorf("%s: %+v, %v, want %v", tt.name, r, err, tt.want)
			continue
		}
		if r != nil && (r.Trust != tt.trust || len(r.Local) > 0 || !slices.Equal(r.Recordable(), tt.record) || (r.Sums == nil) != (sums.Sums() == nil)) {
			t.Errorf("%s: %+v, recordable %v\nwant %v, %v", tt.name, r, r.Recordable(), tt.trust, tt.record)
		}
	}
}

// TestJudgeStatedPolicy: checked sums are judged by the policy that has checked them, the zero
// value by the zero policy.
func TestJudgeStatedPolicy(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	if r, err := (verify.CheckedSums{}).JudgeStated(p.ev); !errors.Is(err, verify.ErrUnsigned) || r != nil {
		t.Errorf("JudgeStated of the zero CheckedSums is %+v, %v, want ErrUnsigned", r, err)
	}
	policy := verify.Policy{AllowUnsigned: true}
	sums, err := policy.CheckSums(p.with(unsigned))
	must(t, err)
	policy.AllowUnsigned = false
	if r, err := sums.JudgeStated(p.with(unsigned)); err != nil || r.Trust != verify.Checked {
		t.Errorf("JudgeStated of unsigned sums that were allowed is %+v, %v, want Checked", r, err)
	}
}
