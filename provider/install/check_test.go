package install_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestCheckEntry: each locked hash is listed by the signed document, not listed, or unknown, for any
// platforms of the registry, without a download.
func TestCheckEntry(t *testing.T) {
	t.Parallel()
	other := checksum.ZHSum([32]byte{1})
	for _, platforms := range [][]string{inText(platformsOf), {"plan9_mips"}} {
		o := newOffer(t, regtest.Provider{Platforms: platforms})
		zh := o.pkg.SHA256
		o.reg.Reset()
		for _, test := range []struct {
			hashes                    []checksum.Hash
			verdict                   string
			listed, unlisted, unknown int
		}{
			{[]checksum.Hash{zh}, "listed", 1, 0, 0},
			{[]checksum.Hash{otherH1, zh}, "listed", 1, 0, 1},
			{[]checksum.Hash{otherH1, zh, other}, "unlisted", 1, 1, 1},
			{[]checksum.Hash{otherH1, checksum.MustParseHash("h9:later")}, "unknown", 0, 0, 2},
			{nil, "unknown", 0, 0, 0},
		} {
			e := lockfile.Entry{Provider: alpha, Version: v1, Hashes: test.hashes}
			for name, policy := range map[string]verify.Policy{
				"zero": {}, "pinned": {Fingerprints: must.Get(verify.ParseFingerprints(o.reg.Key().Fingerprint()))(t)},
			} {
				c, err := install.CheckEntry(t.Context(), o.src, e, policy)
				if err != nil {
					t.Fatalf("%s policy: CheckEntry returned %v", name, err)
				}
				all := slices.Concat(c.Listed, c.Unlisted, c.Unknown)
				if c.String() != test.verdict || len(c.Listed) != test.listed || len(c.Unlisted) != test.unlisted || len(c.Unknown) != test.unknown || !hashlist.Overlap(append(all, zh), append(slices.Clone(test.hashes), zh)) {
					t.Errorf("%s policy: CheckEntry of %v returned %s, %+v", name, test.hashes, c, c)
				}
				if c.SignedBy.Fingerprint != o.reg.Key().Fingerprint() || c.SignedBy.Pinned != (name == "pinned") {
					t.Errorf("%s policy: signed by %+v", name, c.SignedBy)
				}
			}
		}
		if n := o.reg.Count(regtest.Archive); n > 0 {
			t.Errorf("%d archives were downloaded", n)
		}
	}
}

// TestCheckEntryRefuses: what cannot be told is an error, except for an unsigned package that the policy
// accepts, whose hashes are unknown.
func TestCheckEntryRefuses(t *testing.T) {
	t.Parallel()
	stranger := regtest.NewKey(regtest.KeyOptions{}).Fingerprint()
	entry := lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{otherH1}}
	with := func(edit func(*lockfile.Entry)) lockfile.Entry { e := entry; edit(&e); return e }
	for name, test := range map[string]struct {
		offer  regtest.Provider
		fault  regtest.Fault
		entry  lockfile.Entry
		policy verify.Policy
		want   error
	}{
		"unsigned":        {regtest.Provider{NoSums: true}, regtest.Fault{}, entry, verify.Policy{}, verify.ErrUnsigned},
		"another key":     {regtest.Provider{}, regtest.Fault{}, entry, verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(stranger))(t)}, verify.ErrUnknownKey},
		"bad signature":   {regtest.Provider{}, regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")}, entry, verify.Policy{}, verify.ErrBadSignature},
		"another archive": {regtest.Provider{}, regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) { doc["shasum"] = strings.Repeat("0", 64) }}, entry, verify.Policy{}, checksum.ErrMismatch},
		"another version": {regtest.Provider{}, regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) {
			doc["filename"] = "terraform-provider-alpha_1.1.0_linux_amd64.zip"
		}}, entry, verify.Policy{}, verify.ErrFilename},
		"accepted hashes": {regtest.Provider{}, regtest.Fault{}, entry, verify.Policy{Accept: checksum.NewSet(entry.Hashes...)}, verify.ErrPolicy},
		"same release":    {regtest.Provider{}, regtest.Fault{}, entry, verify.Policy{SameRelease: checksum.NewSet(entry.Hashes...)}, verify.ErrPolicy},
		"withdrawn":       {regtest.Provider{}, regtest.Fault{}, with(func(e *lockfile.Entry) { e.Version = v110 }), verify.Policy{}, failure.ErrNoVersion},
		"unknown":         {regtest.Provider{}, regtest.Fault{}, with(func(e *lockfile.Entry) { e.Provider = numbered(0) }), verify.Policy{}, failure.ErrNotFound},
		"unreadable":      {regtest.Provider{}, regtest.Fault{}, with(func(e *lockfile.Entry) { e.Unreadable = true }), verify.Policy{}, lockfile.ErrUnreadable},
		"empty":           {regtest.Provider{}, regtest.Fault{}, lockfile.Entry{}, verify.Policy{}, nil},
	} {
		o := newOffer(t, test.offer)
		if test.fault.Kind != 0 {
			o.reg.AddFault(test.fault)
		}
		c, err := install.CheckEntry(t.Context(), o.src, test.entry, test.policy)
		if _, ok := errors.AsType[*failure.Error](err); c != nil || !ok || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: CheckEntry returned %v, %v; want %v", name, c, err, test.want)
		}
	}
	for _, noSums := range []bool{false, true} {
		o := newOffer(t, regtest.Provider{NoSums: noSums, Keys: []*regtest.Key{}})
		c, err := install.CheckEntry(t.Context(), o.src, entry, verify.Policy{AllowUnsigned: true, AllowUnchecked: true})
		if err != nil || c.SignedBy != nil || len(c.Unknown) != 1 || c.String() != "unknown" {
			t.Errorf("without signature: CheckEntry returned %+v, %v; want unknown", c, err)
		}
	}
	if _, err := install.CheckEntry(t.Context(), nil, entry, verify.Policy{}); !errors.Is(err, failure.ErrOffline) {
		t.Errorf("without a source: %v", err)
	}
	reg := regtest.New("registry.example.com")
	mirror := (&site{Registry: reg}).mirror()
	reg.AddProvider(regtest.Provider{Address: alpha.String(), Version: v1.String(), Platforms: []string{addrs.CurrentPlatform().String()}})
	if _, err := install.CheckEntry(t.Context(), mirror, entry, verify.Policy{}); !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("of a mirror: %v, want %v", err, verify.ErrUnsigned)
	}
}
