package install_test

import (
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// official is the provider of a site whose registry is the one that OpenTofu believes.
var official = addrs.MustParseProvider("acme/p0")

// newOfficialSite returns a site with one release that states the hashes of all platforms.
func newOfficialSite(t *testing.T, edit func(*regtest.Provider)) (*site, *regtest.Release) {
	t.Helper()
	s := newSite(t, 0)
	s.Registry = regtest.New(official.Host().String())
	p := regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf), PackageHashes: true}
	edit(&p)
	release := s.AddProvider(p)
	s.in.Source = s.registry()
	s.want = requirements{official: addrs.ProviderConstraint{}}
	return s, release
}

// TestLockStated: of a version that is not locked, the h1 are recorded that the registry states beside
// a signed zh, unless keys are pinned.
func TestLockStated(t *testing.T) {
	t.Parallel()
	key := regtest.NewKey(regtest.KeyOptions{})
	const h1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	all := len(platformsOf)
	for name, test := range map[string]struct {
		policy verify.Policy
		fault  func(packages map[string]any)
		mirror bool
		want   int // number of h1
	}{
		"signed":             {want: all},
		"signature required": {policy: verify.Policy{RequireSignature: true}, want: all},
		"dropped":            {policy: verify.Policy{DropStated: true}, want: 1},
		"fingerprint":        {policy: verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(key.Fingerprint()))(t)}, want: 1},
		"key":                {policy: verify.Policy{Keys: verify.NewKeySet(key.Public())}, want: 1},
		"mirror":             {policy: verify.Policy{AllowUnsigned: true}, mirror: true, want: 1},
		"no zh":              {fault: func(m map[string]any) { m["darwin_arm64"] = map[string]any{"hashes": []any{h1}} }, want: all - 1},
		"zh not signed": {fault: func(m map[string]any) {
			m["darwin_arm64"] = map[string]any{"hashes": []any{h1, "zh:" + strings.Repeat("0", 64)}}
		}, want: all - 1},
		"two zh": {fault: func(m map[string]any) {
			zh := m["windows_amd64"].(map[string]any)["hashes"].([]any)[1]
			m["darwin_arm64"] = map[string]any{"hashes": append(m["darwin_arm64"].(map[string]any)["hashes"].([]any), zh)}
		}, want: all - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, release := newOfficialSite(t, func(p *regtest.Provider) { p.Keys = []*regtest.Key{key} })
			if test.fault != nil {
				s.AddFault(regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) { test.fault(doc["packages"].(map[string]any)) }})
			}
			if test.mirror {
				s.in.Source = s.mirror()
			}
			s.in.Policy = policyOf(test.policy)
			lock := s.ensure(t, nil).Lock
			got := checksum.WithScheme(lock.Accept(official, v110).Hashes(), checksum.SchemeH1)
			if len(got) != test.want || !slices.Contains(got, release.H1("linux_amd64")) || slices.Contains(got, checksum.MustParseHash(h1)) {
				t.Errorf("locked %v, want %d h1", got, test.want)
			}
			if again := s.ensure(t, lock).Lock; !again.Equal(lock) {
				t.Errorf("locked again\n%s\nbefore\n%s", again.Bytes(), lock.Bytes())
			}
		})
	}
}

// TestLockStatedAndRefuted: if a computed hash refutes a stated one, no stated hash is recorded.
func TestLockStatedAndRefuted(t *testing.T) {
	t.Parallel()
	s, release := newOfficialSite(t, func(*regtest.Provider) {})
	s.AddFault(regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) {
		m := doc["packages"].(map[string]any)
		m["darwin_arm64"].(map[string]any)["hashes"].([]any)[0] = release.H1("windows_amd64").String()
	}})
	s.in.LockPlatforms = platformsOf[:2]
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	got := checksum.WithScheme(result.Lock.Accept(official, v110).Hashes(), checksum.SchemeH1)
	if !errors.Is(err, checksum.ErrMismatch) || !slices.Equal(got, []checksum.Hash{release.H1("linux_amd64")}) {
		t.Errorf("Ensure returned %v, want a mismatch; locked %v, want the installed package only", err, got)
	}
}

// TestLockStatedWithoutDownload: with Stated, the h1 that the registry states replaces the downloads for
// LockPlatforms, and the lock file is the same. A locked version gains computed hashes only.
func TestLockStatedWithoutDownload(t *testing.T) {
	t.Parallel()
	s, release := newOfficialSite(t, func(*regtest.Provider) {})
	s.in.LockPlatforms = platformsOf
	computed := s.ensure(t, nil).Lock
	s.counts(t, map[regtest.Kind]int{regtest.Versions: 1, regtest.Package: len(platformsOf), regtest.Archive: len(platformsOf), regtest.Sums: 1, regtest.Signature: 1, regtest.Discovery: 1})

	s.elsewhere(t)
	s.in.Stated = true
	result := s.ensure(t, nil)
	s.counts(t, map[regtest.Kind]int{regtest.Versions: 1, regtest.Package: 2, regtest.Archive: 1, regtest.Sums: 1, regtest.Signature: 1})
	if !result.Lock.Equal(computed) {
		t.Errorf("Ensure with Stated locked\n%s\nwant\n%s", result.Lock.Bytes(), computed.Bytes())
	}
	for platform, report := range only(t, result).Reports {
		if want := platform == s.in.Platform; report.Trust != verify.Signed || want != (len(report.Local) > 0) {
			t.Errorf("%s: trust %s, local %v", platform, report.Trust, report.Local)
		}
	}

	locked := relock(t, computed, func(h checksum.Hash) bool {
		return h.Scheme() == checksum.SchemeZH || h == release.H1("linux_amd64")
	})
	if again := s.ensure(t, locked).Lock; !again.Equal(computed) {
		t.Errorf("Ensure with Stated locked\n%s\nwant\n%s", again.Bytes(), computed.Bytes())
	}
	s.counts(t, map[regtest.Kind]int{regtest.Package: len(platformsOf) - 1, regtest.Archive: len(platformsOf) - 1})
}

// TestLockPlatformFails: if hashing a platform fails, the new entry has what the registry signs and
// states for it, as without LockPlatforms, and nothing that was computed from its archive.
func TestLockPlatformFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy verify.Policy
		h1     bool
	}{
		"stated":       {verify.Policy{}, true},
		"not recorded": {verify.Policy{DropStated: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, release := newOfficialSite(t, func(*regtest.Provider) {})
			s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "darwin_arm64", Status: 404})
			s.in.LockPlatforms, s.in.Policy = platformsOf[:2], policyOf(test.policy)
			result, err := s.in.Ensure(t.Context(), s.want, nil)
			hashes := result.Lock.Accept(official, v110).Hashes()
			if err == nil || !slices.Contains(hashes, release.ZH("darwin_arm64")) || slices.Contains(hashes, release.H1("darwin_arm64")) != test.h1 {
				t.Errorf("Ensure returned %v; locked %v, want the signed zh of darwin_arm64, and its stated h1: %v", err, hashes, test.h1)
			}
			if failed := only(t, result).Failed; len(failed) != 1 || !errors.Is(failed[platformsOf[1]], failure.ErrNotFound) {
				t.Errorf("Failed is %v, want only darwin_arm64, not found", failed)
			}
		})
	}
}

// TestReuseWithoutLock: an installed package is used without a lock file if the source states its
// h1 and the policy trusts the source.
func TestReuseWithoutLock(t *testing.T) {
	t.Parallel()
	for _, want := range []install.Origin{install.FromDir, install.FromCache} {
		s := newSite(t, 1)
		s.in.Source = s.mirror()
		s.in.Policy = policyOf(verify.Policy{AllowUnsigned: true})
		if want == install.FromCache {
			s.in.Cache = newDir(t)
		}
		s.ensure(t, nil)
		if want == install.FromCache {
			s.elsewhere(t)
		}
		sel := only(t, s.ensure(t, nil))
		if sel.From != want || sel.Fetched != 0 || sel.Package != nil || s.Count(regtest.Archive) > 0 {
			t.Errorf("%+v", sel)
		}
	}
}

// TestLockFromMirror: a mirror without signatures can add platforms to a lock file of a registry.
func TestLockFromMirror(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.in.Source = s.mirror()
	s.in.LockPlatforms = platformsOf
	result := s.ensure(t, lock)
	for platform, report := range only(t, result).Reports {
		if report.Trust != verify.Accepted {
			t.Errorf("%s: %s", platform, report.Trust)
		}
	}
	// Without the lock file, the zero policy refuses an unsigned package.
	if _, err := s.in.Ensure(t.Context(), s.want, nil); !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("error %v, want %v", err, verify.ErrUnsigned)
	}
}

// TestLockNewPackage: the caller's policy decides about a platform that the lock file lacks.
func TestLockNewPackage(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := relock(t, s.ensure(t, nil).Lock, func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeH1 })
	s.in.LockPlatforms = platformsOf[:2]
	sel := only(t, s.ensure(t, lock))
	if sel.From != install.FromDir || sel.Reports[platformsOf[1]].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, verify.ErrBadSignature) || len(h1Locked(result.Lock)) != 1 {
		t.Errorf("%v; locked\n%s", err, result.Lock.Bytes())
	}
}

// TestLockGrowsByBoth: one platform is accepted by a locked hash, another by its signature.
func TestLockGrowsByBoth(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64", "windows_amd64"}})
	lock := relock(t, s.ensure(t, nil).Lock, func(h checksum.Hash) bool { return h != release.ZH("windows_amd64") })
	s.in.LockPlatforms = platformsOf[:3]
	reports := only(t, s.ensure(t, lock)).Reports
	if len(reports) != 3 || reports[platformsOf[1]].Trust != verify.Accepted || reports[platformsOf[2]].Trust != verify.Signed {
		t.Errorf("%+v", reports)
	}
	s.counts(t, map[regtest.Kind]int{regtest.Package: 2, regtest.Archive: 2, regtest.Sums: 1, regtest.Signature: 1})
}

// TestLockUnsigned: of a source without signatures only computed hashes are locked.
func TestLockUnsigned(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Platforms: inText(platformsOf), PackageHashes: true, NoSums: true})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	if _, err := s.in.Ensure(t.Context(), s.want, nil); !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("error %v, want %v", err, verify.ErrUnsigned)
	}
	s.in.Policy = policyOf(verify.Policy{AllowUnsigned: true})
	result := s.ensure(t, nil)
	want := []checksum.Hash{release.H1("linux_amd64"), release.ZH("linux_amd64")}
	if got := result.Lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0")).Hashes(); !slices.Equal(got, want) {
		t.Errorf("locked %v, want %v", got, want)
	}
	s.in.LockPlatforms = platformsOf
	if got := s.ensure(t, result.Lock).Lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0")); len(got.Hashes()) != 2*len(platformsOf) {
		t.Errorf("locked %v", got)
	}
}

// takeOver replaces the registry of s by one with the same versions, other archives and another
// key.
func takeOver(t *testing.T, s *site) *regtest.Release {
	t.Helper()
	s.Registry = regtest.New("registry.example.com")
	evil := s.AddProvider(regtest.Provider{
		Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf),
		Files: map[string]string{"README": "evil"}, PackageHashes: true,
	})
	s.in.Source = s.registry()
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
		s.in.Dir = newDir(t)
		lock := s.ensure(t, before).Lock
		want := append(slices.Clone(known), release.ZH(darwin), release.H1(darwin))
		slices.SortFunc(want, checksum.Hash.Compare)
		if got := lock.Accept(numbered(0), addrs.MustParseVersion("1.2.0")).Hashes(); !slices.Equal(got, want) {
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
	must.Do(t, before.Set(lockfile.Entry{Provider: official, Version: v110, Hashes: only}))
	for name, policy := range map[string]verify.Policy{"zero": {}, "required": {RequireSignature: true}} {
		for _, upgrade := range []bool{false, true} {
			s.in.Policy, s.in.Upgrade = policyOf(policy), upgrade
			s.elsewhere(t)
			if got := s.ensure(t, before).Lock.Accept(official, v110).Hashes(); !slices.Equal(got, only) {
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
	if lock := s.ensure(t, anew).Lock; !slices.Contains(lock.Accept(numbered(0), v110).Hashes(), evil.H1("darwin_arm64")) {
		t.Errorf("locked\n%s", lock.Bytes())
	}
	var none *lockfile.File
	s.ensure(t, none)
}

// TestUnreadableLock: a version whose locked hashes cannot be read, or may stand in content that
// cannot be explained, is not installed by its signature, and the lock file stays.
func TestUnreadableLock(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"hashes = [\"zh:123\"]", "hashes = toset([\"zh:123\"])", "hashes = []", "hashs = [\"zh:123\"]", "hashes {\n}", "}\nhashes = [\n]\nmodule \"x\" {",
	} {
		s := newSite(t, 1)
		text := "provider \"" + numbered(0).String() + "\" {\n  version = \"1.1.0\"\n  " + content + "\n}\n"
		lock := must.Get(lockfile.ParseLenient([]byte(text), lockfile.Name))(t)
		result, err := s.in.Ensure(t.Context(), s.want, lock)
		if !errors.Is(err, verify.ErrNotAccepted) || !errors.Is(err, lockfile.ErrUnreadable) || string(result.Lock.Bytes()) != text {
			t.Errorf("%s: Ensure returned %v, want ErrNotAccepted and ErrUnreadable; locked\n%s", content, err, result.Lock.Bytes())
		}
	}
}

// cached returns a site with a full cache and an empty directory.
func cached(t *testing.T, n int) (*site, *lockfile.File) {
	t.Helper()
	s := newSite(t, n)
	s.in.Cache = newDir(t)
	lock := s.ensure(t, nil).Lock
	s.in.Dir = newDir(t)
	return s, lock
}

// TestTrustCache: without a lock file, packages in the cache are used only with TrustCache.
func TestTrustCache(t *testing.T) {
	t.Parallel()
	s, lock := cached(t, 2)
	s.in.TrustCache = true
	plan := must.Get(s.in.Plan(t.Context(), s.want, nil))(t)
	result := s.ensure(t, nil)
	s.counts(t, map[regtest.Kind]int{regtest.Versions: 2})
	for i, sel := range result.Selections {
		entry, _ := result.Lock.Get(sel.Provider)
		if sel.From != install.FromCache || plan.Selections[i].From != install.FromCache || len(entry.Hashes) != 1 || entry.Hashes[0] != h1Of(t, sel.Dir) {
			t.Errorf("%+v, locked with %v", sel, entry.Hashes)
		}
		if report := sel.Reports[sel.Platform]; report.Trust != verify.Unchecked {
			t.Errorf("%s is said to be %v", sel.Provider, report.Trust)
		}
	}
	if !plan.Lock.Equal(result.Lock) {
		t.Errorf("planned\n%s\ndone\n%s", plan.Lock.Bytes(), result.Lock.Bytes())
	}
	// From now on the packages have locked hashes.
	s.in.Source, s.in.TrustCache = nil, false
	s.ensure(t, result.Lock)
	s.ensure(t, lock)
}

func policyOf(p verify.Policy) func(addrs.Provider) verify.Policy {
	return func(addrs.Provider) verify.Policy { return p }
}

// TestTrustCacheNot: TrustCache has no effect if the policy demands something.
func TestTrustCacheNot(t *testing.T) {
	t.Parallel()
	s, lock := cached(t, 1)
	s.in.TrustCache = true
	keys, zh := []verify.Key{s.Key().Public()}, checksum.WithScheme(lock.Accept(numbered(0), v110).Hashes(), checksum.SchemeZH)
	for name, change := range map[string]func(in *install.Installer){
		"by default": func(in *install.Installer) { in.TrustCache = false },
		"no cache":   func(in *install.Installer) { in.Cache = nil },
		"signature":  func(in *install.Installer) { in.Policy = policyOf(verify.Policy{RequireSignature: true}) },
		"keys":       func(in *install.Installer) { in.Policy = policyOf(verify.Policy{Keys: verify.NewKeySet(keys...)}) },
		"fingerprints": func(in *install.Installer) {
			in.Policy = policyOf(verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(s.Key().Fingerprint()))(t)})
		},
		"hashes": func(in *install.Installer) {
			in.Policy = policyOf(verify.Policy{Accept: checksum.NewSet(zh...)})
		},
		"release": func(in *install.Installer) {
			in.Policy = policyOf(verify.Policy{SameRelease: checksum.NewSet(zh...)})
		},
		"provenance": func(in *install.Installer) {
			in.Source, in.Policy = attesting{in.Source}, policyOf(verify.Policy{Provenance: byValue{}})
		},
	} {
		in := *s.in
		in.Dir = newDir(t)
		change(&in)
		if result, err := in.Ensure(t.Context(), s.want, nil); err != nil || only(t, result).Fetched == 0 {
			t.Errorf("%s: %v, %+v", name, err, only(t, result))
		}
	}
	// Another package in the cache than the locked one.
	write(t, s.in.Cache.Path, "registry.example.com/acme/p0/1.1.0/linux_amd64/more", "x")
	if result := s.ensure(t, lock); only(t, result).Fetched == 0 {
		t.Errorf("%+v", only(t, result))
	}
}

// TestTrustCacheOffline: TrustCache works offline with a locked version without hashes.
func TestTrustCacheOffline(t *testing.T) {
	t.Parallel()
	s, _ := cached(t, 1)
	s.in.TrustCache, s.in.Source = true, nil
	lock := &lockfile.File{}
	must.Do(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: v110}))
	s.ensure(t, lock)
	link(t, "/", filepath.Join(s.in.Cache.Path, "registry.example.com/acme/p0/1.1.0/linux_amd64/link"))
	_, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, failure.ErrOffline) || !errors.Is(err, checksum.ErrIrregular) {
		t.Errorf("error %v, want %v", err, failure.ErrOffline)
	}
	s.in.Cache = newDir(t)
	_, err = s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, failure.ErrOffline) || !strings.HasSuffix(err.Error(), "and the package is not in the cache") {
		t.Errorf("error %v, want %v", err, failure.ErrOffline)
	}
}

// TestTrustCacheAsCLI: the CLI with its setting does the same with the same cache.
func TestTrustCacheAsCLI(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.locked(t, program, fmt.Sprintf("plugin_cache_dir = %q\nplugin_cache_may_break_dependency_lock_file = true\n", s.in.Dir.Path))
		must.Do(t, os.Remove(filepath.Join(p.Dir, lockfile.Name)))
		p.Init(t)
		theirs := must.Get(lockfile.Parse([]byte(p.Read(t, lockfile.Name)), lockfile.Name))(t)
		in := &install.Installer{Source: s.in.Source, Dir: newDir(t), Cache: s.in.Dir, TrustCache: true}
		ours, err := in.Ensure(t.Context(), s.want, nil)
		if err != nil || !ours.Lock.Equal(theirs) {
			t.Errorf("%v; here\n%s\nthere\n%s", err, ours.Lock.Bytes(), theirs.Bytes())
		}
		if n := s.reg.Count(regtest.Archive); n != 0 {
			t.Errorf("%d downloads", n)
		}
	})
}
