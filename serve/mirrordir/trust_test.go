package mirrordir_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/storage"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// altered is a source whose packages are changed.
type altered struct {
	provider.Source
	change func(pkg *provider.Package)
}

func (s altered) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg = pkg.Clone()
		s.change(pkg)
	}
	return pkg, err
}

// TestForgedStatement: a mirror records no h1 that is only stated.
func TestForgedStatement(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	forged := checksum.MustParseHash("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	src := altered{client, func(pkg *provider.Package) {
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{pkg.Platform: {forged, pkg.SHA256}}
	}}
	m, dir := newMirror(t)
	if added, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{}); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("Add with a forged hash = %+v, %v, want ErrMismatch", added, err)
	}
	lock := &lockfile.File{}
	must.Do(t, lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{forged}}))
	if added, err := m.AddLocked(t.Context(), src, lock, three[:1], mirrordir.AddOptions{}); err == nil {
		t.Errorf("AddLocked with only the forged hash = %+v, want an error", added)
	}
	policy := verify.Policy{Accept: checksum.NewSet(forged)}
	if pkg, err := m.RecordedPackage(t.Context(), alpha, v1, three[0], policy); pkg != nil {
		t.Errorf("RecordedPackage for the forged hash = %v, %v, want none", pkg, err)
	}
	wantFiles(t, dir)
}

// TestPinnedKeys: what pinned keys have verified, they verify again from the mirror.
func TestPinnedKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]verify.Key{"none": nil, "another": {regtest.NewKey(regtest.KeyOptions{Name: "other"}).Public()}} {
		reg, client := newRegistry(t)
		pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		pinned := verify.Policy{Keys: verify.NewKeySet(pkg.Keys...)}
		src := altered{client, func(pkg *provider.Package) { pkg.Keys = keys }}
		m, _ := newMirror(t)
		mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(pinned)})
		reg.Reset()
		mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(pinned)})
		if reg.Count(0) != 0 {
			t.Errorf("listed key %s: the second Add makes requests: %v", name, reg.Requests())
		}
		got := must.Get(m.ProviderPackage(t.Context(), alpha, v1, three[0]))(t)
		if _, err := provider.Download(t.Context(), m, got, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{Policy: pinned}); err != nil {
			t.Errorf("listed key %s: Download from the mirror with the pinned keys: %v", name, err)
		}
	}
}

// TestHashesWithoutEvidence: an archive without evidence does not affect the others, whose evidence the
// mirror has.
func TestHashesWithoutEvidence(t *testing.T) {
	t.Parallel()
	for _, without := range three {
		for name, policy := range map[string]verify.Policy{"strict": {}, "lax": {AllowUnsigned: true}} {
			m, dir, _, _ := filled(t)
			remove(t, dir, recordOf(v1, without))
			must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
			got, err := provider.Hashes(t.Context(), m, alpha, v1, three, provider.HashOptions{Policy: policy})
			if want := map[string]int{"strict": 2, "lax": 3}[name]; len(got) < want {
				t.Errorf("%s, %s without evidence: %d reports, %v, want at least %d", name, without, len(got), err, want)
			}
		}
	}
}

// TestNoPackage: a missing package is an error.
func TestNoPackage(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	_, err1 := m.Open(t.Context(), nil)
	_, err2 := m.Evidence(t.Context(), nil)
	for _, err := range []error{err1, err2} {
		if _, ok := errors.AsType[*failure.Error](err); !ok {
			t.Errorf("error %v of a nil package, want a *failure.Error", err)
		}
	}
}

// TestRecordedProtocols: a record cannot put control characters into errors.
func TestRecordedProtocols(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	name := recordOf(v1, linux)
	record := mirrortest.Parse[map[string]any](t, read(t, dir, name))
	record["protocols"] = []string{"5.0", "\x1b[31mred\n"}
	data := must.Get(json.Marshal(record))(t)
	write(t, dir, name, string(data))
	pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !slices.Equal(pkg.Protocols, []string{"5.0"}) {
		t.Errorf("package %+v, %v, want the protocol 5.0 only", pkg, err)
	}
}

// TestAddArchiveRefuses checks that AddArchive, like Add, refuses a package without a part of its
// address, and writes nothing.
func TestAddArchiveRefuses(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	for name, test := range map[string]struct {
		clear func(*provider.Package)
		want  string
	}{
		"provider": {func(p *provider.Package) { p.Provider = addrs.Provider{} }, "no mirror can have the provider"},
		"version":  {func(p *provider.Package) { p.Version = addrs.Version{} }, "the version or a platform is missing"},
		"platform": {func(p *provider.Package) { p.Platform = addrs.Platform{} }, "the version or a platform is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir := newMirror(t)
			s := must.Get(storage.Stage(t.Context(), m.Store, ""))(t)
			defer s.Discard()
			got := must.Get(provider.Receive(t.Context(), src, pkg, s.File, provider.ReceiveOptions{FetchEvidence: true}))(t)
			bad := pkg.Clone()
			test.clear(bad)
			// The evidence is of the complete package, so the policy does not refuse it.
			_, err := m.AddArchive(t.Context(), s, bad, got, verify.Policy{})
			if _, ok := errors.AsType[*failure.Error](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("AddArchive of a package without its %s = %v, want a *failure.Error with %q", name, err, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "registry.example.com")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after AddArchive of a package without its %s: Stat of the host's directory = %v, want none", name, err)
			}
		})
	}
}

// TestKeptIsNotReported checks that an archive which was changed without changing its size is not
// reported as signed or accepted, and adds nothing to a lock file.
func TestKeptIsNotReported(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, dir := newMirror(t)
	mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{})
	data := []byte(read(t, dir, archive(v1, linux)))
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	data[len(data)/2] ^= 1
	must.Do(t, os.WriteFile(filepath.Join(dir, archive(v1, linux)), data, 0o644))
	locked := &lockfile.File{}
	must.Do(t, locked.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{pkg.SHA256}}))
	for name, add := range map[string]func() ([]mirrordir.Added, error){
		"Add": func() ([]mirrordir.Added, error) {
			return m.Add(t.Context(), failing{Err: errors.New("no source")}, wants(three[:1], v1), mirrordir.AddOptions{})
		},
		"AddLocked": func() ([]mirrordir.Added, error) {
			return m.AddLocked(t.Context(), failing{Err: errors.New("no source")}, locked, three[:1], mirrordir.AddOptions{})
		},
	} {
		added, err := add()
		if err != nil || len(added) != 1 || added[0].Fetched || added[0].Report != nil {
			t.Fatalf("%s = %+v, %v; want the archive without a report", name, added, err)
		}
		lock := &lockfile.File{}
		if err := lock.Merge(alpha, v1, addrs.ProviderConstraint{}, added[0].Report.Recordable()); err != nil || len(lock.Accept(alpha, v1).Hashes()) > 0 {
			t.Errorf("%s: the lock file has %v, %v; want no hash", name, lock.Accept(alpha, v1), err)
		}
	}
}

// TestMistakenSource checks that a signed package of another version is not added.
func TestMistakenSource(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	asked, other := all[0].Version, all[1].Version
	for name, as := range map[string]addrs.Version{"another": other, "nothing": {}} {
		src := mistaken{Source: client(reg), As: as}
		for _, platforms := range [][]addrs.Platform{nil, {linux}} {
			m, _ := newMirror(t)
			if got, err := m.Add(t.Context(), src, wants(platforms, asked), mirrordir.AddOptions{}); err == nil {
				t.Errorf("%s: added %v", name, got)
			}
		}
	}
}

// TestPlantedLinks replaces a directory of the mirror by a link that leads out of it, and checks
// that nothing is changed there.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	other, otherDir := newMirror(t)
	mustAdd(t, other, src, wants(three, v1), mirrordir.AddOptions{})
	for _, planted := range []string{"registry.example.com", "registry.example.com/acme", home, ".tofureg"} {
		t.Run(strings.ReplaceAll(planted, "/", "|"), func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			must.Do(t, os.CopyFS(outside, os.DirFS(filepath.Join(otherDir, planted))))
			before := tree(t, outside)
			m, dir := newMirror(t)
			link := filepath.Join(dir, filepath.FromSlash(planted))
			must.Do(t, os.MkdirAll(filepath.Dir(link), 0o755))
			if err := disktest.Symlink(outside, link); err != nil {
				t.Skipf("skipped: this link cannot be made here: %v", err)
			}
			if added, err := m.Add(t.Context(), src, wants(three, v1, v2), mirrordir.AddOptions{}); err == nil || len(added) > 0 {
				t.Errorf("Add through %s = %v, %v, want an error", planted, added, err)
			}
			_ = m.Remove(t.Context(), alpha)
			_ = m.Remove(t.Context(), alpha, v1)
			_, _ = m.Reindex(t.Context(), mirrordir.CheckOptions{})
			_, _ = m.Check(t.Context(), mirrordir.CheckOptions{})
			if list, err := m.ProviderVersions(t.Context(), alpha); err == nil && planted != ".tofureg" {
				t.Errorf("ProviderVersions through %s = %v, want an error", planted, list)
			}
			for _, name := range []string{archive(v1, linux), home + "/new.json", ".tofureg/x"} {
				if o, err := m.Store.Open(t.Context(), name); err == nil {
					o.Close()
					t.Errorf("Open(%q) through %s succeeds", name, planted)
				}
				if planted != ".tofureg" {
					_ = m.Store.Write(t.Context(), name, io.NewSectionReader(strings.NewReader("x"), 0, 1), "")
				}
				_ = m.Store.Delete(t.Context(), name)
			}
			if after := tree(t, outside); after != before {
				t.Errorf("outside there was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// tree returns names, modes, times and sizes of all files below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.ModTime(), info.Size())
		}
		return err
	})
	must.Do(t, err)
	return b.String()
}

// metered is a storage that ends a context after some bytes of archives have been read, and counts
// later reads.
type metered struct {
	storage.Store
	end   func()
	at    int64
	read  atomic.Int64
	after atomic.Int64
}

func (m *metered) Open(ctx context.Context, name string) (*storage.File, error) {
	o, err := m.Store.Open(ctx, name)
	if err != nil || !strings.HasSuffix(name, ".zip") {
		return o, err
	}
	data, err := io.ReadAll(o)
	if err != nil {
		return nil, err
	}
	o.ReadCloser = meteredFile{bytes.NewReader(data), m}
	return o, nil
}

type meteredFile struct {
	io.ReaderAt
	*metered
}

func (f meteredFile) Close() error             { return nil }
func (f meteredFile) Read([]byte) (int, error) { return 0, errors.New("read in order") }

func (f meteredFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	before := f.read.Add(int64(n)) - int64(n)
	switch {
	case before >= f.at:
		f.after.Add(int64(n))
	case before+int64(n) >= f.at:
		f.end()
	}
	return n, err
}

// TestContextEndsWhileArchivesAreRead checks that each method stops with an error when its context
// ends while it hashes or inflates an archive.
func TestContextEndsWhileArchivesAreRead(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	noise := make([]byte, size)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(noise)
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: names(three[:1]), Deflate: true, Files: map[string]string{"noise": string(noise)}}).Sums() // deflated before requests have a timeout
	full := &bucket{}
	locked := mirrortest.LockedStore{Store: full, Dir: &storage.Dir{Path: t.TempDir()}} // for usual names
	mustAdd(t, &mirrordir.Mirror{Store: locked, TempDir: t.TempDir()}, client(reg), wants(three[:1], v1), mirrordir.AddOptions{})
	delete(full.Content, home+"/index.json")
	delete(full.Content, home+"/1.0.0.json")
	zip := int64(len(full.Content[archive(v1, linux)]))
	add := func(ctx context.Context, m *mirrordir.Mirror) error {
		_, err := m.Add(ctx, client(reg), wants(three[:1], v1), mirrordir.AddOptions{})
		return err
	}
	check := func(ctx context.Context, m *mirrordir.Mirror) error {
		_, err := m.Check(ctx, mirrordir.CheckOptions{})
		return err
	}
	reindex := func(ctx context.Context, m *mirrordir.Mirror) error {
		_, err := m.Reindex(ctx, mirrordir.CheckOptions{})
		return err
	}
	for name, test := range map[string]struct {
		run      func(ctx context.Context, m *mirrordir.Mirror) error
		recorded bool
	}{
		"Add takes over":   {add, false},
		"Check":            {check, true},
		"Check, no record": {check, false},
		"Reindex":          {reindex, false},
	} {
		for what, at := range map[string]int64{"hashing": zip / 4, "inflating": zip + zip/4} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				b := &bucket{}
				for name, content := range full.Content {
					if test.recorded || !strings.HasPrefix(path.Base(name), "record_") {
						put(t, b, name, content)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				storage := &metered{Store: b, end: cancel, at: at}
				err := test.run(ctx, &mirrordir.Mirror{Store: storage, TempDir: t.TempDir()})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s = %v, want context.Canceled", name, err)
				}
				if storage.read.Load() < at {
					t.Errorf("only %d bytes were read, so the context did not end", storage.read.Load())
				}
				if got := storage.after.Load(); got > 1<<20 {
					t.Errorf("%d bytes were read after the context had ended", got)
				}
			})
		}
	}
}

// TestContextEndsWithTheTransfer checks that a downloaded archive is not inflated after the context
// has ended.
func TestContextEndsWithTheTransfer(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	_, src := newRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := m.Add(ctx, src, wants(three[:1], v1), mirrordir.AddOptions{Progress: func(e progress.Event) {
		if e.Total > 0 && e.Bytes == e.Total {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Add = %v, want context.Canceled", err)
	}
	wantFiles(t, dir)
}

// TestAddedShareSums checks that the results of Add share the SHA256SUMS document of a version.
func TestAddedShareSums(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	_, src := newRegistry(t)
	added, err := m.Add(t.Context(), src, wants(three, v1), mirrordir.AddOptions{})
	if err != nil || len(added) != 3 {
		t.Fatalf("Add = %v, %v, want 3", added, err)
	}
	for _, a := range added {
		if sums := a.Report.Sums; sums == nil || sums != added[0].Report.Sums {
			t.Errorf("%s: Sums is %p, want %p", a.Platform, sums, added[0].Report.Sums)
		}
	}
}
