package verify_test

import (
	"context"
	"errors"
	"testing"

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

func TestJudgeArchiveEndsWithContext(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.judgeArchive(ended, verify.Policy{Now: date2024}, p.ev, true); !errors.Is(err, context.Canceled) {
		t.Errorf("JudgeArchive with an ended context: %v, want Canceled", err)
	}
}
