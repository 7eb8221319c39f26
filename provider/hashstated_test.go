package provider_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// believing returns options that record stated hashes.
func believing(p verify.Policy) provider.HashOptions {
	return provider.HashOptions{Policy: p, Stated: true}
}

// statingRelease is demoRelease with stated hashes.
func statingRelease() regtest.Provider {
	r := demoRelease()
	r.PackageHashes = true
	return r
}

// wantStated fails unless each platform has a report with its stated hashes.
func wantStated(t *testing.T, release *regtest.Release, got map[addrs.Platform]*verify.Report, trust verify.Trust, on ...addrs.Platform) {
	t.Helper()
	wantPlatforms(t, got, on...)
	for platform, report := range got {
		h1 := release.H1(platform.String())
		if report.Trust != trust || len(report.Local) > 0 {
			t.Errorf("%s: %s, computed %v, want %s, none", platform, report.Trust, report.Local, trust)
		}
		if !slices.Contains(report.Recordable(), h1) {
			t.Errorf("%s: recordable are %v", platform, report.Recordable())
		}
		if trust == verify.Signed && (report.SignedBy == nil || !slices.Equal(listed(report), signedBy(release, five...))) {
			t.Errorf("%s: signed by %v: %v", platform, report.SignedBy, listed(report))
		}
	}
}

// TestHashesStated: if the registry states hashes and the policy records them, one package is
// requested for all platforms, and no archive.
func TestHashesStated(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(statingRelease())
	got := hashes(t, client, five, believing(verify.Policy{}))
	wantStated(t, release, got, verify.Signed, five...)
	wantRequests(t, reg, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Package: 1, regtest.Sums: 1, regtest.Signature: 1})

	// The strict policy computes them, and finds that they were right.
	reg.Reset()
	got = hashes(t, client, five, provider.HashOptions{})
	wantComputed(t, release, got, five...)
	for _, platform := range five {
		if !slices.Contains(got[platform].Local, release.H1(platform.String())) {
			t.Errorf("%s: the registry states another h1", platform)
		}
	}
}

// packagesOf edits the stated "packages".
func packagesOf(edit func(packages map[string]any)) regtest.Fault {
	return regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) {
		if packages, ok := doc["packages"].(map[string]any); ok {
			edit(packages)
		}
	}}
}

func stating(hashes ...any) map[string]any { return map[string]any{"hashes": hashes} }

// TestHashesStatedInPart: only platforms without a stated h1 are downloaded.
func TestHashesStatedInPart(t *testing.T) {
	t.Parallel()
	foreign := "zh:" + strings.Repeat("0", 64)
	for name, edit := range map[string]func(packages map[string]any){
		"null":           func(m map[string]any) { m["windows_amd64"] = nil },
		"no hashes":      func(m map[string]any) { m["windows_amd64"] = stating() },
		"null hashes":    func(m map[string]any) { m["windows_amd64"] = map[string]any{"hashes": nil} },
		"empty hashes":   func(m map[string]any) { m["windows_amd64"] = stating("h1:", "zh:") },
		"unknown scheme": func(m map[string]any) { m["windows_amd64"] = stating("h2:something") },
		"no h1":          zhOnly,
		"invalid platforms": func(m map[string]any) {
			m["Windows"], m[""], m["../linux_amd64"] = stating(foreign), nil, stating("nonsense")
			m["windows_amd64"] = stating()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, release, client := serveDemo(statingRelease())
			first, own := packagesOf(edit), packagesOf(zhOnly) // a document without a zh of its own platform is refused
			first.Path, own.Path = "/"+five[0].OS()+"/"+five[0].Arch(), "/windows/amd64"
			reg.AddFault(first)
			reg.AddFault(own)
			got := hashes(t, client, five, believing(verify.Policy{}))
			windows := addrs.MustParsePlatform("windows_amd64")
			if report := got[windows]; report == nil || len(report.Local) != 3 || report.Trust != verify.Signed {
				t.Errorf("windows_amd64: %+v", report)
			}
			delete(got, windows)
			wantStated(t, release, got, verify.Signed, five[:4]...)
			wantRequests(t, reg, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Package: 2, regtest.Sums: 1, regtest.Signature: 1, regtest.Archive: 1})
		})
	}
}

// zhOnly removes the h1 of windows_amd64.
func zhOnly(m map[string]any) {
	m["windows_amd64"] = stating(slices.DeleteFunc(hashesIn(m, "windows_amd64"), func(h any) bool { return strings.HasPrefix(h.(string), "h1:") })...)
}

// hashesIn returns a copy of the hashes of one of "packages".
func hashesIn(packages map[string]any, platform string) []any {
	return slices.Clone(packages[platform].(map[string]any)["hashes"].([]any))
}

// TestHashesStatedWrong: stated hashes that contradict the signed checksums are refused, for their
// platform only. The CLI crashes if two platforms have the same zh.
func TestHashesStatedWrong(t *testing.T) {
	t.Parallel()
	const h1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	for name, edit := range map[string]func(packages map[string]any){
		"zh of nothing":          func(m map[string]any) { m["windows_amd64"] = stating(h1, "zh:"+strings.Repeat("0", 64)) },
		"of another platform":    func(m map[string]any) { m["windows_amd64"] = m["linux_amd64"] },
		"zh of another platform": func(m map[string]any) { m["windows_amd64"] = stating(h1, zhIn(m, "linux_amd64")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, release, client := serveDemo(statingRelease())
			reg.AddFault(packagesOf(edit))
			got, err := provider.Hashes(t.Context(), client, demo, v123, five, believing(verify.Policy{}))
			wantPlatforms(t, got, five[:4]...)
			for platform, report := range got { // the source is not believed
				if report.Trust != verify.Signed || !slices.Equal(report.Recordable(), signedBy(release, five...)) {
					t.Errorf("%s: %s, recordable are %v, want the signed hashes", platform, report, report.Recordable())
				}
			}
			mismatch, ok := errors.AsType[*checksum.MismatchError](err)
			if !ok || len(joined(t, err)) != 1 || !strings.Contains(err.Error(), "windows_amd64") {
				t.Fatalf("%v, want a mismatch", err)
			}
			if want := release.ZH("windows_amd64"); mismatch.Source != "signed SHA256SUMS" || !slices.Equal(mismatch.Want, []checksum.Hash{want}) {
				t.Errorf("%v, want %v of the signed sums", mismatch, want)
			}
			if n := reg.Count(regtest.Archive); n != 0 {
				t.Errorf("%d archives were fetched", n)
			}
		})
	}
}

func zhIn(packages map[string]any, platform string) any {
	hashes := hashesIn(packages, platform)
	return hashes[slices.IndexFunc(hashes, func(h any) bool { return strings.HasPrefix(h.(string), "zh:") })]
}

// TestHashesDisproved: a stated hash that the archive does not have is not recorded.
func TestHashesDisproved(t *testing.T) {
	t.Parallel()
	content := archive(t)
	packed, tree, err := checksum.H1Zip(t.Context(), bytes.NewReader(content), int64(len(content)), checksum.Limits{})
	must.Do(t, err)
	src := &lister{Opener: serve(content), find: func(platform addrs.Platform) (*provider.Package, error) {
		pkg := packageOf(content)
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{platform: {
			tree, checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
			checksum.MustParseHash("zh:" + strings.Repeat("0", 64)),
		}}
		return pkg, nil
	}}
	got := hashes(t, src, platforms("linux_amd64"), believing(verify.Policy{AllowUnsigned: true}))
	if have, want := got[linux].Recordable(), sortedHashes(packed, tree, zh(content)); !slices.Equal(have, want) {
		t.Errorf("recordable are %v\nwant %v", have, want)
	}
}

// TestHashesStatedOtherNames: if the name of an archive cannot be inferred, its own package is
// requested.
func TestHashesStatedOtherNames(t *testing.T) {
	t.Parallel()
	for name, filename := range map[string]string{"listed": "demo_1.2.3_windows_amd64.zip", "of another system": "terraform-provider-demo_1.2.3_win.zip"} {
		r := statingRelease()
		r.EditSums = renamed("terraform-provider-demo_1.2.3_windows_amd64.zip", filename)
		reg, release, client := serveDemo(r)
		reg.AddFault(regtest.Fault{Kind: regtest.Package, Path: "windows/amd64", Edit: func(doc map[string]any) { doc["filename"] = filename }})
		for _, anyName := range []bool{false, true} {
			reg.Reset()
			got, err := provider.Hashes(t.Context(), client, demo, v123, five, believing(verify.Policy{AllowAnyName: anyName}))
			if want := name == "listed" || anyName; want != (err == nil) || !want && !errors.Is(err, verify.ErrFilename) {
				t.Errorf("%s, any name %v: %v", name, anyName, err)
			}
			if err != nil {
				wantStated(t, release, got, verify.Signed, five[:4]...)
				continue
			}
			wantStated(t, release, got, verify.Signed, five...)
			if p, a := reg.Count(regtest.Package), reg.Count(regtest.Archive); p != 2 || a != 0 {
				t.Errorf("%s: %d packages, %d archives", name, p, a)
			}
		}
	}
}

// TestHashesStatedFirstFails: if the first platform is missing, the others do not fail.
func TestHashesStatedFirstFails(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(statingRelease())
	on := append(platforms("aix_ppc64"), five...)
	got, err := provider.Hashes(t.Context(), client, demo, v123, on, believing(verify.Policy{}))
	wantStated(t, release, got, verify.Signed, five...)
	if !errors.Is(err, provider.ErrNoPlatform) || len(joined(t, err)) != 1 {
		t.Errorf("%v, want ErrNoPlatform", err)
	}
	if n := reg.Count(regtest.Archive); n != 0 {
		t.Errorf("%d archives were fetched", n)
	}
}

func renamed(from, to string) func([]byte) []byte {
	return func(sums []byte) []byte { return []byte(strings.ReplaceAll(string(sums), from, to)) }
}

// otherDigests changes the first digit of each line.
func otherDigests(sums []byte) []byte {
	lines := strings.Split(string(sums), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = string('0'+('9'-line[0])&1) + line[1:]
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// TestHashesStatedUnsigned: what an unsigned source states is not recorded.
func TestHashesStatedUnsigned(t *testing.T) {
	t.Parallel()
	r := statingRelease()
	r.NoSums = true
	reg, release, client := serveDemo(r)
	got := hashes(t, client, five, believing(verify.Policy{AllowUnsigned: true}))
	wantOwn(t, reg, release, got, verify.Checked, five...)
}

// wantOwn fails unless each report has the computed hashes of its platform only.
func wantOwn(t *testing.T, reg *regtest.Registry, release *regtest.Release, got map[addrs.Platform]*verify.Report, trust verify.Trust, on ...addrs.Platform) {
	t.Helper()
	wantPlatforms(t, got, on...)
	for platform, report := range got {
		want := sortedHashes(append(contentOf(t, release, platform), release.ZH(platform.String()))...)
		if report.Trust != trust || !slices.Equal(report.Recordable(), want) {
			t.Errorf("report of %s is %+v, want %s, recordable %v", platform, report, trust, want)
		}
	}
	if n := reg.Count(regtest.Archive); n != len(on) {
		t.Errorf("%d archives were fetched, want %d", n, len(on))
	}
}

// TestHashesStatedAccepted: for a locked version nothing stated is recorded. A platform without locked
// hashes is refused.
func TestHashesStatedAccepted(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(statingRelease())
	var known []checksum.Hash
	for _, platform := range five[:4] {
		known = append(known, release.ZH(platform.String()))
	}
	got, err := provider.Hashes(t.Context(), client, demo, v123, five, believing(verify.Policy{Accept: checksum.NewSet(known...)}))
	wantOwn(t, reg, release, got, verify.Accepted, five[:4]...)
	if !errors.Is(err, verify.ErrNotAccepted) || len(joined(t, err)) != 1 || !strings.Contains(err.Error(), "windows_amd64") {
		t.Errorf("%v, want ErrNotAccepted of windows_amd64", err)
	}
}

// TestHashesOfMirror: a mirror states hashes for each platform, and only those of the right
// platform are accepted. They are computed, whatever Stated is.
func TestHashesOfMirror(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	release := reg.AddProvider(demoRelease())
	src := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client()}}
	for _, stated := range []bool{false, true} {
		reg.Reset()
		got := hashes(t, src, five, provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}, Stated: stated})
		wantOwn(t, reg, release, got, verify.Checked, five...)
	}
	got, err := provider.Hashes(t.Context(), src, demo, v123, five, believing(verify.Policy{}))
	if len(got) > 0 || !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("zero policy: Hashes returned %v, %v, want ErrUnsigned", got, err)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		archives := doc["archives"].(map[string]any)
		archives["linux_amd64"].(map[string]any)["hashes"] = archives["darwin_arm64"].(map[string]any)["hashes"]
	}})
	for _, policy := range []verify.Policy{{AllowUnsigned: true}, {AllowUnchecked: true}, {Accept: checksum.NewSet(release.ZH("darwin_arm64"))}} {
		got, err := provider.Hashes(t.Context(), src, demo, v123, platforms("linux_amd64", "darwin_arm64"), provider.HashOptions{Policy: policy})
		if _, ok := errors.AsType[*checksum.MismatchError](err); !ok || len(got) != 1 || got[addrs.MustParsePlatform("darwin_arm64")] == nil {
			t.Errorf("Hashes returned %v, %v, want a mismatch for linux_amd64 only", got, err)
		}
	}
}

// memory is a HashStore that can fail.
type memory struct {
	mu     sync.Mutex
	kept   map[checksum.Hash][]checksum.Hash
	asked  int
	stored int
	read   error
	write  error
}

func (m *memory) Hashes(_ context.Context, zh checksum.Hash) ([]checksum.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	return slices.Clone(m.kept[zh]), m.read
}

func (m *memory) StoreHashes(_ context.Context, zh checksum.Hash, hashes []checksum.Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.write != nil {
		return m.write
	}
	m.stored++
	if m.kept == nil {
		m.kept = map[checksum.Hash][]checksum.Hash{}
	}
	m.kept[zh] = slices.Clone(hashes)
	return nil
}

// TestHashStore: a second call downloads no archive and returns the same reports. Stored hashes are
// preferred to stated ones.
func TestHashStore(t *testing.T) {
	t.Parallel()
	for packages, r := range map[int]regtest.Provider{5: demoRelease(), 1: statingRelease()} {
		reg, release, client := serveDemo(r)
		store := new(memory)
		o := provider.HashOptions{Store: store}
		wantComputed(t, release, hashes(t, client, five, o), five...)
		for _, platform := range five {
			if got, want := store.kept[release.ZH(platform.String())], contentOf(t, release, platform); !slices.Equal(got, want) || len(want) != 2 {
				t.Errorf("%s: stored are %v, want %v", platform, got, want)
			}
		}
		reg.Reset()
		o.Stated = r.PackageHashes
		wantComputed(t, release, hashes(t, client, five, o), five...)
		wantRequests(t, reg, map[regtest.Kind]int{regtest.Package: packages, regtest.Sums: 1, regtest.Signature: 1})
		if len(store.kept) != 5 || store.stored != 5 {
			t.Errorf("stored %d times for %d archives", store.stored, len(store.kept))
		}
	}
}

// TestHashStoreIsNoTrust: a stored archive is judged like a downloaded one, and the hashes of a refused
// archive are not stored.
func TestHashStoreIsNoTrust(t *testing.T) {
	t.Parallel()
	store := new(memory)
	_, release, client := serveDemo(demoRelease())
	hashes(t, client, five, provider.HashOptions{Store: store})
	zip := release.ZH("linux_amd64")
	for name, test := range map[string]struct {
		edit   func(*regtest.Provider)
		policy verify.Policy
		want   error
	}{
		"unsigned":     {func(r *regtest.Provider) { r.NoSums = true }, verify.Policy{}, verify.ErrUnsigned},
		"not accepted": {func(*regtest.Provider) {}, verify.Policy{Accept: checksum.NewSet(release.ZH("darwin_amd64"))}, verify.ErrNotAccepted},
		"accepted":     {func(*regtest.Provider) {}, verify.Policy{Accept: checksum.NewSet(zip)}, nil},
		"by content":   {func(*regtest.Provider) {}, verify.Policy{Accept: checksum.NewSet(contentOf(t, release, linux)...)}, nil},
		"believed":     {func(r *regtest.Provider) { r.NoSums = true }, verify.Policy{AllowUnsigned: true}, nil},
	} {
		r := demoRelease()
		test.edit(&r)
		reg, _, client := serveDemo(r)
		got, err := provider.Hashes(t.Context(), client, demo, v123, platforms("linux_amd64"), provider.HashOptions{Policy: test.policy, Store: store})
		if !errors.Is(err, test.want) || (test.want == nil) != (len(got) == 1) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
		if n := reg.Count(regtest.Archive); test.want == nil && n != 0 {
			t.Errorf("%s: %d archives were fetched", name, n)
		}
		empty := new(memory)
		_, _ = provider.Hashes(t.Context(), client, demo, v123, platforms("linux_amd64"), provider.HashOptions{Policy: test.policy, Store: empty})
		if stored := len(empty.kept) > 0; stored != (test.want == nil) {
			t.Errorf("%s: stored %v", name, empty.kept)
		}
	}
}

// TestHashStoreWrong: if the store is wrong or fails, the archive is downloaded and the failure is
// reported.
func TestHashStoreWrong(t *testing.T) {
	t.Parallel()
	h1 := checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	broken := errors.New("broken disk")
	for name, test := range map[string]struct {
		store    *memory
		kept     []checksum.Hash // for the archive of linux_amd64
		events   int             // progress.StoreFailed
		received bool            // the archive, before the event
	}{
		"stated otherwise": {&memory{}, []checksum.Hash{h1}, 0, false},
		"no content":       {&memory{}, []checksum.Hash{checksum.MustParseHash("zh:" + strings.Repeat("0", 64)), checksum.MustParseHash("h2:new")}, 0, false},
		"empty":            {&memory{}, []checksum.Hash{}, 0, false},
		"cannot read":      {&memory{read: broken}, []checksum.Hash{h1}, 1, false},
		"cannot write":     {&memory{write: broken}, nil, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, release, client := serveDemo(statingRelease())
			test.store.kept = map[checksum.Hash][]checksum.Hash{release.ZH("linux_amd64"): test.kept}
			var failed []progress.Event
			o := provider.HashOptions{Store: test.store}
			o.Progress = func(e progress.Event) {
				if e.Kind == progress.StoreFailed {
					failed = append(failed, e)
				}
			}
			got := hashes(t, client, platforms("linux_amd64"), o)
			wantComputed(t, release, got, linux)
			if n := reg.Count(regtest.Archive); n != 1 {
				t.Errorf("%d archives were fetched", n)
			}
			if len(failed) != test.events || test.events > 0 && (!errors.Is(failed[0].Err, broken) || failed[0].Platform != linux || failed[0].Provider != demo || failed[0].Version != v123) {
				t.Errorf("events %v", failed)
			}
			var size int64
			if test.received {
				size = release.Archive("linux_amd64").Size()
			}
			if len(failed) > 0 && (failed[0].Bytes != size || failed[0].Total != size) {
				t.Errorf("Hashes reported a failure of the store with %d of %d bytes, want %d", failed[0].Bytes, failed[0].Total, size)
			}
			if kept := test.store.kept[release.ZH("linux_amd64")]; test.store.write == nil && !slices.Equal(kept, contentOf(t, release, linux)) {
				t.Errorf("stored are %v", kept)
			}
		})
	}
}

// TestHashStoreContradicted: if stored and stated h1 differ, the archive is downloaded.
func TestHashStoreContradicted(t *testing.T) {
	t.Parallel()
	_, release, client := serveDemo(demoRelease())
	store := new(memory)
	hashes(t, client, five, provider.HashOptions{Store: store})
	reg, _, client := serveDemo(statingRelease())
	const h1 = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	reg.AddFault(packagesOf(func(m map[string]any) {
		m["windows_amd64"] = stating(h1, zhIn(m, "windows_amd64"))
		m["linux_amd64"] = stating(append(hashesIn(m, "linux_amd64"), h1)...) // true and false
	}))
	o := believing(verify.Policy{})
	o.Store = store
	got, err := provider.Hashes(t.Context(), client, demo, v123, five, o)
	wantComputed(t, release, got, five[:4]...)
	if _, ok := errors.AsType[*checksum.MismatchError](err); !ok || len(joined(t, err)) != 1 || !strings.Contains(err.Error(), "windows_amd64") {
		t.Errorf("%v, want a mismatch", err)
	}
	for platform, report := range got {
		if slices.Contains(report.Recordable(), checksum.MustParseHash(h1)) {
			t.Errorf("%s: a hash that is not true is recordable", platform)
		}
	}
	if n := reg.Count(regtest.Archive); n != 1 {
		t.Errorf("%d archives were fetched, want 1", n)
	}
}

// TestHashStoreWithoutZH: if a mirror does not state the zh, the archive is always downloaded, and
// the store is not read.
func TestHashStoreWithoutZH(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	reg.Mirror.Hashes = []string{"h1"}
	reg.AddProvider(demoRelease())
	src := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client()}}
	store := new(memory)
	for range 2 {
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}, Store: store}
		got, err := provider.Hashes(t.Context(), src, demo, v123, platforms("linux_amd64"), o)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	if n := reg.Count(regtest.Archive); n != 2 || store.asked != 0 {
		t.Errorf("%d archives were fetched, the store was asked %d times", n, store.asked)
	}
}
