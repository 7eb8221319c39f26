package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
)

// stores are stores without locks: in one a revision counts writes, in the other it follows from the
// content, so that an archive that is written again has its old revision.
func stores() map[string]storage.Store {
	return map[string]storage.Store{"generations": &bucket{Generations: true}, "digests": &bucket{}}
}

// wantTrue checks that the documents of a mirror list all recorded archives and nothing else, and that
// the version is there for these platforms, or, if removedToo is set, for some or none of them.
func wantTrue(t *testing.T, m *mirrordir.Mirror, v addrs.Version, removedToo bool, platforms ...string) {
	t.Helper()
	must.Get(m.Sweep(t.Context()))(t)
	report := mustCheck(t, m, mirrordir.CheckOptions{})
	if !report.OK() || len(report.Notes) > 0 {
		t.Errorf("in the end %+v", report)
	}
	list, err := m.ProviderVersions(t.Context(), alpha)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := list.Find(v)
	if !ok && removedToo {
		return
	}
	var got []string
	for _, p := range r.Platforms {
		got = append(got, p.String())
	}
	if removedToo {
		platforms = slices.DeleteFunc(slices.Clone(platforms), func(p string) bool { return !slices.Contains(got, p) })
	}
	if slices.Sort(platforms); !slices.Equal(got, platforms) {
		t.Errorf("%s is there for %v, want %v", v, got, platforms)
	}
}

// twoOfThree returns a source with two versions, all their packages, those for the first two platforms, and
// the names of these.
func twoOfThree() (src *regclient.Client, all, some []mirrordir.Want, two []string) {
	reg, all := manyVersions(2)
	some = slices.Clone(all)
	for i := range some {
		some[i].Platforms = three[:2]
	}
	return client(reg), all, some, []string{three[0].String(), three[1].String()}
}

// TestAddDuringRemove lets another process add the version, or replace one of its archives, before each
// step of a Remove, and checks that nothing is lost: the version is there as it was added, or was removed
// after it had been added.
func TestAddDuringRemove(t *testing.T) {
	t.Parallel()
	src, all, some, two := twoOfThree()
	v := all[0].Version
	for kind := range stores() {
		for at := 1; ; at++ {
			bare := stores()[kind]
			other := &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()}
			mustAdd(t, other, src, some, mirrordir.AddOptions{})
			var steps, added atomic.Int64
			watched := &mirrortest.WatchedStore{Store: bare, Before: func(op, name string) error {
				if steps.Add(1) == int64(at) {
					added.Add(1)
					mustAdd(t, other, src, some[:1], mirrordir.AddOptions{})
				}
				return nil
			}}
			m := &mirrordir.Mirror{Store: watched, TempDir: t.TempDir()}
			if err := m.Remove(t.Context(), alpha, v); err != nil {
				t.Fatalf("%s: Remove with an Add before step %d = %v", kind, at, err)
			}
			if added.Load() == 0 {
				break
			}
			t.Run(fmt.Sprintf("%s/step %d", kind, at), func(t *testing.T) {
				wantTrue(t, other, v, true, two...)
				wantTrue(t, other, all[1].Version, false, two...)
				mustAdd(t, other, src, some, mirrordir.AddOptions{})
				wantTrue(t, other, v, false, two...)
			})
		}
	}
}

// TestRemoveDuringAdd lets another process remove the version before each step of an Add.
func TestRemoveDuringAdd(t *testing.T) {
	t.Parallel()
	src, all, some, two := twoOfThree()
	v := all[0].Version
	for kind := range stores() {
		for at := 1; ; at++ {
			bare := stores()[kind]
			other := &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()}
			mustAdd(t, other, src, some[1:], mirrordir.AddOptions{})
			mustAdd(t, other, src, wants(three[:1], v), mirrordir.AddOptions{})
			var steps, removed atomic.Int64
			watched := &mirrortest.WatchedStore{Store: bare, Before: func(op, name string) error {
				if steps.Add(1) == int64(at) {
					removed.Add(1)
					must.Do(t, other.Remove(t.Context(), alpha, v))
				}
				return nil
			}}
			mustAdd(t, &mirrordir.Mirror{Store: watched, TempDir: t.TempDir()}, src, some[:1], mirrordir.AddOptions{Parallel: 1})
			if removed.Load() == 0 {
				break
			}
			t.Run(fmt.Sprintf("%s/step %d", kind, at), func(t *testing.T) {
				report := mustCheck(t, other, mirrordir.CheckOptions{})
				if !report.OK() {
					t.Errorf("in the end %+v", report)
				}
				mustAdd(t, other, src, some, mirrordir.AddOptions{})
				wantTrue(t, other, v, false, two...)
			})
		}
	}
}

// TestRemoveBeforeDocument lets another process remove a version before each step of an Add, while no document lists it.
func TestRemoveBeforeDocument(t *testing.T) {
	t.Parallel()
	src, _, some, two := twoOfThree()
	for kind := range stores() {
		for at, last := 1, false; !last; at++ {
			bare := stores()[kind]
			other := &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()}
			var steps atomic.Int64
			watched := &mirrortest.WatchedStore{Store: bare, Before: func(op, name string) error {
				if steps.Add(1) == int64(at) {
					must.Do(t, other.Remove(t.Context(), alpha, some[0].Version))
				}
				return nil
			}}
			mustAdd(t, &mirrordir.Mirror{Store: watched, TempDir: t.TempDir()}, src, some[:1], mirrordir.AddOptions{Parallel: 1})
			last = steps.Load() < int64(at)
			if report := mustCheck(t, other, mirrordir.CheckOptions{}); !report.OK() {
				t.Errorf("%s: a Remove before step %d of Add leaves %+v", kind, at, report)
			}
			mustAdd(t, other, src, some[:1], mirrordir.AddOptions{})
			wantTrue(t, other, some[0].Version, false, two...)
		}
	}
}

// TestAddAndRemoveTogether lets many processes add and remove the same version at once.
func TestAddAndRemoveTogether(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	v := all[0].Version
	dir := t.TempDir()
	kinds := stores()
	kinds["directory"] = open(t, dir).Store
	for kind, s := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := &mirrordir.Mirror{Store: s, TempDir: t.TempDir()}
			mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for range 5 {
						m := &mirrordir.Mirror{Store: s, TempDir: t.TempDir()}
						if i == 0 {
							must.Do(t, m.Remove(t.Context(), alpha, v))
						} else {
							mustAdd(t, m, client(reg), wants(three[i-1:i], v), mirrordir.AddOptions{})
						}
					}
				})
			}
			wg.Wait()
			must.Get(m.Sweep(t.Context()))(t)
			report := mustCheck(t, m, mirrordir.CheckOptions{})
			if !report.OK() || len(report.Notes) > 0 {
				t.Errorf("in the end %+v", report)
			}
			mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
			wantTrue(t, m, v, false, "darwin_arm64", "linux_amd64", "windows_amd64")
		})
	}
}

// TestSweepSpares checks that Sweep leaves what was never listed, also beside a removed version, and what another program lists.
func TestSweepSpares(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	b := &bucket{}
	m := &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}
	mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
	must.Do(t, m.Remove(t.Context(), alpha, all[0].Version))
	spared := map[string]string{
		archive(all[0].Version, linux): "placed after the removal", archive(v2, linux): "without a document",
		home + "/record_x.json": "{}", home + "/notes.txt": "x",
	}
	maps.Copy(b.Content, spared)
	if swept := must.Get(m.Sweep(t.Context()))(t); swept.Files != 6 {
		t.Errorf("Sweep = %+v, want three archives and their records", swept)
	}
	for name, content := range spared {
		if b.Content[name] != content {
			t.Errorf("Sweep has deleted %s", name)
		}
	}
}

// TestRetired checks that an archive with a usual name that was removed is not listed again, and that Sweep deletes it.
func TestRetired(t *testing.T) {
	t.Parallel()
	_, dir, _, _ := filled(t)
	b := &bucket{Content: map[string]string{archive(v1, linux): read(t, dir, archive(v1, linux))}}
	m := &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}
	mustReindex(t, m)
	wantTrue(t, m, v1, false, "linux_amd64")
	must.Do(t, m.Remove(t.Context(), alpha))
	mustReindex(t, m)
	if list, err := m.ProviderVersions(t.Context(), alpha); err != nil || len(list.Versions) != 0 {
		t.Errorf("ProviderVersions after Remove and Reindex = %v, %v, want none", list, err)
	}
	must.Get(m.Sweep(t.Context()))(t)
	if _, ok := b.Content[archive(v1, linux)]; ok {
		t.Error("Sweep has left the archive")
	}
}

// TestOtherLayouts checks that a writer refuses documents that it must not change, and that readers do not.
func TestOtherLayouts(t *testing.T) {
	t.Parallel()
	_, dir, _, src := filled(t)
	locked := &bucket{Content: map[string]string{}}
	for _, name := range files(t, dir) {
		locked.Content[name] = read(t, dir, name)
	}
	newer := &bucket{}
	mustAdd(t, &mirrordir.Mirror{Store: newer, TempDir: t.TempDir()}, src, wants(three, v1), mirrordir.AddOptions{})
	for name := range newer.Content {
		newer.Content[name] = strings.Replace(newer.Content[name], `"layout": 1`, `"layout": 2`, 1)
	}
	for name, b := range map[string]*bucket{"archives under locks": locked, "a newer layout": newer} {
		before := maps.Clone(b.Content)
		m := &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}
		_, adding := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{})
		_, indexing := m.Reindex(t.Context(), mirrordir.CheckOptions{})
		for job, err := range map[string]error{"Add": adding, "Remove": m.Remove(t.Context(), alpha), "Reindex": indexing} {
			if err == nil || !strings.Contains(err.Error(), "layout") && !strings.Contains(err.Error(), "locks") {
				t.Errorf("%s: %s = %v, want a refusal", name, job, err)
			}
		}
		if !maps.Equal(before, b.Content) {
			t.Errorf("%s: files have changed", name)
		}
		if pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux); err != nil || pkg.SumsURL == "" {
			t.Errorf("%s: ProviderPackage = %+v, %v, want one with evidence", name, pkg, err)
		}
	}
}

// TestDump checks that a copy of a bucket in a directory is a mirror, also for writers with locks.
func TestDump(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	b := &bucket{}
	mustAdd(t, &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}, src, wants(three, v1), mirrordir.AddOptions{})
	m, dir := newMirror(t)
	for name, content := range b.Content {
		write(t, dir, name, content)
	}
	wantTrue(t, m, v1, false, "darwin_arm64", "linux_amd64", "windows_amd64")
	if fetched := mustAdd(t, m, src, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != 3 {
		t.Errorf("Add fetches %d archives, want those of 2.0.0", fetched)
	}
	wantTrue(t, m, v2, false, "darwin_arm64", "linux_amd64", "windows_amd64")
	must.Do(t, m.Remove(t.Context(), alpha, v1))
	wantTrue(t, m, v1, true)
}

// lockless is a directory on a file system without locks.
type lockless struct{ storage.Store }

func (l lockless) Unwrap() storage.Store { return l.Store }

func (lockless) Lock(context.Context, string) (func() error, error) {
	return nil, errors.ErrUnsupported
}

// TestNoLocks checks that writers fail in a directory that cannot be locked, and change nothing, and that they wait for
// the holder of a lock until their context ends.
func TestNoLocks(t *testing.T) {
	t.Parallel()
	m, dir, _, src := filled(t)
	d := m.Store.(*storage.Dir)
	before := snapshot(t, dir)
	jobs := func(ctx context.Context, m *mirrordir.Mirror) map[string]error {
		_, adding := m.Add(ctx, src, wants(three, v1), mirrordir.AddOptions{})
		_, indexing := m.Reindex(ctx, mirrordir.CheckOptions{})
		_, sweeping := m.Sweep(ctx)
		return map[string]error{"Add": adding, "Remove": m.Remove(ctx, alpha, v1), "Reindex": indexing, "Sweep": sweeping}
	}
	for job, err := range jobs(t.Context(), &mirrordir.Mirror{Store: lockless{d}}) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s without locks = %v, want errors.ErrUnsupported", job, err)
		}
	}
	unlock := must.Get(d.Lock(t.Context(), home+"/1.0.0.json"))(t)
	defer unlock()
	enough := errors.New("waited enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
	for job, err := range jobs(ctx, m) {
		if !errors.Is(err, enough) {
			t.Errorf("%s beside a holder of the lock = %v, want the end of its context", job, err)
		}
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("files have changed")
	}
}
