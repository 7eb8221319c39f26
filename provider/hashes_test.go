package provider_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var v123 = addrs.MustParseVersion("1.2.3")

// five are the platforms of most tests.
var five = platforms("darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64")

func platforms(names ...string) (list []addrs.Platform) {
	for _, name := range names {
		list = append(list, addrs.MustParsePlatform(name))
	}
	return list
}

// demoRelease is version 1.2.3 of acme/demo for five platforms. Its archives have an entry for a
// directory, so they have two h1 each.
func demoRelease() regtest.Provider {
	r := regtest.Provider{Address: "acme/demo", Version: "1.2.3", Files: map[string]string{"docs/": "", "docs/README": "Read me.\n"}}
	for _, p := range five {
		r.Platforms = append(r.Platforms, p.String())
	}
	return r
}

// serveDemo returns a registry with the release, and a client without retries.
func serveDemo(r regtest.Provider) (*regtest.Registry, *regtest.Release, *regclient.Client) {
	reg := regtest.New("registry.opentofu.org")
	release := reg.AddProvider(r)
	return reg, release, &regclient.Client{Transport: &transport.Client{HTTP: reg.Client(), Retries: -1}}
}

// hashes returns the reports of version 1.2.3 of acme/demo.
func hashes(t *testing.T, src provider.Source, on []addrs.Platform, o provider.HashOptions) map[addrs.Platform]*verify.Report {
	t.Helper()
	got := must(provider.Hashes(t.Context(), src, demo, v123, on, o))(t)
	return got
}

// contentOf returns the h1 of an archive, sorted.
func contentOf(t testing.TB, release *regtest.Release, platform addrs.Platform) []checksum.Hash {
	t.Helper()
	archive := release.Archive(platform.String())
	packed, tree, err := checksum.H1Zip(t.Context(), archive, archive.Size(), checksum.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return sortedHashes(packed, tree)
}

func sortedHashes(list ...checksum.Hash) []checksum.Hash {
	slices.SortFunc(list, checksum.Hash.Compare)
	return slices.Compact(list)
}

// signedBy returns the zh of all archives of the release.
func signedBy(release *regtest.Release, on ...addrs.Platform) (list []checksum.Hash) {
	for _, p := range on {
		list = append(list, release.ZH(p.String()))
	}
	return sortedHashes(list...)
}

// wantComputed fails unless each platform has the report of a download.
func wantComputed(t *testing.T, release *regtest.Release, got map[addrs.Platform]*verify.Report, on ...addrs.Platform) {
	t.Helper()
	wantPlatforms(t, got, on...)
	for platform, report := range got {
		local := sortedHashes(append(contentOf(t, release, platform), release.ZH(platform.String()))...)
		if report.Trust != verify.Signed || report.SignedBy == nil || !slices.Equal(report.Local, local) {
			t.Errorf("%s: %s by %v, computed %v\nwant %v", platform, report.Trust, report.SignedBy, report.Local, local)
		}
		if signed := signedBy(release, five...); !slices.Equal(report.Signed(), signed) {
			t.Errorf("%s: signed are %v\nwant %v", platform, report.Signed(), signed)
		}
	}
}

func wantPlatforms(t *testing.T, got map[addrs.Platform]*verify.Report, on ...addrs.Platform) {
	t.Helper()
	have := slices.SortedFunc(maps.Keys(got), addrs.Platform.Compare)
	want := slices.SortedFunc(slices.Values(on), addrs.Platform.Compare)
	if !slices.Equal(have, want) {
		t.Errorf("there are reports for %v, want %v", have, want)
	}
}

// wantRequests compares the number of requests of each kind.
func wantRequests(t *testing.T, reg *regtest.Registry, want map[regtest.Kind]int) {
	t.Helper()
	for kind := regtest.Discovery; kind <= regtest.Other; kind <<= 1 {
		if got := reg.Count(kind); got != want[kind] {
			t.Errorf("%d requests for %s, want %d", got, kind, want[kind])
		}
	}
}

// TestHashes: each platform gets the hashes of its archive. Everything else is requested once.
func TestHashes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ on, want []addrs.Platform }{
		"all five":       {five, five},
		"one":            {platforms("linux_amd64"), platforms("linux_amd64")},
		"some, repeated": {platforms("windows_amd64", "linux_arm64", "windows_amd64"), platforms("linux_arm64", "windows_amd64")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, release, client := serveDemo(demoRelease())
			on, dir := slices.Clone(test.on), t.TempDir()
			got := hashes(t, client, on, provider.HashOptions{TempDir: dir})
			wantComputed(t, release, got, test.want...)
			n := len(test.want)
			wantRequests(t, reg, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Sums: 1, regtest.Signature: 1, regtest.Package: n, regtest.Archive: n})
			if !slices.Equal(on, test.on) {
				t.Errorf("the list of platforms became %v", on)
			}
			wantEmpty(t, dir)
		})
	}
}

// TestHashesRecordable: the reports together have what a lock file for these platforms has. Of what
// the registry states, h1 are recorded of a new version, without pinned keys.
func TestHashesRecordable(t *testing.T) {
	t.Parallel()
	r := demoRelease()
	r.PackageHashes = true
	reg, release, client := serveDemo(r)
	on := platforms("darwin_arm64", "linux_amd64")
	for name, test := range map[string]struct {
		policy verify.Policy
		stated bool
	}{
		"new":          {verify.Policy{}, true},
		"dropped":      {verify.Policy{DropStated: true}, false},
		"keys":         {verify.Policy{Keys: []verify.Key{reg.Key().Public()}}, false},
		"fingerprints": {verify.Policy{Fingerprints: []string{reg.Key().Fingerprint()}}, false},
		"locked":       {verify.Policy{SameRelease: signedBy(release, five...)}, false},
	} {
		got := hashes(t, client, on, provider.HashOptions{Policy: test.policy})
		want := signedBy(release, five...)
		var all []checksum.Hash
		for _, p := range on {
			want = append(want, contentOf(t, release, p)...)
			all = append(all, got[p].Recordable()...)
		}
		for _, p := range five {
			if test.stated {
				want = append(want, release.H1(p.String()))
			}
		}
		if all, want = sortedHashes(all...), sortedHashes(want...); !slices.Equal(all, want) {
			t.Errorf("%s: recordable are %v\nwant %v", name, all, want)
		}
	}
}

// TestHashesBesideH1: a lock file with only the h1 of one platform gains another platform.
func TestHashesBesideH1(t *testing.T) {
	t.Parallel()
	_, release, client := serveDemo(demoRelease())
	locked, more := platforms("linux_amd64"), platforms("darwin_arm64")
	h1 := contentOf(t, release, locked[0])
	for name, policy := range map[string]verify.Policy{"Accept": {Accept: h1}, "SameRelease": {SameRelease: h1}} {
		if got, err := provider.Hashes(t.Context(), client, demo, v123, more, provider.HashOptions{Policy: policy}); err == nil {
			t.Errorf("Hashes with only h1 in %s = %v, want an error", name, got)
		}
	}
	known := hashes(t, client, locked, provider.HashOptions{Policy: verify.Policy{Accept: h1}})
	same := verify.Policy{SameRelease: known[locked[0]].Recordable()}
	wantComputed(t, release, hashes(t, client, more, provider.HashOptions{Policy: same}), more...)
}

// TestHashesOfFound: a package from Find is not requested again: 3 + 2 P requests for P platforms,
// without discovery.
func TestHashesOfFound(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	pkg := must(provider.Find(t.Context(), client, demo, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}}))(t)
	got := must(provider.Hashes(t.Context(), client, demo, pkg.Version, five, provider.HashOptions{Packages: []*provider.Package{pkg}}))(t)
	wantComputed(t, release, got, five...)
	wantRequests(t, reg, map[regtest.Kind]int{
		regtest.Discovery: 1, regtest.Versions: 1, regtest.Sums: 1, regtest.Signature: 1, regtest.Package: 5, regtest.Archive: 5,
	})
}

// TestHashesAfterDownload: Download and Hashes share the evidence: still 3 + 2 P requests.
func TestHashesAfterDownload(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	shared := provider.ShareEvidence(client)
	pkg, err := provider.Find(t.Context(), shared, demo, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
	if err != nil {
		t.Fatal(err)
	}
	must(provider.Download(t.Context(), shared, pkg, target(t), provider.Options{}))(t)
	others := slices.DeleteFunc(slices.Clone(five), func(p addrs.Platform) bool { return p == linux })
	got := must(provider.Hashes(t.Context(), shared, demo, pkg.Version, others, provider.HashOptions{Packages: []*provider.Package{pkg}}))(t)
	wantComputed(t, release, got, others...)
	wantRequests(t, reg, map[regtest.Kind]int{
		regtest.Discovery: 1, regtest.Versions: 1, regtest.Sums: 1, regtest.Signature: 1, regtest.Package: 5, regtest.Archive: 5,
	})
}

// TestHashesOfAll: without platforms, the listed ones are used.
func TestHashesOfAll(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	got := hashes(t, client, nil, provider.HashOptions{})
	wantComputed(t, release, got, five...)
	if n := reg.Count(regtest.Versions); n != 1 {
		t.Errorf("the versions were listed %d times", n)
	}
	got, err := provider.Hashes(t.Context(), client, demo, version("9.9.9"), nil, provider.HashOptions{})
	if got != nil || !errors.Is(err, provider.ErrNoVersion) {
		t.Errorf("unknown version: %v, %v", got, err)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) {
		for _, v := range doc["versions"].([]any) {
			delete(v.(map[string]any), "platforms")
		}
	}})
	client = &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	if _, err = provider.Hashes(t.Context(), client, demo, v123, nil, provider.HashOptions{}); err == nil || !strings.Contains(err.Error(), "name them in the call") {
		t.Errorf("unknown platforms: %v", err)
	}
}

// TestHashesPartial: a failed platform does not affect the others, and the error has all failures.
func TestHashesPartial(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "darwin_arm64", Status: 500})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "windows_amd64", Corrupt: true})
	reg.AddFault(regtest.Fault{Kind: regtest.Package, Path: "linux/arm64", Raw: []byte("{")})
	dir := t.TempDir()
	on := append(platforms("plan9_mips", "solaris_amd64"), five...)
	got, err := provider.Hashes(t.Context(), client, demo, v123, on, provider.HashOptions{TempDir: dir})
	wantComputed(t, release, got, platforms("darwin_amd64", "linux_amd64")...)
	errs := joined(t, err)
	for i, platform := range platforms("darwin_arm64", "linux_arm64", "plan9_mips", "solaris_amd64", "windows_amd64") {
		if len(errs) != 5 {
			t.Fatalf("Hashes returned %d errors, want 5: %v", len(errs), err)
		}
		e, ok := errors.AsType[*provider.Error](errs[i])
		if !ok || !strings.Contains(e.Error(), platform.String()) || strings.Contains(e.Error(), "\n") {
			t.Errorf("error %v, want one line about %s", errs[i], platform)
		}
	}
	for i, want := range map[int]error{2: provider.ErrNoPlatform, 3: provider.ErrNoPlatform} {
		if u, ok := errors.AsType[*provider.UnavailableError](errs[i]); !errors.Is(errs[i], want) || !ok || len(u.Platforms) != 5 {
			t.Errorf("%v, want %v and what there is", errs[i], want)
		}
	}
	if e, _ := errors.AsType[*failure.RequestError](errs[0]); e.Status != 500 {
		t.Errorf("%v, want the status", errs[0])
	}
	if _, ok := errors.AsType[*checksum.MismatchError](errs[4]); !ok {
		t.Errorf("%v, want a mismatch", errs[4])
	}
	wantEmpty(t, dir)
}

// joined returns the parts of a joined error.
func joined(t *testing.T, err error) []error {
	t.Helper()
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T, %v: want several errors", err, err)
	}
	return j.Unwrap()
}

// TestHashesRefused: Hashes refuses what Download refuses, for each platform.
func TestHashesRefused(t *testing.T) {
	t.Parallel()
	other := regtest.NewKey(regtest.KeyOptions{Name: "Mallory"})
	for name, test := range map[string]struct {
		edit   func(*regtest.Provider)
		policy verify.Policy
		want   error
	}{
		"no signature": {func(r *regtest.Provider) { r.NoSums = true }, verify.Policy{}, verify.ErrUnsigned},
		"another key": {func(r *regtest.Provider) {
			r.SignedBy = other
			r.Keys = []*regtest.Key{regtest.NewKey(regtest.KeyOptions{Name: "Alice"})}
		}, verify.Policy{}, verify.ErrUnknownKey},
		"not pinned":      {func(*regtest.Provider) {}, verify.Policy{Fingerprints: []string{other.Fingerprint()}}, verify.ErrUnknownKey},
		"nothing allowed": {func(*regtest.Provider) {}, verify.Policy{Accept: []checksum.Hash{}}, verify.ErrNotAccepted},
		"too large":       {func(*regtest.Provider) {}, verify.Policy{Limits: checksum.Limits{Package: 10}}, failure.ErrTooLarge},
		"a bomb":          {func(*regtest.Provider) {}, verify.Policy{Limits: checksum.Limits{Unpacked: 10}}, failure.ErrTooLarge},
		"no zip":          {func(r *regtest.Provider) { r.Zip = []byte("no zip") }, verify.Policy{}, checksum.ErrArchive},
		"not listed": {func(r *regtest.Provider) {
			r.EditSums = func(sums []byte) []byte { return []byte(strings.ReplaceAll(string(sums), "_1.2.3_", "_1.2.4_")) }
		}, verify.Policy{}, verify.ErrNotListed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := demoRelease()
			test.edit(&r)
			_, _, client := serveDemo(r)
			dir := t.TempDir()
			got, err := provider.Hashes(t.Context(), client, demo, v123, five, provider.HashOptions{Policy: test.policy, TempDir: dir})
			if len(got) != 0 || got == nil {
				t.Errorf("accepted: %v", got)
			}
			errs := joined(t, err)
			for _, e := range errs {
				if !errors.Is(e, test.want) {
					t.Errorf("Hashes returned %v, want %v", e, test.want)
				}
			}
			if len(errs) != 5 {
				t.Errorf("Hashes returned %d errors, want 5", len(errs))
			}
			wantEmpty(t, dir)
		})
	}
}

// TestHashesNoTemp: without a temporary directory, each platform fails.
func TestHashesNoTemp(t *testing.T) {
	t.Parallel()
	reg, _, client := serveDemo(demoRelease())
	o := provider.HashOptions{TempDir: filepath.Join(t.TempDir(), "missing")}
	got, err := provider.Hashes(t.Context(), client, demo, v123, five, o)
	if len(got) > 0 || !errors.Is(err, fs.ErrNotExist) || len(joined(t, err)) != 5 || reg.Count(regtest.Archive) > 0 {
		t.Errorf("%v, %v, %d archives", got, err, reg.Count(regtest.Archive))
	}
}

// TestHashesOfNothing: invalid arguments are refused without a request.
func TestHashesOfNothing(t *testing.T) {
	t.Parallel()
	reg, _, client := serveDemo(demoRelease())
	found := func(edit func(*provider.Package)) []*provider.Package {
		pkg := packageOf(nil)
		edit(pkg)
		return []*provider.Package{pkg}
	}
	for name, test := range map[string]struct {
		p        addrs.Provider
		v        addrs.Version
		on       []addrs.Platform
		packages []*provider.Package
	}{
		"no provider":         {addrs.Provider{}, v123, five, nil},
		"no version":          {demo, addrs.Version{}, five, nil},
		"an empty platform":   {demo, v123, append(platforms("linux_amd64"), addrs.Platform{}), nil},
		"a nil package":       {demo, v123, five, []*provider.Package{nil}},
		"another version":     {demo, v123, five, found(func(p *provider.Package) { p.Version = version("1.0.0") })},
		"another provider":    {demo, v123, five, found(func(p *provider.Package) { p.Provider = addrs.MustParseProvider("acme/other") })},
		"package for nothing": {demo, v123, five, found(func(p *provider.Package) { p.Platform = addrs.Platform{} })},
	} {
		got, err := provider.Hashes(t.Context(), client, test.p, test.v, test.on, provider.HashOptions{Packages: test.packages})
		if _, ok := errors.AsType[*provider.Error](err); !ok || got != nil {
			t.Errorf("%s: Hashes returned %v, %v, want an *Error", name, got, err)
		}
	}
	if n := reg.Count(0); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

// TestHashesAnotherAnswer: another package or nil is an error.
func TestHashesAnotherAnswer(t *testing.T) {
	t.Parallel()
	for name, pkg := range map[string]*provider.Package{"none": nil, "another platform": packageOf(nil)} {
		src := &lister{Fetcher: serve(nil), find: func(addrs.Platform) (*provider.Package, error) { return pkg, nil }}
		got, err := provider.Hashes(t.Context(), src, demo, v123, platforms("plan9_mips"), provider.HashOptions{})
		if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "the source returned") {
			t.Errorf("%s: Hashes returned %v, %v, want an error about the source", name, got, err)
		}
	}
}

// lister is a Source whose packages come from a function.
type lister struct {
	provider.Fetcher
	find func(addrs.Platform) (*provider.Package, error)
}

func (l *lister) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, errors.New("unexpected request for versions")
}

func (l *lister) ProviderPackage(_ context.Context, _ addrs.Provider, _ addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return l.find(platform)
}

// wantEmpty fails if the directory has a file.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
