package mirrordir_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestPlantedLinks replaces a directory of the mirror by a link that leads out of it, and checks
// that nothing is changed there.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	other, otherDir := newMirror(t)
	mustAdd(t, other, src, wants(three, v1), mirrordir.Options{})
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
			if added, err := m.Add(t.Context(), src, wants(three, v1, v2), mirrordir.Options{}); err == nil || len(added) > 0 {
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
				if o, err := m.Storage.Open(t.Context(), name); err == nil {
					o.Close()
					t.Errorf("Open(%q) through %s succeeds", name, planted)
				}
				if planted != ".tofureg" {
					_ = m.Storage.Write(t.Context(), name, io.NewSectionReader(strings.NewReader("x"), 0, 1), "")
				}
				_ = m.Storage.Delete(t.Context(), name)
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
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// metered is a storage that ends a context after some bytes of archives have been read, and counts
// later reads.
type metered struct {
	mirrordir.Storage
	end   func()
	at    int64
	read  atomic.Int64
	after atomic.Int64
}

func (m *metered) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	o, err := m.Storage.Open(ctx, name)
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
	mustAdd(t, &mirrordir.Mirror{Storage: full, TempDir: t.TempDir()}, client(reg), wants(three[:1], v1), mirrordir.Options{ZHOnly: true})
	zip := int64(len(full.Content[archive(v1, linux)]))
	add := func(ctx context.Context, m *mirrordir.Mirror) error {
		_, err := m.Add(ctx, client(reg), wants(three[:1], v1), mirrordir.Options{})
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
		"Add computes h1":  {add, true},
		"Check":            {check, true},
		"Check, no record": {check, false},
		"Reindex":          {reindex, false},
	} {
		for what, at := range map[string]int64{"hashing": zip / 4, "inflating": zip + zip/4} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				b := &bucket{}
				for name, content := range full.Content {
					if test.recorded || !strings.HasSuffix(name, ".record.json") {
						put(t, b, name, content)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				storage := &metered{Storage: b, end: cancel, at: at}
				err := test.run(ctx, &mirrordir.Mirror{Storage: storage, TempDir: t.TempDir()})
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
	_, err := m.Add(ctx, src, wants(three[:1], v1), mirrordir.Options{Progress: func(e provider.Event) {
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
	added, err := m.Add(t.Context(), src, wants(three, v1), mirrordir.Options{})
	if err != nil || len(added) != 3 {
		t.Fatalf("Add = %v, %v, want 3", added, err)
	}
	for _, a := range added {
		if sums := a.Report.Sums; sums == nil || sums != added[0].Report.Sums {
			t.Errorf("%s: Sums is %p, want %p", a.Platform, sums, added[0].Report.Sums)
		}
	}
}
