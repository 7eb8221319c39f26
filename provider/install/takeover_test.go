package install_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// takeOver replaces the registry of s by one with the same versions, other archives and another
// key.
func takeOver(t *testing.T, s *site) *regtest.Release {
	t.Helper()
	s.Registry = regtest.New("registry.example.com")
	evil := s.AddProvider(regtest.Provider{
		Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf),
		Files: map[string]string{"README": "evil"}, PackageHashes: true,
	})
	s.in.Source = &regclient.Client{Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
	return evil
}

// TestTakenOverRegistry: a registry that was taken over adds no hash to a locked version, for any
// platform and any policy that demands signatures.
func TestTakenOverRegistry(t *testing.T) {
	t.Parallel()
	noZH := func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeH1 }
	all := func(checksum.Hash) bool { return true }
	for name, test := range map[string]struct {
		policy verify.Policy
		locked []addrs.Platform
		keep   func(checksum.Hash) bool
	}{
		"zero policy":        {locked: platformsOf[:2], keep: all},
		"signature required": {policy: verify.Policy{RequireSignature: true}, locked: platformsOf[:2], keep: all},
		"unsigned allowed":   {policy: verify.Policy{AllowUnsigned: true}, locked: platformsOf[:2], keep: all},
		"only h1 locked":     {locked: platformsOf[:1], keep: noZH},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.in.LockPlatforms = test.locked
			before := relock(t, s.ensure(t, nil).Lock, test.keep)
			evil := takeOver(t, s)
			s.in.Policy = policyOf(test.policy)
			s.in.LockPlatforms = platformsOf
			result, err := s.in.Ensure(t.Context(), s.want, before)
			if err == nil || !result.Lock.Equal(before) {
				t.Fatalf("Ensure with LockPlatforms returned %v, want an error; locked\n%s\nbefore\n%s", err, result.Lock.Bytes(), before.Bytes())
			}
			if test.policy.RequireSignature || name == "only h1 locked" {
				return // refused when the package itself is looked at
			}
			if !errors.Is(err, verify.ErrOtherRelease) || strings.Count(err.Error(), "delete the provider's entry from the lock file") != 1 {
				t.Errorf("Ensure returned %v, want ErrOtherRelease and one remedy", err)
			}
			s.elsewhere(t)
			s.in.Platform, s.in.LockPlatforms = platformsOf[1], nil
			result, err = s.in.Ensure(t.Context(), s.want, result.Lock)
			if !errors.Is(err, verify.ErrNotAccepted) || !strings.Contains(err.Error(), "tofu providers lock -platform=darwin_arm64 registry.example.com/acme/p0") {
				t.Errorf("installing %s: %v, %+v", evil.ZH("darwin_arm64"), err, only(t, result))
			}
		})
	}
}

// TestLockGainsOnlyComputed: signed checksums may list archives that were added after the version
// was locked. Hashes that were not computed here are not locked.
func TestLockGainsOnlyComputed(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: inText(platformsOf)})
	linux, darwin := platformsOf[0].String(), platformsOf[1].String()
	known := []checksum.Hash{release.ZH(linux), release.H1(linux)}
	before := relock(t, s.ensure(t, nil).Lock, func(h checksum.Hash) bool { return slices.Contains(known, h) })
	s.in.LockPlatforms = platformsOf[:2]
	for _, policy := range []verify.Policy{{}, {RequireSignature: true}} {
		s.in.Policy = policyOf(policy)
		s.in.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "providers")}
		lock := s.ensure(t, before).Lock
		want := append(slices.Clone(known), release.ZH(darwin), release.H1(darwin))
		slices.SortFunc(want, checksum.Hash.Compare)
		if got := lock.Accept(numbered(0), addrs.MustParseVersion("1.2.0")); !slices.Equal(got, want) {
			t.Errorf("policy %+v: locked %v, want %v", policy, got, want)
		}
	}
}

// TestTakenOverStates: a registry that states hashes and was taken over adds none of them to a locked
// version, even if it serves the locked archive.
func TestTakenOverStates(t *testing.T) {
	t.Parallel()
	s, release := newOfficialSite(t, func(*regtest.Provider) {})
	only := []checksum.Hash{release.ZH("linux_amd64"), release.H1("linux_amd64")}
	slices.SortFunc(only, checksum.Hash.Compare)
	before := &lockfile.File{}
	must(t, before.Set(lockfile.Entry{Provider: official, Version: v110, Hashes: only}))
	for name, policy := range map[string]verify.Policy{"zero": {}, "required": {RequireSignature: true}} {
		for _, upgrade := range []bool{false, true} {
			s.in.Policy, s.in.Upgrade = policyOf(policy), upgrade
			s.elsewhere(t)
			if got := s.ensure(t, before).Lock.Accept(official, v110); !slices.Equal(got, only) {
				t.Errorf("%s policy, upgrade %v: locked %v, want %v", name, upgrade, got, only)
			}
		}
	}
}

// TestLockOfAnotherSource: a source with other checksums for the release is refused. After its
// entry is deleted, the provider is locked anew.
func TestLockOfAnotherSource(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	before := s.ensure(t, nil).Lock
	evil := takeOver(t, s)
	s.in.LockPlatforms = platformsOf[:2]
	if _, err := s.in.Ensure(t.Context(), s.want, before); !errors.Is(err, verify.ErrOtherRelease) {
		t.Errorf("Ensure returned %v, want ErrOtherRelease", err)
	}
	anew := before.Clone()
	anew.Delete(numbered(0))
	if lock := s.ensure(t, anew).Lock; !slices.Contains(lock.Accept(numbered(0), v110), evil.H1("darwin_arm64")) {
		t.Errorf("locked\n%s", lock.Bytes())
	}
	var none *lockfile.File
	s.ensure(t, none)
}
