package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The whole product of policies and evidence, against the trust model written down once
// more: not as the steps of a check but as what must be true.

type option[T any] struct {
	name string
	of   T
}

// situation is one policy, one evidence, and what the test knows of them.
type situation struct {
	name   string
	policy verify.Policy
	ev     verify.Evidence
	facts  facts
}

// facts is what the trust model speaks of.
type facts struct {
	keysPinned bool
	pinAllows  bool // the publisher's key is among the pinned ones
	pinEmpty   bool // Keys is there and has none
	hasSums    bool
	hasSig     bool
	hasKeys    bool // the source lists some
	listsKey   bool // and the publisher's is one
	sigGood    bool // it is by the publisher, of these sums
	lineGood   bool // the sums have a line of the archive, with its zh
}

// expect is what the trust model says of s, if these hashes are computed.
func expect(s situation, local []checksum.Hash) (trust verify.Trust, ok bool) {
	p, f := s.policy, s.facts
	match := func(stated []checksum.Hash, scheme string) (comparable, equal bool) {
		for _, a := range stated {
			for _, b := range local {
				if a.Scheme() == scheme && b.Scheme() == scheme {
					comparable, equal = true, equal || a == b
				}
			}
		}
		return comparable, equal
	}
	statedZH, equalZH := match(s.ev.Hashes, "zh")
	statedH1, equalH1 := match(s.ev.Hashes, "h1")
	if statedZH && !equalZH || statedH1 && !equalH1 {
		return 0, false // a mismatch, under every Allow
	}
	if equalZH || equalH1 {
		trust = verify.Checked
	}
	if !p.Accept.IsZero() {
		_, a := match(p.Accept.Hashes(), "zh")
		_, b := match(p.Accept.Hashes(), "h1")
		if !a && !b {
			return 0, false // no signature replaces it
		}
		if trust = verify.Accepted; !p.RequireSignature {
			return trust, true // and that suffices
		}
	}
	pinned := f.keysPinned || !p.Fingerprints.IsZero()
	demanded := p.RequireSignature || pinned || s.ev.MustBeSigned || !p.AllowUnsigned && !p.AllowUnchecked
	if f.hasSums && f.hasSig && (f.keysPinned && !f.pinEmpty || !f.keysPinned && f.hasKeys) { // a signature to look at
		counts := f.sigGood && (f.keysPinned || f.listsKey) && (!pinned || f.pinAllows)
		return verify.Signed, counts && f.lineGood && hashlist.Has(local, "zh")
	}
	if demanded {
		return 0, false
	}
	if f.hasSums {
		return max(trust, verify.Checked), f.lineGood && hashlist.Has(local, "zh")
	}
	if trust > verify.Unchecked {
		return trust, true
	}
	stated := slices.DeleteFunc(slices.Clone(s.ev.Hashes), checksum.Hash.IsZero)
	honest := len(stated) == 0 || hashlist.Has(stated, "zh") || hashlist.Has(stated, "h1") // an unknown scheme alone cannot be checked
	return trust, p.AllowUnchecked && honest
}

// situations yields the product.
func situations(t *testing.T, p *pack) []situation {
	t.Helper()
	other := gpgKey(t, "ed25519")
	accepts := []option[[]checksum.Hash]{
		{"no lock", nil}, {"empty lock", []checksum.Hash{}}, {"zh locked", []checksum.Hash{wrongHash, p.zh}}, {"h1 locked", []checksum.Hash{p.other, p.h1}},
		{"other locked", []checksum.Hash{wrongHash, wrongH1}}, {"unknown and zero locked", []checksum.Hash{unknown, {}}},
	}
	stated := []option[[]checksum.Hash]{
		{"nothing stated", nil}, {"zh stated", []checksum.Hash{p.zh}}, {"wrong zh stated", []checksum.Hash{wrongHash}}, {"h1 stated", []checksum.Hash{p.hT}},
		{"zh and wrong h1 stated", []checksum.Hash{p.zh, wrongH1}}, {"unknown stated", []checksum.Hash{unknown, {}}},
	}
	pins := []option[func(*verify.Policy, *facts)]{
		{"no pin", func(*verify.Policy, *facts) {}},
		{"fingerprint", func(a *verify.Policy, f *facts) {
			a.Fingerprints, f.pinAllows = must.Get(verify.ParseFingerprints(strings.Repeat("A", 40), p.fpr))(t), true
		}},
		{"other fingerprint", func(a *verify.Policy, _ *facts) {
			a.Fingerprints = must.Get(verify.ParseFingerprints(strings.Repeat("A", 40)))(t)
		}},
		{"no fingerprint", func(a *verify.Policy, _ *facts) { a.Fingerprints = must.Get(verify.ParseFingerprints())(t) }},
		{"key", func(a *verify.Policy, f *facts) {
			a.Keys, f.keysPinned, f.pinAllows = verify.NewKeySet(other, p.key), true, true
		}},
		{"other key", func(a *verify.Policy, f *facts) { a.Keys, f.keysPinned = verify.NewKeySet(other), true }},
		{"no key", func(a *verify.Policy, f *facts) { a.Keys, f.keysPinned, f.pinEmpty = verify.NewKeySet(), true, true }},
		{"key, other fingerprint", func(a *verify.Policy, f *facts) {
			a.Keys, a.Fingerprints, f.keysPinned = verify.NewKeySet(p.key), must.Get(verify.ParseFingerprints(strings.Repeat("A", 40)))(t), true
		}},
	}
	wrongLine := bytes.Replace(p.ev.Sums, []byte(p.zh.Value()), []byte(wrongHash.Value()), 1)
	evidence := []option[func(*verify.Evidence, *facts)]{
		{"signed", func(_ *verify.Evidence, _ *facts) {}},
		{"unsigned", func(ev *verify.Evidence, f *facts) { ev.Signature, f.hasSig = nil, false }},
		{"no keys", func(ev *verify.Evidence, f *facts) { ev.Keys, f.hasKeys, f.listsKey = nil, false, false }},
		{"nothing", func(ev *verify.Evidence, f *facts) { bare(ev); *f = facts{} }},
		{"signature only", func(ev *verify.Evidence, f *facts) { ev.Sums, f.hasSums = nil, false }},
		{"sums altered", func(ev *verify.Evidence, f *facts) { ev.Sums, f.sigGood = append(bytes.Clone(ev.Sums), '\n'), false }},
		{"other key listed", func(ev *verify.Evidence, f *facts) { ev.Keys, f.listsKey = []verify.Key{other}, false }},
		{"wrong line signed", func(ev *verify.Evidence, f *facts) {
			ev.Sums, ev.Signature, f.lineGood = wrongLine, p.sign(wrongLine), false
		}},
		{"must be signed, is", func(ev *verify.Evidence, _ *facts) { ev.MustBeSigned = true }},
		{"must be signed, is not", func(ev *verify.Evidence, f *facts) { ev.MustBeSigned, ev.Signature, f.hasSig = true, nil, false }},
		{"must be signed, nothing", func(ev *verify.Evidence, f *facts) { bare(ev); ev.MustBeSigned, *f = true, facts{} }},
		{"wrong line unsigned", func(ev *verify.Evidence, f *facts) {
			ev.Sums, ev.Signature, f.hasSig, f.lineGood = wrongLine, nil, false, false
		}},
	}
	var all []situation
	for _, e := range evidence {
		for _, s := range stated {
			for _, a := range accepts {
				for _, pin := range pins {
					for bits := range 8 {
						f := facts{hasSums: true, hasSig: true, hasKeys: true, listsKey: true, sigGood: true, lineGood: true}
						ev := p.ev
						e.of(&ev, &f)
						ev.Hashes = s.of
						policy := verify.Policy{
							Accept: checksum.NewSet(a.of...), RequireSignature: bits&1 != 0, AllowUnsigned: bits&2 != 0, AllowUnchecked: bits&4 != 0,
							Now: now,
						}
						pin.of(&policy, &f)
						if policy.Validate() != nil {
							continue // see TestContradictions
						}
						name := fmt.Sprintf("%s, %s, %s, %s, required %v, unsigned %v, unchecked %v",
							e.name, s.name, a.name, pin.name, policy.RequireSignature, policy.AllowUnsigned, policy.AllowUnchecked)
						all = append(all, situation{name, policy, ev, f})
					}
				}
			}
		}
	}
	return all
}

func TestEveryPolicy(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	all := situations(t, p)
	accepted := make(chan int)
	const workers = 4
	for part := range workers {
		go func() {
			n := 0
			for i := part; i < len(all); i += workers {
				n += trySituation(t, p, all[i])
			}
			accepted <- n
		}()
	}
	n := 0
	for range workers {
		n += <-accepted
	}
	// Neither everything nor nothing, or the test tests nothing.
	if n < len(all)/20 || n > len(all) {
		t.Errorf("%d of %d were accepted", n, len(all))
	}
}

// trySituation returns how often s was accepted with all hashes computed.
func trySituation(t *testing.T, p *pack, s situation) (accepted int) {
	full := []checksum.Hash{p.zh, p.h1, p.hT}
	for _, local := range [][]checksum.Hash{full, {p.zh}, {p.hT}, {{}}} {
		var r *verify.Report
		var err error
		if slices.Contains(local, p.zh) {
			r, err = s.policy.Judge(context.Background(), s.ev, p.digests(local...))
		} else {
			r, err = s.policy.JudgeDirectory(s.ev, local[0])
		}
		trust, ok := expect(s, local)
		if !sameVerdict(r, err, trust, ok) {
			t.Errorf("%s, %d hashes: %+v, %v; want %v, %v", s.name, len(local), r, err, trust, ok)
		}
		if err == nil && len(local) == len(full) {
			accepted++
		}
	}
	tryArchive(t, p, s)
	tryOffer(t, p, s)
	return accepted
}

// tryArchive compares Check and Examine with what is expected of the hashes that they
// compute.
func tryArchive(t *testing.T, p *pack, s situation) {
	full := []checksum.Hash{p.zh, p.h1, p.hT}
	r, inflated, err := p.examine(s.policy, s.ev, false)
	local := full[:1]
	if inflated > 0 {
		local = full
	}
	if trust, ok := expect(s, local); !sameVerdict(r, err, trust, ok) {
		t.Errorf("%s, inflated %d times: %+v, %v; want %v, %v", s.name, inflated, r, err, trust, ok)
	}
	trust, ok := expect(s, full)
	if ok && err != nil {
		t.Errorf("%s: refused for want of a hash: %v", s.name, err)
	}
	c, checkErr := s.policy.Check(t.Context(), s.ev, bytes.NewReader(p.zip), int64(len(p.zip)))
	if (checkErr == nil) != (err == nil) || err == nil && (c.Trust != r.Trust || len(c.Local) != len(r.Local)) {
		t.Errorf("%s: Check %+v, %v; Examine %+v, %v", s.name, c, checkErr, r, err)
	}
	wanted, again, wantedErr := p.examine(s.policy, s.ev, true)
	if !sameVerdict(wanted, wantedErr, trust, ok) {
		t.Errorf("%s, with h1: %+v, %v; want %v, %v", s.name, wanted, wantedErr, trust, ok)
	}
	if ok && again != 1 || again > 1 || err != nil && again > inflated {
		t.Errorf("%s: inflated %d times, accepted %v", s.name, again, ok)
	}
}

func sameVerdict(r *verify.Report, err error, trust verify.Trust, ok bool) bool {
	if !ok || err != nil {
		_, mismatch := errors.AsType[*checksum.MismatchError](err)
		classified := mismatch || errors.Is(err, verify.ErrUnchecked) || errors.Is(err, verify.ErrUnsigned) ||
			errors.Is(err, verify.ErrUnknownKey) || errors.Is(err, verify.ErrBadSignature)
		return !ok && err != nil && r == nil && classified
	}
	signed := trust == verify.Signed
	return r.Trust == trust && (r.SignedBy != nil) == signed && (len(r.Recordable()) > len(r.Local)) == signed
}
