package checksum_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify/checksum"
)

func h1Zip(t testing.TB, data []byte) (archive, tree checksum.Hash) {
	t.Helper()
	archive, tree, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), int64(len(data)), checksum.Limits{})
	must.Do(t, err)
	return archive, tree
}

func TestZH(t *testing.T) {
	t.Parallel()
	h, err := checksum.ZH(t.Context(), strings.NewReader(""))
	if err != nil || h.String() != zhText || h != checksum.ZHSum(sha256.Sum256(nil)) {
		t.Errorf("%v, %v", h, err)
	}
	broken := errors.New("broken")
	if h, err := checksum.ZH(t.Context(), iotest.ErrReader(broken)); !errors.Is(err, broken) || !h.IsZero() {
		t.Errorf("%v, %v", h, err)
	}
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	if h, err := checksum.ZH(t.Context(), iotest.HalfReader(bytes.NewReader(data))); err != nil || h != checksum.ZHSum(sha256.Sum256(data)) {
		t.Errorf("%v, %v", h, err)
	}
}

// Both forms are what the reference computes: of the archive, and of the directory.
func TestH1(t *testing.T) {
	t.Parallel()
	program := archivetest.Entry{Name: "terraform-provider-x", Content: strings.Repeat("program ", 10_000), Mode: 0o755}
	for name, files := range map[string][]archivetest.Entry{
		"one file":          {program},
		"files":             {{Name: "b", Content: "2"}, {Name: "a", Content: "1"}, {Name: "a-", Content: "3"}, {Name: "A0", Content: "4"}},
		"directories":       {program, {Name: "docs/index.md", Content: "text"}, {Name: "docs/a b.md"}},
		"directory entries": {{Name: "docs/"}, {Name: "docs/index.md", Content: "text"}, {Name: "empty/"}, program},
		"only a directory":  {{Name: "d/"}},
		"Unicode":           {{Name: "ünïcödé", Content: "x"}, {Name: "日本", Content: "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := archivetest.Zip(t, files...)
			archive, tree := h1Zip(t, data)

			dir := t.TempDir()
			packed, unpacked := filepath.Join(dir, "p.zip"), filepath.Join(dir, "p")
			must.Do(t, os.WriteFile(packed, data, 0o644))
			zr := must.Get(zip.NewReader(bytes.NewReader(data), int64(len(data))))(t)
			must.Do(t, os.CopyFS(unpacked, zr))
			want, err := dirhash.HashZip(packed, dirhash.Hash1)
			if err != nil || archive.String() != want {
				t.Errorf("archive %v, dirhash %v, %v", archive, want, err)
			}
			want, err = dirhash.HashDir(unpacked, "", dirhash.Hash1)
			if err != nil || tree.String() != want {
				t.Errorf("tree %v, dirhash %v, %v", tree, want, err)
			}
			got, err := checksum.H1Dir(t.Context(), os.DirFS(unpacked))
			if err != nil || got != tree {
				t.Errorf("H1Dir %v, %v, want %v", got, err, tree)
			}
			if hasDir := strings.Contains(name, "director") && name != "directories"; hasDir == (archive == tree) {
				t.Errorf("archive %v, tree %v", archive, tree)
			}
		})
	}
}

func TestH1ZipRefuses(t *testing.T) {
	t.Parallel()
	damaged := archivetest.Zip(t, archivetest.Entry{Name: "x", Content: "content"})
	damaged[len("PK")+28+len("x")] ^= 1 // the first byte behind the name
	for name, data := range map[string][]byte{
		"no zip":        []byte("hello"),
		"damaged":       damaged,
		"traversal":     archivetest.Zip(t, archivetest.Entry{Name: "../x"}),
		"duplicate":     archivetest.Zip(t, archivetest.Entry{Name: "x", Content: "1"}, archivetest.Entry{Name: "x", Content: "2"}),
		"symbolic link": archivetest.Zip(t, archivetest.Entry{Name: "x", Content: "target", Mode: fs.ModeSymlink | 0o777}),
	} {
		archive, tree, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), int64(len(data)), checksum.Limits{})
		if !errors.Is(err, failure.ErrArchive) || !archive.IsZero() || !tree.IsZero() {
			t.Errorf("%s: %v, %v, %v", name, archive, tree, err)
		}
	}
}

func TestH1ZipLimits(t *testing.T) {
	t.Parallel()
	data := archivetest.Zip(t, archivetest.Entry{Name: "some-name", Content: strings.Repeat("x", 1000)}, archivetest.Entry{Name: "b"})
	size := int64(len(data))
	for name, tt := range map[string]struct{ fits, not checksum.Limits }{
		"package":  {checksum.Limits{Package: size}, checksum.Limits{Package: size - 1}},
		"unpacked": {checksum.Limits{Unpacked: 1000}, checksum.Limits{Unpacked: 999}},
		"entries":  {checksum.Limits{Entries: 2}, checksum.Limits{Entries: 1}},
		"names":    {checksum.Limits{NameLen: 9}, checksum.Limits{NameLen: 8}},
	} {
		if _, _, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), size, tt.fits); err != nil {
			t.Errorf("%s, n: %v", name, err)
		}
		if _, _, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), size, tt.not); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s, n+1: error %v, want ErrTooLarge", name, err)
		}
	}
	want := checksum.Limits{Package: 8 << 30, Unpacked: 16 << 30, Entries: 100_000, NameLen: 1024}
	if got := (checksum.Limits{}).Effective(); got != want {
		t.Errorf("defaults %+v", got)
	}
}

func TestH1Names(t *testing.T) {
	t.Parallel()
	h, err := hashlist.H1(maps.All(map[string][32]byte(nil)))
	if err != nil || h.String() != h1Text {
		t.Errorf("nothing: %v, %v", h, err)
	}
	sums := map[string][32]byte{"b": sha256.Sum256([]byte("2")), "a/c": sha256.Sum256([]byte("1")), "a": sha256.Sum256(nil)}
	want := must.Get(checksum.H1Dir(t.Context(), fstest.MapFS{"b": {Data: []byte("2")}, "a/c": {Data: []byte("1")}, "a0": {}}))(t)
	sums["a0"] = sums["a"]
	delete(sums, "a")
	if h, err := hashlist.H1(maps.All(sums)); err != nil || h != want {
		t.Errorf("%v, %v, want %v", h, err, want)
	}
	for _, name := range []string{"a\nb", `a\b`} {
		if h, err := hashlist.H1(maps.All(map[string][32]byte{name: {}})); err == nil {
			t.Errorf("H1 of %q: %v, want an error", name, h)
		}
		if h, err := checksum.H1Dir(t.Context(), fstest.MapFS{name: {}}); err == nil {
			t.Errorf("H1Dir of %q: %v, want an error", name, h)
		}
		data := archivetest.Zip(t, archivetest.Entry{Name: name})
		if h, _, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), int64(len(data)), checksum.Limits{}); err == nil {
			t.Errorf("H1Zip of %q: %v, want an error", name, h)
		}
	}
	twice := func(yield func(string, [32]byte) bool) { _ = yield("a", [32]byte{}) && yield("a", [32]byte{1}) }
	if _, err := hashlist.H1(twice); err == nil {
		t.Error("a duplicate passed")
	}
}

func TestH1DirRefuses(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]fs.FS{
		"link":    fstest.MapFS{"a": {}, "l": {Mode: fs.ModeSymlink, Data: []byte("a")}},
		"pipe":    shut{fstest.MapFS{"p": {Mode: fs.ModeNamedPipe}}, t},
		"device":  fstest.MapFS{"d/dev": {Mode: fs.ModeDevice}},
		"swapped": swapped{fstest.MapFS{"a": {Data: []byte("x")}}},
	} {
		if h, err := checksum.H1Dir(t.Context(), fsys); !errors.Is(err, checksum.ErrIrregular) || !h.IsZero() {
			t.Errorf("%s: %v, error %v, want ErrIrregular", name, h, err)
		}
	}
	if _, err := checksum.H1Dir(t.Context(), os.DirFS(filepath.Join(t.TempDir(), "missing"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // links need a privilege there
	}
	dir := t.TempDir()
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	if _, err := checksum.H1Dir(t.Context(), os.DirFS(dir)); !errors.Is(err, checksum.ErrIrregular) {
		t.Errorf("link on disk: error %v, want ErrIrregular", err)
	}
	top := filepath.Join(t.TempDir(), "top")
	must.Do(t, os.Symlink(t.TempDir(), top))
	if h, err := checksum.H1Dir(t.Context(), os.DirFS(top)); err != nil || h.String() != h1Text {
		t.Errorf("the top itself may be a link: %v, %v", h, err)
	}
}

// TestL1Dir: an l1 covers the names and targets of links, and differs from every h1.
func TestL1Dir(t *testing.T) {
	t.Parallel()
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(target)}
	}
	file := &fstest.MapFile{Data: []byte("x")}
	seen := map[checksum.Hash]string{}
	for name, fsys := range map[string]fstest.MapFS{
		"link":           {"a": file, "b": link("a")},
		"other target":   {"a": file, "b": link("./a")},
		"other name":     {"a": file, "c": link("a")},
		"to a directory": {"d/a": file, "b": link("d")},
		"to nothing":     {"a": file, "b": link("../secret")},
		"a file":         {"a": file, "b": {Data: []byte("a")}},
	} {
		h, err := checksum.L1Dir(t.Context(), fsys)
		if want := map[bool]string{true: checksum.SchemeH1, false: scheme.L1}[name == "a file"]; err != nil || h.Scheme() != want {
			t.Errorf("%s: %v, %v; want scheme %s", name, h, err, want)
		}
		if again, err := checksum.ParseHash(h.String()); err != nil || again != h {
			t.Errorf("%s: ParseHash(%s) returned %v, %v", name, h, again, err)
		}
		if other := seen[h]; other != "" {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
	plain := fstest.MapFS{"a": file, "d/b": file}
	h1 := must.Get(checksum.H1Dir(t.Context(), plain))(t)
	if h, err := checksum.L1Dir(t.Context(), plain); err != nil || h != h1 {
		t.Errorf("without links: %v, %v; want the h1 %v", h, err, h1)
	}
	if _, err := checksum.L1Dir(t.Context(), fstest.MapFS{"p": {Mode: fs.ModeNamedPipe}}); !errors.Is(err, checksum.ErrIrregular) {
		t.Errorf("a pipe: %v, want ErrIrregular", err)
	}
	// sha256 of: sha256("x")  a, sha256("a")  b/
	const want = "l1:nN/B/1Zv1f6dQW17axM+fMF5aed5hSB5Haat6Dh02ak="
	if h, _ := checksum.L1Dir(t.Context(), fstest.MapFS{"a": file, "b": link("a")}); h.String() != want {
		t.Errorf("%v, want %s", h, want)
	}
}

// shut has a pipe named p, whose opener would wait for ever.
type shut struct {
	fstest.MapFS
	t *testing.T
}

func (s shut) Open(name string) (fs.File, error) {
	if name == "p" {
		s.t.Error("the pipe was opened")
	}
	return s.MapFS.Open(name)
}

// swapped lists a file where there is a pipe by the time it is opened.
type swapped struct{ fstest.MapFS }

func (s swapped) Open(name string) (fs.File, error) {
	if name == "a" {
		return fstest.MapFS{"a": {Mode: fs.ModeNamedPipe}}.Open(name)
	}
	return s.MapFS.Open(name)
}
