package install_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
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
	s.in.Source = &regclient.Client{Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
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
		"fingerprint":        {policy: verify.Policy{Fingerprints: []string{key.Fingerprint()}}, want: 1},
		"key":                {policy: verify.Policy{Keys: []verify.Key{key.Public()}}, want: 1},
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
				s.in.Source = &mirrorclient.Client{BaseURL: s.MirrorURL(), Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
			}
			s.in.Policy = policyOf(test.policy)
			lock := s.ensure(t, nil).Lock
			got := checksum.WithScheme(lock.Accept(official, v110), checksum.SchemeH1)
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
	got := checksum.WithScheme(result.Lock.Accept(official, v110), checksum.SchemeH1)
	if !errors.Is(err, checksum.ErrMismatch) || !slices.Equal(got, []checksum.Hash{release.H1("linux_amd64")}) {
		t.Errorf("Ensure returned %v, want a mismatch; locked %v, want the installed package only", err, got)
	}
}

// TestReuseWithoutLock: an installed package is used without a lock file if the source states its
// h1 and the policy trusts the source.
func TestReuseWithoutLock(t *testing.T) {
	t.Parallel()
	for _, want := range []install.Origin{install.FromDir, install.FromCache} {
		s := newSite(t, 1)
		s.in.Source = &mirrorclient.Client{BaseURL: s.MirrorURL(), Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
		s.in.Policy = func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: true} }
		if want == install.FromCache {
			s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
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
	s.in.Source = &mirrorclient.Client{BaseURL: s.MirrorURL(), Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
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
	lock := s.ensure(t, nil).Lock
	e, _ := lock.Get(numbered(0))
	e.Hashes = slices.DeleteFunc(e.Hashes, func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeZH })
	must(t, lock.Set(e))
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
	lock := s.ensure(t, nil).Lock
	e, _ := lock.Get(numbered(0))
	e.Hashes = slices.DeleteFunc(e.Hashes, func(h checksum.Hash) bool { return h == release.ZH("windows_amd64") })
	must(t, lock.Set(e))
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
	s.in.Policy = func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: true} }
	result := s.ensure(t, nil)
	want := []checksum.Hash{release.H1("linux_amd64"), release.ZH("linux_amd64")}
	if got := result.Lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0")); !slices.Equal(got, want) {
		t.Errorf("locked %v, want %v", got, want)
	}
	s.in.LockPlatforms = platformsOf
	if got := s.ensure(t, result.Lock).Lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0")); len(got) != 2*len(platformsOf) {
		t.Errorf("locked %v", got)
	}
}
