package verify_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

const archiveName = "terraform-provider-random_3.6.0_linux_amd64.zip"

// pack is a package with everything that a source can state of it, all of it true.
type pack struct {
	zip        []byte
	zh, h1, hT checksum.Hash // hT: of the tree; the archive has a directory entry
	other      checksum.Hash // zh of another platform, listed in the sums
	ev         verify.Evidence
	key        verify.Key
	fpr        string
	sign       func(doc []byte) []byte
}

// archiveOf returns a package with an executable and an entry for a directory.
func archiveOf(t testing.TB, executable string) []byte {
	t.Helper()
	return archivetest.Zip(t, archivetest.Entry{Name: "terraform-provider-random_v3.6.0", Content: executable}, archivetest.Entry{Name: "docs/"})
}

func newPack(t testing.TB) *pack {
	t.Helper()
	p := &pack{zip: archiveOf(t, "program")}
	p.zh = checksum.ZHSum(sha256.Sum256(p.zip))
	var err error
	if p.h1, p.hT, err = checksum.H1Zip(t.Context(), bytes.NewReader(p.zip), int64(len(p.zip)), checksum.Limits{}); err != nil {
		t.Fatal(err)
	}
	p.other = checksum.ZHSum(sha256.Sum256([]byte("another platform")))
	signer := entity(t, "publisher", config(packet.Config{}))
	p.key, p.fpr = public(t, signer), fmt.Sprintf("%X", signer.PrimaryKey.Fingerprint)
	p.sign = func(doc []byte) []byte {
		return sign(t, doc, signer.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
	}
	sums := fmt.Appendf(nil, "%s  %s\n%s  terraform-provider-random_3.6.0_darwin_arm64.zip\n", p.zh.Value(), archiveName, p.other.Value())
	p.ev = verify.Evidence{
		Filename: archiveName, Requested: "random_3.6.0_linux_amd64",
		Size: int64(len(p.zip)), Hashes: []checksum.Hash{p.zh},
		Sums: sums, Signature: p.sign(sums), Keys: []verify.Key{p.key},
	}
	return p
}

// check runs the policy on the package at a fixed time.
func (p *pack) check(policy verify.Policy, ev verify.Evidence) (*verify.Report, error) {
	policy.Now = now
	return policy.Check(context.Background(), ev, bytes.NewReader(p.zip), int64(len(p.zip)))
}

func now() time.Time { return today }

// digests returns digests of the archive with these hashes.
func (p *pack) digests(hashes ...checksum.Hash) checksum.Digests {
	return checksum.Digests{Size: int64(len(p.zip)), Hashes: hashes}
}

// with returns the evidence after change.
func (p *pack) with(change func(*verify.Evidence)) verify.Evidence {
	ev := p.ev
	change(&ev)
	return ev
}

// unsigned, bare and empty take away more and more of the evidence.
func unsigned(ev *verify.Evidence) { ev.Signature = nil }
func bare(ev *verify.Evidence)     { ev.Signature, ev.Sums, ev.Keys = nil, nil, nil }
func empty(ev *verify.Evidence)    { bare(ev); ev.Hashes, ev.Size = nil, 0 }

// lock is a policy that accepts hashes.
func lock(hashes ...checksum.Hash) verify.Policy {
	return verify.Policy{Accept: checksum.NewSet(hashes...)}
}

// stating returns evidence with hashes alone.
func (p *pack) stating(hashes ...checksum.Hash) verify.Evidence {
	return p.with(func(ev *verify.Evidence) { bare(ev); ev.Hashes = hashes })
}

// unknown is a hash of an unknown scheme.
var unknown = checksum.MustParseHash("h9:x")

var wrongH1 = checksum.MustParseHash("h1:AUwHvwMkbW044RPLg6uCx8WsVu6HNXpUPqnucKzl6w0=")

var wrongHash = checksum.ZHSum(sha256.Sum256([]byte("wrong")))

// TestPolicies has the error of each refusal. TestEveryPolicy has all combinations. Where want
// is nil, trust is what the report must say.
func TestPolicies(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	stranger := gpgKey(t, "ed25519")
	strict := verify.Policy{}
	allowUnsigned := verify.Policy{AllowUnsigned: true}
	allowUnchecked := verify.Policy{AllowUnchecked: true}
	allowAll := verify.Policy{AllowUnsigned: true, AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	anyMismatch := errors.New("*MismatchError")
	anySize := errors.New("size")
	anySums := errors.New("SHA256SUMS line")

	for _, tt := range []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   error
		trust  verify.Trust
	}{
		{"all there", strict, p.ev, nil, verify.Signed},
		{"nothing but the chain", strict, p.with(func(ev *verify.Evidence) { ev.Hashes, ev.Size, ev.Requested = nil, 0, "" }), nil, verify.Signed},
		{"no signature", strict, p.with(unsigned), verify.ErrUnsigned, 0},
		{"empty signature", strict, p.with(func(ev *verify.Evidence) { ev.Signature = []byte{} }), verify.ErrEmpty, 0},
		{"empty signature, unsigned allowed", allowUnsigned, p.with(func(ev *verify.Evidence) { ev.Signature = []byte{} }), verify.ErrEmpty, 0},
		{"empty sums", strict, p.with(func(ev *verify.Evidence) { ev.Sums = []byte{} }), verify.ErrEmpty, 0},
		{"empty sums, unsigned allowed", allowUnsigned, p.with(func(ev *verify.Evidence) { ev.Sums = []byte{} }), verify.ErrEmpty, 0},
		{"empty sums and signature, all allowed", allowAll, p.with(func(ev *verify.Evidence) { ev.Sums, ev.Signature = []byte{}, []byte{} }), verify.ErrEmpty, 0},
		{"empty sums, locked", lock(p.zh), p.with(func(ev *verify.Evidence) { ev.Sums = []byte{} }), nil, verify.Accepted},
		{"no keys", strict, p.with(func(ev *verify.Evidence) { ev.Keys = nil }), verify.ErrUnsigned, 0},
		{"null key", strict, p.with(func(ev *verify.Evidence) { ev.Keys = []verify.Key{{}} }), verify.ErrUnknownKey, 0},
		{"no sums", strict, p.with(func(ev *verify.Evidence) { ev.Sums = nil }), verify.ErrUnsigned, 0},
		{"stated only", strict, p.with(bare), verify.ErrUnsigned, 0},
		{"nothing", strict, p.with(empty), verify.ErrUnchecked, 0},
		{"unknown schemes only", strict, p.stating(unknown), verify.ErrUnchecked, 0},
		{"stranger's key", strict, p.with(func(ev *verify.Evidence) { ev.Keys = []verify.Key{stranger} }), verify.ErrUnknownKey, 0},
		{"altered sums", strict, p.with(func(ev *verify.Evidence) { ev.Sums = append(bytes.Clone(ev.Sums), '\n') }), verify.ErrBadSignature, 0},
		{"altered signature", strict, p.with(func(ev *verify.Evidence) { ev.Signature = flip(ev.Signature, len(ev.Signature)-1) }), verify.ErrBadSignature, 0},

		{"wrong size", allowAll, p.with(func(ev *verify.Evidence) { ev.Size++ }), anySize, 0},
		{"negative size", strict, p.with(func(ev *verify.Evidence) { ev.Size = -1 }), nil, verify.Signed},
		{"stated hash wrong", allowAll, p.with(func(ev *verify.Evidence) { ev.Hashes = []checksum.Hash{wrongHash} }), anyMismatch, 0},
		{"unknown scheme beside", strict, p.with(func(ev *verify.Evidence) { ev.Hashes = append(ev.Hashes, unknown) }), nil, verify.Signed},
		{"signed line wrong", allowAll, resigned(p, func(s string) string { return strings.Replace(s, p.zh.Value(), wrongHash.Value(), 1) }), anyMismatch, 0},
		{"unsigned line wrong", allowAll, p.with(func(ev *verify.Evidence) {
			unsigned(ev)
			ev.Sums = bytes.Replace(ev.Sums, []byte(p.zh.Value()), []byte(wrongHash.Value()), 1)
		}), anyMismatch, 0},
		{"two lines for the file", strict, resigned(p, func(s string) string { return s + wrongHash.Value() + "  " + archiveName + "\n" }), anySums, 0},
		{"not listed", allowAll, resigned(p, func(s string) string { return strings.ReplaceAll(s, "linux_amd64", "linux_arm") }), verify.ErrNotListed, 0},
		{"not listed, unsigned", allowAll, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Sums = []byte("\n") }), verify.ErrNotListed, 0},
		{"nonsense, signed", allowAll, resigned(p, func(string) string { return "<html>" }), anySums, 0},

		{"unsigned allowed, h1 stated", allowUnsigned, p.stating(p.h1), nil, verify.Checked},
		{"unsigned allowed, unknown schemes", allowUnsigned, p.stating(unknown), verify.ErrUnchecked, 0},

		{"unchecked allowed, nothing stated", allowUnchecked, p.with(empty), nil, verify.Unchecked},
		{"unchecked allowed, zero hash stated", allowUnchecked, p.stating(checksum.Hash{}), nil, verify.Unchecked},
		{"unchecked allowed, only others stated", allowUnchecked, p.with(func(ev *verify.Evidence) { empty(ev); ev.OthersStated = true }), verify.ErrUnchecked, 0},
		{"unchecked allowed, others stated too", allowUnchecked, p.with(func(ev *verify.Evidence) { bare(ev); ev.OthersStated = true }), nil, verify.Checked},
		{"unsigned allowed, sums, only others stated", allowUnsigned, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Hashes, ev.OthersStated = nil, true }), nil, verify.Checked},
		{"all allowed, unknown schemes", allowAll, p.stating(unknown), verify.ErrUnchecked, 0},
		{"all allowed, unknown schemes beside sums", allowAll, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Hashes = []checksum.Hash{unknown} }), nil, verify.Checked},
		{"locked, unknown schemes stated", lock(p.zh), p.stating(unknown), nil, verify.Accepted},

		{"locked by h1 of the tree", lock(p.hT), p.with(empty), nil, verify.Accepted},
		{"locked, a signature that is not looked at", lock(p.zh), p.with(func(ev *verify.Evidence) { ev.Signature = []byte("nonsense") }), nil, verify.Accepted},
		{"locked, but other bytes", lock(wrongHash, wrongH1), p.ev, verify.ErrNotAccepted, 0},
		{"locked, but other bytes, under every Allow", with(allowAll, func(a *verify.Policy) { a.Accept = checksum.NewSet(wrongHash) }), p.ev, verify.ErrNotAccepted, 0},
		{"empty lock", lock([]checksum.Hash{}...), p.ev, verify.ErrNotAccepted, 0},
		{"lock of unknown schemes", lock(unknown), p.ev, verify.ErrNotAccepted, 0},
		{"locked, but stated otherwise", lock(p.zh), p.with(func(ev *verify.Evidence) { ev.Hashes = []checksum.Hash{wrongHash} }), anyMismatch, 0},
		{"locked, signature required", with(lock(p.zh), func(a *verify.Policy) { a.RequireSignature = true }), p.with(unsigned), verify.ErrUnsigned, 0},
		{"signed, but not locked", with(lock(wrongHash), func(a *verify.Policy) { a.RequireSignature = true }), p.ev, verify.ErrNotAccepted, 0},

		{"pinned fingerprint, as pasted", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints("0x" + strings.ToLower(p.fpr[:20]) + "  " + p.fpr[20:]))(t)}, p.ev, nil, verify.Signed},
		{"other fingerprint", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("A", 40)))(t)}, p.ev, verify.ErrUnknownKey, 0},
		{"pinned, but not signed", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(p.fpr))(t)}, p.with(bare), verify.ErrUnsigned, 0},
		{"pinned, but nothing stated", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(p.fpr))(t)}, p.with(empty), verify.ErrUnsigned, 0},
		{"listed key is not pinned", verify.Policy{Keys: verify.NewKeySet(stranger)}, p.ev, verify.ErrUnknownKey, 0},
		{"no key at all", verify.Policy{Keys: verify.NewKeySet()}, p.ev, verify.ErrUnsigned, 0},
		{"no fingerprint at all", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints())(t)}, p.ev, verify.ErrUnsigned, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := p.check(tt.policy, tt.ev)
			switch tt.want {
			case nil:
				must.Do(t, err)
				if r.Trust != tt.trust || (r.SignedBy != nil) != (tt.trust == verify.Signed) {
					t.Errorf("trust %v, signed by %v, want %v", r.Trust, r.SignedBy, tt.trust)
				}
				return
			case anyMismatch:
				e, ok := errors.AsType[*checksum.MismatchError](err)
				if !ok || errors.Is(err, verify.ErrNotAccepted) {
					t.Errorf("error %v, want *MismatchError", err)
				} else if strings.HasSuffix(e.Source, "SHA256SUMS") && strings.HasPrefix(e.Source, "signed") != (tt.ev.Signature != nil) {
					t.Errorf("error %v, which has the wrong source", err)
				}
			case anySize:
				if !errors.Is(err, checksum.ErrMismatch) || !strings.Contains(err.Error(), fmt.Sprintf("%q is %d bytes, want %d", archiveName, tt.ev.Size-1, tt.ev.Size)) {
					t.Errorf("error %v, want ErrMismatch with both sizes", err)
				}
			case anySums:
				if !strings.Contains(fmt.Sprint(err), "SHA256SUMS line ") {
					t.Errorf("error %v, want one about a line of SHA256SUMS", err)
				}
			default:
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			}
			if r != nil {
				t.Error("a report beside an error")
			}
			only(t, err)
		})
	}
}

// only makes sure that a refusal is of one kind.
func only(t *testing.T, err error) {
	t.Helper()
	var kinds []error
	for _, kind := range []error{
		verify.ErrUnchecked, verify.ErrUnsigned, verify.ErrEmpty, verify.ErrUnknownKey, verify.ErrBadSignature, verify.ErrExpired, verify.ErrFuture,
		verify.ErrRevoked, verify.ErrWeak, verify.ErrNotListed, verify.ErrFilename, verify.ErrNotAccepted, verify.ErrPolicy,
	} {
		if errors.Is(err, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		t.Errorf("%v is %v", err, kinds)
	}
}

// files returns the number of files in s.
func files(s *verify.Sums) int { return len(maps.Collect(s.All())) }

func with(p verify.Policy, change func(*verify.Policy)) verify.Policy {
	change(&p)
	return p
}

// resigned is evidence with other sums that the publisher has signed.
func resigned(p *pack, change func(string) string) verify.Evidence {
	return p.with(func(ev *verify.Evidence) {
		ev.Sums = []byte(change(string(ev.Sums)))
		ev.Signature = p.sign(ev.Sums)
	})
}

func TestMismatchTellsEvidence(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	_, err := p.check(verify.Policy{Accept: checksum.NewSet(wrongHash)}, p.ev)
	mismatch, ok := errors.AsType[*checksum.MismatchError](err)
	if !ok {
		t.Fatal(err)
	}
	want := &checksum.MismatchError{Filename: archiveName, Source: "accepted hashes", Want: []checksum.Hash{wrongHash}, Got: []checksum.Hash{p.zh}}
	if diff := cmp.Diff(want, mismatch, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, sizeErr := p.check(verify.Policy{}, p.with(func(ev *verify.Evidence) { ev.Size++ }))
	for what, err := range map[string]error{"not accepted": err, "size": sizeErr} {
		if !errors.Is(err, checksum.ErrMismatch) {
			t.Errorf("%s: %v is not an ErrMismatch", what, err)
		}
	}
}

// Errors tell the user of a mirror what to do.
func TestRefusalsNameThePolicy(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for _, tt := range []struct {
		ev   verify.Evidence
		want string
	}{
		{p.with(bare), "Policy.AllowUnsigned"},
		{p.with(unsigned), "Policy.AllowUnsigned"},
		{p.with(empty), "Policy.AllowUnchecked"},
		{p.with(func(ev *verify.Evidence) { ev.Requested = "other_1.0.0_linux_amd64" }), "Policy.AllowAnyName"},
	} {
		if _, err := p.check(verify.Policy{}, tt.ev); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want it to name %s", err, tt.want)
		}
	}
}

// A correctly signed package of another version, platform or provider is a replay.
func TestFilename(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	named := func(name string) verify.Evidence {
		return resigned(p, func(string) string { return p.zh.Value() + "  " + name + "\n" })
	}
	for _, tt := range casetest.Read[struct {
		Name, Want string
		Ok         bool
	}](t, "filenames.txt") {
		ev := named(tt.Name)
		ev.Filename, ev.Requested = tt.Name, tt.Want
		if _, err := p.check(verify.Policy{}, ev); (err == nil) != tt.Ok || err != nil && !errors.Is(err, verify.ErrFilename) {
			t.Errorf("%s for %s: %v, want ErrFilename: %v", tt.Name, tt.Want, err, !tt.Ok)
		}
		if _, err := p.check(verify.Policy{AllowAnyName: true}, ev); err != nil {
			t.Errorf("%s for %s, any name allowed: %v", tt.Name, tt.Want, err)
		}
		ev.Requested = ""
		if _, err := p.check(verify.Policy{}, ev); err != nil {
			t.Errorf("%s for nothing: %v", tt.Name, err)
		}
	}
	for _, name := range []string{"", "a/b.zip", "../" + archiveName, `a\b.zip`, "a\x00.zip", "a\n.zip", "\xff.zip", strings.Repeat("n", 256)} {
		_, err := p.check(verify.Policy{AllowAnyName: true}, p.with(func(ev *verify.Evidence) { ev.Filename, ev.Requested = name, "" }))
		if !errors.Is(err, verify.ErrFilename) || strings.ContainsAny(err.Error(), "\x00\n") {
			t.Errorf("%q: error %v, want ErrFilename", name, err)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	stated := []checksum.Hash{p.zh, p.h1, unknown, p.other}
	type view struct{ Local, Recordable []checksum.Hash }
	for _, tt := range []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   view
	}{
		{"signed", verify.Policy{}, p.with(func(ev *verify.Evidence) {
			ev.Hashes, ev.Packages, ev.Registry = stated, [][]checksum.Hash{{p.zh, wrongH1}, {p.other, p.hT}}, "registry.opentofu.org"
		}), view{[]checksum.Hash{p.zh}, hashlist.Sorted([]checksum.Hash{p.zh, p.other, p.hT})}},
		{"another registry", verify.Policy{}, p.with(func(ev *verify.Evidence) {
			ev.Hashes, ev.Packages, ev.Registry = stated, [][]checksum.Hash{{p.other, p.hT}}, "registry.example.com"
		}), view{[]checksum.Hash{p.zh}, hashlist.Sorted([]checksum.Hash{p.zh, p.other})}},
		{"unsigned sums", verify.Policy{AllowUnsigned: true}, p.with(unsigned), view{[]checksum.Hash{p.zh}, []checksum.Hash{p.zh}}},
		{"locked", verify.Policy{Accept: checksum.NewSet(p.zh)}, p.ev, view{[]checksum.Hash{p.zh}, []checksum.Hash{p.zh}}},
		{"locked by h1", verify.Policy{Accept: checksum.NewSet(p.h1)}, p.with(empty),
			view{hashlist.Sorted([]checksum.Hash{p.zh, p.h1, p.hT}), hashlist.Sorted([]checksum.Hash{p.zh, p.h1, p.hT})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := must.Get(p.check(tt.policy, tt.ev))(t)
			for range 2 { // the second time after a trip through JSON
				got := view{r.Local, r.Recordable()}
				if diff := cmp.Diff(tt.want, got, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				data := must.Get(json.Marshal(r))(t)
				again := new(verify.Report)
				if err := json.Unmarshal(data, again); err != nil {
					t.Fatalf("%s: %v", data, err)
				}
				if again.Sums != nil {
					if text, err := again.Sums.MarshalText(); err != nil || string(text) != string(tt.ev.Sums) {
						t.Errorf("Sums are %q, %v, want %q", text, err, tt.ev.Sums)
					}
				}
				if r.SignedBy != nil && *again.SignedBy != *r.SignedBy {
					t.Errorf("SignedBy is %+v, want %+v", again.SignedBy, r.SignedBy)
				}
				r = again
			}
		})
	}
}

// TestReportText: a line for each thing that the acceptance of a package can rest on.
func TestReportText(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	infos := must.Get(p.ev.Keys[0].Info())(t)
	by := "signed by key " + infos[0].ID
	for _, tt := range []struct {
		policy verify.Policy
		ev     verify.Evidence
		pinned bool
		want   string
	}{
		{verify.Policy{}, p.ev, false, by + ", which the source lists"},
		{verify.Policy{Keys: verify.NewKeySet(p.ev.Keys...)}, p.ev, true, by + ", which is pinned"},
		{verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(infos[0].Fingerprint))(t)}, p.ev, true, by + ", which is pinned"},
		{verify.Policy{Accept: checksum.NewSet(p.zh)}, p.ev, false, "accepted by its hash"},
		{verify.Policy{AllowUnsigned: true}, p.with(bare), false, "checked against what the source states"},
		{verify.Policy{AllowUnchecked: true}, p.with(empty), false, "unchecked"},
	} {
		r, err := p.check(tt.policy, tt.ev)
		if err == nil && r.SignedBy != nil && !strings.Contains(tt.want, r.SignedBy.String()) {
			t.Errorf("the signature is %q, the report %q", r.SignedBy, r)
		}
		if err != nil || r.String() != tt.want || r.SignedBy != nil && r.SignedBy.Pinned != tt.pinned {
			t.Errorf("%+v: %q, %v; want %q", tt.policy, r, err, tt.want)
		}
	}
	if none := (*verify.Report)(nil); none.String() != "not verified" {
		t.Errorf("nil: %q", none)
	}
}

func TestEvidenceJSON(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for name, ev := range map[string]verify.Evidence{
		"all":      p.with(func(ev *verify.Evidence) { ev.Hashes = append(ev.Hashes, p.h1, unknown) }),
		"unsigned": p.with(unsigned), "empty": p.with(empty), "nothing": {},
		"members": {
			Filename: "a.zip", Size: 3, Hashes: []checksum.Hash{unknown},
			Sums: []byte{1}, Signature: []byte{2}, Keys: []verify.Key{{Armor: "B"}}, Requested: "a_1_b_c",
		},
		"empty sums": {Sums: []byte{}}, "empty signature": {Signature: []byte{}},
	} {
		data := must.Get(json.Marshal(ev))(t)
		if want := `{"filename":"a.zip","size":3,"hashes":["h9:x"],"sums":"AQ==","signature":"Ag==","keys":[{"armor":"B"}],"requested":"a_1_b_c"}`; name == "members" && string(data) != want {
			t.Errorf("%s, want %s", data, want)
		}
		var back verify.Evidence
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if diff := cmp.Diff(ev, back, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	for i, text := range []string{"unchecked", "checked", "accepted", "signed"} {
		trust := verify.Trust(i)
		data, err := trust.MarshalText()
		if err != nil || string(data) != text || trust.String() != text {
			t.Errorf("%d: %s, %v", i, data, err)
		}
		var back verify.Trust
		if err := back.UnmarshalText(data); err != nil || back != trust {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
	if verify.Unchecked >= verify.Checked || verify.Checked >= verify.Accepted || verify.Accepted >= verify.Signed {
		t.Error("the levels are out of order")
	}
	var bad verify.Trust
	if err := bad.UnmarshalText([]byte("very")); err == nil {
		t.Error("an unknown level passed")
	}
	if _, err := verify.Trust(9).MarshalText(); err == nil || verify.Trust(-1).String() != "Trust(-1)" {
		t.Error("a level that there is not")
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	h1Stated, bothStated := p.stating(p.h1), p.stating(p.h1, p.zh)
	unsignedAllowed := verify.Policy{AllowUnsigned: true}
	for _, tt := range []struct {
		name     string
		policy   verify.Policy
		ev       verify.Evidence
		h1       bool // is computed
		evidence bool // is needed
	}{
		{"strict", verify.Policy{}, p.ev, false, true},
		{"strict, refused anyway", verify.Policy{}, h1Stated, false, true},
		{"unsigned, h1 stated", unsignedAllowed, h1Stated, true, true},
		{"unsigned, both stated", unsignedAllowed, bothStated, false, true},
		{"unsigned, sums", unsignedAllowed, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Hashes = []checksum.Hash{p.h1} }), false, true},
		{"must be signed", unsignedAllowed, p.with(func(ev *verify.Evidence) { bare(ev); ev.Hashes, ev.MustBeSigned = []checksum.Hash{p.h1}, true }), false, true},
		{"pinned", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(p.fpr))(t)}, h1Stated, false, true},
		{"lock with zh", lock(p.zh), p.ev, false, false},
		{"lock with h1", lock(p.h1), p.ev, true, false},
		{"lock with both, zh fits", lock(p.zh, p.h1), p.ev, false, false},
		{"lock with both, zh does not fit", lock(p.other, p.h1), p.ev, true, false},
		{"lock with zh only, does not fit", lock(p.other), p.ev, false, false},
		{"empty lock", lock([]checksum.Hash{}...), p.ev, false, false},
		{"lock and signature", verify.Policy{Accept: checksum.NewSet(p.zh), RequireSignature: true}, p.ev, false, true},
	} {
		if _, inflated, _ := p.examine(tt.policy, tt.ev, false); inflated > 1 || (inflated == 1) != tt.h1 {
			t.Errorf("%s: Examine inflates %d times, want it: %v", tt.name, inflated, tt.h1)
		}
		if got := tt.policy.NeedsEvidence(); got != tt.evidence {
			t.Errorf("%s: NeedsEvidence is %v", tt.name, got)
		}
	}
}

// Judge decides about directories too, of which there is neither size nor zh.
func TestJudgeDirectory(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	if r, err := (verify.Policy{Accept: checksum.NewSet(p.zh, p.hT)}).JudgeDirectory(p.ev, p.hT); err != nil || r.Trust != verify.Accepted {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (verify.Policy{Accept: checksum.NewSet(p.zh)}).Judge(t.Context(), p.ev, checksum.Digests{Hashes: []checksum.Hash{p.zh}}); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("an empty file: error %v, want ErrMismatch", err)
	}
	// A lock with only a zh does not vouch for a directory.
	if _, err := (verify.Policy{Accept: checksum.NewSet(p.zh)}).JudgeDirectory(p.ev, p.hT); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("error %v, want ErrNotAccepted", err)
	}
	if _, err := (verify.Policy{}).JudgeDirectory(p.ev, p.hT); !errors.Is(err, verify.ErrUnchecked) {
		t.Errorf("error %v, want ErrUnchecked", err)
	}
	if _, err := (verify.Policy{AllowUnsigned: true}).JudgeDirectory(p.with(bare), p.hT); !errors.Is(err, verify.ErrUnchecked) {
		t.Errorf("another scheme was stated: error %v, want ErrUnchecked", err)
	}
}

// TestForgotten: a caller that computed no hash of a stated scheme over the bytes gets an error, whatever else matches and
// the policy allows.
func TestForgotten(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	signed := p.with(func(ev *verify.Evidence) { ev.Hashes = nil })
	for name, test := range map[string]struct {
		policy   verify.Policy
		ev       verify.Evidence
		computed []checksum.Hash
	}{
		"stated beside a matching h1": {verify.Policy{AllowUnsigned: true}, p.stating(wrongHash, p.h1), []checksum.Hash{p.h1, p.hT}},
		"stated, nothing computed":    {verify.Policy{AllowUnchecked: true}, p.stating(wrongHash), nil},
		"nothing stated or computed":  {verify.Policy{AllowUnchecked: true}, p.with(empty), []checksum.Hash{{}, unknown}},
		"listed and signed":           {verify.Policy{}, signed, []checksum.Hash{p.h1}},
		"accepted h1":                 {lock(p.h1), p.ev, []checksum.Hash{p.h1}},
		"accepted zh":                 {lock(p.zh), p.ev, []checksum.Hash{p.h1}},
	} {
		if r, err := test.policy.Judge(t.Context(), test.ev, p.digests(test.computed...)); !errors.Is(err, verify.ErrNotComputed) || r != nil {
			t.Errorf("%s: Judge returned %v, %v, want ErrNotComputed", name, r, err)
		}
		x := test.policy.Examine(test.ev)
		if _, err := x.Archive(t.Context(), p.digests(test.computed...)); !errors.Is(err, verify.ErrNotComputed) {
			t.Errorf("%s: Archive returned %v, want ErrNotComputed", name, err)
		}
	}
}

func TestCheckReads(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	size := int64(len(p.zip))
	r := bytes.NewReader(p.zip)
	if _, err := (verify.Policy{}).Check(t.Context(), p.with(func(ev *verify.Evidence) { ev.Size = 0 }), r, size+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is too short: %v", err)
	}
	broken := errors.New("broken")
	if _, err := (verify.Policy{}).Check(t.Context(), p.ev, failingAt{broken}, size); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if _, err := (verify.Policy{Limits: checksum.Limits{Package: size}}).Check(t.Context(), p.ev, r, size); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := (verify.Policy{Limits: checksum.Limits{Package: size - 1}}).Check(t.Context(), p.ev, r, size); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
	// Only an h1 could decide, and the bytes have none.
	junk := []byte("not a zip")
	policy := verify.Policy{Accept: checksum.NewSet(p.h1)}
	if _, err := policy.Check(t.Context(), verify.Evidence{}, bytes.NewReader(junk), int64(len(junk))); !errors.Is(err, failure.ErrArchive) {
		t.Errorf("no zip: %v", err)
	}
}

type failingAt struct{ err error }

func (f failingAt) ReadAt([]byte, int64) (int, error) { return iotest.ErrReader(f.err).Read(nil) }

func TestCheckSums(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	policy := verify.Policy{Now: now}
	sums, err := policy.CheckSums(p.ev)
	if err != nil || sums.SignedBy().Fingerprint != p.fpr || files(sums.Sums()) != 2 {
		t.Errorf("CheckSums of signed sums is %+v, %v", sums, err)
	}
	if sums, err := policy.CheckSums(p.with(unsigned)); !errors.Is(err, verify.ErrUnsigned) || sums.Sums() != nil {
		t.Errorf("CheckSums of unsigned sums is %+v, %v, want ErrUnsigned", sums, err)
	}
	policy.AllowUnsigned = true
	if sums, err := policy.CheckSums(p.with(unsigned)); err != nil || sums.SignedBy() != nil || files(sums.Sums()) != 2 {
		t.Errorf("CheckSums of unsigned sums, allowed, is %+v, %v", sums, err)
	}
	for name, sums := range map[string]func() (verify.CheckedSums, error){
		"no sums": func() (verify.CheckedSums, error) { return policy.CheckSums(p.with(empty)) },
		"sums not needed": func() (verify.CheckedSums, error) {
			return verify.Policy{Accept: checksum.NewSet(p.zh)}.CheckSums(p.ev)
		},
		"the zero document": func() (verify.CheckedSums, error) { return verify.CheckedSums{}, nil },
	} {
		if sums, err := sums(); err != nil || sums.Sums() != nil || sums.SignedBy() != nil {
			t.Errorf("%s: CheckSums is %+v, %v, want none", name, sums, err)
		}
	}
}

// TestSameRelease: a SHA256SUMS document must list an archive that is known of the version,
// signed or not.
func TestSameRelease(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	all := func(*verify.Evidence) {}
	for name, test := range map[string]struct {
		known  checksum.Set
		policy verify.Policy
		change func(*verify.Evidence)
		want   error
	}{
		"no known archive":                  {checksum.Set{}, verify.Policy{}, all, nil},
		"one of several listed":             {checksum.NewSet(wrongHash, p.other), verify.Policy{}, all, nil},
		"another release":                   {checksum.NewSet(wrongHash), verify.Policy{}, all, verify.ErrOtherRelease},
		"another release, AllowUnsigned":    {checksum.NewSet(wrongHash), verify.Policy{AllowUnsigned: true}, unsigned, verify.ErrOtherRelease},
		"no document, AllowUnsigned":        {checksum.NewSet(wrongHash), verify.Policy{AllowUnsigned: true}, bare, nil},
		"no document":                       {checksum.NewSet(p.other), verify.Policy{}, bare, verify.ErrUnsigned},
		"empty":                             {checksum.NewSet(), verify.Policy{}, all, verify.ErrOtherRelease},
		"empty, no document, AllowUnsigned": {checksum.NewSet(), verify.Policy{AllowUnsigned: true}, bare, verify.ErrOtherRelease},
		"empty, beside Accept":              {checksum.NewSet(), lock(p.zh), all, verify.ErrOtherRelease},
	} {
		test.policy.SameRelease = test.known
		ev := p.with(test.change)
		if _, err := p.check(test.policy, ev); !errors.Is(err, test.want) {
			t.Errorf("%s: Check returned %v, want %v", name, err, test.want)
		}
		if test.known.IsZero() || len(test.known.Hashes()) > 0 {
			continue
		}
		if err := test.policy.JudgeOffer(context.Background(), ev, ev.Sums != nil, ev.Signature != nil); !errors.Is(err, test.want) {
			t.Errorf("%s: JudgeOffer returned %v, want %v", name, err, test.want)
		}
		if _, err := test.policy.CheckSums(ev); !errors.Is(err, test.want) {
			t.Errorf("%s: CheckSums returned %v, want %v", name, err, test.want)
		}
	}
}

// examine examines p's archive, and counts how often it is inflated.
func (p *pack) examine(policy verify.Policy, ev verify.Evidence, wantH1 bool) (r *verify.Report, inflated int, err error) {
	x := policy.Examine(ev)
	needsH1, err := x.Archive(context.Background(), p.digests(p.zh))
	if err == nil && (needsH1 || wantH1) {
		inflated++
		_ = x.H1(context.Background(), p.h1, p.hT) // Report returns the error, too
	}
	r, err = x.Report()
	return r, inflated, err
}

// TestExaminationOrder: without a needed hash there is no report, and the first refusal is final.
func TestExaminationOrder(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	report := func(x *verify.Examination, want error) {
		t.Helper()
		if r, err := x.Report(); !errors.Is(err, want) || (r == nil) != (err != nil) {
			t.Errorf("Report returned %v, %v, want %v", r, err, want)
		}
	}
	byH1 := lock(p.h1)
	x := byH1.Examine(p.ev)
	report(x, verify.ErrUnchecked)
	if err := x.H1(context.Background(), p.h1, p.hT); !errors.Is(err, verify.ErrUnchecked) {
		t.Errorf("H1 before Archive returned %v, want ErrUnchecked", err)
	}
	if needsH1, err := x.Archive(context.Background(), p.digests(p.zh)); !needsH1 || err != nil {
		t.Errorf("Archive returned %v, %v, want true", needsH1, err)
	}
	report(x, verify.ErrUnchecked)
	if err := x.H1(context.Background(), p.h1, p.hT); err != nil {
		t.Errorf("H1 returned %v", err)
	}
	report(x, nil)

	refused := byH1.Examine(p.stating(wrongHash))
	if _, err := refused.Archive(context.Background(), p.digests(p.zh)); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("Archive returned %v, want a mismatch", err)
	}
	if err := refused.H1(context.Background(), p.h1, p.hT); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("H1 after a mismatch returned %v, want the mismatch", err)
	}
	if _, err := refused.Archive(context.Background(), p.digests(wrongHash)); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("Archive after a mismatch returned %v, want the mismatch", err)
	}
	report(refused, checksum.ErrMismatch)

	other := byH1.Examine(p.ev)
	if _, err := other.Archive(context.Background(), p.digests(p.zh)); err != nil {
		t.Error(err)
	}
	if err := other.H1(context.Background(), wrongH1, wrongH1); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("H1 of another archive returned %v, want ErrNotAccepted", err)
	}
	report(other, verify.ErrNotAccepted)
}

// TestRules: a zero rule is none, and one without entries refuses everything.
func TestRules(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	for name, tt := range map[string]struct {
		policy verify.Policy
		want   error
	}{
		"zero":            {verify.Policy{Accept: checksum.Set{}, SameRelease: checksum.Set{}, Keys: verify.KeySet{}, Fingerprints: verify.Fingerprints{}}, nil},
		"no hash":         {verify.Policy{Accept: checksum.NewSet()}, verify.ErrNotAccepted},
		"no hash known":   {verify.Policy{SameRelease: checksum.NewSet()}, verify.ErrOtherRelease},
		"no key":          {verify.Policy{Keys: verify.NewKeySet()}, verify.ErrUnsigned},
		"no fingerprint":  {verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints())(t)}, verify.ErrUnsigned},
		"empty slices":    {verify.Policy{Accept: checksum.NewSet([]checksum.Hash(nil)...)}, verify.ErrNotAccepted},
		"everything good": {verify.Policy{Accept: checksum.NewSet(p.zh), SameRelease: checksum.NewSet(p.zh), Keys: verify.NewKeySet(p.key), Fingerprints: must.Get(verify.ParseFingerprints(p.fpr))(t)}, nil},
	} {
		if _, err := p.check(tt.policy, p.ev); !errors.Is(err, tt.want) {
			t.Errorf("%s: Check returned %v, want %v", name, err, tt.want)
		}
	}
	given, keys, pins := []checksum.Hash{p.zh}, []verify.Key{p.key}, []string{p.fpr}
	policy := verify.Policy{Accept: checksum.NewSet(given...), RequireSignature: true, Keys: verify.NewKeySet(keys...), Fingerprints: must.Get(verify.ParseFingerprints(pins...))(t)}
	given[0], keys[0], pins[0] = wrongHash, verify.Key{}, "x"
	policy.Accept.Hashes()[0], policy.Keys.Keys()[0] = wrongHash, verify.Key{}
	if _, err := p.check(policy, p.ev); err != nil {
		t.Errorf("after changes of the caller's slices: Check returned %v", err)
	}
	if policy.Accept.IsZero() || policy.Keys.IsZero() || policy.Fingerprints.IsZero() || !(verify.Policy{}).Keys.IsZero() || !(verify.Policy{}).Fingerprints.IsZero() {
		t.Error("IsZero is wrong")
	}
}

// TestContradictions: two fields that contradict each other are an error of each call that judges, before anything else,
// also if another field makes them unnecessary.
func TestContradictions(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	demands := map[string]func(*verify.Policy){
		"RequireSignature": func(a *verify.Policy) { a.RequireSignature = true },
		"Keys":             func(a *verify.Policy) { a.Keys = verify.NewKeySet(p.key) },
		"Fingerprints":     func(a *verify.Policy) { a.Fingerprints = must.Get(verify.ParseFingerprints(p.fpr))(t) },
		"RequireCurrent":   func(a *verify.Policy) { a.RequireCurrent = true },
	}
	permits := map[string]func(*verify.Policy){
		"AllowUnsigned":  func(a *verify.Policy) { a.AllowUnsigned = true },
		"AllowUnchecked": func(a *verify.Policy) { a.AllowUnchecked = true },
		"AllowExpired":   func(a *verify.Policy) { a.AllowExpired = true },
		"AllowWeak":      func(a *verify.Policy) { a.AllowWeak = true },
	}
	for demand, set := range demands {
		for permit, also := range permits {
			policy := verify.Policy{Accept: checksum.NewSet(p.zh)} // as the lock file adds it
			set(&policy)
			also(&policy)
			var want error
			if (demand == "RequireCurrent") == (permit == "AllowExpired") && permit != "AllowWeak" {
				want = verify.ErrPolicy
			}
			_, checked := p.check(policy, p.ev)
			_, sums := policy.CheckSums(p.ev)
			_, directory := policy.JudgeDirectory(p.ev, p.hT)
			for call, err := range map[string]error{
				"Validate": policy.Validate(), "Check": checked, "CheckSums": sums,
				"JudgeOffer": policy.JudgeOffer(t.Context(), p.ev, true, true),
			} {
				if !errors.Is(err, want) || err != nil && !(strings.Contains(err.Error(), demand) && strings.Contains(err.Error(), permit)) {
					t.Errorf("%s with %s: %s returned %v, want %v", demand, permit, call, err, want)
				}
			}
			if want != nil && !errors.Is(directory, want) {
				t.Errorf("%s with %s: JudgeDirectory returned %v, want %v", demand, permit, directory, want)
			}
		}
	}
}

// TestParseFingerprints: what is no fingerprint is refused when it is parsed, not at the first package.
func TestParseFingerprints(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("aB", 20)
	for _, texts := range [][]string{{good[:16]}, {good, strings.Repeat("X", 40)}, {""}} {
		if f, err := verify.ParseFingerprints(texts...); !errors.Is(err, verify.ErrPolicy) || !f.IsZero() {
			t.Errorf("ParseFingerprints(%q) returned %v, %v, want ErrPolicy", texts, f, err)
		}
	}
}

// TestRefusedBeforeInflating: what the zh or the size refutes is never inflated, also if an
// h1 is needed to accept it.
func TestRefusedBeforeInflating(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	locked := verify.Policy{Accept: checksum.NewSet(wrongHash, p.h1)}
	both := verify.Policy{Accept: checksum.NewSet(wrongHash, p.h1), RequireSignature: true}
	for _, tt := range []struct {
		name     string
		policy   verify.Policy
		ev       verify.Evidence
		inflated int
		want     error
	}{
		{"accepted by h1", locked, p.ev, 1, nil},
		{"accepted by h1, size differs", locked, p.with(func(ev *verify.Evidence) { ev.Size++ }), 0, checksum.ErrMismatch},
		{"accepted by h1, stated zh differs", locked, p.stating(wrongHash), 0, checksum.ErrMismatch},
		{"accepted by h1, unsigned", both, p.with(unsigned), 0, verify.ErrUnsigned},
		{"stated h1 alone", verify.Policy{AllowUnsigned: true}, p.stating(p.hT), 1, nil},
		{"stated h1 differs", verify.Policy{AllowUnsigned: true}, p.stating(wrongH1), 1, checksum.ErrMismatch},
		{"signed", verify.Policy{Now: now}, p.ev, 1, nil},
		{"unsigned", verify.Policy{}, p.with(unsigned), 0, verify.ErrUnsigned},
		{"no hash", verify.Policy{AllowUnsigned: true}, p.stating(), 0, verify.ErrUnchecked},
	} {
		r, inflated, err := p.examine(tt.policy, tt.ev, true)
		if !errors.Is(err, tt.want) || (r == nil) != (err != nil) || inflated != tt.inflated {
			t.Errorf("%s: %+v, %v, inflated %d times; want %v, %d times", tt.name, r, err, inflated, tt.want, tt.inflated)
		}
		if r != nil && len(r.Local) != 3 {
			t.Errorf("%s: computed are %v, want all three", tt.name, r.Local)
		}
	}
}

// tryOffer makes sure that JudgeOffer refuses only what Examine refuses for the same
// reason. It reports whether JudgeOffer refused.
func tryOffer(t *testing.T, p *pack, s situation) bool {
	ev := s.ev
	ev.Sums, ev.Signature = nil, nil
	offer := s.policy.JudgeOffer(context.Background(), ev, s.ev.Sums != nil, s.ev.Signature != nil)
	if offer == nil {
		return false
	}
	r, _, err := p.examine(s.policy, s.ev, true)
	for _, kind := range []error{verify.ErrUnsigned, verify.ErrUnchecked, verify.ErrNotAccepted} {
		if errors.Is(offer, kind) && !errors.Is(err, kind) && !errors.Is(err, checksum.ErrMismatch) {
			t.Errorf("%s: JudgeOffer %v, Examine %+v, %v", s.name, offer, r, err)
		}
	}
	if err == nil {
		t.Errorf("%s: JudgeOffer refuses (%v) what Examine accepts (%v)", s.name, offer, r)
	}
	return true
}

// TestJudgeOffer: what no archive can mend is known from the description of the package,
// and nothing else is.
func TestJudgeOffer(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	lax := verify.Policy{AllowUnsigned: true}
	for _, tt := range []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   error
	}{
		{"signed", verify.Policy{}, p.ev, nil},
		{"any mirror, zero policy", verify.Policy{}, p.stating(p.zh), verify.ErrUnsigned},
		{"no hashes, zero policy", verify.Policy{}, p.stating(), verify.ErrUnchecked},
		{"no signature", verify.Policy{}, p.with(unsigned), verify.ErrUnsigned},
		{"no keys", verify.Policy{}, p.with(func(ev *verify.Evidence) { ev.Keys = nil }), verify.ErrUnsigned},
		{"no keys, but pinned", verify.Policy{Keys: verify.NewKeySet(p.key)}, p.with(func(ev *verify.Evidence) { ev.Keys = nil }), nil},
		{"another name", verify.Policy{}, p.with(func(ev *verify.Evidence) { ev.Requested = "random_3.7.0_linux_amd64" }), verify.ErrFilename},
		{"contradiction", verify.Policy{RequireCurrent: true, AllowExpired: true}, p.ev, verify.ErrPolicy},
		{"empty pins", verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints())(t)}, p.ev, verify.ErrUnsigned},
		{"same release of no zh", verify.Policy{SameRelease: checksum.NewSet(p.h1)}, p.ev, verify.ErrOtherRelease},
		{"same release of no zh, no sums", verify.Policy{AllowUnsigned: true, SameRelease: checksum.NewSet(p.h1)}, p.stating(p.zh), nil},
		{"unsigned", lax, p.stating(p.zh), nil},
		{"unsigned, no hashes", lax, p.stating(), verify.ErrUnchecked},
		{"unsigned, must be signed", lax, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.MustBeSigned = true }), verify.ErrUnsigned},
		{"unsigned, no hashes, but sums", lax, p.with(func(ev *verify.Evidence) { unsigned(ev); ev.Hashes = nil }), nil},
		{"unchecked", verify.Policy{AllowUnchecked: true}, p.stating(), nil},
		{"unchecked, others stated", verify.Policy{AllowUnchecked: true}, p.with(func(ev *verify.Evidence) { empty(ev); ev.OthersStated = true }), verify.ErrUnchecked},
		{"locked", lock(p.zh), p.stating(p.zh), nil},
		{"locked by h1", lock(wrongHash, p.h1), p.stating(p.zh), nil},
		{"locked, another stated", lock(wrongHash), p.stating(p.zh), verify.ErrNotAccepted},
		{"locked, none stated", lock(p.zh), p.stating(), nil},
		{"locked, only h1 stated", lock(p.zh), p.stating(p.h1), nil},
		{"empty lock", lock([]checksum.Hash{}...), p.stating(p.zh), verify.ErrNotAccepted},
		{"empty lock, none stated", lock([]checksum.Hash{}...), p.stating(), verify.ErrNotAccepted},
		{"locked and signature wanted", with(lock(p.zh), func(a *verify.Policy) { a.RequireSignature = true }), p.stating(p.zh), verify.ErrUnsigned},
	} {
		ev := tt.ev
		ev.Sums, ev.Signature = nil, nil
		if err := tt.policy.JudgeOffer(context.Background(), ev, tt.ev.Sums != nil, tt.ev.Signature != nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: JudgeOffer is %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestJudgeStated: what is only stated is accepted as far as the archive would be.
func TestJudgeStated(t *testing.T) {
	t.Parallel()
	p := newPack(t)
	strict := verify.Policy{Now: now}
	lax := verify.Policy{AllowUnsigned: true}
	states := func(h []checksum.Hash, change ...func(*verify.Evidence)) verify.Evidence {
		return p.with(func(ev *verify.Evidence) {
			ev.Hashes = h
			ev.Packages, ev.Registry = [][]checksum.Hash{h}, "registry.opentofu.org"
			for _, c := range change {
				c(ev)
			}
		})
	}
	both := []checksum.Hash{p.zh, p.h1}
	signed := hashlist.Sorted([]checksum.Hash{p.zh, p.other})
	all := hashlist.Sorted([]checksum.Hash{p.zh, p.h1, p.other})
	for _, tt := range []struct {
		name   string
		policy verify.Policy
		ev     verify.Evidence
		want   error
		trust  verify.Trust
		record []checksum.Hash
	}{
		{"signed", strict, states(both), nil, verify.Signed, all},
		{"signed, stated dropped", verify.Policy{Now: now, DropStated: true}, states(both), nil, verify.Signed, signed},
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
		{"no sums, unknown scheme", lax, states([]checksum.Hash{unknown}, bare), verify.ErrNotStated, 0, nil},
		{"nothing", lax, p.with(empty), verify.ErrNotStated, 0, nil},
		{"nothing, unchecked allowed", verify.Policy{AllowUnchecked: true}, p.with(empty), verify.ErrNotStated, 0, nil},
		{"locked", lock(p.h1, wrongHash), states(both), nil, verify.Accepted, nil},
		{"locked, stated is another", lock(wrongH1), states(both), verify.ErrNotStated, 0, nil},
		{"locked, another zh is stated", lock(wrongHash), states(both), verify.ErrNotAccepted, 0, nil},
		{"locked by zh, stated is an h1", lock(p.zh), states(both[1:]), verify.ErrNotStated, 0, nil},
		{"locked by an unknown scheme", lock(unknown), states([]checksum.Hash{unknown, p.h1}), verify.ErrNotAccepted, 0, nil},
		{"locked and signed", with(lock(p.h1), func(a *verify.Policy) { a.RequireSignature, a.Now = true, now }), states(both), nil, verify.Signed, signed},
	} {
		sums, err := tt.policy.CheckSums(tt.ev)
		var r *verify.Report
		if err == nil {
			r, err = sums.JudgeStated(context.Background(), tt.ev)
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
	if r, err := (verify.CheckedSums{}).JudgeStated(context.Background(), p.ev); !errors.Is(err, verify.ErrUnsigned) || r != nil {
		t.Errorf("JudgeStated of the zero CheckedSums is %+v, %v, want ErrUnsigned", r, err)
	}
	policy := verify.Policy{AllowUnsigned: true}
	sums := must.Get(policy.CheckSums(p.with(unsigned)))(t)
	policy.AllowUnsigned = false
	if r, err := sums.JudgeStated(context.Background(), p.with(unsigned)); err != nil || r.Trust != verify.Checked {
		t.Errorf("JudgeStated of unsigned sums that were allowed is %+v, %v, want Checked", r, err)
	}
}
