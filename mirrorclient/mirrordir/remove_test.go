package mirrordir_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	write(t, dir, home+"/1.0.0/linux_amd64/x", "x")
	must.Do(t, m.Remove(t.Context(), alpha, v1))
	want := []string{home + "/index.json", home + "/2.0.0.json", home + "/1.0.0/linux_amd64/x"}
	for _, p := range three {
		want = append(want, archive(v2, p), recordOf(v2, p))
	}
	wantFiles(t, dir, want...)
	wantGood(t, m)
	for range 2 { // the second call finds nothing
		if err := m.Remove(t.Context(), alpha); err != nil {
			t.Error(err)
		}
		wantFiles(t, dir, home+"/1.0.0/linux_amd64/x")
	}
	if err := m.Remove(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta"), v1); err != nil {
		t.Errorf("of a provider that is not there: %v", err)
	}
	if err := m.Remove(t.Context(), addrs.Provider{}); err == nil {
		t.Error("no provider: no error")
	}
}

// TestRemoveListed checks that Remove removes versions that are only in the index.
func TestRemoveListed(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{
		{home + "/1.0.0.json", archive(v1, linux)},
		nil,
	} {
		m, dir := newMirror(t)
		for _, name := range files {
			write(t, dir, name, "{}")
		}
		write(t, dir, home+"/index.json", `{"versions":{"1.0.0":{},"2.0.0":{}}}`)
		if err := m.Remove(t.Context(), alpha); err != nil {
			t.Error(err)
		}
		wantFiles(t, dir)
	}
	m, dir := newMirror(t)
	write(t, dir, home+"/index.json", "{")
	if err := m.Remove(t.Context(), alpha); err == nil || !strings.Contains(err.Error(), "Reindex") {
		t.Errorf("a damaged index: %v, want what to do about it", err)
	}
}

// TestRemoveWhileAdding checks that concurrent Add and Remove leave complete versions.
func TestRemoveWhileAdding(t *testing.T) {
	t.Parallel()
	_, dir, reg, _ := filled(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { mustAdd(t, open(t, dir), client(reg), wants(three, v1, v2), mirrordir.Options{}) })
		wg.Go(func() {
			if err := open(t, dir).Remove(t.Context(), alpha, v1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantGood(t, open(t, dir))
}

// TestRemoveLastWhileAdding checks that removing the last version keeps an index to which a
// concurrent Add adds a version.
func TestRemoveLastWhileAdding(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	for name, m := range map[string]*mirrordir.Mirror{"directory": open(t, t.TempDir()), "bucket": {Storage: &bucket{}, TempDir: t.TempDir()}} {
		for range 20 {
			mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.Options{})
			var wg sync.WaitGroup
			wg.Go(func() { mustAdd(t, m, client(reg), wants(three[:1], v2), mirrordir.Options{}) })
			if err := m.Remove(t.Context(), alpha, v1); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 || report.Archives != 1 {
				t.Fatalf("%s: %+v", name, report)
			}
			if err := m.Remove(t.Context(), alpha, v2); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAddLocked(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	beta := addrs.MustParseProvider("registry.example.com/acme/beta")
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	from, _ := newMirror(t)
	added := must.Get(from.Add(t.Context(), client, append(wants(three, v1), mirrordir.Want{Provider: beta, Version: v1, Platforms: three[:1]}), mirrordir.Options{}))(t)
	var lock lockfile.File
	for _, a := range added {
		must.Do(t, lock.Merge(a.Provider, a.Version, addrs.ProviderConstraint{}, a.Report.Recordable()))
	}

	m, dir := newMirror(t)
	added, err := m.AddLocked(t.Context(), client, &lock, three, mirrordir.Options{})
	if err != nil || len(added) != 6 {
		t.Fatalf("%d added, %v", len(added), err)
	}
	wantGood(t, m) // the evidence is recorded
	reg.Reset()
	if added, err := m.AddLocked(t.Context(), client, &lock, three, mirrordir.Options{}); err != nil || len(added) != 6 || added[0].Fetched || added[0].Report != nil || reg.Count(0) != 0 {
		t.Errorf("again: %v, %v, %v", added, err, reg.Requests())
	}
	if text := strings.Join(files(t, dir), "\n"); strings.Contains(text, "2.0.0") {
		t.Errorf("more than what is locked:\n%s", text)
	}

	if _, err := m.AddLocked(t.Context(), client, &lock, nil, mirrordir.Options{}); err == nil || !strings.Contains(err.Error(), "platforms") {
		t.Errorf("no platforms: %v", err)
	}
	if added, err := m.AddLocked(t.Context(), client, &lockfile.File{}, three, mirrordir.Options{}); err != nil || len(added) != 0 {
		t.Errorf("an empty lock: %v, %v", added, err)
	}
}

// TestAddLockedRefuses checks that neither a signature nor a policy replaces a locked hash.
func TestAddLockedRefuses(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	rel := reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	beta := addrs.MustParseProvider("registry.example.com/acme/beta")
	lock, err := lockfile.Parse([]byte(`provider "registry.example.com/acme/beta" {
  version = "1.0.0"
  hashes = [
    "`+rel.H1("linux_amd64").String()+`",
  ]
}
`), "test.hcl")
	if err != nil {
		t.Fatal(err)
	}
	m, _ := newMirror(t)
	added, err := m.AddLocked(t.Context(), client, lock, three[:2], mirrordir.Options{ZHOnly: true, Policy: verify.Policy{AllowUnchecked: true, Accept: []checksum.Hash{rel.ZH("darwin_arm64")}}})
	if len(added) != 1 || added[0].Platform != linux || !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("%v, %v", added, err)
	}
	refused, ok := errors.AsType[*lockfile.NotLockedError](err)
	if !ok || refused.Provider != beta || refused.Platform != darwin || !strings.Contains(err.Error(), "tofu providers lock -platform=darwin_arm64 registry.example.com/acme/beta") {
		t.Errorf("AddLocked returned %v, want a NotLockedError with the command that helps", err)
	}
	if _, err := m.ProviderPackage(t.Context(), beta, v1, darwin); !errors.Is(err, provider.ErrNoPlatform) {
		t.Errorf("what is not locked is there: %v", err)
	}
}
