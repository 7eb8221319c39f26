package archive_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/archive/xz"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// item is an entry of a test tar: a header with defaults, and content.
type item struct {
	tar.Header
	content string
}

func regular(name, content string) item {
	return item{Header: tar.Header{Name: name}, content: content}
}

func special(kind byte, name, link string) item {
	return item{Header: tar.Header{Typeflag: kind, Name: name, Linkname: link, Format: tar.FormatPAX}}
}

func regulars(names ...string) []item {
	var out []item
	for _, name := range names {
		out = append(out, regular(name, "content of "+name))
	}
	return out
}

// roll builds an uncompressed tar.
func roll(t testing.TB, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, i := range items {
		h := i.Header
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			if strings.HasSuffix(h.Name, "/") {
				h.Typeflag = tar.TypeDir
			}
		}
		if h.Mode == 0 && h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		h.Size = int64(len(i.content))
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
		must.Get(io.WriteString(tw, i.content))(t)
	}
	must.Do(t, tw.Close())
	return buf.Bytes()
}

// untar unpacks data into a new directory and returns its path.
func untar(t testing.TB, data []byte, o archive.Options) (string, []archive.File, error) {
	t.Helper()
	dir := t.TempDir()
	list, err := untarInto(t, dir, bytes.NewReader(data), archive.Sniff(data), o)
	return dir, list, err
}

func untarInto(t testing.TB, dir string, r io.Reader, f archive.Format, o archive.Options) ([]archive.File, error) {
	t.Helper()
	root := openRoot(t, dir)
	o.Xz = xz.NewReader
	return archive.UnpackTar(t.Context(), r, f, root, o)
}

func TestUnpackTar(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-name/", 30) + "file.tf"
	unicode := "módulo/größe.tf"
	data := roll(t,
		special(tar.TypeXGlobalHeader, "pax_global_header", ""),
		regular("./", ""),
		item{Header: tar.Header{Name: "./bin", Mode: 0o755}, content: "program"},
		regular("docs/", ""),
		regular("./docs/", ""),
		regular("/", ""),
		regular("docs/a/b.md", strings.Repeat("text ", 100_000)),
		regular("docs/", ""),
		regular("empty", ""),
		item{Header: tar.Header{Name: "odd", Mode: 0o7777}, content: "x"},
		item{Header: tar.Header{Name: long, Format: tar.FormatGNU}, content: "GNU"},
		item{Header: tar.Header{Name: unicode, Format: tar.FormatPAX}, content: "PAX"},
	)
	dir, list, err := untar(t, archivetest.Gzip(t, data), archive.Options{})
	must.Do(t, err)
	want := map[string]string{
		"bin": "program", "docs/a/b.md": strings.Repeat("text ", 100_000), "empty": "", "odd": "x",
		long: "GNU", unicode: "PAX",
	}
	got := tree(t, dir)
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s has %d bytes, want %d", name, len(got[name]), len(content))
		}
	}
	var files []string
	for _, f := range list {
		if f.Sum != sha256.Sum256([]byte(want[f.Name])) {
			t.Errorf("%s: wrong sum", f.Name)
		}
		files = append(files, f.Name)
	}
	if diff := cmp.Diff([]string{"bin", "docs/", "docs/a/b.md", "empty", "odd", long, unicode}, files); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if runtime.GOOS == "windows" {
		return // modes are no property of files there
	}
	for name, want := range map[string]fs.FileMode{"odd": 0o755, "bin": 0o755, "empty": 0o644, "docs": 0o755 | fs.ModeDir} {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || fi.Mode()&^want != 0 {
			t.Errorf("%s: %v, %v, want %v less the umask", name, fi.Mode(), err, want)
		}
	}
}

// TestUnpackTarFormats: archives of common programs are unpacked.
func TestUnpackTarFormats(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]archive.Format{
		"plain.tar.gz": archive.FormatTarGzip, "plain.tar.bz2": archive.FormatTarBzip2,
		"crc64.tar.xz": archive.FormatTarXz, "crc32.tar.xz": archive.FormatTarXz, "sha256.tar.xz": archive.FormatTarXz,
		"nocheck.tar.xz": archive.FormatTarXz, "blocks.tar.xz": archive.FormatTarXz, "streams.tar.xz": archive.FormatTarXz,
		"padded.tar.xz": archive.FormatTarXz,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := fixture(t, name)
			if got := archive.Sniff(data); got != format {
				t.Errorf("Sniff: %q, want %q", got, format)
			}
			dir := t.TempDir()
			// Read single bytes.
			must.Get(untarInto(t, dir, iotest.OneByteReader(bytes.NewReader(data)), format, archive.Options{}))(t)
			want := map[string]string{"main.tf": "variable \"a\" {}\n", "sub/": "", "sub/x.tf": "x\n"}
			if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
		})
	}
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata", "tar", name)))(t)
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]archive.Format{
		"PK\x03\x04": archive.FormatZip, "PK\x05\x06": archive.FormatZip, "PK\x01\x02": "",
		"\x1f\x8b": archive.FormatTarGzip, "\x1f": "",
		"\xfd7zXZ\x00": archive.FormatTarXz, "\xfd7zX": "",
		"BZh1": archive.FormatTarBzip2, "BZh9": archive.FormatTarBzip2, "BZh0": "", "BZh": "",
		"": "", "<html>": "", "\x28\xb5\x2f\xfd": "", // zstd
	} {
		if got := archive.Sniff([]byte(head)); got != want {
			t.Errorf("Sniff(%q) = %q, want %q", head, got, want)
		}
	}
}

func TestUnpackTarRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string][]item{
		"symbolic link":        {special(tar.TypeSymlink, "link", "target")},
		"link out":             {special(tar.TypeSymlink, "link", "../../etc/passwd")},
		"absolute link":        {special(tar.TypeSymlink, "link", "/etc/passwd")},
		"entry through a link": {special(tar.TypeSymlink, "link", "/etc"), regular("link/passwd", "x")},
		"hard link":            {regular("a", "x"), special(tar.TypeLink, "b", "a")},
		"hard link out":        {special(tar.TypeLink, "b", "../../etc/passwd")},
		"device":               {special(tar.TypeBlock, "dev", "")},
		"character device":     {special(tar.TypeChar, "dev", "")},
		"pipe":                 {special(tar.TypeFifo, "pipe", "")},
		"contiguous file":      {special(tar.TypeCont, "cont", "")},
		"unknown type":         {{Header: tar.Header{Typeflag: 'Q', Name: "q"}}},
		"twice":                regulars("a", "b", "a"),
		"twice, with a dot":    regulars("a", "./a"),
		"directory and file":   {regular("d/", ""), regular("d/", ""), regular("d", "x")},
		"directory, then link": {regular("d/", ""), special(tar.TypeSymlink, "d/", "x")},
		"file above a file":    regulars("a", "a/b"),
		"case":                 regulars("README.md", "readme.md"),
		"nothing in it":        nil,
		"global path":          {{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"path": "evil.tf"}}}, regular("good.tf", "x")},
		"only a global header": {special(tar.TypeXGlobalHeader, "pax_global_header", "")},
	}
	for _, name := range []string{
		"../a", "/etc/passwd", "//a", `..\a`, "C:a", "././a", "a\nb", "..", "d/../", "./..", "./../a", "\xff", strings.Repeat("x/", 60) + "..",
	} {
		i := regular(name, "")
		if name[0] >= 0x80 {
			i.Format = tar.FormatGNU
		}
		tests["name "+name] = []item{i}
	}
	for name, items := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			dir := filepath.Join(outside, "a", "b")
			must.Do(t, os.MkdirAll(dir, 0o755))
			data := archivetest.Gzip(t, roll(t, items...))
			_, err := untarInto(t, dir, bytes.NewReader(data), archive.FormatTarGzip, archive.Options{})
			if !errors.Is(err, failure.ErrArchive) {
				t.Errorf("error %v, want ErrArchive", err)
			}
			if want := strings.Contains(name, "link") && !strings.HasPrefix(name, "hard"); errors.Is(err, archive.ErrLink) != want {
				t.Errorf("%v: ErrLink is %v, want %v", err, !want, want)
			}
			if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control character in %q", err)
			}
			for path := range tree(t, outside) {
				if path != "a/" && !strings.HasPrefix(path, "a/b/") {
					t.Errorf("%s was written outside", path)
				}
			}
		})
	}
}

// TestOmit omits links, and the files of a repository.
func TestOmit(t *testing.T) {
	t.Parallel()
	want := map[string]string{"main.tf": "x", "link/": "", "link/inner": "y"}
	var omitted []string
	o := archive.Options{Limits: archive.Limits{Unpacked: 2}, Omit: func(name string, link bool) bool {
		omit := link || strings.HasPrefix(name, ".git/")
		if omit {
			omitted = append(omitted, name)
		}
		return omit
	}}

	dir, list, err := untar(t, archivetest.Gzip(t, roll(t,
		regular("main.tf", "x"), special(tar.TypeSymlink, "out", "/etc/passwd"), regular(".git/config", "x"), regular("link/inner", "y"),
	)), o)
	must.Do(t, err)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if want := []string{"out", ".git/config"}; len(list) != 2 || !slices.Equal(omitted, want) {
		t.Errorf("%d entries, omitted %q; want 2, %q", len(list), omitted, want)
	}

	omitted = nil
	data := pack(t, member{Name: "main.tf", Content: "x"},
		member{Name: "out", Content: "/etc/passwd", Mode: 0o777 | fs.ModeSymlink},
		member{Name: ".git/config", Content: "x"}, member{Name: "link/inner", Content: "y"})
	if _, err := open(data, archive.Options{}); !errors.Is(err, archive.ErrLink) {
		t.Errorf("zip: %v, want ErrLink", err)
	}
	z := must.Get(open(data, o))(t)
	dir = t.TempDir()
	root := openRoot(t, dir)
	must.Get(z.Unpack(t.Context(), root))(t)
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" || !slices.Equal(omitted, []string{"out", ".git/config"}) {
		t.Errorf("zip: omitted %q, tree (-want +got):\n%s", omitted, diff)
	}

	// The name of an omitted link is taken. A hard link is never omitted, as its content would
	// be missing.
	for _, items := range [][]item{
		{special(tar.TypeSymlink, "a", "b"), regular("a/b", "")},
		{special(tar.TypeSymlink, "../a", "b")},
		{regular("a", ""), special(tar.TypeLink, "b", "a")},
	} {
		if _, _, err := untar(t, archivetest.Gzip(t, roll(t, items...)), o); !errors.Is(err, failure.ErrArchive) {
			t.Errorf("error %v, want %v", err, failure.ErrArchive)
		}
	}
}

// TestTarDirectorySizes: the size of a directory is ignored and does not change the limit.
func TestTarDirectorySizes(t *testing.T) {
	t.Parallel()
	base256 := func(n int64) string {
		return string(binary.BigEndian.AppendUint64([]byte{0xff, 0xff, 0xff, 0xff}, uint64(n)))
	}
	build := func(size string, content int) []byte {
		dir, file := item{Header: tar.Header{Name: "d/"}}, regular("f", strings.Repeat("x", content))
		if pax, ok := strings.CutPrefix(size, "pax "); ok {
			dir.PAXRecords = map[string]string{"SIZE": pax} // the writer has its own for "size"
			return archivetest.Gzip(t, bytes.Replace(roll(t, dir, file), []byte("SIZE="), []byte("size="), 1))
		}
		return archivetest.Gzip(t, resize(roll(t, dir, file), size))
	}
	limits := archive.Limits{Unpacked: 1000}
	for size, ok := range map[string]bool{
		"00000000000": true, "00000010000": true, "pax 4096": true,
		base256(-4000): false, base256(math.MinInt64): false, "pax -4000": false,
	} {
		t.Run(fmt.Sprintf("%q", size), func(t *testing.T) {
			t.Parallel()
			_, list, err := untar(t, build(size, 1000), archive.Options{Limits: limits})
			if !ok && !errors.Is(err, failure.ErrArchive) {
				t.Errorf("error %v, want ErrArchive", err)
			}
			if ok && (err != nil || list[0].Size != 0) {
				t.Errorf("%v, %v", list, err)
			}
			dir, _, err := untar(t, build(size, 5000), archive.Options{Limits: limits})
			if err == nil || tree(t, dir)["f"] != "" {
				t.Errorf("5000 bytes: %v, written: %v", err, names(tree(t, dir)))
			}
		})
	}
}

// resize sets the size in the first header of a tar.
func resize(data []byte, size string) []byte {
	copy(data[124:136], size+"\x00")
	sum := 8 * int(' ')
	for i, b := range data[:512] {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	copy(data[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return data
}

// TestTarBombs: archives that expand to much more than their size are refused at little cost.
func TestTarBombs(t *testing.T) {
	t.Parallel()
	limits := archive.Limits{Unpacked: 1 << 20, Entries: 1000}
	record := strings.Repeat("x", 60_000)
	var headers []item // global headers
	for range 400 {
		headers = append(headers, item{Header: tar.Header{
			Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": record},
		}})
	}
	for name, data := range map[string][]byte{
		"one gigabyte in 850 bytes": fixture(t, "bomb.bz2"),
		"content":                   archivetest.Gzip(t, roll(t, regular("zeros", string(make([]byte, 20<<20))))),
		"headers":                   archivetest.Gzip(t, roll(t, headers...)),
		"padding":                   archivetest.Gzip(t, append(roll(t, regular("a", "")), make([]byte, 20<<20)...)),
		"dictionary":                fixture(t, "dictionary.xz"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _, err := untar(t, data, archive.Options{Limits: limits})
			if !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("error %v, want ErrTooLarge", err)
			}
			for path, content := range tree(t, dir) {
				if len(content) > 1<<20 {
					t.Errorf("%s has %d bytes", path, len(content))
				}
			}
		})
	}
}

func TestDamagedTar(t *testing.T) {
	t.Parallel()
	plain := roll(t, regular("a", strings.Repeat("first ", 5000)), regular("b", "second"))
	good := archivetest.Gzip(t, plain)
	flip := func(data []byte, at int) []byte {
		return patch(data, func(b []byte) { b[at] ^= 0x10 })
	}
	tests := map[string][]byte{
		"no tar inside":       archivetest.Gzip(t, []byte(strings.Repeat("this is text ", 100))),
		"nothing inside":      archivetest.Gzip(t, nil),
		"only a header":       good[:10],
		"cut":                 good[:len(good)/2],
		"cut at the end":      good[:len(good)-1],
		"wrong checksum":      flip(good, len(good)-6),
		"wrong length":        flip(good, len(good)-2),
		"other data behind":   append(bytes.Clone(good), "trailing"...),
		"a second member":     append(bytes.Clone(good), good...),
		"header of the tar":   archivetest.Gzip(t, flip(plain, 3)),
		"cut within a header": archivetest.Gzip(t, plain[:100]),
		"cut within content":  archivetest.Gzip(t, plain[:2000]),
		"text behind the end": archivetest.Gzip(t, append(bytes.Clone(plain), strings.Repeat("#", 512)...)),
	}
	for _, name := range []string{"crc64.tar.xz", "crc32.tar.xz", "sha256.tar.xz", "blocks.tar.xz", "plain.tar.bz2", "streams.tar.xz"} {
		data := fixture(t, name)
		tests[name+" cut"] = data[:len(data)-1]
		tests[name+" half"] = data[:len(data)/2]
		tests[name+" flipped"] = flip(data, len(data)*2/3)
		tests[name+" end flipped"] = flip(data, len(data)-9)
		tests[name+" and data behind it"] = append(bytes.Clone(data), "trailing"...)
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := untar(t, data, archive.Options{}); !errors.Is(err, failure.ErrArchive) {
				t.Errorf("error %v, want ErrArchive", err)
			}
		})
	}
}

// TestTarReaderError: the error of a broken connection is returned and does not wrap ErrArchive.
func TestTarReaderError(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, name := range []string{"plain.tar.gz", "plain.tar.bz2", "crc64.tar.xz"} {
		data := fixture(t, name)
		for _, cut := range []int{0, 1, 20, len(data) / 2, len(data) - 1, len(data)} {
			for _, cause := range []error{broken, io.ErrUnexpectedEOF} {
				r := io.MultiReader(bytes.NewReader(data[:cut]), iotest.ErrReader(cause))
				_, err := untarInto(t, t.TempDir(), r, archive.Sniff(data), archive.Options{})
				if !errors.Is(err, cause) || errors.Is(err, failure.ErrArchive) {
					t.Errorf("%s cut at %d: %v, want the reader's own error", name, cut, err)
				}
			}
		}
	}
}

func TestUnpackTarOtherFormat(t *testing.T) {
	t.Parallel()
	data := roll(t, regulars("a", "b/c")...)
	if list, err := untarInto(t, t.TempDir(), bytes.NewReader(data), archive.FormatTar, archive.Options{}); err != nil || len(list) != 2 {
		t.Errorf("not compressed: %d entries, %v", len(list), err)
	}
	// Options.Xz is nil.
	for _, f := range []archive.Format{"", archive.FormatZip, "tar.zst", archive.FormatTarXz} {
		if _, err := archive.UnpackTar(t.Context(), bytes.NewReader(fixture(t, "plain.tar.gz")), f, openRoot(t, t.TempDir()), archive.Options{}); err == nil {
			t.Errorf("%q: no error", f)
		}
	}
}

func FuzzUnpackTar(f *testing.F) {
	for _, name := range []string{"plain.tar.gz", "plain.tar.bz2", "crc64.tar.xz", "blocks.tar.xz", "streams.tar.xz", "dictionary.xz"} {
		f.Add(fixture(f, name))
	}
	f.Add(archivetest.Gzip(f, roll(f, regular("a/b", "x"), special(tar.TypeSymlink, "l", ".."))))
	limits := archive.Limits{Unpacked: 1 << 20, Entries: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		format := archive.Sniff(data)
		if format == "" || format == archive.FormatZip {
			return
		}
		dir, list, err := untar(t, data, archive.Options{Limits: limits})
		if err != nil {
			known(t, err)
			return
		}
		got := tree(t, dir)
		total := 0
		for _, f := range list {
			content, ok := got[f.Name]
			if !ok || !f.IsDir() && sha256.Sum256([]byte(content)) != f.Sum {
				t.Errorf("%q was not written as listed", f.Name)
			}
			total += len(content)
		}
		if total > 1<<20 || len(got) > 100 {
			t.Errorf("%d bytes in %d entries", total, len(got))
		}
	})
}

// FuzzTarHeaders reads uncompressed tars, since a fuzzer cannot produce valid compressed data.
func FuzzTarHeaders(f *testing.F) {
	f.Add(roll(f, regulars("a", "b/c")...))
	f.Add(roll(f, item{Header: tar.Header{Name: "x", Format: tar.FormatPAX, PAXRecords: map[string]string{"VENDOR.key": "value"}}}))
	f.Add(roll(f, special(tar.TypeLink, "l", "a"), special(tar.TypeXGlobalHeader, "g", "")))
	limits := archive.Limits{Unpacked: 1 << 20, Entries: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		dir, list, err := untar(t, archivetest.Gzip(t, data), archive.Options{Limits: limits})
		if err != nil {
			known(t, err)
			return
		}
		got := tree(t, dir)
		for _, f := range list {
			if _, ok := got[f.Name]; !ok || !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) {
				t.Errorf("%q was not written under its name", f.Name)
			}
		}
	})
}
