package provider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
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
	return reg, release, &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
}

// hashes returns the reports of version 1.2.3 of acme/demo.
func hashes(t *testing.T, src provider.Source, on []addrs.Platform, o provider.HashOptions) map[addrs.Platform]*verify.Report {
	t.Helper()
	return must.Get(provider.Hashes(t.Context(), src, demo, v123, on, o))(t)
}

// contentOf returns the h1 of an archive, sorted.
func contentOf(t testing.TB, release *regtest.Release, platform addrs.Platform) []checksum.Hash {
	t.Helper()
	archive := release.Archive(platform.String())
	packed, tree, err := checksum.H1Zip(t.Context(), archive, archive.Size(), checksum.Limits{})
	must.Do(t, err)
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
		if signed := signedBy(release, five...); !slices.Equal(listed(report), signed) {
			t.Errorf("%s: signed are %v\nwant %v", platform, listed(report), signed)
		}
	}
}

// listed returns the hashes in the SHA256SUMS document of a report.
func listed(report *verify.Report) []checksum.Hash {
	if report.Sums == nil {
		return nil
	}
	return sortedHashes(slices.Collect(maps.Values(maps.Collect(report.Sums.All())))...)
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
		"keys":         {verify.Policy{Keys: verify.NewKeySet(reg.Key().Public())}, false},
		"fingerprints": {verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(reg.Key().Fingerprint()))(t)}, false},
		"locked":       {verify.Policy{SameRelease: checksum.NewSet(signedBy(release, five...)...)}, false},
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
	for name, policy := range map[string]verify.Policy{"Accept": {Accept: checksum.NewSet(h1...)}, "SameRelease": {SameRelease: checksum.NewSet(h1...)}} {
		if got, err := provider.Hashes(t.Context(), client, demo, v123, more, provider.HashOptions{Policy: policy}); err == nil {
			t.Errorf("Hashes with only h1 in %s = %v, want an error", name, got)
		}
	}
	known := hashes(t, client, locked, provider.HashOptions{Policy: verify.Policy{Accept: checksum.NewSet(h1...)}})
	same := verify.Policy{SameRelease: checksum.NewSet(known[locked[0]].Recordable()...)}
	wantComputed(t, release, hashes(t, client, more, provider.HashOptions{Policy: same}), more...)
}

// TestHashesLocked: a package of which the source states a locked hash must have one, and needs no signature. For
// others, signed sums must list a locked archive.
func TestHashesLocked(t *testing.T) {
	t.Parallel()
	_, release, client := serveDemo(demoRelease())
	on := platforms("linux_amd64", "darwin_arm64")
	got := hashes(t, client, on, provider.HashOptions{Locked: checksum.NewSet(release.ZH("linux_amd64"))})
	wantPlatforms(t, got, on...)
	if got[on[0]].Trust != verify.Accepted || got[on[1]].Trust != verify.Signed {
		t.Errorf("Hashes reported %v, want linux_amd64 accepted and darwin_arm64 signed", got)
	}
	for name, locked := range map[string]checksum.Set{"another release": checksum.NewSet(zh([]byte("another"))), "nothing": checksum.NewSet()} {
		got, err := provider.Hashes(t.Context(), client, demo, v123, on, provider.HashOptions{Locked: locked})
		if len(got) > 0 || !errors.Is(err, verify.ErrOtherRelease) || len(joined(t, err)) != len(on) {
			t.Errorf("%s is locked: Hashes returned %v, %v, want ErrOtherRelease for each platform", name, got, err)
		}
	}
}

// TestHashesAfterDownload: Download and Hashes share the evidence: 3 + 2 P requests for P platforms, without discovery.
func TestHashesAfterDownload(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	shared := provider.ShareEvidence(client)
	pkg := must.Get(provider.Find(t.Context(), shared, demo, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}}))(t)
	must.Get(provider.Download(t.Context(), shared, pkg, target(t), provider.DownloadOptions{}))(t)
	others := slices.DeleteFunc(slices.Clone(five), func(p addrs.Platform) bool { return p == linux })
	got := must.Get(provider.Hashes(t.Context(), shared, demo, pkg.Version, others, provider.HashOptions{}))(t)
	wantComputed(t, release, got, others...)
	wantRequests(t, reg, map[regtest.Kind]int{
		regtest.Discovery: 1, regtest.Versions: 1, regtest.Sums: 1, regtest.Signature: 1, regtest.Package: 5, regtest.Archive: 5,
	})
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
		e, ok := errors.AsType[*failure.Error](errs[i])
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
	if e, ok := err.(*provider.HashesError); ok {
		err = e.Err
	}
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T, %v: want several errors", err, err)
	}
	return j.Unwrap()
}

// TestHashesRefused: Hashes refuses what Download refuses, for each platform. Stated hashes do not replace a
// missing, wrong or unknown signature.
func TestHashesRefused(t *testing.T) {
	t.Parallel()
	as := func(*regtest.Provider) {}
	stranger := regtest.NewKey(regtest.KeyOptions{Name: "stranger"})
	for name, test := range map[string]struct {
		edit   func(*regtest.Provider)
		policy verify.Policy
		want   error
		read   bool // only the archive shows it
	}{
		"no checksums": {func(r *regtest.Provider) { r.NoSums = true }, verify.Policy{}, verify.ErrUnsigned, false},
		"no keys":      {func(r *regtest.Provider) { r.Keys = []*regtest.Key{} }, verify.Policy{}, verify.ErrUnsigned, false},
		"another key": {func(r *regtest.Provider) {
			r.Keys, r.SignedBy = []*regtest.Key{stranger}, regtest.NewKey(regtest.KeyOptions{})
		}, verify.Policy{}, verify.ErrUnknownKey, false},
		"not pinned":      {as, verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(stranger.Fingerprint()))(t)}, verify.ErrUnknownKey, false},
		"pinned key":      {as, verify.Policy{Keys: verify.NewKeySet(stranger.Public())}, verify.ErrUnknownKey, false},
		"required":        {func(r *regtest.Provider) { r.NoSums = true }, verify.Policy{RequireSignature: true}, verify.ErrUnsigned, false},
		"not accepted":    {as, verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash("zh:" + strings.Repeat("0", 64)))}, verify.ErrNotAccepted, false},
		"nothing allowed": {as, verify.Policy{Accept: checksum.NewSet()}, verify.ErrNotAccepted, false},
		"other version":   {func(r *regtest.Provider) { r.EditSums = renamed("_1.2.3_", "_1.2.4_") }, verify.Policy{}, verify.ErrNotListed, false},
		"other digests":   {func(r *regtest.Provider) { r.EditSums = otherDigests }, verify.Policy{AllowUnsigned: true}, checksum.ErrMismatch, false},
		"too large":       {as, verify.Policy{Limits: checksum.Limits{Package: 10}}, failure.ErrTooLarge, true},
		"a bomb":          {as, verify.Policy{Limits: checksum.Limits{Unpacked: 10}}, failure.ErrTooLarge, true},
		"no zip":          {func(r *regtest.Provider) { r.Zip = []byte("no zip") }, verify.Policy{}, failure.ErrArchive, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stated := range []bool{false, true} {
				r := demoRelease()
				r.PackageHashes = stated
				if stated && test.read {
					continue
				}
				test.edit(&r)
				_, _, client := serveDemo(r)
				dir := t.TempDir()
				got, err := provider.Hashes(t.Context(), client, demo, v123, five, provider.HashOptions{Policy: test.policy, Stated: stated, TempDir: dir})
				errs := joined(t, err)
				if len(got) != 0 || got == nil || len(errs) != 5 {
					t.Errorf("stated %v: accepted %v, %d errors", stated, got, len(errs))
				}
				for _, e := range errs {
					if !errors.Is(e, test.want) {
						t.Errorf("stated %v: Hashes returned %v, want %v", stated, e, test.want)
					}
				}
				wantEmpty(t, dir)
			}
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
	for name, test := range map[string]struct {
		p  addrs.Provider
		v  addrs.Version
		on []addrs.Platform
	}{
		"no provider":       {addrs.Provider{}, v123, five},
		"no version":        {demo, addrs.Version{}, five},
		"no platform":       {demo, v123, nil},
		"an empty platform": {demo, v123, append(platforms("linux_amd64"), addrs.Platform{})},
	} {
		got, err := provider.Hashes(t.Context(), client, test.p, test.v, test.on, provider.HashOptions{})
		if _, ok := errors.AsType[*failure.Error](err); !ok || got != nil {
			t.Errorf("%s: Hashes returned %v, %v, want an *Error", name, got, err)
		}
	}
	if n := reg.Count(0); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

// lister is a Source whose packages come from a function.
type lister struct {
	provider.Opener
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

// TestHashesDepth: how many answers a lock file for five platforms needs in sequence, and how many
// requests.
func TestHashesDepth(t *testing.T) {
	t.Parallel()
	const providers = 20
	for name, test := range map[string]struct {
		providers, depth, requests int
		o                          provider.HashOptions
	}{
		"one provider":     {1, 4, 1 + 3 + 2*5, provider.HashOptions{}},
		"twenty providers": {providers, 4, 1 + providers*(3+2*5), provider.HashOptions{}},
		"stated":           {providers, 4, 1 + providers*4, believing(verify.Policy{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := regtest.New("registry.opentofu.org")
				reg.Latency = 50 * time.Millisecond
				client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
				for i := range test.providers {
					r := statingRelease()
					r.Address = fmt.Sprintf("acme/p%d", i)
					reg.AddProvider(r).Signature() // takes no time of the clock here
				}
				begin := time.Now()
				var wg sync.WaitGroup
				for i := range test.providers {
					wg.Go(func() {
						p := addrs.MustParseProvider(fmt.Sprintf("registry.opentofu.org/acme/p%d", i))
						_, err := client.ProviderVersions(t.Context(), p)
						got, hashErr := provider.Hashes(t.Context(), client, p, v123, five, test.o)
						if err != nil || hashErr != nil || len(got) != 5 {
							t.Errorf("%s: %v, Hashes returned %v, %v, want 5 reports", p, err, got, hashErr)
						}
					})
				}
				wg.Wait()
				if took := time.Since(begin); took != time.Duration(test.depth)*reg.Latency {
					t.Errorf("took %v, want %d times %v", took, test.depth, reg.Latency)
				}
				if n := reg.Count(0); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
			})
		})
	}
}

// gauge counts what is in progress at the same time.
type gauge struct{ now, most atomic.Int32 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
}

func (g *gauge) leave() { g.now.Add(-1) }

// many returns a source with a package for every platform. Each archive takes a second.
func many(content []byte, inside *gauge) *lister {
	arriving := &fake{open: func(ctx context.Context, _ int) (*provider.Body, error) {
		inside.enter()
		time.Sleep(time.Second)
		rest := io.Reader(bytes.NewReader(content))
		return body(readerFunc(func(p []byte) (int, error) {
			n, err := rest.Read(p)
			if err == io.EOF {
				inside.leave()
			}
			return n, err
		})), ctx.Err()
	}}
	return &lister{Opener: arriving, find: func(platform addrs.Platform) (*provider.Package, error) {
		pkg := packageOf(content)
		pkg.Platform = platform
		return pkg, nil
	}}
}

// systems returns n platforms.
func systems(n int) (list []addrs.Platform) {
	for i := range n {
		list = append(list, addrs.MustParsePlatform(fmt.Sprintf("os%d_amd64", i)))
	}
	return list
}

// TestLimiter: calls that share a limiter share its places.
func TestLimiter(t *testing.T) {
	t.Parallel()
	content := archive(t)
	for name, test := range map[string]struct {
		limiter *provider.Limiter
		calls   int
		on      int
		most    int32
		seconds time.Duration
	}{
		"default":        {nil, 1, 20, 8, 3},
		"zero":           {&provider.Limiter{}, 2, 20, 8, 5},
		"negative":       {&provider.Limiter{Parallel: -1}, 1, 20, 8, 3},
		"three":          {&provider.Limiter{Parallel: 3}, 1, 7, 3, 3},
		"shared":         {&provider.Limiter{Parallel: 10}, 5, 10, 10, 5},
		"1000 platforms": {&provider.Limiter{Parallel: 100}, 1, 1000, 100, 10},
		"more than all":  {&provider.Limiter{Parallel: math.MaxInt}, 1, 20, 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var inside gauge
				src := many(content, &inside)
				begin := time.Now()
				var wg sync.WaitGroup
				for range test.calls {
					wg.Go(func() {
						got, err := provider.Hashes(t.Context(), src, demo, v123, systems(test.on), provider.HashOptions{Policy: accepting(content).Policy, Limiter: test.limiter})
						if err != nil || len(got) != test.on {
							t.Errorf("%d reports, %v", len(got), err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(begin); took != test.seconds*time.Second || inside.most.Load() != test.most {
					t.Errorf("%d at once, in %v; want %d, in %d s", inside.most.Load(), took, test.most, test.seconds)
				}
			})
		})
	}
}

// TestLimiterAcquire: Acquire ends with its context, and release frees one place, once.
func TestLimiterAcquire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := &provider.Limiter{Parallel: 1}
		release := must.Get(limiter.Acquire(t.Context()))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := limiter.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded", err)
		}
		release()
		if _, err := limiter.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v of a context that has ended", err)
		}
		next := must.Get(limiter.Acquire(t.Context()))(t)
		release() // once more, which is not the place of the next
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := limiter.Acquire(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded, because the limiter is full", err)
		}
		next()
	})
}

// TestHashesCancelled: finished reports are returned, and the error of the context once. The bubble
// checks that no goroutine is left.
func TestHashesCancelled(t *testing.T) {
	t.Parallel()
	content := archive(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		src := &lister{
			find: func(platform addrs.Platform) (*provider.Package, error) {
				pkg := packageOf(content)
				pkg.Platform = platform
				if platform == linux {
					pkg.URL = "https://files.example.com/fast.zip"
				}
				return pkg, nil
			},
			Opener: byPackage{open: func(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
				if strings.HasSuffix(pkg.URL, "fast.zip") {
					return body(bytes.NewReader(content)), nil
				}
				return body(io.MultiReader(bytes.NewReader(content[:50]), readerFunc(func([]byte) (int, error) { return 0, hang(ctx) }))), nil
			}},
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		got, err := provider.Hashes(ctx, src, demo, v123, append(systems(20), linux), provider.HashOptions{Policy: accepting(content).Policy, TempDir: dir, Limiter: &provider.Limiter{Parallel: 21}})
		wantPlatforms(t, got, linux)
		if !errors.Is(err, context.DeadlineExceeded) || len(joined(t, err)) != 1 {
			t.Errorf("%v, want DeadlineExceeded once", err)
		}
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("took %v", took)
		}
		wantEmpty(t, dir)
	})
}

// byPackage is an Opener whose archives depend on the package.
type byPackage struct {
	open func(ctx context.Context, pkg *provider.Package) (*provider.Body, error)
}

func (b byPackage) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return b.open(ctx, pkg)
}

func (b byPackage) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return pkg.Evidence(), nil
}

// TestHashesOneFails: the failure of one platform does not affect platforms that share its evidence.
func TestHashesOneFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, release, _ := serveDemo(demoRelease())
		release.Signature()
		reg.Latency = time.Second
		reg.AddFault(regtest.Fault{Kind: regtest.Sums | regtest.Signature, Delay: 10 * time.Second})
		reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "darwin_amd64", Status: 404})
		client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1, Timeout: time.Minute}}
		got, err := provider.Hashes(t.Context(), client, demo, v123, five, provider.HashOptions{})
		wantComputed(t, release, got, five[1:]...)
		if !errors.Is(err, failure.ErrNotFound) || len(joined(t, err)) != 1 {
			t.Errorf("%v, want ErrNotFound", err)
		}
		if e, ok := errors.AsType[*provider.HashesError](err); !ok || len(e.Platforms) != 1 || !errors.Is(e.Platforms[five[0]], failure.ErrNotFound) {
			t.Errorf("%#v, want a HashesError for %s alone", err, five[0])
		}
		if n := reg.Count(regtest.Sums | regtest.Signature); n != 2 {
			t.Errorf("%d requests for the evidence", n)
		}
	})
}

// TestHashesProgress: events do not overlap, and progress.Hashed is the last one of each platform.
func TestHashesProgress(t *testing.T) {
	t.Parallel()
	_, release, client := serveDemo(demoRelease())
	var inside atomic.Int32
	last := map[addrs.Platform]progress.Event{}
	o := provider.HashOptions{}
	o.Progress = func(e progress.Event) {
		if inside.Add(1) != 1 {
			t.Error("two calls at a time")
		}
		runtime.Gosched()
		before, seen := last[e.Platform]
		if e.Provider != demo || e.Version != v123 || e.Bytes < before.Bytes || before.Kind == progress.Hashed || !seen && e.Bytes != 0 {
			t.Errorf("event %v after %v", e, before)
		}
		last[e.Platform] = e
		inside.Add(-1)
	}
	hashes(t, client, five, o)
	for _, platform := range five {
		size := release.Archive(platform.String()).Size()
		if e := last[platform]; e.Kind != progress.Hashed || e.Bytes != size || e.Total != size {
			t.Errorf("%s: the last event is %v", platform, e)
		}
	}
	o.Progress = func(e progress.Event) {
		if e.Kind != progress.Hashed || e.Bytes != 0 {
			t.Errorf("%v, of a package that did not come", e)
		}
	}
	o.Stated = true
	_, _, client = serveDemo(statingRelease())
	hashes(t, client, five, o)
}

// TestHashesEvidenceBounded: the number of concurrent requests for evidence is bounded.
func TestHashesEvidenceBounded(t *testing.T) {
	t.Parallel()
	content := archive(t)
	h1, _, err := checksum.H1Zip(t.Context(), bytes.NewReader(content), int64(len(content)), checksum.Limits{})
	must.Do(t, err)
	synctest.Test(t, func(t *testing.T) {
		var inside gauge
		src := &lister{
			find: func(platform addrs.Platform) (*provider.Package, error) {
				pkg := packageOf(content)
				pkg.Platform, pkg.SumsURL = platform, "https://files.example.com/"+platform.String()
				return pkg, nil
			},
			Opener: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
				inside.enter()
				defer inside.leave()
				time.Sleep(time.Second)
				return pkg.Evidence(), nil
			}},
		}
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}, Store: &memory{kept: map[checksum.Hash][]checksum.Hash{zh(content): {h1}}}}
		got, err := provider.Hashes(t.Context(), src, demo, v123, systems(200), o)
		if err != nil || len(got) != 200 || inside.most.Load() != 32 {
			t.Errorf("%d reports, %v, %d at once", len(got), err, inside.most.Load())
		}
	})
}

// TestHashesFindBounded: while archives wait for the limiter, the number of found packages is bounded, for
// all calls that share the limiter.
func TestHashesFindBounded(t *testing.T) {
	t.Parallel()
	content := archive(t)
	synctest.Test(t, func(t *testing.T) {
		var found atomic.Int32
		src := &lister{
			find: func(platform addrs.Platform) (*provider.Package, error) {
				found.Add(1)
				pkg := packageOf(content)
				pkg.Platform = platform
				return pkg, nil
			},
			Opener: &fake{open: func(ctx context.Context, _ int) (*provider.Body, error) { return nil, hang(ctx) }},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		limiter := new(provider.Limiter)
		for range 3 {
			wg.Go(func() {
				if got, err := provider.Hashes(ctx, src, demo, v123, systems(200), provider.HashOptions{Policy: accepting(content).Policy, Limiter: limiter}); len(got) > 0 || !errors.Is(err, context.Canceled) {
					t.Errorf("Hashes returned %v, %v, want Canceled", got, err)
				}
			})
		}
		synctest.Wait()
		if n := found.Load(); n != 8+32 {
			t.Errorf("%d packages were asked for, want those in progress and 32 more", n)
		}
		cancel()
		wg.Wait()
	})
}

// TestHashesAskBounded: calls that share a Limiter request at most 32 packages at the same time, also those that may
// state the hashes of others.
func TestHashesAskBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var inside gauge
		src := &lister{find: func(addrs.Platform) (*provider.Package, error) {
			inside.enter()
			defer inside.leave()
			time.Sleep(time.Second)
			return nil, provider.ErrNoPlatform
		}}
		limiter := new(provider.Limiter)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := provider.Hashes(t.Context(), src, demo, v123, five, provider.HashOptions{Stated: true, Limiter: limiter}); !errors.Is(err, provider.ErrNoPlatform) {
					t.Errorf("Hashes: %v, want ErrNoPlatform", err)
				}
			})
		}
		wg.Wait()
		if n := inside.most.Load(); n != 32 {
			t.Errorf("%d packages were requested at the same time, want 32", n)
		}
	})
}

// TestShareEvidenceKeepsLittle: the cached documents are bounded.
func TestShareEvidenceKeepsLittle(t *testing.T) {
	t.Parallel()
	asked := 0
	src := provider.ShareEvidence(&lister{Opener: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
		asked++
		return verify.Evidence{Sums: make([]byte, 1<<20)}, nil
	}}})
	pkg := packageOf(nil)
	ask := func(documents int) {
		for i := range documents {
			pkg.SumsURL = fmt.Sprintf("https://files.example.com/%d", i)
			must.Get(src.Evidence(t.Context(), pkg))(t)
		}
	}
	ask(7) // there is room for seven, and their URLs
	ask(7)
	if asked != 7 {
		t.Errorf("two rounds of 7 documents: asked %d times, want 7", asked)
	}
	ask(8)
	ask(8)
	if asked < 9 {
		t.Errorf("two rounds of 8 documents: asked %d times, want one of them twice", asked-7)
	}
}

// TestShareEvidence: callers get copies of one answer. Errors and answers for other hosts or methods
// are not shared.
func TestShareEvidence(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var asked []string
	src := provider.ShareEvidence(&lister{Opener: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
		asked = append(asked, pkg.Provider.String()+pkg.SumsURL+via(pkg))
		if len(asked) == 1 {
			return verify.Evidence{}, refused
		}
		ev := pkg.Evidence()
		ev.Sums, ev.Signature = []byte("sums"), []byte("signature")
		return ev, nil
	}}})
	pkg := packageOf(nil)
	if _, err := src.Evidence(t.Context(), pkg); err != nil || len(asked) != 1 {
		if !errors.Is(err, refused) {
			t.Errorf("without sums: %v", err)
		}
	}
	pkg.SumsURL = "/sums"
	pkg2 := pkg.Clone()
	pkg2.Platform = addrs.MustParsePlatform("darwin_arm64")
	for _, p := range []*provider.Package{pkg, pkg2, pkg} {
		ev, err := src.Evidence(t.Context(), p)
		if err != nil || string(ev.Sums) != "sums" || string(ev.Signature) != "signature" || !strings.HasSuffix(ev.Requested, p.Platform.String()) {
			t.Errorf("Evidence returned %+v, %v, want the shared documents", ev, err)
		}
		ev.Sums[0] = 'X'
	}
	other, via := pkg.Clone(), pkg.Clone()
	other.Provider, via.Via = addrs.MustParseProvider("acme/other"), []string{"mirror"}
	for _, p := range []*provider.Package{other, via} {
		if _, err := src.Evidence(t.Context(), p); err != nil {
			t.Errorf("Evidence of %s returned %v, want no error", p, err)
		}
	}
	want := []string{demo.String(), demo.String() + "/sums", other.Provider.String() + "/sums", demo.String() + "/sumsmirror"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// TestReportsShareSums: all reports share one SHA256SUMS document in memory.
func TestReportsShareSums(t *testing.T) {
	t.Parallel()
	_, _, client := serveDemo(statingRelease())
	for name, o := range map[string]provider.HashOptions{"computed": {}, "stated": believing(verify.Policy{})} {
		reports := hashes(t, client, five, o)
		first := reports[five[0]].Sums
		for _, platform := range five {
			if sums := reports[platform].Sums; sums == nil || len(maps.Collect(sums.All())) < len(five) || sums != first {
				t.Errorf("%s: Sums of %s is %p, want the document of all, %p", name, platform, sums, first)
			}
		}
	}
}

// padded is a source whose SHA256SUMS documents have the given sizes.
type padded struct {
	provider.Source
	sizes []int
	asked atomic.Int32
}

func (s *padded) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.SumsURL += "?" + on.String()
	}
	return pkg, err
}

func (s *padded) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	n := int(s.asked.Add(1)) - 1
	ev := pkg.Evidence()
	ev.Sums = fmt.Appendf(nil, "%s  %s\n", pkg.SHA256.Value(), pkg.Filename)
	const head = 64 + 2 + 1
	for i := 0; len(ev.Sums) < s.sizes[n]; i++ {
		size := min(4000, s.sizes[n]-len(ev.Sums))
		if rest := s.sizes[n] - len(ev.Sums) - size; rest > 0 && rest < 100 {
			size -= 100
		}
		name := fmt.Sprintf("%d-%d-", n, i)
		ev.Sums = fmt.Appendf(ev.Sums, "%064x  %s%s\n", i, name, strings.Repeat("x", size-head-len(name)))
	}
	return ev, nil
}

// serveSystems returns a client of a registry with a release for n platforms.
func serveSystems(n int) *regclient.Client {
	r := demoRelease()
	r.Platforms = nil
	for _, platform := range systems(n) {
		r.Platforms = append(r.Platforms, platform.String())
	}
	_, _, client := serveDemo(r)
	return client
}

// TestSumsTogether: the total size of different documents is bounded.
func TestSumsTogether(t *testing.T) {
	t.Parallel()
	const n, each, limit = 17, 1 << 20, 16 << 20
	for _, more := range []int{0, 1} {
		client := serveSystems(n)
		src := &padded{Source: client, sizes: append(slices.Repeat([]int{each}, n-2), limit-(n-2)*each-1000, 1000+more)}
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}}
		reports, err := provider.Hashes(t.Context(), src, demo, v123, systems(n), o)
		if more == 0 && (err != nil || len(reports) != n) {
			t.Errorf("%d bytes together: %d reports, %v, want %d", limit, len(reports), err, n)
		}
		if more == 1 && (!errors.Is(err, failure.ErrTooLarge) || len(reports) != 0) {
			t.Errorf("%d bytes together: %d reports, %v, want none and ErrTooLarge", limit+more, len(reports), err)
		}
	}
}

// TestNoDownload: without downloads, hashes come from the source or the store. A source that states
// the hashes of all platforms is asked for one package.
func TestNoDownload(t *testing.T) {
	t.Parallel()
	store := new(memory)
	_, _, honest := serveDemo(demoRelease())
	hashes(t, honest, five, provider.HashOptions{Store: store})
	unsigned := statingRelease()
	unsigned.Keys = []*regtest.Key{}
	for name, test := range map[string]struct {
		release  regtest.Provider
		o        provider.HashOptions
		packages int    // that are asked for
		reason   string // of ErrNotStated for each, "" for five reports
	}{
		"stated":                       {statingRelease(), provider.HashOptions{Stated: true}, 1, ""},
		"stated, not recorded":         {statingRelease(), provider.HashOptions{}, 5, "HashOptions.Stated"},
		"nothing stated":               {demoRelease(), provider.HashOptions{Stated: true}, 5, "states no h1"},
		"stated, judged, not signed":   {unsigned, provider.HashOptions{Stated: true, Policy: verify.Policy{AllowUnsigned: true}}, 5, "under this policy"},
		"stated, judged, not recorded": {statingRelease(), provider.HashOptions{Stated: true, Policy: verify.Policy{DropStated: true}}, 5, "under this policy"},
		"stored, zh stated for all":    {statingRelease(), provider.HashOptions{Store: store}, 1, ""},
		"stored":                       {demoRelease(), provider.HashOptions{Store: store}, 5, ""},
		"empty store":                  {demoRelease(), provider.HashOptions{Store: new(memory)}, 5, "HashOptions.Stated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _, client := serveDemo(test.release)
			test.o.NoDownload = true
			got, err := provider.Hashes(t.Context(), client, demo, v123, five, test.o)
			if test.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantPlatforms(t, got, five...)
			} else {
				wantPlatforms(t, got)
				errs := joined(t, err)
				if len(errs) != len(five) {
					t.Errorf("Hashes: %d errors (%v), want one for each platform", len(errs), err)
				}
				for i, err := range errs {
					if !errors.Is(err, verify.ErrNotStated) || !strings.Contains(err.Error(), test.reason) || !strings.Contains(err.Error(), five[i].String()) {
						t.Errorf("Hashes: %v, want ErrNotStated of %s for %q", err, five[i], test.reason)
					}
				}
			}
			want := map[regtest.Kind]int{regtest.Discovery: 1, regtest.Package: test.packages}
			if test.reason == "" || strings.HasPrefix(name, "stated, judged") {
				want[regtest.Sums], want[regtest.Signature] = 1, 1
			}
			wantRequests(t, reg, want)
		})
	}
}

// unpacked creates a package in a filesystem mirror at root and returns its h1.
func unpacked(t *testing.T, root string, platform addrs.Platform, content string) checksum.Hash {
	t.Helper()
	files := fstest.MapFS{"terraform-provider-demo_v1.2.3": {Data: []byte(content)}, "docs/README": {Data: []byte("Read me.\n")}}
	dir := filepath.Join(root, "registry.opentofu.org", "acme", "demo", "1.2.3", platform.String())
	must.Do(t, os.CopyFS(dir, files))
	return must.Get(checksum.H1Dir(t.Context(), files))(t)
}

// TestHashesOfDirectory: an unpacked package has only an h1, which only a lock file can confirm.
func TestHashesOfDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	darwin := addrs.MustParsePlatform("darwin_arm64")
	h1 := map[addrs.Platform]checksum.Hash{linux: unpacked(t, root, linux, "linux"), darwin: unpacked(t, root, darwin, "darwin")}
	mirror := must.Get(mirrordir.Open(root))(t)
	for name, test := range map[string]struct {
		policy verify.Policy
		want   []addrs.Platform
		trust  verify.Trust
		err    error
	}{
		"strict":       {verify.Policy{}, nil, 0, verify.ErrUnchecked},
		"unsigned":     {verify.Policy{AllowUnsigned: true}, nil, 0, verify.ErrUnchecked},
		"unchecked":    {verify.Policy{AllowUnchecked: true}, []addrs.Platform{linux, darwin}, verify.Unchecked, nil},
		"accepted":     {verify.Policy{Accept: checksum.NewSet(h1[linux], h1[darwin])}, []addrs.Platform{linux, darwin}, verify.Accepted, nil},
		"one accepted": {verify.Policy{Accept: checksum.NewSet(h1[linux])}, []addrs.Platform{linux}, verify.Accepted, verify.ErrNotAccepted},
		"only a zh":    {verify.Policy{Accept: checksum.NewSet(zh(nil))}, nil, 0, verify.ErrNotAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := provider.HashOptions{Policy: test.policy, Store: new(memory)}
			got, err := provider.Hashes(t.Context(), mirror, demo, v123, []addrs.Platform{linux, darwin}, o)
			if !errors.Is(err, test.err) {
				t.Errorf("Hashes returned %v, want %v", err, test.err)
			}
			wantPlatforms(t, got, test.want...)
			for platform, report := range got {
				if report.Trust != test.trust || !slices.Equal(report.Recordable(), []checksum.Hash{h1[platform]}) {
					t.Errorf("%s: %+v, want %s", platform, report, h1[platform])
				}
			}
		})
	}
}

// TestHashesOfBadDirectory: a directory with a link and a missing directory are errors, and do
// not affect the other platforms.
func TestHashesOfBadDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	good := filepath.Join(root, "good")
	must.Do(t, os.CopyFS(good, fstest.MapFS{"terraform-provider-demo": {Data: []byte("program")}}))
	linked := filepath.Join(root, "linked")
	must.Do(t, os.Mkdir(linked, 0o755))
	if err := disktest.Symlink("/etc/passwd", filepath.Join(linked, "terraform-provider-demo")); err != nil {
		t.Skipf("skipped: symbolic links cannot be made here: %v", err)
	}
	dirs := map[string]string{"linux_amd64": good, "darwin_arm64": linked, "windows_amd64": filepath.Join(root, "gone")}
	src := &lister{Opener: serve(nil), find: func(platform addrs.Platform) (*provider.Package, error) {
		return &provider.Package{Provider: demo, Version: v123, Platform: platform, Dir: dirs[platform.String()]}, nil
	}}
	o := provider.HashOptions{Policy: verify.Policy{AllowUnchecked: true}}
	got, err := provider.Hashes(t.Context(), src, demo, v123, platforms("linux_amd64", "darwin_arm64", "windows_amd64"), o)
	wantPlatforms(t, got, linux)
	if !errors.Is(err, checksum.ErrIrregular) || !errors.Is(err, fs.ErrNotExist) || len(joined(t, err)) != 2 {
		t.Errorf("%v, want ErrIrregular and ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(progress.Event) { t.Error("hashed") }
	src.find = func(platform addrs.Platform) (*provider.Package, error) {
		cancel()
		return &provider.Package{Provider: demo, Version: v123, Platform: platform, Dir: good}, nil
	}
	if _, err := provider.Hashes(ctx, src, demo, v123, platforms("linux_amd64"), o); !errors.Is(err, context.Canceled) {
		t.Errorf("Hashes returned %v, want Canceled", err)
	}
}

// TestHashesOfSources: with several sources, each package comes from the first source that has it,
// with its evidence and archive.
func TestHashesOfSources(t *testing.T) {
	t.Parallel()
	r := demoRelease()
	r.Platforms = []string{"linux_amd64", "linux_arm64"}
	some, _, one := serveDemo(r)
	other, all, two := serveDemo(statingRelease())
	for name, src := range map[string]provider.Source{
		"multi":   &provider.Multi{Sources: []provider.NamedSource{{Name: "one", Source: one}, {Name: "two", Source: two}}},
		"firstof": &provider.Multi{Failover: true, Sources: []provider.NamedSource{{Name: "two", Source: two}}},
	} {
		for _, o := range []provider.HashOptions{{}, believing(verify.Policy{})} {
			got, err := provider.Hashes(t.Context(), src, demo, v123, five, o)
			if err != nil {
				t.Errorf("%s: Hashes returned %v, want no error", name, err)
				continue
			}
			wantPlatforms(t, got, five...)
			for platform, report := range got {
				key := other.Key()
				if name == "multi" && platform.OS() == "linux" && !o.Stated {
					key = some.Key() // as the source before has it
				}
				if report.Trust != verify.Signed || report.SignedBy.Fingerprint != key.Fingerprint() || !slices.Contains(report.Recordable(), all.H1(platform.String())) {
					t.Errorf("%s: report of %s is %+v, want it signed by its own key", name, platform, report)
				}
			}
		}
	}
}
