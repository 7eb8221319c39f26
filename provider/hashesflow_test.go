package provider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestHashesDepth: how many answers a lock file for five platforms needs in sequence, and how many
// requests.
func TestHashesDepth(t *testing.T) {
	t.Parallel()
	const providers = 20
	newest := func(ctx context.Context, client *regclient.Client, p addrs.Provider) (addrs.Version, error) {
		versions, err := client.ProviderVersions(ctx, p)
		if err != nil {
			return addrs.Version{}, err
		}
		return versions.Newest(addrs.ProviderConstraint{})
	}
	for name, test := range map[string]struct {
		providers, depth, requests int
		lock                       func(ctx context.Context, client *regclient.Client, p addrs.Provider) (map[addrs.Platform]*verify.Report, error)
	}{
		"one provider":     {1, 4, 1 + 3 + 2*5, nil},
		"twenty providers": {providers, 4, 1 + providers*(3+2*5), nil},
		"with what Find has found": {1, 5, 1 + 3 + 2*5, func(ctx context.Context, client *regclient.Client, p addrs.Provider) (map[addrs.Platform]*verify.Report, error) {
			pkg, err := provider.Find(ctx, client, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
			if err != nil {
				return nil, err
			}
			return provider.Hashes(ctx, client, p, pkg.Version, five, provider.HashOptions{Packages: []*provider.Package{pkg}, Limiter: &provider.Limiter{Parallel: 100}})
		}},
		"stated": {providers, 4, 1 + providers*4, func(ctx context.Context, client *regclient.Client, p addrs.Provider) (map[addrs.Platform]*verify.Report, error) {
			v, err := newest(ctx, client, p)
			if err != nil {
				return nil, err
			}
			return provider.Hashes(ctx, client, p, v, five, believing(verify.Policy{}))
		}},
	} {
		if test.lock == nil {
			test.lock = func(ctx context.Context, client *regclient.Client, p addrs.Provider) (map[addrs.Platform]*verify.Report, error) {
				v, err := newest(ctx, client, p)
				if err != nil {
					return nil, err
				}
				return provider.Hashes(ctx, client, p, v, five, provider.HashOptions{})
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := regtest.New("registry.opentofu.org")
				reg.Latency = 50 * time.Millisecond
				var all []addrs.Provider
				for i := range test.providers {
					r := statingRelease()
					r.Address = fmt.Sprintf("acme/p%d", i)
					reg.AddProvider(r).Signature() // builds all before the clock runs
					all = append(all, addrs.MustParseProvider("registry.opentofu.org/"+r.Address))
				}
				client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
				begin := time.Now()
				var wg sync.WaitGroup
				for _, p := range all {
					wg.Go(func() {
						got, err := test.lock(t.Context(), client, p)
						if err != nil || len(got) != 5 {
							t.Errorf("%s: Hashes returned %v, %v, want 5 reports", p, got, err)
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

// TestHashesDepthOfMirror: the document of the version, then the archives.
func TestHashesDepthOfMirror(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := regtest.New("registry.opentofu.org")
		reg.AddProvider(demoRelease()).Signature()
		reg.Latency = 50 * time.Millisecond
		src := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Client{HTTP: reg.Client()}}
		begin := time.Now()
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}}
		hashes(t, src, five, o)
		if took := time.Since(begin); took != 2*reg.Latency {
			t.Errorf("took %v, want %v", took, 2*reg.Latency)
		}
		wantRequests(t, reg, map[regtest.Kind]int{regtest.MirrorVersion: 1, regtest.Archive: 5})
	})
}

// many returns a source with a package for every platform. Each archive takes a second.
func many(content []byte, inside, most *atomic.Int32) *lister {
	arriving := &fake{open: func(ctx context.Context, _ int) (*provider.Body, error) {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Second)
		rest := io.Reader(bytes.NewReader(content))
		return body(readerFunc(func(p []byte) (int, error) {
			n, err := rest.Read(p)
			if err == io.EOF {
				inside.Add(-1)
			}
			return n, err
		})), ctx.Err()
	}}
	return &lister{Fetcher: arriving, find: func(platform addrs.Platform) (*provider.Package, error) {
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
				var inside, most atomic.Int32
				src := many(content, &inside, &most)
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
				if took := time.Since(begin); took != test.seconds*time.Second || most.Load() != test.most {
					t.Errorf("%d at once, in %v; want %d, in %d s", most.Load(), took, test.most, test.seconds)
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
		release, err := limiter.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := limiter.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want DeadlineExceeded", err)
		}
		release()
		if _, err := limiter.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v of a context that has ended", err)
		}
		next := must(limiter.Acquire(t.Context()))(t)
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
			Fetcher: byPackage{open: func(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
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

// byPackage is a Fetcher whose archives depend on the package.
type byPackage struct {
	open func(ctx context.Context, pkg *provider.Package) (*provider.Body, error)
}

func (b byPackage) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return b.open(ctx, pkg)
}

func (b byPackage) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return pkg.Evidence(), nil
}

// TestHashesCancelledBefore: after the end of the context, nothing is requested.
func TestHashesCancelledBefore(t *testing.T) {
	t.Parallel()
	reg, _, client := serveDemo(statingRelease())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []provider.HashOptions{{}, believing(verify.Policy{})} {
		got, err := provider.Hashes(ctx, client, demo, v123, five, o)
		if len(got) > 0 || !errors.Is(err, context.Canceled) || reg.Count(0) > 0 {
			t.Errorf("%v, %v, %d requests", got, err, reg.Count(0))
		}
	}
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
		client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client(), Retries: -1, Timeout: time.Minute}}
		got, err := provider.Hashes(t.Context(), client, demo, v123, five, provider.HashOptions{})
		wantComputed(t, release, got, five[1:]...)
		if !errors.Is(err, provider.ErrNotFound) || len(joined(t, err)) != 1 {
			t.Errorf("%v, want ErrNotFound", err)
		}
		if n := reg.Count(regtest.Sums | regtest.Signature); n != 2 {
			t.Errorf("%d requests for the evidence", n)
		}
	})
}

// TestHashesProgress: events do not overlap, and EventHashed is the last one of each platform.
func TestHashesProgress(t *testing.T) {
	t.Parallel()
	_, release, client := serveDemo(demoRelease())
	var inside atomic.Int32
	last := map[addrs.Platform]provider.Event{}
	o := provider.HashOptions{}
	o.Progress = func(e provider.Event) {
		if inside.Add(1) != 1 {
			t.Error("two calls at a time")
		}
		runtime.Gosched()
		before, seen := last[e.Platform]
		if e.Provider != demo || e.Version != v123 || e.Bytes < before.Bytes || before.Kind == provider.EventHashed || !seen && e.Bytes != 0 {
			t.Errorf("event %v after %v", e, before)
		}
		last[e.Platform] = e
		inside.Add(-1)
	}
	hashes(t, client, five, o)
	for _, platform := range five {
		size := release.Archive(platform.String()).Size()
		if e := last[platform]; e.Kind != provider.EventHashed || e.Bytes != size || e.Total != size {
			t.Errorf("%s: the last event is %v", platform, e)
		}
	}
	o.Progress = func(e provider.Event) {
		if e.Kind != provider.EventHashed || e.Bytes != 0 {
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
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]provider.HashOptions{
		"remembered": {Policy: verify.Policy{AllowUnsigned: true}, Store: &memory{kept: map[checksum.Hash][]checksum.Hash{zh(content): {h1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var inside, most atomic.Int32
				src := &lister{
					find: func(platform addrs.Platform) (*provider.Package, error) {
						pkg := packageOf(content)
						pkg.Platform, pkg.SumsURL = platform, "https://files.example.com/"+platform.String()
						pkg.Hashes = map[addrs.Platform][]checksum.Hash{platform: {h1}}
						return pkg, nil
					},
					Fetcher: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
						n := inside.Add(1)
						defer inside.Add(-1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						time.Sleep(time.Second)
						return pkg.Evidence(), nil
					}},
				}
				got, err := provider.Hashes(t.Context(), src, demo, v123, systems(200), o)
				if err != nil || len(got) != 200 || most.Load() != 32 {
					t.Errorf("%d reports, %v, %d at once", len(got), err, most.Load())
				}
			})
		})
	}
}

// TestHashesFindBounded: while archives wait for the limiter, the number of found packages is bounded.
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
			Fetcher: &fake{open: func(ctx context.Context, _ int) (*provider.Body, error) { return nil, hang(ctx) }},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := provider.Hashes(ctx, src, demo, v123, systems(200), provider.HashOptions{Policy: accepting(content).Policy}); len(got) > 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("Hashes returned %v, %v, want Canceled", got, err)
			}
		})
		synctest.Wait()
		if n := found.Load(); n != 8+32 {
			t.Errorf("%d packages were asked for, want those in progress and 32 more", n)
		}
		cancel()
		wg.Wait()
	})
}

// TestShareEvidenceCancelled: a caller that gives up does not cancel the request of another caller.
func TestShareEvidenceCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, release, client := serveDemo(demoRelease())
		release.Signature()
		client.Transport.Timeout = time.Minute
		reg.AddFault(regtest.Fault{Kind: regtest.Sums | regtest.Signature, Delay: 10 * time.Second})
		src := provider.ShareEvidence(client)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := provider.Hashes(ctx, src, demo, v123, five[:2], provider.HashOptions{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
		})
		time.Sleep(time.Millisecond)
		got, err := provider.Hashes(t.Context(), src, demo, v123, five[2:], provider.HashOptions{})
		wg.Wait()
		if err != nil {
			t.Errorf("Hashes returned %v, want no error", err)
		}
		wantComputed(t, release, got, five[2:]...)
		if n := reg.Count(regtest.Sums | regtest.Signature); n != 2 {
			t.Errorf("%d requests for the evidence", n)
		}
	})
}

// TestShareEvidenceKeepsLittle: the cached documents are bounded.
func TestShareEvidenceKeepsLittle(t *testing.T) {
	t.Parallel()
	asked := 0
	src := provider.ShareEvidence(&lister{Fetcher: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
		asked++
		return verify.Evidence{Sums: make([]byte, 1<<20)}, nil
	}}})
	pkg := packageOf(nil)
	for range 2 { // there is room for eight
		for i := range 9 {
			pkg.SumsURL = fmt.Sprintf("https://files.example.com/%d", i)
			must(src.Evidence(t.Context(), pkg))(t)
		}
	}
	if asked != 10 {
		t.Errorf("asked %d times, want 10", asked)
	}
}

// TestShareEvidence: callers get copies of one answer. Errors and answers for other hosts or methods
// are not shared.
func TestShareEvidence(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var asked []string
	src := provider.ShareEvidence(&lister{Fetcher: &fake{evidence: func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
		asked = append(asked, pkg.Provider.String()+pkg.SumsURL+pkg.Via)
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
	other.Provider, via.Via = addrs.MustParseProvider("acme/other"), "mirror"
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
