package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// cached returns a site with a full cache and an empty directory.
func cached(t *testing.T, n int) (*site, *lockfile.File) {
	t.Helper()
	s := newSite(t, n)
	s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
	lock := s.ensure(t, nil).Lock
	s.in.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "providers")}
	return s, lock
}

// TestTrustCache: without a lock file, packages in the cache are used only with TrustCache.
func TestTrustCache(t *testing.T) {
	t.Parallel()
	s, lock := cached(t, 2)
	s.in.TrustCache = true
	plan, err := s.in.Plan(t.Context(), s.want, nil)
	must(t, err)
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

// listed returns the package of the registry that is in the cache.
func listed(t *testing.T, s *site) *provider.Package {
	t.Helper()
	pkg, err := s.in.Source.ProviderPackage(t.Context(), numbered(0), v110, platformsOf[0])
	must(t, err)
	return pkg
}

// fingerprint returns the fingerprint of the key that signed the package.
func fingerprint(t *testing.T, s *site) string {
	t.Helper()
	infos, err := listed(t, s).Keys[0].Info()
	must(t, err)
	return infos[0].Fingerprint
}

// TestTrustCacheNot: TrustCache has no effect if the policy demands something.
func TestTrustCacheNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(s *site)
		locked bool
	}{
		"by default":      {set: func(s *site) { s.in.TrustCache = false }},
		"no cache":        {set: func(s *site) { s.in.Cache = nil }},
		"signature":       {set: func(s *site) { s.in.Policy = policyOf(verify.Policy{RequireSignature: true}) }},
		"keys":            {set: func(s *site) { s.in.Policy = policyOf(verify.Policy{Keys: listed(t, s).Keys}) }},
		"fingerprints":    {set: func(s *site) { s.in.Policy = policyOf(verify.Policy{Fingerprints: []string{fingerprint(t, s)}}) }},
		"hashes":          {set: func(s *site) { s.in.Policy = policyOf(verify.Policy{Accept: listed(t, s).Evidence().Hashes}) }},
		"another package": {set: func(s *site) {}, locked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, lock := cached(t, 1)
			s.in.TrustCache = true
			c.set(s)
			if !c.locked {
				lock = nil
			} else if err := os.WriteFile(filepath.Join(s.in.Cache.Path, "registry.example.com/acme/p0/1.1.0/linux_amd64/more"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			if result := s.ensure(t, lock); only(t, result).Fetched == 0 {
				t.Errorf("%+v", only(t, result))
			}
		})
	}
}

// TestTrustCacheOffline: TrustCache works offline with a locked version without hashes.
func TestTrustCacheOffline(t *testing.T) {
	t.Parallel()
	s, _ := cached(t, 1)
	s.in.TrustCache, s.in.Source = true, nil
	lock := &lockfile.File{}
	must(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: v110}))
	s.ensure(t, lock)
	link(t, "/", filepath.Join(s.in.Cache.Path, "registry.example.com/acme/p0/1.1.0/linux_amd64/link"))
	_, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, provider.ErrOffline) || !errors.Is(err, checksum.ErrIrregular) {
		t.Errorf("error %v, want %v", err, provider.ErrOffline)
	}
	s.in.Cache = &install.Dir{Path: t.TempDir()}
	_, err = s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, provider.ErrOffline) || !strings.HasSuffix(err.Error(), "and the package is not in the cache") {
		t.Errorf("error %v, want %v", err, provider.ErrOffline)
	}
}

// TestTrustCacheAsCLI: the CLI with its setting does the same with the same cache.
func TestTrustCacheAsCLI(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.project(t, program, fmt.Sprintf("plugin_cache_dir = %q\nplugin_cache_may_break_dependency_lock_file = true\n", s.dir.Path))
		must(t, os.Remove(filepath.Join(p.Dir, lockfile.Name)))
		p.Init(t)
		theirs, err := lockfile.Parse([]byte(p.Read(t, lockfile.Name)), lockfile.Name)
		must(t, err)
		in := &install.Installer{
			Source: &regclient.Client{Transport: &transport.Client{HTTP: s.server.Client()}},
			Dir:    newDir(t), Cache: s.dir, TrustCache: true,
		}
		want := requirements{}
		for source, version := range s.wants {
			want[addrs.MustParseProvider(source)] = addrs.MustParseProviderConstraint(version)
		}
		ours, err := in.Ensure(t.Context(), want, nil)
		if err != nil || !ours.Lock.Equal(theirs) {
			t.Errorf("%v; here\n%s\nthere\n%s", err, ours.Lock.Bytes(), theirs.Bytes())
		}
		if n := s.reg.Count(regtest.Archive); n != 0 {
			t.Errorf("%d downloads", n)
		}
	})
}
