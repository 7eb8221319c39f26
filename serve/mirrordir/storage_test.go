package mirrordir_test

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/storage"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// counted is a storage that counts calls.
type counted struct {
	mirrortest.WatchedStore
	lists, stats, opens, writes, deletes atomic.Int64
}

func count(s storage.Store) *counted {
	c := &counted{WatchedStore: mirrortest.WatchedStore{Store: s}}
	calls := map[string]*atomic.Int64{"list": &c.lists, "stat": &c.stats, "open": &c.opens, "write": &c.writes, "delete": &c.deletes}
	c.Before = func(op, _ string) error {
		calls[op].Add(1)
		return nil
	}
	return c
}

// take returns the counts and resets them.
func (c *counted) take() string {
	return fmt.Sprintf("%d lists, %d stats, %d opens, %d writes, %d deletes", c.lists.Swap(0), c.stats.Swap(0), c.opens.Swap(0), c.writes.Swap(0), c.deletes.Swap(0))
}

// watchers returns storages with and without locks.
func watchers(t testing.TB) map[string]func() (watched *mirrortest.WatchedStore, store, bare storage.Store) {
	return map[string]func() (*mirrortest.WatchedStore, storage.Store, storage.Store){
		"locks": func() (*mirrortest.WatchedStore, storage.Store, storage.Store) {
			d := open(t, t.TempDir()).Store
			w := &mirrortest.WatchedStore{Store: d}
			return w, mirrortest.LockedStore{Store: w, Dir: d.(*storage.Dir)}, d
		},
		"no locks": func() (*mirrortest.WatchedStore, storage.Store, storage.Store) {
			b := &bucket{}
			w := &mirrortest.WatchedStore{Store: b}
			return w, w, b
		},
	}
}

// put writes a file, whatever its revision.
func put(t testing.TB, s storage.Store, name, content string) {
	t.Helper()
	err := s.Delete(t.Context(), name)
	if err == nil {
		err = s.Write(t.Context(), name, io.NewSectionReader(strings.NewReader(content), 0, int64(len(content))), "")
	}
	must.Do(t, err)
}

// platformsOf returns the platforms in the document of a version.
func platformsOf(t testing.TB, s storage.Store, v addrs.Version) []string {
	t.Helper()
	doc := mirrortest.Parse[document](t, content(t, s, home+"/"+v.String()+".json"))
	return slices.Sorted(maps.Keys(doc.Archives))
}

// another returns a mirror with all versions of the registry's alpha.
func another(t testing.TB, reg *regtest.Registry, all []mirrordir.Want) *bucket {
	t.Helper()
	b := &bucket{}
	mustAdd(t, &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}, client(reg), all, mirrordir.AddOptions{})
	return b
}

// TestRemovedWhileChecked checks that a version that is removed during a Check is no problem.
func TestRemovedWhileChecked(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(4)
	for name, open := range watchers(t) {
		w, store, bare := open()
		mustAdd(t, &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()}, client(reg), all, mirrordir.AddOptions{})
		var once sync.Once
		w.After = func(_, name string) {
			if name == home+"/index.json" { // which still lists the version
				once.Do(func() { must.Do(t, (&mirrordir.Mirror{Store: bare}).Remove(t.Context(), alpha, all[3].Version)) })
			}
		}
		if report := mustCheck(t, &mirrordir.Mirror{Store: store, TempDir: t.TempDir()}, mirrordir.CheckOptions{}); !report.OK() || report.Versions != 3 && name == "locks" {
			t.Errorf("%s: %d versions, problems: %v", name, report.Versions, report.Problems)
		}
	}
}

// TestAddedBeforeIndex checks that Reindex without locks keeps a version in the index that was
// added during the call.
func TestAddedBeforeIndex(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(1)
	v := all[0].Version
	index := home + "/index.json"
	bare := &bucket{}
	put(t, bare, index, `{"versions": {"1.0.0": {}, "0.9.0": {}}}`)
	var looked atomic.Bool
	var once sync.Once
	store := &mirrortest.WatchedStore{Store: bare, After: func(op, name string) {
		if name == home+"/"+v.String()+".json" {
			looked.Store(true)
		}
		if op != "open" || name != index || !looked.Load() {
			return
		}
		once.Do(func() {
			mustAdd(t, &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()}, client(reg), all, mirrordir.AddOptions{})
		})
	}}
	mustReindex(t, &mirrordir.Mirror{Store: store, TempDir: t.TempDir()})
	wantGood(t, &mirrordir.Mirror{Store: bare, TempDir: t.TempDir()})
}

// versionsOf returns the versions that network clients see.
func versionsOf(t testing.TB, m *mirrordir.Mirror) string {
	t.Helper()
	list := must.Get(m.ListedVersions(t.Context(), alpha))(t)
	slices.SortFunc(list, addrs.Version.Compare)
	return strings.Trim(fmt.Sprint(list), "[]")
}

// recordIn returns the name of the record of an archive that a document lists.
func recordIn(t testing.TB, s storage.Store, v addrs.Version, platform addrs.Platform) string {
	t.Helper()
	a := mirrortest.Parse[document](t, content(t, s, home+"/"+v.String()+".json")).Archives[platform.String()]
	return home + "/" + cmp.Or(a.Record, "record_"+strings.TrimSuffix(a.URL, ".zip")+".json")
}

// TestBucket tests a mirror in an object store.
func TestBucket(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	temp := t.TempDir()
	b := &bucket{}
	m := &mirrordir.Mirror{Store: b, TempDir: temp}
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != 6 {
		t.Errorf("%d fetched", fetched)
	}
	wantGood(t, m)
	reg.Reset()
	if mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{}); reg.Count(0) != 0 {
		t.Errorf("again: %v", reg.Requests())
	}
	pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !strings.HasPrefix(pkg.URL, strings.TrimSuffix(archive(v1, linux), ".zip")+"_") || pkg.Filename != path.Base(archive(v1, linux)) {
		t.Fatalf("ProviderPackage = %+v, %v, want a URL with a name of its own, and the usual file name", pkg, err)
	}
	if report, err := provider.Download(t.Context(), m, pkg, t.TempDir()+"/x", provider.DownloadOptions{}); err != nil || report.Trust != verify.Signed {
		t.Errorf("%v, %v", report, err)
	}

	b.Content[pkg.URL] = "PK"
	delete(b.Content, recordIn(t, b, v1, darwin))
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != 1 {
		t.Errorf("%d fetched after damage", fetched)
	}
	delete(b.Content, home+"/index.json")
	mustReindex(t, m)
	if swept := must.Get(m.Sweep(t.Context()))(t); swept.Files != 2 || swept.Bytes == 0 {
		t.Errorf("Sweep = %+v, want the damaged archive and its record", swept)
	}
	wantGood(t, m)
	must.Do(t, m.Remove(t.Context(), alpha))
	swept := must.Get(m.Sweep(t.Context()))(t)
	if left := slices.Sorted(maps.Keys(b.Content)); swept.Files != 12 || !slices.Equal(left, []string{home + "/1.0.0.json", home + "/2.0.0.json", home + "/index.json"}) {
		t.Errorf("after Remove, Sweep = %+v, left are %v, want empty documents", swept, left)
	}
	if again := must.Get(m.Sweep(t.Context()))(t); again.Files != 0 {
		t.Errorf("a second Sweep = %+v, want nothing", again)
	}
	mustReindex(t, m)
	if list, err := m.ListedVersions(t.Context(), alpha); err != nil || len(list) != 0 {
		t.Errorf("ListedVersions of removed versions = %v, %v, want none", list, err)
	}
	if left := files(t, temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBucketTogether checks that concurrent calls without locks lose nothing.
func TestBucketTogether(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	m := &mirrordir.Mirror{Store: &bucket{}, TempDir: t.TempDir()}
	var wg sync.WaitGroup
	var fetched atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			fetched.Add(int32(mustAdd(t, m, client(reg), wants(three[i%3:], v1, v2), mirrordir.AddOptions{})))
		})
	}
	wg.Wait()
	if fetched.Load() < 6 {
		t.Errorf("%d fetched", fetched.Load())
	}
	wantGood(t, m)
}

// TestBelowFile checks that a file below a file is missing.
func TestBelowFile(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, "a/file", "x")
	if _, err := m.Store.Open(t.Context(), "a/file/below"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}

// TestWriteFromTheStart: Write does not depend on what has been read of the content.
func TestWriteFromTheStart(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	content := io.NewSectionReader(strings.NewReader("content"), 0, 7)
	must.Get(content.Seek(3, io.SeekStart))(t)
	must.Do(t, m.Store.Write(t.Context(), "a/b", content, ""))
	if got := read(t, dir, "a/b"); got != "content" {
		t.Errorf("Write wrote %q, want all of it", got)
	}
}

// grown returns a storage with some other versions of alpha for three platforms, and some other
// providers. The content of their files is never read.
func grown(versions, providers int) *bucket {
	files := map[string]string{}
	var index strings.Builder
	zh := checksum.ZHSum([32]byte{}).String()
	for i := range versions {
		v := fmt.Sprintf("0.%d.0", i)
		for _, platform := range three {
			name := archive(addrs.MustParseVersion(v), platform)
			files[name] = "x"
			files[recordOf(addrs.MustParseVersion(v), platform)] = `{"size":1,"hashes":["` + zh + `"]}`
		}
		files[home+"/"+v+".json"] = `{"archives":{"linux_amd64":{"url":"terraform-provider-alpha_` + v + `_linux_amd64.zip"}}}`
		fmt.Fprintf(&index, `,"%s":{}`, v)
	}
	files[home+"/index.json"] = `{"versions":{` + strings.TrimPrefix(index.String(), ",") + `}}`
	for i := range providers {
		files[fmt.Sprintf("registry.example.com/other/p%d/index.json", i)] = `{}`
	}
	return &bucket{Content: files}
}

// TestGrowth checks that the number of requests to add, keep, look up and remove one version
// depends neither on the number of versions nor on the number of providers. docs/performance.md
// uses these numbers.
func TestGrowth(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	src := client(reg)
	type sizes struct{ versions, providers int }
	for _, n := range []sizes{{10, 0}, {400, 10}, {4000, 4000}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			store := count(grown(n.versions, n.providers))
			m := &mirrordir.Mirror{Store: store, TempDir: t.TempDir()}
			var pkg *provider.Package
			for _, job := range []struct {
				name, want string
				do         func() error
			}{
				// Read the document, look for an archive with the usual name; archive, record; index; document, index.
				{"add a version for one platform", "1 lists, 0 stats, 2 opens, 4 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{})
					return nil
				}},
				{"add two platforms more", "0 lists, 1 stats, 3 opens, 5 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
					return nil
				}},
				{"keep it", "0 lists, 3 stats, 5 opens, 0 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
					return nil
				}},
				{"find one package", "0 lists, 0 stats, 2 opens, 0 writes, 0 deletes", func() (err error) {
					pkg, err = m.ProviderPackage(t.Context(), alpha, v1, linux)
					return err
				}},
				{"read its evidence", "0 lists, 0 stats, 1 opens, 0 writes, 0 deletes", func() error {
					_, err := m.Evidence(t.Context(), pkg)
					return err
				}},
				{"open it", "0 lists, 0 stats, 1 opens, 0 writes, 0 deletes", func() error {
					body, err := m.Open(t.Context(), pkg)
					if err == nil {
						err = body.Close()
					}
					return err
				}},
				{"remove it", "1 lists, 0 stats, 2 opens, 2 writes, 0 deletes", func() error { return m.Remove(t.Context(), alpha, v1) }},
			} {
				store.take()
				must.Do(t, job.do())
				if got := store.take(); got != job.want {
					t.Errorf("to %s takes %s, want %s", job.name, got, job.want)
				}
			}
		})
	}
}
