package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/mirrortest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/regclient"
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
			report := mustCheck(t, m, mirrordir.CheckOptions{})
			if !report.OK() || len(report.Notes) > 0 {
				t.Errorf("in the end %+v", report)
			}
			mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
			wantTrue(t, m, v, false, "darwin_arm64", "linux_amd64", "windows_amd64")
		})
	}
}

// unconditional is a store that cannot delete on a condition.
type unconditional struct{ *bucket }

func (u unconditional) Delete(ctx context.Context, name string, was storage.Revision) error {
	if was != "" {
		return errors.ErrUnsupported
	}
	return u.bucket.Delete(ctx, name, "")
}

// TestRemoveUnconditional checks that Remove is refused in a store that cannot delete on a condition,
// unless Exclusive is set, and that Add and Reindex work there.
func TestRemoveUnconditional(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	b := &bucket{}
	m := &mirrordir.Mirror{Store: unconditional{b}, TempDir: t.TempDir()}
	mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
	before := maps.Clone(b.Content)
	if err := m.Remove(t.Context(), alpha, all[0].Version); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Remove = %v, want an error that wraps errors.ErrUnsupported", err)
	}
	if !maps.Equal(b.Content, before) {
		t.Error("a refused Remove has changed the mirror")
	}
	delete(b.Content, archive(all[0].Version, linux)) // its record is a leftover that stays
	mustReindex(t, m)
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("after Reindex: %+v", report.Problems)
	}
	m.Exclusive = true
	must.Do(t, m.Remove(t.Context(), alpha))
	if len(b.Content) != 0 {
		t.Errorf("Remove with Exclusive has left %d files", len(b.Content))
	}
}

// TestHalfRemoved checks that Check notes an archive beside a tombstone, and that Reindex removes both.
func TestHalfRemoved(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	v := all[0].Version
	for kind, s := range stores() {
		dead := errors.New("dead")
		m := &mirrordir.Mirror{Store: s, TempDir: t.TempDir()}
		mustAdd(t, m, client(reg), all, mirrordir.AddOptions{})
		watched := &mirrortest.WatchedStore{Store: s, Before: func(op, name string) error {
			if op == "delete" && slices.Contains([]string{archive(v, linux), archive(v, darwin), archive(v, windows)}, name) {
				return dead
			}
			return nil
		}}
		if err := (&mirrordir.Mirror{Store: watched}).Remove(t.Context(), alpha, v); !errors.Is(err, dead) {
			t.Fatalf("%s: Remove = %v, want %v", kind, err, dead)
		}
		report := mustCheck(t, m, mirrordir.CheckOptions{})
		leftover := 0
		for _, f := range report.Notes {
			if f.Kind == "leftover" {
				leftover++
			}
		}
		if !report.OK() || leftover != 3 {
			t.Errorf("%s: Check of a half removed version = %+v, want 3 leftovers and no problems", kind, report)
		}
		mustReindex(t, m)
		wantTrue(t, m, v, true)
		if _, err := m.ProviderPackage(t.Context(), alpha, v, linux); err == nil {
			t.Errorf("%s: a removed package is found after Reindex", kind)
		}
	}
}
