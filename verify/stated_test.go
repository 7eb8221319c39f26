package verify_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
