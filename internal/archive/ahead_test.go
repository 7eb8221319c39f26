package archive_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// unpackAhead unpacks the archive that arrives from r, and keeps the rest of it in the file kept.
func unpackAhead(t testing.TB, ctx context.Context, r io.Reader, root *os.Root, l archive.Limits) (a *archive.Ahead, kept *os.File, accepted bool, err error) {
	t.Helper()
	kept = must.Get(os.Create(filepath.Join(t.TempDir(), "kept")))(t)
	t.Cleanup(func() { kept.Close() })
	a, err = archive.UnpackAhead(ctx, r, kept, root, l, func() error {
		accepted = true
		return nil
	})
	return a, kept, accepted, err
}

// ahead unpacks an archive with UnpackAhead and then, from what it has kept, with UnpackRest.
func ahead(t testing.TB, data []byte, o archive.Options) (dir string, early int, list []archive.File, err error) {
	t.Helper()
	dir = t.TempDir()
	root := openRoot(t, dir)
	a, kept, _, err := unpackAhead(t, t.Context(), iotest.HalfReader(bytes.NewReader(data)), root, o.Limits)
	must.Do(t, err)
	z, err := archive.OpenZip(t.Context(), kept, int64(len(data)), o)
	if err == nil {
		list, err = z.UnpackRest(t.Context(), root, a)
	}
	return dir, a.Len(), list, err
}

func modes(t testing.TB, dir string) map[string]fs.FileMode {
	t.Helper()
	list := map[string]fs.FileMode{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && name != "." {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				list[name] = info.Mode()
			}
		}
		return err
	})
	must.Do(t, err)
	return list
}

// TestAhead: the result is that of Unpack, also for what is unpacked after the archive has arrived.
// The contents of unpacked files are not kept.
func TestAhead(t *testing.T) {
	t.Parallel()
	members := []member{
		{Name: "docs/"}, {Name: "docs/a.txt", Content: "text"}, {Name: "empty"}, {Name: "program", Content: program(240_000), Mode: 0o755},
		{Name: "a/b/c/d", Content: "deep"}, {Name: "none/"}, {Name: "stored", Content: strings.Repeat("stored", 1000), Stored: true},
	}
	for end := range members {
		data := pack(t, append(slices.Clone(members[end:]), members[:end]...)...)
		want, list, err := unpack(t, data, archive.Limits{})
		must.Do(t, err)
		dir, early, got, err := ahead(t, data, archive.Options{})
		if diff := cmp.Diff(list, got) + cmp.Diff(tree(t, want), tree(t, dir)) + cmp.Diff(modes(t, want), modes(t, dir)); err != nil || diff != "" {
			t.Errorf("entry %d first: %v, %s", end, err, diff)
		}
		// The end of stored content is unknown, so all files after it are unpacked later.
		if want := []int{4, 4, 3, 2, 1, 0, 0}[end]; early != want {
			t.Errorf("entry %d first: %d files were unpacked early, want %d", end, early, want)
		}
	}
	data := pack(t, member{Name: "program", Content: program(2 << 20)}, member{Name: "next", Content: "text"})
	_, kept, _, err := unpackAhead(t, t.Context(), bytes.NewReader(data), openRoot(t, t.TempDir()), archive.Limits{})
	must.Do(t, err)
	content := make([]byte, 1<<18)
	if _, err := kept.ReadAt(content, 1<<18); err != nil || len(bytes.Trim(content, "\x00")) > 0 {
		t.Errorf("UnpackAhead has kept the content of an unpacked file (%v)", err)
	}
}

// TestAheadDiffers: files that the directory does not describe are refused.
func TestAheadDiffers(t *testing.T) {
	t.Parallel()
	data := pack(t, files("a", "b/c")...)
	for name, first := range map[string][]byte{
		"another file":      pack(t, member{Name: "z", Content: "content of a"}),
		"another content":   pack(t, member{Name: "a", Content: "content of A"}),
		"another place":     pack(t, files("b/c")...),
		"another directory": pack(t, member{Name: "d/"}),
		"another archive":   pack(t, files("x/y", "b/c")...),
	} {
		root := openRoot(t, t.TempDir())
		a, _, _, err := unpackAhead(t, t.Context(), bytes.NewReader(first), root, archive.Limits{})
		must.Do(t, err)
		z := must.Get(open(data, archive.Options{}))(t)
		if _, err := z.UnpackRest(t.Context(), root, a); !errors.Is(err, failure.ErrArchive) {
			t.Errorf("%s: %d files, error %v, want %v", name, a.Len(), err, failure.ErrArchive)
		}
	}
}

// TestAheadOfTwoHeaders: one header is hidden in another one, and the content is one file if it is
// stored and another one with the same size and checksum if it is inflated. The archive is refused.
func TestAheadOfTwoHeaders(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("what the directory says ", 10)
	var content bytes.Buffer
	w := must.Get(flate.NewWriter(&content, flate.BestCompression))(t)
	io.WriteString(w, want)
	w.Close()
	sum := crc32.ChecksumIEEE([]byte(want))
	content.Write(make([]byte, len(want)-4-content.Len()))
	raw := archivetest.Forge(content.Bytes(), sum)
	header := func(method uint16, extra []byte) []byte {
		h := make([]byte, 30, 200)
		copy(h, "PK\x03\x04")
		put16(h[8:], int(method))
		binary.LittleEndian.PutUint32(h[14:], sum)
		put32(h[18:], len(want))
		put32(h[22:], len(want))
		put16(h[26:], 1)
		put16(h[28:], len(extra))
		return append(append(h, 'a'), extra...)
	}
	inner := header(zip.Deflate, nil)
	outer := header(zip.Store, append([]byte{0xfe, 0xca, byte(len(inner)), 0}, inner...))
	at := len(outer) - len(inner)
	n := len(outer) + len(raw)
	central := make([]byte, 46)
	copy(central, "PK\x01\x02")
	copy(central[10:], inner[8:30])
	put16(central[30:], 0)
	put32(central[42:], at)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	put16(end[8:], 1)
	put16(end[10:], 1)
	put32(end[12:], 47)
	put32(end[16:], n)
	data := slices.Concat(outer, raw, central, []byte("a"), end)
	refused(t, data, archive.Limits{}, failure.ErrArchive)
	if dir, early, _, err := ahead(t, data, archive.Options{}); !errors.Is(err, failure.ErrArchive) || early != 1 {
		t.Errorf("%d files, %v: %q", early, err, tree(t, dir)["a"])
	}
}

// TestAheadStops: unusual data ends UnpackAhead, and no partial file is left.
func TestAheadStops(t *testing.T) {
	t.Parallel()
	good := pack(t, files("a", "b")...)
	for name, data := range map[string][]byte{
		"nothing":        {},
		"no archive":     []byte("<html>and more than thirty bytes of it</html>"),
		"traversal":      pack(t, member{Name: "../x"}),
		"absolute":       pack(t, member{Name: "/x"}),
		"no name":        pack(t, member{Name: "x"})[:29],
		"encrypted":      patch(good, func(b []byte) { b[6] |= 1 }),
		"another method": patch(good, func(b []byte) { put16(b[8:], 99) }),
		"damaged":        patch(good, func(b []byte) { b[32] ^= 0xff; b[33] ^= 0xff }),
		"cut off":        good[:35],
		"wrong checksum": patch(good, func(b []byte) { i := bytes.Index(b, []byte("PK\x07\x08")); b[i+4] ^= 1 }),
	} {
		dir := t.TempDir()
		root := openRoot(t, dir)
		a, kept, _, err := unpackAhead(t, t.Context(), bytes.NewReader(data), root, archive.Limits{})
		must.Do(t, err)
		if got := tree(t, dir); a.Len() != 0 || len(got) != 0 {
			t.Errorf("%s: %d files, %v", name, a.Len(), got)
		}
		_, _, plain := unpack(t, data, archive.Limits{})
		if z, err := archive.OpenZip(t.Context(), kept, int64(len(data)), archive.Options{}); err == nil {
			if _, err := z.UnpackRest(t.Context(), root, a); !errors.Is(err, failure.ErrArchive) || plain == nil {
				t.Errorf("%s: error %v of UnpackRest, and %v of Unpack", name, err, plain)
			}
		}
	}
}

// TestAheadLimits: the limits apply to UnpackAhead.
func TestAheadLimits(t *testing.T) {
	t.Parallel()
	data := pack(t, member{Name: "zeros", Content: strings.Repeat("\x00", 1<<20)}, member{Name: "more"})
	for _, c := range []struct {
		limits archive.Limits
		want   int
	}{
		{archive.Limits{}, 2}, {archive.Limits{Unpacked: 1 << 20}, 2}, {archive.Limits{Unpacked: 1<<20 - 1}, 0},
		{archive.Limits{Entries: 1}, 1}, {archive.Limits{NameLen: 4}, 0},
	} {
		dir := t.TempDir()
		root := openRoot(t, dir)
		a, _, _, err := unpackAhead(t, t.Context(), bytes.NewReader(data), root, c.limits)
		must.Do(t, err)
		if got := tree(t, dir); a.Len() != c.want || len(got) != c.want {
			t.Errorf("%+v: %d files, on disk %d", c.limits, a.Len(), len(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := unpackAhead(t, ctx, bytes.NewReader(data), openRoot(t, t.TempDir()), archive.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// TestAheadOfManyFiles: UnpackAhead stops after 1,000 files and directories. UnpackRest unpacks the rest,
// and looks at the context for each file that is there.
func TestAheadOfManyFiles(t *testing.T) {
	t.Parallel()
	for _, n := range []int{999, 1000} {
		members := []member{{Name: "dir/"}}
		for i := range n {
			members = append(members, member{Name: fmt.Sprintf("dir/%d", i)})
		}
		data := pack(t, members...)
		dir, early, list, err := ahead(t, data, archive.Options{})
		if err != nil || early != 999 || len(list) != n+1 || len(tree(t, dir)) != n+1 {
			t.Errorf("%d files in a directory: %d unpacked ahead, %d in all, %d on disk, error %v", n, early, len(list), len(tree(t, dir)), err)
		}
	}
	data := pack(t, files("a", "b", "c", "d")...)
	root := openRoot(t, t.TempDir())
	a, _, _, err := unpackAhead(t, t.Context(), bytes.NewReader(data), root, archive.Limits{})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	z, err := open(data, archive.Options{Exec: func(string) bool {
		opened++
		cancel()
		return false
	}})
	must.Do(t, err)
	_, err = z.UnpackRest(ctx, root, a)
	if a.Len() != 4 || opened != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("of %d files, %d were completed after the end of the context: %v", a.Len(), opened-1, err)
	}
}

// TestAheadOfBomb: UnpackAhead writes twenty times the size of the archive, and the rest after the
// archive has been accepted.
func TestAheadOfBomb(t *testing.T) {
	t.Parallel()
	zeros := member{Name: "zeros", Content: strings.Repeat("\x00", 8<<20)}
	data := pack(t, member{Name: "a", Content: "text"}, zeros, member{Name: "z", Content: program(1 << 20)})
	dir, early, list, err := ahead(t, data, archive.Options{})
	want, wantList, plain := unpack(t, data, archive.Limits{})
	must.Do(t, plain)
	if diff := cmp.Diff(wantList, list) + cmp.Diff(tree(t, want), tree(t, dir)); err != nil || early != 3 || diff != "" {
		t.Errorf("%d files early; %v, %s", early, err, diff)
	}
	refused := errors.New("refused")
	dir = t.TempDir()
	kept := must.Get(os.Create(filepath.Join(t.TempDir(), "kept")))(t)
	defer kept.Close()
	arriving := bytes.NewReader(data)
	_, err = archive.UnpackAhead(t.Context(), arriving, kept, openRoot(t, dir), archive.Limits{}, func() error {
		info := must.Get(os.Stat(filepath.Join(dir, "zeros")))(t)
		if info.Size() > 5<<20 || arriving.Len() > 0 {
			t.Errorf("%d bytes are written before the archive is accepted; %d bytes of it have not arrived", info.Size(), arriving.Len())
		}
		return refused
	})
	if got := tree(t, dir); !errors.Is(err, refused) || len(got) != 1 {
		t.Errorf("error %v, want %v; %d files", err, refused, len(got))
	}
}

// FuzzAhead: UnpackAhead and UnpackRest have the result of Unpack.
func FuzzAhead(f *testing.F) {
	data := pack(f, member{Name: "d/"}, member{Name: "a", Content: "text", Mode: 0o755},
		member{Name: "b/c", Content: strings.Repeat("x", 100)}, member{Name: "s", Content: "s", Stored: true})
	f.Add(data)
	f.Add(data[:60])
	f.Add(patch(data, func(b []byte) { binary.LittleEndian.PutUint32(b[14:], 1) }))
	limits := archive.Limits{Unpacked: 1 << 16, Entries: 50, NameLen: 50}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, _, got, err := ahead(t, data, archive.Options{Limits: limits})
		want, list, plain := unpack(t, data, limits)
		if (err == nil) != (plain == nil) {
			t.Fatalf("ahead: %v, plain: %v", err, plain)
		}
		if err == nil {
			if diff := cmp.Diff(list, got) + cmp.Diff(tree(t, want), tree(t, dir)); diff != "" {
				t.Error(diff)
			}
		}
	})
}
