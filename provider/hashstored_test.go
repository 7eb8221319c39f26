package provider_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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

// TestHashStore: a second call downloads no archive and returns the same reports.
func TestHashStore(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(demoRelease())
	store := new(memory)
	o := provider.HashOptions{Store: store}
	first := hashes(t, client, five, o)
	wantComputed(t, release, first, five...)
	for _, platform := range five {
		if got, want := store.kept[release.ZH(platform.String())], contentOf(t, release, platform); !slices.Equal(got, want) || len(want) != 2 {
			t.Errorf("%s: stored are %v, want %v", platform, got, want)
		}
	}
	reg.Reset()
	second := hashes(t, client, five, o)
	wantComputed(t, release, second, five...)
	wantRequests(t, reg, map[regtest.Kind]int{regtest.Package: 5, regtest.Sums: 1, regtest.Signature: 1})
	if len(store.kept) != 5 || store.stored != 5 {
		t.Errorf("stored %d times for %d archives", store.stored, len(store.kept))
	}
}

// TestHashStoreBeforeStated: stored hashes are preferred to stated hashes.
func TestHashStoreBeforeStated(t *testing.T) {
	t.Parallel()
	reg, release, client := serveDemo(statingRelease())
	store := new(memory)
	hashes(t, client, five, provider.HashOptions{Store: store})
	reg.Reset()
	o := believing(verify.Policy{})
	o.Store = store
	got := hashes(t, client, five, o)
	wantComputed(t, release, got, five...)
	wantRequests(t, reg, map[regtest.Kind]int{regtest.Package: 1, regtest.Sums: 1, regtest.Signature: 1})
}

// TestHashStoreIsNoTrust: a stored archive is judged like a downloaded one.
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
		"not accepted": {func(*regtest.Provider) {}, verify.Policy{Accept: []checksum.Hash{release.ZH("darwin_amd64")}}, verify.ErrNotAccepted},
		"accepted":     {func(*regtest.Provider) {}, verify.Policy{Accept: []checksum.Hash{zip}}, nil},
		"by content":   {func(*regtest.Provider) {}, verify.Policy{Accept: contentOf(t, release, linux)}, nil},
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
	}
}

// TestHashStoreWrong: if the store is wrong or fails, the archive is downloaded and the failure is
// reported.
func TestHashStoreWrong(t *testing.T) {
	t.Parallel()
	h1 := checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	broken := errors.New("broken disk")
	for name, test := range map[string]struct {
		store  *memory
		kept   []checksum.Hash // for the archive of linux_amd64
		events int             // EventStoreFailed
	}{
		"stated otherwise": {&memory{}, []checksum.Hash{h1}, 0},
		"no content":       {&memory{}, []checksum.Hash{checksum.MustParseHash("zh:" + strings.Repeat("0", 64)), checksum.MustParseHash("h2:new")}, 0},
		"empty":            {&memory{}, []checksum.Hash{}, 0},
		"cannot read":      {&memory{read: broken}, []checksum.Hash{h1}, 1},
		"cannot write":     {&memory{write: broken}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, release, client := serveDemo(statingRelease())
			test.store.kept = map[checksum.Hash][]checksum.Hash{release.ZH("linux_amd64"): test.kept}
			var failed []provider.Event
			o := provider.HashOptions{Store: test.store}
			o.Progress = func(e provider.Event) {
				if e.Kind == provider.EventStoreFailed {
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

// TestHashStoreRefused: the hashes of a refused archive are not stored.
func TestHashStoreRefused(t *testing.T) {
	t.Parallel()
	r := demoRelease()
	r.NoSums = true
	_, _, client := serveDemo(r)
	store := new(memory)
	if _, err := provider.Hashes(t.Context(), client, demo, v123, five, provider.HashOptions{Store: store}); !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("Hashes returned %v, want ErrUnsigned", err)
	}
	if len(store.kept) > 0 {
		t.Errorf("stored: %v", slices.Collect(maps.Keys(store.kept)))
	}
}

// TestHashStoreWithoutZH: if a mirror does not state the zh, the archive is always downloaded, and
// the store is not read.
func TestHashStoreWithoutZH(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	reg.Mirror.Hashes = []string{"h1"}
	reg.AddProvider(demoRelease())
	src := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Client{HTTP: reg.Client()}}
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

// TestHashStoreFollowsTheSource: if the source has a new archive, its hashes are used.
func TestHashStoreFollowsTheSource(t *testing.T) {
	t.Parallel()
	store := new(memory)
	run := func(r regtest.Provider) (*regtest.Release, map[addrs.Platform]*verify.Report) {
		_, release, client := serveDemo(r)
		got := hashes(t, client, five, provider.HashOptions{Store: store})
		return release, got
	}
	run(demoRelease())
	changed := demoRelease()
	changed.Files = map[string]string{"CHANGES": "All is new.\n"}
	release, got := run(changed)
	wantComputed(t, release, got, five...)
	if len(store.kept) != 10 {
		t.Errorf("%d archives are stored, want 10", len(store.kept))
	}
}
