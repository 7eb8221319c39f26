package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// builtBy is a Provenance that believes each attestation with the value of a zh. It refuses a nil SHA256SUMS if
// needsSums is set.
type builtBy struct{ needsSums bool }

var (
	errOther = errors.New("built elsewhere")
	build    = verify.Build{Issuer: "https://ci.example.com", Repository: "https://git.example.com/acme/random", Ref: "refs/tags/v3.6.0"}
)

func (b builtBy) Builder(_ context.Context, ev verify.Evidence, zh checksum.Hash) (verify.Build, error) {
	switch {
	case ev.Attestations[0] == "unusable":
		return verify.Build{}, verify.ErrPolicy
	case b.needsSums && ev.Sums == nil:
		return verify.Build{}, verify.ErrNotStated
	case ev.Attestations[0] != zh.Value():
		return verify.Build{}, errOther
	}
	return build, nil
}

// TestProvenance: a policy that demands provenance refuses whatever has none, by whatever else it would be accepted.
func TestProvenance(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	attested := func(texts ...string) verify.Evidence {
		return p.with(func(ev *verify.Evidence) { ev.Attestations = texts })
	}
	right, wrong := p.zh.Value(), p.other.Value()
	unsigned := p.with(func(ev *verify.Evidence) { ev.Sums, ev.Signature, ev.Attestations = nil, nil, []string{right} })
	for name, test := range map[string]struct {
		policy verify.Policy
		ev     verify.Evidence
		want   error
		trust  verify.Trust
	}{
		"signed and attested":           {verify.Policy{}, attested(right), nil, verify.Signed},
		"signed only":                   {verify.Policy{}, p.ev, verify.ErrProvenance, 0},
		"attested only":                 {verify.Policy{}, unsigned, verify.ErrUnsigned, 0},
		"attested only, permitted":      {verify.Policy{AllowUnsigned: true}, unsigned, nil, verify.Checked},
		"another archive":               {verify.Policy{}, attested(wrong), errOther, 0},
		"unusable provenance":           {verify.Policy{}, attested("unusable"), verify.ErrPolicy, 0},
		"accepted hash, not attested":   {verify.Policy{Accept: checksum.NewSet(p.zh)}, p.ev, verify.ErrProvenance, 0},
		"accepted h1, not attested":     {verify.Policy{Accept: checksum.NewSet(p.h1)}, p.ev, verify.ErrProvenance, 0},
		"accepted h1, another archive":  {verify.Policy{Accept: checksum.NewSet(p.h1)}, attested(wrong), errOther, 0},
		"accepted h1 and attested":      {verify.Policy{Accept: checksum.NewSet(p.h1)}, attested(right), nil, verify.Accepted},
		"accepted, attested, no sums":   {verify.Policy{Accept: checksum.NewSet(p.zh)}, unsigned, nil, verify.Accepted},
		"another hash, attested":        {verify.Policy{Accept: checksum.NewSet(p.other)}, attested(right), verify.ErrNotAccepted, 0},
		"unchecked permitted, unproven": {verify.Policy{AllowUnchecked: true}, verify.Evidence{}, verify.ErrProvenance, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.policy.Provenance = builtBy{}
			report, err := p.check(test.policy, test.ev)
			if !errors.Is(err, test.want) {
				t.Fatalf("Check: %v, want %v", err, test.want)
			}
			if provenance := test.want == errOther || test.want == verify.ErrProvenance; err != nil {
				if errors.Is(err, verify.ErrProvenance) != provenance {
					t.Errorf("Check: %v is ErrProvenance: %v", err, !provenance)
				}
				return
			}
			if report.Trust != test.trust || report.BuiltBy == nil || *report.BuiltBy != build {
				t.Errorf("Check: %v, built by %v, want %v, built by %v", report.Trust, report.BuiltBy, test.trust, build)
			}
		})
	}
}

// TestProvenanceOfDirectory: only an archive has provenance.
func TestProvenanceOfDirectory(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	policy := verify.Policy{Accept: checksum.NewSet(p.hT), Provenance: builtBy{}}
	ev := verify.Evidence{Attestations: []string{p.zh.Value()}}
	if _, err := policy.JudgeDirectory(ev, p.hT); !errors.Is(err, verify.ErrProvenance) {
		t.Errorf("Judge of a directory: %v, want %v", err, verify.ErrProvenance)
	}
	if report, err := policy.Judge(context.Background(), ev, checksum.Digests{Size: -1, Hashes: []checksum.Hash{p.zh, p.hT}}); err != nil || report.BuiltBy == nil {
		t.Errorf("Judge with the zh: %v, %v, want a builder", report, err)
	}
}

// TestProvenanceOfOffer: an offer is refused before the download, unless only the archive or SHA256SUMS can decide.
func TestProvenanceOfOffer(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for name, test := range map[string]struct {
		provenance verify.Provenance
		attested   []string
		hashes     []checksum.Hash
		want       error
	}{
		"attested":            {builtBy{}, []string{p.zh.Value()}, []checksum.Hash{p.zh}, nil},
		"not attested":        {builtBy{}, nil, []checksum.Hash{p.zh}, verify.ErrProvenance},
		"empty":               {builtBy{}, []string{}, []checksum.Hash{p.zh}, verify.ErrProvenance},
		"another archive":     {builtBy{}, []string{p.other.Value()}, []checksum.Hash{p.zh}, errOther},
		"no stated hash":      {builtBy{}, []string{p.other.Value()}, []checksum.Hash{p.h1}, nil},
		"sums decide":         {builtBy{needsSums: true}, []string{p.other.Value()}, []checksum.Hash{p.zh}, nil},
		"not demanded at all": {nil, nil, []checksum.Hash{p.zh}, nil},
	} {
		ev := p.with(func(ev *verify.Evidence) { ev.Attestations, ev.Hashes = test.attested, test.hashes })
		policy := verify.Policy{Provenance: test.provenance, Accept: checksum.NewSet(p.zh, p.h1)}
		if err := policy.JudgeOffer(context.Background(), ev, true, true); !errors.Is(err, test.want) {
			t.Errorf("%s: JudgeOffer: %v, want %v", name, err, test.want)
		}
	}
}

// TestProvenanceOfStatement: what a source states has provenance by its zh, and without an attestation only the
// archive can decide.
func TestProvenanceOfStatement(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for name, test := range map[string]struct {
		attested []string
		want     error
	}{
		"attested":        {[]string{p.zh.Value()}, nil},
		"not attested":    {nil, verify.ErrNotStated},
		"another archive": {[]string{p.other.Value()}, errOther},
	} {
		ev := p.with(func(ev *verify.Evidence) { ev.Attestations = test.attested })
		sums, err := verify.Policy{Provenance: builtBy{}, Now: now}.CheckSums(ev)
		if err != nil {
			t.Fatal(err)
		}
		report, err := sums.JudgeStated(context.Background(), ev)
		if !errors.Is(err, test.want) || err == nil && *report.BuiltBy != build {
			t.Errorf("%s: JudgeStated: %v, %v, want %v", name, report, err, test.want)
		}
	}
}

// TestProvenanceOfPolicy: a policy with Provenance demands, needs evidence, and does not check signatures for it.
func TestProvenanceOfPolicy(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	policy := verify.Policy{Provenance: builtBy{}}
	if !policy.Demands() {
		t.Error("Demands() is false, want true")
	}
	policy.Accept = checksum.NewSet(p.zh)
	if !policy.NeedsEvidence() {
		t.Error("NeedsEvidence() is false, want true, because the provenance may be that of SHA256SUMS")
	}
	bad := p.with(func(ev *verify.Evidence) { ev.Signature, ev.Attestations = []byte("bad"), []string{p.zh.Value()} })
	if report, err := p.check(policy, bad); err != nil || report.SignedBy != nil || report.Sums != nil {
		t.Errorf("Check with an accepted hash: %v, %v, want no look at the signature", report, err)
	}
}

// TestReportOfBuild: the report says where the archive was built, in its text and in JSON.
func TestReportOfBuild(t *testing.T) {
	t.Parallel()
	report := &verify.Report{Trust: verify.Signed, SignedBy: &verify.Signature{KeyID: "0C0AF313E5FD9F80"}, BuiltBy: &build}
	want := "signed by key 0C0AF313E5FD9F80, which the source lists, built from https://git.example.com/acme/random at refs/tags/v3.6.0"
	if got := report.String(); got != want {
		t.Errorf("String()\n got %s\nwant %s", got, want)
	}
	without := &verify.Report{Trust: verify.Checked, BuiltBy: &verify.Build{Repository: "https://git.example.com/acme/random"}}
	if got, want := without.String(), "checked against what the source states, built from https://git.example.com/acme/random"; got != want {
		t.Errorf("String() without a ref: %s, want %s", got, want)
	}
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var again *verify.Report
	if err := json.Unmarshal(data, &again); err != nil || !cmp.Equal(again.BuiltBy, report.BuiltBy) {
		t.Errorf("%s is %v, %v, want %v", data, again, err, report.BuiltBy)
	}
}

// waiting is a Provenance that waits for the end of the context.
type waiting struct{}

func (waiting) Builder(ctx context.Context, _ verify.Evidence, _ checksum.Hash) (verify.Build, error) {
	<-ctx.Done()
	return verify.Build{}, ctx.Err()
}

// TestJudgingEnds: the context of each call that judges ends the Provenance.
func TestJudgingEnds(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	policy := verify.Policy{Provenance: waiting{}, Accept: checksum.NewSet(p.zh, p.h1)}
	ev := p.with(func(ev *verify.Evidence) { ev.Attestations = []string{"x"} })
	sums, err := policy.CheckSums(ev)
	if err != nil {
		t.Fatal(err)
	}
	h1 := func(ctx context.Context) error {
		x := verify.Policy{Provenance: &turning{}, Accept: policy.Accept}.Examine(ev)
		if _, err := x.Archive(t.Context(), p.digests(p.zh)); err != nil {
			t.Errorf("Archive: %v", err)
		}
		return x.H1(ctx, p.h1, p.hT)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"JudgeOffer":  func(ctx context.Context) error { return policy.JudgeOffer(ctx, ev, true, true) },
		"JudgeStated": func(ctx context.Context) error { _, err := sums.JudgeStated(ctx, ev); return err },
		"Judge": func(ctx context.Context) error {
			_, err := policy.Judge(ctx, ev, p.digests(p.zh))
			return err
		},
		"Archive": func(ctx context.Context) error {
			_, err := policy.Examine(ev).Archive(ctx, p.digests(p.zh))
			return err
		},
		"H1": h1,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after its context: %v, want %v", name, err, context.Canceled)
		}
	}
}

// turning is a Provenance that accepts the first time, and waits afterwards.
type turning struct{ asked bool }

func (w *turning) Builder(ctx context.Context, ev verify.Evidence, zh checksum.Hash) (verify.Build, error) {
	if w.asked {
		return waiting{}.Builder(ctx, ev, zh)
	}
	w.asked = true
	return build, nil
}
