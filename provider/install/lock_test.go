package install_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// lock resets the record of requests and calls Lock, which must succeed.
func (s *site) lock(t *testing.T, lock *lockfile.File, platforms []addrs.Platform, in install.Installer) *install.Result {
	t.Helper()
	s.Reset()
	in.Source, in.LockPlatforms = s.in.Source, platforms
	return must.Get(in.Lock(t.Context(), s.want, lock))(t)
}

// TestLockLikeEnsure: for the same platforms, Lock writes the lock file of Ensure, has a report for each
// provider and platform, and tells of each. It leaves the given file and other entries.
func TestLockLikeEnsure(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.in.LockPlatforms = platformsOf[:3]
	want := s.ensure(t, nil).Lock
	s.elsewhere(t)
	other := lockfile.Entry{Provider: addrs.MustParseProvider("registry.example.com/other/kept"), Version: v1, Hashes: []checksum.Hash{otherH1}}
	given := &lockfile.File{}
	must.Do(t, given.Set(other))
	hashed := map[addrs.Provider][]addrs.Platform{}
	o := install.Installer{Progress: func(e progress.Event) {
		if e.Kind == progress.Hashed {
			hashed[e.Provider] = append(hashed[e.Provider], e.Platform)
		}
	}}
	result := s.lock(t, given, platformsOf[:3], o)
	s.counts(t, map[regtest.Kind]int{regtest.Versions: 3, regtest.Package: 9, regtest.Archive: 9, regtest.Sums: 3, regtest.Signature: 3})
	if _, ok := result.Lock.Get(other.Provider); !ok || given.Len() != 1 {
		t.Errorf("Lock returned\n%s\nof\n%s", result.Lock.Bytes(), given.Bytes())
	}
	result.Lock.Delete(other.Provider)
	if !result.Lock.Equal(want) {
		t.Errorf("Lock returned\n%s\nEnsure\n%s", result.Lock.Bytes(), want.Bytes())
	}
	for i, sel := range result.Selections {
		if sel.Provider != numbered(i) || sel.Version != v110 || sel.Locked || sel.Dir != "" || sel.From != "" || sel.Platform != (addrs.Platform{}) {
			t.Errorf("selection %d: %+v", i, sel)
		}
		for _, platform := range platformsOf[:3] {
			if r := sel.Reports[platform]; r == nil || r.Trust != verify.Signed || !slices.Contains(hashed[sel.Provider], platform) {
				t.Errorf("%s %s: report %v, events for %v", sel.Provider, platform, r, hashed[sel.Provider])
			}
		}
	}
}

// TestLockExtends: a locked version stays. Another platform is accepted if the signed sums list a locked
// archive, and only its computed hashes are added. With a HashStore, a second Lock downloads nothing.
func TestLockExtends(t *testing.T) {
	t.Parallel()
	for name, scheme := range map[string]string{"zh and h1": "", "h1": checksum.SchemeH1, "zh": checksum.SchemeZH} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 0)
			release := s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Platforms: inText(platformsOf)})
			s.want[numbered(0)] = addrs.ProviderConstraint{}
			hashesOf := func(on addrs.Platform) []checksum.Hash {
				return []checksum.Hash{release.ZH(on.String()), release.H1(on.String())}
			}
			before := &lockfile.File{}
			must.Do(t, before.Merge(numbered(0), v110, addrs.ProviderConstraint{}, hashesOf(platformsOf[0])))
			before = relock(t, before, func(h checksum.Hash) bool { return scheme == "" || h.Scheme() == scheme })
			s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: inText(platformsOf)})
			o := install.Installer{Store: &hashMemory{}}
			result := s.lock(t, before, platformsOf[:2], o)
			want := hashlist.Sorted(hashesOf(platformsOf[0]), hashesOf(platformsOf[1]))
			if got := result.Lock.Accept(numbered(0), v110).Hashes(); !slices.Equal(got, want) {
				t.Errorf("Lock added %v, want %v", got, want)
			}
			sel := only(t, result)
			if len(sel.Reports) != 2 || sel.Reports[platformsOf[0]].Trust != verify.Accepted || sel.Reports[platformsOf[1]].Trust != verify.Signed {
				t.Errorf("reports %v", sel.Reports)
			}
			if again := s.lock(t, result.Lock, platformsOf[:2], o); !again.Lock.Equal(result.Lock) || s.Count(regtest.Archive) > 0 {
				t.Errorf("Lock again made %d downloads and returned\n%s\nwant\n%s", s.Count(regtest.Archive), again.Lock.Bytes(), result.Lock.Bytes())
			}
			if scheme == checksum.SchemeH1 {
				o.Source, o.LockPlatforms = s.in.Source, platformsOf[1:3]
				_, err := o.Lock(t.Context(), s.want, before)
				if !errors.Is(err, verify.ErrNotAccepted) || !strings.Contains(err.Error(), "name a locked platform too") {
					t.Errorf("without the locked platform: error %v, want ErrNotAccepted and the remedy", err)
				}
			}
		})
	}
}

// TestLockOfTakenOverRegistry: a registry that was taken over adds no hash to a locked version, for any
// platform and any policy that demands signatures or allows unsigned packages of it.
func TestLockOfTakenOverRegistry(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]verify.Policy{"zero": {}, "required": {RequireSignature: true}, "unsigned": {AllowUnsigned: true}} {
		for _, scheme := range []string{checksum.SchemeH1, checksum.SchemeZH} {
			s := newSite(t, 1)
			before := relock(t, s.lock(t, nil, platformsOf[:2], install.Installer{}).Lock, func(h checksum.Hash) bool { return h.Scheme() == scheme })
			takeOver(t, s)
			result, err := (&install.Installer{Source: s.in.Source, LockPlatforms: platformsOf, Policy: policyOf(policy)}).Lock(t.Context(), s.want, before)
			if err == nil || !result.Lock.Equal(before) || len(only(t, result).Reports) > 0 {
				t.Errorf("%s policy, locked %s: Lock returned %v, want an error; locked\n%s\nbefore\n%s", name, scheme, err, result.Lock.Bytes(), before.Bytes())
			}
		}
	}
}

// TestLockGainsNoStatement: what the registry signs and states for a locked version is not recorded, also
// with Stated. For a new version, Stated replaces all downloads.
func TestLockGainsNoStatement(t *testing.T) {
	t.Parallel()
	s, release := newOfficialSite(t, func(*regtest.Provider) {})
	o := install.Installer{Stated: true}
	all := s.lock(t, nil, nil, o)
	s.counts(t, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Versions: 2, regtest.Package: 1, regtest.Sums: 1, regtest.Signature: 1})
	if got := only(t, all); len(got.Reports) != len(platformsOf) || len(all.Lock.Accept(official, v110).Hashes()) != 2*len(platformsOf) {
		t.Errorf("without platforms: %d reports, locked\n%s", len(got.Reports), all.Lock.Bytes())
	}
	known := []checksum.Hash{release.ZH("linux_amd64"), release.H1("linux_amd64")}
	before := relock(t, all.Lock, func(h checksum.Hash) bool { return slices.Contains(known, h) })
	if result := s.lock(t, before, platformsOf[:1], o); !result.Lock.Equal(before) {
		t.Errorf("Lock added\n%s\nto\n%s", result.Lock.Bytes(), before.Bytes())
	}
}

// TestLockSelects: Lock chooses versions as Ensure does, and a new version must have all platforms.
func TestLockSelects(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.2.0", Platforms: inText(platformsOf[:1])})
	lock := s.lock(t, nil, platformsOf[:2], install.Installer{}).Lock
	if e, _ := lock.Get(numbered(0)); e.Version != v110 || e.Constraints != s.want[numbered(0)] {
		t.Errorf("locked %+v, want 1.1.0, which has both platforms", e)
	}
	s.want[numbered(0)] = constraintOf("2.0.0")
	result, err := (&install.Installer{Source: s.in.Source, LockPlatforms: platformsOf[:1]}).Lock(t.Context(), s.want, lock)
	if _, ok := errors.AsType[*install.LockedError](err); !ok || !result.Lock.Equal(lock) {
		t.Errorf("Lock returned %v, want a LockedError; locked\n%s", err, result.Lock.Bytes())
	}
	if sel := only(t, s.lock(t, lock, platformsOf[:1], install.Installer{Upgrade: true})); sel.Version.String() != "2.0.0" {
		t.Errorf("with Upgrade: %+v", sel)
	}
}

// TestLockFails: a failure of one provider does not stop the others, and leaves its entry. A failure for
// one platform does not stop the others.
func TestLockFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.AddFault(regtest.Fault{Kind: regtest.Versions, Path: "p0", Status: 404})
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p1_1.1.0_darwin_arm64", Status: 404})
	given := &lockfile.File{}
	must.Do(t, given.Set(lockfile.Entry{Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/random"), Version: v1}))
	s.want[addrs.MustParseProvider("terraform.io/builtin/terraform")] = addrs.ProviderConstraint{}
	var failed []addrs.Provider
	o := install.Installer{Progress: func(e progress.Event) {
		if e.Kind == progress.Failed {
			failed = append(failed, e.Provider)
		}
	}}
	o.Source, o.LockPlatforms = s.in.Source, platformsOf[:2]
	result, err := o.Lock(t.Context(), s.want, given)
	if !errors.Is(err, failure.ErrNotFound) || len(failed) != 2 || result.Lock.Len() != 3 {
		t.Errorf("Lock returned %v, told of failures of %v; locked\n%s", err, failed, result.Lock.Bytes())
	}
	for i, reports := range []int{0, 1, 2} {
		if sel := selection(result, numbered(i)); len(sel.Reports) != reports || (sel.Err == nil) != (i == 2) || result.Lock.Covers(numbered(i), v110) != (i > 0) {
			t.Errorf("%s: %d reports, error %v; want %d", numbered(i), len(sel.Reports), sel.Err, reports)
		}
	}

	unreadable := must.Get(lockfile.ParseLenient([]byte("provider \""+numbered(2).String()+"\" {\n  version = \"1.1.0\"\n  hashes = 5\n}\n"), ""))(t)
	s.want = requirements{numbered(2): {}}
	for want, call := range map[string]func() (*install.Result, error){
		lockfile.ErrUnreadable.Error(): func() (*install.Result, error) {
			return (&install.Installer{Source: s.in.Source, LockPlatforms: platformsOf[:1]}).Lock(t.Context(), s.want, unreadable)
		},
		"set LockPlatforms": func() (*install.Result, error) {
			return (&install.Installer{Source: s.mirror()}).Lock(t.Context(), s.want, nil)
		},
		"in LockPlatforms is empty": func() (*install.Result, error) {
			return (&install.Installer{Source: s.in.Source, LockPlatforms: make([]addrs.Platform, 1)}).Lock(t.Context(), s.want, nil)
		},
		"offline": func() (*install.Result, error) {
			return (&install.Installer{}).Lock(t.Context(), s.want, nil)
		},
	} {
		if result, err := call(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || result.Lock == nil {
			t.Errorf("Lock returned %v, want an error with %q", err, want)
		}
	}
}

// TestLockIgnoresOverrides: a provider under development is locked like any other, as "providers lock" does; Ensure leaves it alone.
func TestLockIgnoresOverrides(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.LockPlatforms = platformsOf[:1]
	s.in.DevOverrides, s.in.Reattached = map[addrs.Provider]string{numbered(0): t.TempDir()}, []addrs.Provider{numbered(1)}
	s.in.Dir = nil
	if got := must.Get(s.in.Lock(t.Context(), s.want, nil))(t).Lock; got.Len() != 2 {
		t.Errorf("Lock with an override and a running provider returned\n%s\nwant two entries", got.Bytes())
	}
}
