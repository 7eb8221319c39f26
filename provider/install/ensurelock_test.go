package install_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestLockPlatforms: the lock file gets zh and h1 of all platforms, and other platforms are not
// installed.
func TestLockPlatforms(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64", "windows_amd64"}})
	s.in.LockPlatforms = platformsOf[:3]
	result := s.ensure(t, nil)
	sel := only(t, result)
	hashes := result.Lock.Accept(sel.Provider, sel.Version)
	for _, platform := range platformsOf[:3] {
		for _, h := range []checksum.Hash{release.ZH(platform.String()), release.H1(platform.String())} {
			if !slices.Contains(hashes, h) {
				t.Errorf("the lock file lacks %s of %s", h, platform)
			}
		}
		if r := sel.Reports[platform]; r == nil || r.Trust != verify.Signed {
			t.Errorf("%s: report %+v", platform, r)
		}
	}
	if len(hashes) != 6 || len(sel.Reports) != 3 || !slices.Equal(sel.Unlocked, []addrs.Platform{platformsOf[1], platformsOf[2]}) {
		t.Errorf("%d hashes, %d reports, %v were unlocked", len(hashes), len(sel.Reports), sel.Unlocked)
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(sel.Dir), "*_*")); !slices.Contains(found, sel.Dir) || slices.ContainsFunc(found, func(f string) bool { return filepath.Base(f) == "windows_amd64" }) {
		t.Errorf("installed are %v", found)
	}
}

var v110 = addrs.MustParseVersion("1.1.0")

// TestLockGrowsElsewhere: an Installer for a platform that the lock file lacks adds only that
// platform.
func TestLockGrowsElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	lock := s.ensure(t, nil).Lock
	s.elsewhere(t)
	s.in.Platform, s.in.LockPlatforms = platformsOf[2], platformsOf[:3]
	lock = s.ensure(t, lock).Lock
	s.counts(t, map[regtest.Kind]int{regtest.Package: 1, regtest.Archive: 1})
	s.in.LockPlatforms = platformsOf
	s.ensure(t, lock)
	s.counts(t, map[regtest.Kind]int{regtest.Package: 3, regtest.Archive: 3})
}

// TestLockPlatformMissing: if a platform has no package, the package is installed and the other
// platforms are locked.
func TestLockPlatformMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = []addrs.Platform{platformsOf[1], addrs.MustParsePlatform("plan9_mips")}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	var e *provider.Error
	if !errors.Is(err, provider.ErrNoPlatform) || !errors.As(err, &e) {
		t.Errorf("error %v, want %v", err, provider.ErrNoPlatform)
	}
	s.check(t, result)
	if sel := only(t, result); sel.Err == nil || len(sel.Reports) != 2 {
		t.Errorf("%+v", sel)
	}
}

// verbose is a source that states n bytes of hashes for another platform with each package.
type verbose struct {
	provider.Source
	n int
}

func (s verbose) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{addrs.MustParsePlatform("plan9_mips"): make([]checksum.Hash, s.n/100)}
	}
	return pkg, err
}

// TestPackagesWaiting: packages of 4 MiB together are kept until they are hashed, others are requested
// again.
func TestPackagesWaiting(t *testing.T) {
	t.Parallel()
	for n, requests := range map[int]int{1 << 20: 2, 3 << 20: 3} {
		s := newSite(t, 1)
		lock := s.ensure(t, nil).Lock
		s.in.LockPlatforms = platformsOf[:3]
		s.in.Source = verbose{s.in.Source, n}
		s.ensure(t, lock)
		if got := s.Count(regtest.Package); got != requests {
			t.Errorf("%d bytes for each of two platforms: %d requests for packages, want %d", n, got, requests)
		}
	}
}
