package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// requirements are providers with their constraints.
type requirements = install.Requirements

// platformsOf are the platforms of the providers of a site. The first is installed.
var platformsOf = []addrs.Platform{
	addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64"),
	addrs.MustParsePlatform("windows_amd64"), addrs.MustParsePlatform("freebsd_386"),
}

// site is a registry and an Installer of a project.
type site struct {
	*regtest.Registry
	in   *install.Installer
	want requirements
}

// newSite returns a site with n providers p0, p1, … in the versions 1.0.0, 1.1.0 and 2.0.0. The
// project requires ~> 1.0 of each.
func newSite(t *testing.T, n int) *site {
	t.Helper()
	s := &site{Registry: regtest.New("registry.example.com"), want: requirements{}}
	platforms := inText(platformsOf)
	for i := range n {
		for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
			s.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i), Version: version, Platforms: platforms})
		}
		s.want[numbered(i)] = addrs.MustParseProviderConstraint("~> 1.0")
	}
	s.in = &install.Installer{Source: s.registry(), Dir: newDir(t), Platform: platformsOf[0]}
	return s
}

// inText returns the platforms as strings.
func inText(platforms []addrs.Platform) (out []string) {
	for _, p := range platforms {
		out = append(out, p.String())
	}
	return out
}

// numbered returns the provider pI of a site.
func numbered(i int) addrs.Provider {
	return addrs.MustParseProvider(fmt.Sprintf("registry.example.com/acme/p%d", i))
}

// registry returns a client of the site's registry, and mirror one of its mirror.
func (s *site) registry() provider.Source {
	return &regclient.Client{Transport: &transport.Settings{HTTP: s.Client(), Retries: -1}}
}

func (s *site) mirror() provider.Source {
	return &mirrorclient.Client{BaseURL: s.MirrorURL(), Transport: &transport.Settings{HTTP: s.Client(), Retries: -1}}
}

// ensure resets the record of requests and calls Ensure, which must succeed.
func (s *site) ensure(t *testing.T, lock *lockfile.File) *install.Result {
	t.Helper()
	s.Reset()
	result := must.Get(s.in.Ensure(t.Context(), s.want, lock))(t)
	s.check(t, result)
	return result
}

// check checks that all required providers are installed and locked.
func (s *site) check(t *testing.T, result *install.Result) {
	t.Helper()
	if len(result.Selections) != len(s.want) || result.Lock == nil {
		t.Fatalf("%d selections of %d, lock %v", len(result.Selections), len(s.want), result.Lock)
	}
	for _, sel := range result.Selections {
		if _, err := os.Stat(sel.Executable); err != nil || filepath.Dir(sel.Executable) != sel.Dir {
			t.Errorf("%s: directory %q, executable %q: %v", sel.Provider, sel.Dir, sel.Executable, err)
		}
		if !result.Lock.Covers(sel.Provider, sel.Version) || sel.Reports[s.in.Platform] == nil {
			t.Errorf("%s %s: not locked, or without a report", sel.Provider, sel.Version)
		}
	}
}

// counts checks the number of requests of each kind.
func (s *site) counts(t *testing.T, want map[regtest.Kind]int) {
	t.Helper()
	total := 0
	for kind, n := range want {
		total += n
		if got := s.Count(kind); got != n {
			t.Errorf("%d requests of kind %v, want %d", got, kind, n)
		}
	}
	if got := s.Count(0); got != total {
		t.Errorf("%d requests in all, want %d: %v", got, total, s.Requests())
	}
}

// selection returns the selection of a provider.
func selection(result *install.Result, p addrs.Provider) install.Selection {
	i := slices.IndexFunc(result.Selections, func(s install.Selection) bool { return s.Provider == p })
	if i < 0 {
		return install.Selection{}
	}
	return result.Selections[i]
}

// only returns the single selection.
func only(t *testing.T, result *install.Result) install.Selection {
	t.Helper()
	if len(result.Selections) != 1 {
		t.Fatalf("%d selections, want 1", len(result.Selections))
	}
	return result.Selections[0]
}

func constraintOf(s string) addrs.ProviderConstraint { return addrs.MustParseProviderConstraint(s) }

// TestEnsureCold: the newest allowed version is installed, signed and locked.
func TestEnsureCold(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	result := s.ensure(t, nil)
	for i, sel := range result.Selections {
		if sel.Provider != numbered(i) || sel.Version.String() != "1.1.0" || sel.Locked || sel.From != install.FromSource ||
			sel.Package == nil || sel.Fetched == 0 || sel.Constraint != s.want[sel.Provider] || len(sel.Unlocked) > 0 {
			t.Errorf("selection %d: %+v", i, sel)
		}
		if r := sel.Reports[s.in.Platform]; r.Trust != verify.Signed || r.SignedBy.KeyID != s.Key().Public().ID {
			t.Errorf("report %+v", r)
		}
		e, _ := result.Lock.Get(sel.Provider)
		want := []checksum.Hash{h1Of(t, sel.Dir)} // and the zh of all platforms
		for _, zh := range sel.Reports[s.in.Platform].Sums.All() {
			want = append(want, zh)
		}
		if want = hashlist.Sorted(want); len(want) != 1+len(platformsOf) || !slices.Equal(e.Hashes, want) || e.Constraints != sel.Constraint || e.Version != sel.Version {
			t.Errorf("entry %+v, want the hashes %v", e, want)
		}
	}
}

// TestPlan: Plan returns what Ensure does then, and writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = newDir(t)
	s.in.LockPlatforms = platformsOf[:2]
	cold := must.Get(s.in.Plan(t.Context(), s.want, nil))(t)
	s.counts(t, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Versions: 2, regtest.Package: 2})
	for _, sel := range cold.Selections {
		e, ok := cold.Lock.Get(sel.Provider)
		if sel.Version != v110 || sel.From != install.FromSource || sel.Package == nil || sel.Dir != "" || !slices.Equal(sel.Unlocked, platformsOf[1:2]) ||
			!ok || e.Version != v110 || len(e.Hashes) > 0 {
			t.Errorf("%+v, entry %+v", sel, e)
		}
	}
	for _, dir := range []*install.Dir{s.in.Dir, s.in.Cache} {
		if _, err := os.Stat(dir.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir.Path, err)
		}
	}

	first := s.ensure(t, nil)
	s.Reset()
	warm, err := s.in.Plan(t.Context(), s.want, first.Lock)
	if err != nil || !warm.Lock.Equal(first.Lock) {
		t.Errorf("%v\n%s", err, warm.Lock.Bytes())
	}
	for _, sel := range warm.Selections {
		if sel.From != install.FromDir || sel.Executable == "" || len(sel.Unlocked) > 0 {
			t.Errorf("%+v", sel)
		}
	}
	s.elsewhere(t)
	cached, err := s.in.Plan(t.Context(), s.want, first.Lock)
	if sel := cached.Selections[0]; err != nil || sel.From != install.FromCache || sel.Dir != "" {
		t.Errorf("%v: %+v", err, sel)
	}
	s.counts(t, nil)
}

// TestPlanFails: Plan fails like Ensure and keeps the lock file.
func TestPlanFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	lock := s.ensure(t, nil).Lock
	s.want[numbered(0)] = constraintOf("~> 3.0")
	s.in.Upgrade = true
	result, err := s.in.Plan(t.Context(), s.want, lock)
	if !errors.Is(err, failure.ErrNoVersion) || !result.Lock.Equal(lock) {
		t.Errorf("%v\n%s", err, result.Lock.Bytes())
	}
	s.in.Platform = addrs.MustParsePlatform("plan9_mips")
	if _, err := s.in.Plan(t.Context(), s.want, lock); !errors.Is(err, provider.ErrNoPlatform) {
		t.Errorf("error %v, want %v", err, provider.ErrNoPlatform)
	}
	s.in.Upgrade = false // the locked version has no such package
	result, err = s.in.Plan(t.Context(), s.want, lock)
	if locked := result.Selections[1]; !errors.Is(locked.Err, provider.ErrNoPlatform) || locked.From != "" || locked.Package != nil {
		t.Errorf("locked: %+v, %v; want ErrNoPlatform, no origin and no package", locked, err)
	}
}

// TestCache: packages are installed in the cache once and placed in each project.
func TestCache(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = newDir(t)
	first := s.ensure(t, nil)
	project := func(copies bool) *install.Result {
		next := *s.in
		next.Dir, next.Copy = newDir(t), copies
		s.in = &next
		return s.ensure(t, first.Lock)
	}
	for _, copies := range both {
		for _, sel := range project(copies).Selections {
			info, err := os.Lstat(sel.Dir)
			if sel.From != install.FromCache || err != nil || (info.Mode()&os.ModeSymlink != 0) != (!copies && links(t)) {
				t.Errorf("copies %v: %+v, %v", copies, sel, err)
			}
		}
		s.counts(t, nil)
	}
	// The cache suffices offline, too.
	s.in.Source = nil
	project(false)
}

// TestCopyUnpacked: with Copy, Dir gets no link to an unpacked package of the source, with a cache or
// without one.
func TestCopyUnpacked(t *testing.T) {
	t.Parallel()
	mirror := t.TempDir()
	write(t, mirror, home+"/"+program, "program")
	source := must.Get(mirrordir.Open(mirror))(t)
	for name, cache := range map[string]func() *install.Dir{
		"without a cache": func() *install.Dir { return nil }, "with a cache": func() *install.Dir { return newDir(t) },
	} {
		for _, copies := range both {
			in := &install.Installer{
				Source: source, Dir: newDir(t), Cache: cache(), Copy: copies, Platform: linux,
				Policy: func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnchecked: true} },
			}
			sel := only(t, must.Get(in.Ensure(t.Context(), requirements{alpha: {}}, nil))(t))
			info, err := os.Lstat(sel.Dir)
			if err != nil {
				t.Errorf("%s: Ensure with Copy %v: %v", name, copies, err)
				continue
			}
			if linked, want := info.Mode()&os.ModeSymlink != 0, !copies && links(t); linked != want {
				t.Errorf("%s: Ensure with Copy %v made a link: %v, want %v", name, copies, linked, want)
			}
		}
	}
}

// TestRepair: a changed package is downloaded again. Offline, the error says what is wrong.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		if cached && !links(t) {
			continue // the program in the cache is another file
		}
		s := newSite(t, 1)
		if cached {
			s.in.Cache = newDir(t)
		}
		first := s.ensure(t, nil)
		program := only(t, first).Executable
		must.Do(t, os.WriteFile(program, []byte("another program"), 0o755))
		offline := *s.in
		offline.Source = nil
		_, err := offline.Ensure(t.Context(), s.want, first.Lock)
		if !errors.Is(err, failure.ErrOffline) || !errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("offline: %v", err)
		}
		again := s.ensure(t, first.Lock)
		if sel := only(t, again); sel.From != install.FromSource || !slices.Contains(first.Lock.Accept(sel.Provider, sel.Version).Hashes(), h1Of(t, sel.Dir)) {
			t.Errorf("%+v", sel)
		}
		if !again.Lock.Equal(first.Lock) {
			t.Errorf("the lock became\n%s", again.Lock.Bytes())
		}
	}
}

// TestOffline: offline, the error names each missing provider.
func TestOffline(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	lock := s.ensure(t, nil).Lock
	s.in.Source = nil
	s.in.Dir = newDir(t)
	lock.Delete(numbered(1))
	must.Do(t, lock.Set(lockfile.Entry{Provider: numbered(2), Version: v110}))
	_, err := s.in.Ensure(t.Context(), s.want, lock)
	if e, ok := errors.AsType[*failure.Error](err); !errors.Is(err, failure.ErrOffline) || !ok || e.Subject != numbered(0).String()+" 1.1.0" {
		t.Errorf("error %v, want %v", err, failure.ErrOffline)
	}
	const want = `install registry.example.com/acme/p0 1.1.0: offline: the package is not installed
choose a version of registry.example.com/acme/p1: offline: the provider is not in the lock file
install registry.example.com/acme/p2 1.1.0: offline: the lock file has no hashes of the version`
	if err.Error() != want {
		t.Errorf("%v", err)
	}
	s.in.Upgrade = true
	if _, err := s.in.Ensure(t.Context(), s.want, lock); strings.Count(err.Error(), "offline: Upgrade needs a source") != 3 {
		t.Errorf("%v", err)
	}
}

// TestOfflineHashes: offline, installed packages are used although the lock file cannot be
// completed.
func TestOfflineHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.in.Source, s.in.LockPlatforms = nil, platformsOf
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, failure.ErrOffline) || !strings.Contains(err.Error(), "darwin_arm64") || !result.Lock.Equal(lock) {
		t.Errorf("error %v, want %v", err, failure.ErrOffline)
	}
	s.check(t, result)
}

// astray is a Source that changes the answers of another one.
type astray struct {
	provider.Source
	pkg func(context.Context, *provider.Package) (*provider.Package, error)
}

func (a *astray) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := a.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		return a.pkg(ctx, pkg)
	}
	return pkg, err
}

// TestEnsureAnotherAnswer: if a source answers with another version or package, nothing of it is
// planned, installed or locked, even if it is signed.
func TestEnsureAnotherAnswer(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]string{"no package": "", "version": "2.0.0", "platform": "1.1.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			honest := s.in.Source
			s.in.Source = &astray{honest, func(ctx context.Context, pkg *provider.Package) (*provider.Package, error) {
				if v == "" {
					return nil, nil
				}
				return honest.ProviderPackage(ctx, pkg.Provider, addrs.MustParseVersion(v), platformsOf[3])
			}}
			s.in.LockPlatforms = platformsOf[:2]
			for verb, do := range map[string]func() (*install.Result, error){
				"ensure": func() (*install.Result, error) { return s.in.Ensure(t.Context(), s.want, nil) },
				"plan":   func() (*install.Result, error) { return s.in.Plan(t.Context(), s.want, nil) },
			} {
				result, err := do()
				if _, ok := errors.AsType[*failure.Error](err); !ok {
					t.Errorf("%s: %v", verb, err)
				}
				if sel := only(t, result); sel.Package != nil || sel.Dir != "" || len(sel.Reports) > 0 || result.Lock.Covers(sel.Provider, sel.Version) {
					t.Errorf("%s: %+v", verb, sel)
				}
			}
			if n := s.Count(regtest.Archive); n > 0 {
				t.Errorf("%d archives were fetched", n)
			}
			wantNames(t, s.in.Dir.Path)
		})
	}
}

// TestExempt: providers that are built in or overridden are not resolved, hashed or locked.
func TestExempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	lock := s.ensure(t, nil).Lock
	dev := t.TempDir()
	builtIn := addrs.MustParseProvider("terraform.io/builtin/terraform")
	s.in.DevOverrides = map[addrs.Provider]string{numbered(0): dev, numbered(5): t.TempDir()}
	want := requirements{numbered(0): constraintOf("~> 9.0"), numbered(1): constraintOf("~> 1.0"), numbered(5): {}, builtIn: {}}
	program := filepath.Join(dev, "terraform-provider-p0")
	must.Do(t, os.WriteFile(program, []byte("under development"), 0o755))
	s.Reset()
	result := must.Get(s.in.Ensure(t.Context(), want, lock))(t)
	s.counts(t, nil)
	if sel := selection(result, numbered(0)); sel.From != install.FromOverride || sel.Dir != dev || sel.Executable != program || !sel.Version.IsZero() || sel.Reports != nil {
		t.Errorf("%+v", sel)
	}
	if sel := selection(result, numbered(5)); sel.From != install.FromOverride || sel.Executable != "" || sel.Err != nil {
		t.Errorf("%+v", sel)
	}
	if sel := selection(result, builtIn); sel.From != install.FromBuiltIn || sel.Dir != "" {
		t.Errorf("%+v", sel)
	}
	// An override is temporary: the locked entry stays.
	if !result.Lock.Equal(lock) {
		t.Errorf("locked\n%s\nwant\n%s", result.Lock.Bytes(), lock.Bytes())
	}

	for name, test := range map[string]struct {
		provider   addrs.Provider
		constraint string
		want       error
	}{
		"built in, but limited": {builtIn, "~> 1.0", nil},
		"not built in":          {addrs.MustParseProvider("terraform.io/builtin/unknown"), "", failure.ErrNotFound},
		"legacy":                {addrs.MustParseProvider("-/p0"), "", lockfile.ErrNotLockable},
		"none":                  {addrs.Provider{}, "", nil},
	} {
		_, err := s.in.Ensure(t.Context(), requirements{test.provider: constraintOf(test.constraint)}, nil)
		if _, ok := errors.AsType[*failure.Error](err); err == nil || !ok || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMisuse: an invalid Installer returns an error and a result.
func TestMisuse(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for name, in := range map[string]*install.Installer{
		"Dir":           {Source: s.in.Source},
		"LockPlatforms": {Dir: s.in.Dir, LockPlatforms: make([]addrs.Platform, 1)},
		"ReadOnly":      {Dir: s.in.Dir, ReadOnly: true, Upgrade: true},
	} {
		result, err := in.Ensure(t.Context(), s.want, nil)
		if err == nil || !strings.Contains(err.Error(), name) || result == nil || result.Lock == nil {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
	if result, err := (&install.Installer{Source: s.in.Source, ReadOnly: true}).Lock(t.Context(), s.want, nil); err == nil || result.Lock == nil {
		t.Errorf("Lock with ReadOnly: %v, %v, want an error and a lock file", result, err)
	}
	s.want = nil
	if result := s.ensure(t, nil); result.Lock.Len() != 0 {
		t.Errorf("%s", result.Lock.Bytes())
	}
}

// TestEvents: calls of Progress do not overlap, and each provider has a first and a last event.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	s.in.LockPlatforms = platformsOf[:2]
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p9_", Status: 404})
	for i := range 800 { // too long for the lock file
		s.want[numbered(8)] = s.want[numbered(8)].And(constraintOf(fmt.Sprintf("!= 9.0.%d", i)))
	}
	busy := false
	seen := map[addrs.Provider][]progress.Kind{}
	s.in.Progress = func(e progress.Event) {
		if busy {
			t.Error("two calls at once")
		}
		busy = true
		if e.Platform == s.in.Platform {
			seen[e.Provider] = append(seen[e.Provider], e.Kind)
		}
		if (e.Kind == progress.Failed) != (e.Err != nil) {
			t.Errorf("%+v", e)
		}
		busy = false
	}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for p, kinds := range seen {
		last := progress.Installed
		if p == numbered(8) || p == numbered(9) {
			last = progress.Failed
		}
		if kinds[0] != progress.Resolving || kinds[len(kinds)-1] != last || slices.Contains(kinds[:len(kinds)-1], progress.Installed) || last == progress.Installed && !slices.Contains(kinds, progress.Bytes) {
			t.Errorf("%s: %v", p, kinds)
		}
	}
	if len(seen) != 10 {
		t.Errorf("events of %d providers", len(seen))
	}
	clear(seen)
	delete(s.want, numbered(8))
	delete(s.want, numbered(9))
	s.ensure(t, result.Lock)
	for p, kinds := range seen {
		if !slices.Equal(kinds, []progress.Kind{progress.Reused, progress.Installed}) {
			t.Errorf("again, %s: %v", p, kinds)
		}
	}
}

// TestFailuresAreIndependent: all failures are reported in order, and the other providers are
// installed.
func TestFailuresAreIndependent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 6)
	s.want[numbered(0)] = constraintOf("~> 9.0")
	s.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/p1/", Status: 500})
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p2_", Corrupt: true})
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Path: "p3_", Raw: []byte("nonsense")})
	s.want[addrs.MustParseProvider("registry.example.com/acme/zzz")] = addrs.ProviderConstraint{}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 5 {
		t.Fatalf("%v", err)
	}
	for i, e := range joined.Unwrap() {
		name := []string{"acme/p0", "acme/p1", "acme/p2", "acme/p3", "acme/zzz"}[i]
		if _, ok := errors.AsType[*failure.Error](e); !ok || !strings.Contains(e.Error(), name) || strings.Contains(e.Error(), "\n") {
			t.Errorf("error %d: %v", i, e)
		}
	}
	for _, want := range []error{failure.ErrNoVersion, verify.ErrBadSignature, failure.ErrNotFound} {
		if !errors.Is(err, want) {
			t.Errorf("%v is missing", want)
		}
	}
	if locked, ok := errors.AsType[*lockfile.NotLockedError](err); ok {
		t.Errorf("nothing was locked, but %v", locked)
	}
	for i := range 6 {
		sel := selection(result, numbered(i))
		if failed := i < 4; failed != (sel.Err != nil) || failed != (sel.Dir == "") || failed == result.Lock.Covers(sel.Provider, sel.Version) {
			t.Errorf("%+v", sel)
		}
	}
}

// TestNoExecutable: a package without a program is refused, as by the CLI.
func TestNoExecutable(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	s.AddProvider(regtest.Provider{Address: "acme/p0", Zip: archivetest.Zip(t, entry{Name: "terraform-provider-other_v1.0.0"})})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "package has no executable") || result.Lock.Len() != 0 || only(t, result).Dir != "" {
		t.Errorf("error %v, want one about the executable", err)
	}
}

// TestProtocols: versions with unsupported protocols are neither selected nor downloaded.
func TestProtocols(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.0.0"})
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Protocols: []string{"7.0"}})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	if sel := only(t, s.ensure(t, nil)); sel.Version.String() != "1.0.0" {
		t.Errorf("%+v", sel)
	}
	s.in.Protocols = constraintOf(">= 5")
	if sel := only(t, s.ensure(t, nil)); sel.Version.String() != "1.1.0" {
		t.Errorf("%+v", sel)
	}
	s.elsewhere(t)
	s.in.Protocols = constraintOf("~> 6.0")
	lock := &lockfile.File{}
	must.Do(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.1.0")}))
	s.Reset()
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, provider.ErrProtocol) || s.Count(regtest.Archive) > 0 {
		t.Errorf("error %v, want %v", err, provider.ErrProtocol)
	}
}

// TestLongConstraint: a constraint that is too long for a lock file is a failure of its provider.
func TestLongConstraint(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for i := range 500 {
		s.want[numbered(0)] = s.want[numbered(0)].And(constraintOf(fmt.Sprintf("!= 2.0.%d", i)))
	}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "lock" || only(t, result).Err == nil || result.Lock.Len() != 0 {
		t.Errorf("%v", err)
	}
}

// TestSomeHang: providers that hang do not stop the others, and end with the context. The result is
// complete.
func TestSomeHang(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parallel int
		faults   []regtest.Fault
		hangs    func(provider string) bool
		locked   int
	}{
		"two": {0, []regtest.Fault{
			{Kind: regtest.Package, Path: "/p7/", Delay: time.Hour}, {Kind: regtest.Archive, Path: "p8_", Break: "stall", After: 10},
		}, func(name string) bool { return name == "p7" || name == "p8" }, 38},
		"all, and most wait": {2, []regtest.Fault{{Kind: regtest.Archive, Break: "stall", After: 10}}, func(string) bool { return true }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, 40)
				s.in.LockPlatforms, s.in.Parallel, s.Latency = platformsOf[:2], test.parallel, delay
				for _, fault := range test.faults {
					s.AddFault(fault)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*delay)
				defer cancel()
				begin := time.Now()
				result, err := s.in.Ensure(ctx, s.want, nil)
				all, _ := err.(interface{ Unwrap() []error })
				if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 10*delay || len(all.Unwrap()) != 40-test.locked {
					t.Errorf("after %v: %v", took, err)
				}
				if len(result.Selections) != 40 || result.Lock.Len() != test.locked {
					t.Errorf("%d selections, %d locked", len(result.Selections), result.Lock.Len())
				}
				for _, sel := range result.Selections {
					hangs := test.hangs(sel.Provider.Type())
					if hangs != (sel.Err != nil) || hangs != (sel.Dir == "") || !hangs && len(sel.Reports) != 2 {
						t.Errorf("%+v", sel)
					}
				}
			})
		})
	}
}

// TestNoRoomForOthers: if the packages of other platforms cannot be stored, the package for this
// platform is installed and locked.
func TestNoRoomForOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	s.in.TempDir = filepath.Join(t.TempDir(), "missing")
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "darwin_arm64") {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	s.check(t, result)
	s.in.TempDir = t.TempDir()
	result = s.ensure(t, result.Lock)
	if left, err := os.ReadDir(s.in.TempDir); err != nil || len(left) > 0 || len(only(t, result).Reports) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestTotalFailureWritesNothing: Save after a failed Ensure neither creates nor changes the lock
// file.
func TestTotalFailureWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	path := filepath.Join(t.TempDir(), lockfile.Name)
	lock := s.ensure(t, nil).Lock
	s.AddFault(regtest.Fault{Status: 500})
	s.in.Dir = newDir(t)
	for _, before := range []string{"", "# Ask the platform team.\n\n" + string(lock.Bytes())} {
		if err := os.WriteFile(path, []byte(before), 0o600); before != "" && err != nil {
			t.Fatal(err)
		} else if before == "" {
			os.Remove(path)
		}
		lock := must.Get(lockfile.Load(path))(t)
		result, err := s.in.Ensure(t.Context(), s.want, lock)
		if err == nil {
			t.Fatal("Ensure returned no error")
		}
		must.Do(t, result.Lock.Save(path))
		if data, err := os.ReadFile(path); string(data) != before || before == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Save made of %q this: %v, %q", before, err, data)
		}
	}
}

// delay is the latency of each answer in the tests that count round trips.
const delay = time.Second

// timed calls Ensure and checks the number of sequential round trips.
func (s *site) timed(t *testing.T, lock *lockfile.File, deep int) *install.Result {
	t.Helper()
	s.Latency = delay
	begin := time.Now()
	result := s.ensure(t, lock)
	if took := time.Since(begin); took != time.Duration(deep)*delay {
		t.Errorf("took %v, want %d answers one after the other", took, deep)
	}
	return result
}

// elsewhere makes the site install into another, empty directory.
func (s *site) elsewhere(t *testing.T) {
	t.Helper()
	next := *s.in
	next.Dir = newDir(t)
	s.in = &next
}

// TestRoundTrips: Ensure makes the minimum number of sequential round trips, for one provider and
// for many, also with more platforms, and no request twice.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ n, platforms int }{{1, 1}, {20, 1}, {5, len(platformsOf)}} {
		synctest.Test(t, func(t *testing.T) {
			n, all := test.n, test.n*test.platforms
			s := newSite(t, n)
			s.in.LockPlatforms = platformsOf[:test.platforms]
			// Discovery, versions, package, and the three files.
			lock := s.timed(t, nil, 4).Lock
			s.counts(t, map[regtest.Kind]int{
				regtest.Discovery: 1, regtest.Versions: n, regtest.Package: all, regtest.Sums: n, regtest.Signature: n, regtest.Archive: all,
			})
			// Everything is installed, and neither a source nor the network is needed.
			source := s.in.Source
			for _, s.in.Source = range []provider.Source{source, nil} {
				again := s.timed(t, lock, 0)
				for _, sel := range again.Selections {
					if sel.From != install.FromDir || !sel.Locked || sel.Package != nil || sel.Fetched != 0 || sel.Reports[s.in.Platform].Trust != verify.Accepted {
						t.Errorf("%+v", sel)
					}
				}
				if string(again.Lock.Bytes()) != string(lock.Bytes()) {
					t.Errorf("lock before\n%s\nafter\n%s", lock.Bytes(), again.Lock.Bytes())
				}
				s.counts(t, nil)
			}
			s.in.Source = source
			// Discovery is known.
			s.elsewhere(t)
			s.timed(t, nil, 3)
			s.counts(t, map[regtest.Kind]int{
				regtest.Versions: n, regtest.Package: all, regtest.Sums: n, regtest.Signature: n, regtest.Archive: all,
			})
			// With a lock file: package and archive.
			s.elsewhere(t)
			s.timed(t, lock, 2)
			s.counts(t, map[regtest.Kind]int{regtest.Package: n, regtest.Archive: n})
		})
	}
}

// TestParallel: at most Parallel packages are in progress, including those of other platforms. Twelve take four times
// as long as three.
func TestParallel(t *testing.T) {
	t.Parallel()
	for parallel, deep := range map[int]int{3: 3 + 4, 12: 3 + 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, 6)
			s.in.LockPlatforms, s.in.Parallel = platformsOf[:2], parallel
			s.timed(t, nil, deep)
		})
	}
}

// TestTogether: concurrent calls for projects with a common cache download each package once and
// lock the same.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 3)
		s.in.Cache = newDir(t)
		s.Latency = delay // all wait for the first answer before the second one comes
		var wg sync.WaitGroup
		locks := make([]string, 4)
		for i := range locks {
			project := *s.in
			project.Dir = newDir(t)
			wg.Go(func() {
				result, err := project.Ensure(t.Context(), s.want, nil)
				if err != nil {
					t.Error(err)
					return
				}
				locks[i] = string(result.Lock.Bytes())
				s.check(t, result)
			})
		}
		wg.Wait()
		if n := s.Count(regtest.Archive); n != 3 && runtime.GOOS != "windows" { // where notes are ignored
			t.Errorf("%d archives, want 3", n)
		}
		for _, lock := range locks[1:] {
			if lock != locks[0] {
				t.Errorf("locked\n%s\nand\n%s", locks[0], lock)
			}
		}
	})
}
