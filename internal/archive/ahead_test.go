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
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// ahead unpacks an archive with UnpackAhead from r and then with UnpackRest.
func ahead(t testing.TB, r io.Reader, data []byte, o archive.Options) (dir string, early int, list []archive.File, err error) {
	t.Helper()
	dir = t.TempDir()
	root := openRoot(t, dir)
	a := archive.UnpackAhead(t.Context(), r, root, o.Limits)
	z, err := open(data, o)
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
	must(t, err)
	return list
}

// TestAhead: however much of an archive UnpackAhead gets, the result is the same as that of Unpack.
func TestAhead(t *testing.T) {
	t.Parallel()
	data := pack(t,
		member{name: "docs/"}, member{name: "docs/a.txt", content: "text"}, member{name: "empty"},
		member{name: "program", content: strings.Repeat("program ", 30_000), mode: 0o755},
		member{name: "a/b/c/d", content: "deep"}, member{name: "none/"},
		member{name: "stored", content: strings.Repeat("stored", 1000), stored: true},
	)
	want, list, err := unpack(t, data, archive.Limits{})
	must(t, err)
	most := 0
	for n := 0; n <= len(data); n += max(1, len(data)/60) {
		dir, early, got, err := ahead(t, iotest.HalfReader(bytes.NewReader(data[:n])), data, archive.Options{})
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if diff := cmp.Diff(list, got) + cmp.Diff(tree(t, want), tree(t, dir)) + cmp.Diff(modes(t, want), modes(t, dir)); diff != "" {
			t.Errorf("%d bytes: %s", n, diff)
		}
		most = max(most, early)
	}
	if most != 4 {
		t.Errorf("at most %d files were unpacked early", most)
	}
}

// TestAheadOfStored: files are unpacked ahead unless the end of their stored content is unknown.
func TestAheadOfStored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"deflated": 3, "stored": 0} {
		members := []member{{name: "a", content: "first"}, {name: "b/c", content: ""}, {name: "d", content: "last"}}
		for i := range members {
			members[i].stored = name == "stored"
		}
		data := pack(t, members...)
		if _, early, _, err := ahead(t, bytes.NewReader(data), data, archive.Options{Sync: true}); err != nil || early != want {
			t.Errorf("%s: %d files early, %v", name, early, err)
		}
	}
}

// TestAheadDiffers: files that the directory does not describe are not kept.
func TestAheadDiffers(t *testing.T) {
	t.Parallel()
	data := pack(t, files("a", "b/c")...)
	other := pack(t, files("x/y", "b/c")...)
	for name, first := range map[string][]byte{
		"another file":      pack(t, member{name: "z", content: "content of a"}),
		"another content":   pack(t, member{name: "a", content: "content of A"}),
		"another place":     pack(t, files("b/c")...),
		"another directory": pack(t, member{name: "d/"}),
		"another archive":   other,
	} {
		if _, early, _, err := ahead(t, bytes.NewReader(first), data, archive.Options{}); !errors.Is(err, archive.ErrAhead) {
			t.Errorf("%s: %d files, %v", name, early, err)
		}
	}
}

// TestAheadOfTwoHeaders: one header is hidden in another one, and the content is one file if it is
// stored and another one with the same size and checksum if it is inflated. The archive is refused.
func TestAheadOfTwoHeaders(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("what the directory says ", 10)
	var content bytes.Buffer
	w, err := flate.NewWriter(&content, flate.BestCompression)
	must(t, err)
	io.WriteString(w, want)
	w.Close()
	sum := crc32.ChecksumIEEE([]byte(want))
	content.Write(make([]byte, len(want)-4-content.Len()))
	raw := forge(content.Bytes(), sum)
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
	refused(t, data, archive.Limits{}, fault.ErrArchive)
	if dir, early, _, err := ahead(t, bytes.NewReader(data), data, archive.Options{}); !errors.Is(err, fault.ErrArchive) || early != 1 {
		t.Errorf("%d files, %v: %q", early, err, tree(t, dir)["a"])
	}
}

// forge appends four bytes that give data this CRC-32.
func forge(data []byte, sum uint32) []byte {
	state := ^sum
	for range 4 {
		i := slices.IndexFunc(crc32.IEEETable[:], func(entry uint32) bool { return entry>>24 == state>>24 })
		state = (state^crc32.IEEETable[i])<<8 | uint32(i)
	}
	return binary.LittleEndian.AppendUint32(data, state^^crc32.ChecksumIEEE(data))
}

// TestAheadStops: unusual data ends UnpackAhead, and no partial file is left.
func TestAheadStops(t *testing.T) {
	t.Parallel()
	good := pack(t, files("a", "b")...)
	for name, data := range map[string][]byte{
		"nothing":        {},
		"no archive":     []byte("<html>and more than thirty bytes of it</html>"),
		"traversal":      pack(t, member{name: "../x"}),
		"absolute":       pack(t, member{name: "/x"}),
		"no name":        pack(t, member{name: "x"})[:29],
		"encrypted":      patch(good, func(b []byte) { b[6] |= 1 }),
		"another method": patch(good, func(b []byte) { put16(b[8:], 99) }),
		"damaged":        patch(good, func(b []byte) { b[32] ^= 0xff; b[33] ^= 0xff }),
		"cut off":        good[:35],
		"wrong checksum": patch(good, func(b []byte) { i := bytes.Index(b, []byte("PK\x07\x08")); b[i+4] ^= 1 }),
	} {
		dir := t.TempDir()
		root := openRoot(t, dir)
		a := archive.UnpackAhead(t.Context(), bytes.NewReader(data), root, archive.Limits{})
		root.Close()
		if got := tree(t, dir); a.Len() != 0 || len(got) != 0 {
			t.Errorf("%s: %d files, %v", name, a.Len(), got)
		}
	}
}

// TestAheadLimits: the limits apply to UnpackAhead.
func TestAheadLimits(t *testing.T) {
	t.Parallel()
	data := pack(t, member{name: "zeros", content: strings.Repeat("\x00", 1<<20)}, member{name: "more"})
	for _, c := range []struct {
		limits archive.Limits
		want   int
	}{
		{archive.Limits{}, 2}, {archive.Limits{Unpacked: 1 << 20}, 2}, {archive.Limits{Unpacked: 1<<20 - 1}, 0},
		{archive.Limits{Entries: 1}, 1}, {archive.Limits{NameLen: 4}, 0},
	} {
		dir := t.TempDir()
		root := openRoot(t, dir)
		a := archive.UnpackAhead(t.Context(), bytes.NewReader(data), root, c.limits)
		root.Close()
		if got := tree(t, dir); a.Len() != c.want || len(got) != c.want {
			t.Errorf("%+v: %d files, on disk %d", c.limits, a.Len(), len(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := openRoot(t, t.TempDir())
	if a := archive.UnpackAhead(ctx, bytes.NewReader(data), root, archive.Limits{}); a.Len() != 0 {
		t.Errorf("%d files after the end of the context", a.Len())
	}
}

// TestAheadOfManyFiles: UnpackAhead stops after 1,000 files and directories. UnpackRest unpacks the rest,
// and looks at the context for each file that is there.
func TestAheadOfManyFiles(t *testing.T) {
	t.Parallel()
	for _, n := range []int{999, 1000} {
		members := []member{{name: "dir/"}}
		for i := range n {
			members = append(members, member{name: fmt.Sprintf("dir/%d", i)})
		}
		data := pack(t, members...)
		dir, early, list, err := ahead(t, bytes.NewReader(data), data, archive.Options{})
		if err != nil || early != 999 || len(list) != n+1 || len(tree(t, dir)) != n+1 {
			t.Errorf("%d files in a directory: %d unpacked ahead, %d in all, %d on disk, error %v", n, early, len(list), len(tree(t, dir)), err)
		}
	}
	data := pack(t, files("a", "b", "c", "d")...)
	root := openRoot(t, t.TempDir())
	a := archive.UnpackAhead(t.Context(), bytes.NewReader(data), root, archive.Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	opened := 0
	z, err := open(data, archive.Options{Exec: func(string) bool {
		opened++
		cancel()
		return false
	}})
	must(t, err)
	_, err = z.UnpackRest(ctx, root, a)
	if a.Len() != 4 || opened != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("of %d files, %d were completed after the end of the context: %v", a.Len(), opened-1, err)
	}
}

// TestAheadOfBomb: UnpackAhead does not write a thousand times the size of the archive. An accepted
// archive is unpacked later.
func TestAheadOfBomb(t *testing.T) {
	t.Parallel()
	data := pack(t, member{name: "a", content: "text"}, member{name: "zeros", content: strings.Repeat("\x00", 8<<20)}, member{name: "z"})
	_, early, list, err := ahead(t, bytes.NewReader(data), data, archive.Options{})
	if err != nil || early != 1 || len(list) != 3 {
		t.Errorf("%d files early, of %d; %v", early, len(list), err)
	}
}

// FuzzAhead: UnpackAhead and UnpackRest either have the result of Unpack, or return ErrAhead.
func FuzzAhead(f *testing.F) {
	data := pack(f, member{name: "d/"}, member{name: "a", content: "text", mode: 0o755}, member{name: "b/c", content: strings.Repeat("x", 100)}, member{name: "s", content: "s", stored: true})
	f.Add(data, uint16(len(data)))
	f.Add(data, uint16(60))
	f.Add(patch(data, func(b []byte) { binary.LittleEndian.PutUint32(b[14:], 1) }), uint16(500))
	limits := archive.Limits{Unpacked: 1 << 16, Entries: 50, NameLen: 50}
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		dir, _, got, err := ahead(t, bytes.NewReader(data[:min(int(n), len(data))]), data, archive.Options{Limits: limits})
		want, list, plain := unpack(t, data, limits)
		if errors.Is(err, archive.ErrAhead) {
			return
		}
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
