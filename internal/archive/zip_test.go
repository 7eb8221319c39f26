package archive_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	data := pack(t,
		member{Name: "bin", Content: "program", Mode: 0o755},
		member{Name: "docs/"},
		member{Name: "docs/a/b.md", Content: strings.Repeat("text ", 100_000)},
		member{Name: "docs/a/"}, // after what is in it
		member{Name: "plain", Content: "stored", Stored: true},
		member{Name: "empty"},
		member{Name: "odd", Content: "x", Mode: 0o777 | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky},
		member{Name: "readonly", Content: "r", Mode: 0o400},
		member{Name: "worldwritable", Mode: 0o666},
		member{Name: "groupexec", Mode: 0o010},
		member{Name: "dir/", Mode: 0o700 | fs.ModeDir},
	)
	dir, list, err := unpack(t, data, archive.Limits{})
	must.Do(t, err)
	want := map[string]string{
		"bin": "program", "docs/": "", "docs/a/": "", "docs/a/b.md": strings.Repeat("text ", 100_000),
		"plain": "stored", "empty": "", "odd": "x", "readonly": "r", "worldwritable": "", "groupexec": "", "dir/": "",
	}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	for _, f := range list {
		if got, want := f.Sum, sha256.Sum256([]byte(want[f.Name])); got != want {
			t.Errorf("%s: sum %x, want %x", f.Name, got, want)
		}
	}
	z := must.Get(open(data, archive.Options{}))(t)
	hashed := must.Get(z.Hash(t.Context()))(t)
	if diff := cmp.Diff(list, hashed); diff != "" {
		t.Errorf("Unpack and Hash disagree (-Unpack +Hash):\n%s", diff)
	}
	if runtime.GOOS == "windows" {
		return // modes are no property of files there
	}
	for name, want := range map[string]fs.FileMode{
		"odd": 0o755, "readonly": 0o644, "worldwritable": 0o644, "groupexec": 0o755, "dir": 0o755 | fs.ModeDir,
	} {
		fi := must.Get(os.Lstat(filepath.Join(dir, name)))(t)
		if got := fi.Mode(); got&^want != 0 || got&0o700 != want&0o700 {
			t.Errorf("%s has mode %v, want %v less the umask", name, got, want)
		}
	}
}

// TestUnpackPlanted: existing files and links are neither changed nor followed.
func TestUnpackPlanted(t *testing.T) {
	t.Parallel()
	data := pack(t, files("bin", "dir/file")...)
	rolled := archivetest.Gzip(t, roll(t, regulars("bin", "dir/file")...))
	for name, plant := range map[string]func(dir, outside string) error{
		"file":             func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "bin"), nil, 0o644) },
		"directory":        func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, "bin"), 0o755) },
		"parent":           func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, "dir"), 0o755) },
		"link to file":     func(dir, outside string) error { return os.Symlink(outside+"/victim", filepath.Join(dir, "bin")) },
		"dangling link":    func(dir, outside string) error { return os.Symlink(outside+"/new", filepath.Join(dir, "bin")) },
		"link to a parent": func(dir, outside string) error { return os.Symlink(outside, filepath.Join(dir, "dir")) },
	} {
		if runtime.GOOS == "windows" && strings.Contains(name, "link") {
			continue // they need a privilege there
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(outside, "victim"), []byte("untouched"), 0o644))
			must.Do(t, plant(dir, outside))
			z := must.Get(open(data, archive.Options{}))(t)
			root := openRoot(t, dir)
			if _, err := z.Unpack(t.Context(), root); !errors.Is(err, failure.ErrArchive) {
				t.Errorf("zip: %v, want ErrArchive", err)
			}
			if _, err := untarInto(t, dir, bytes.NewReader(rolled), archive.FormatTarGzip, archive.Options{}); !errors.Is(err, failure.ErrArchive) {
				t.Errorf("tar: %v, want ErrArchive", err)
			}
			if got := tree(t, outside); len(got) != 1 || got["victim"] != "untouched" {
				t.Errorf("written outside: %v", got)
			}
		})
	}
}

func TestLenient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		members []member
		want    []string // nil if refused
	}{
		"root":                  {files2("./", "a", "./"), []string{"a"}},
		"root as a slash":       {files2("/", "a", "/", "./"), []string{"a"}},
		"below a dot":           {files2("./", "./a", "./d/", "./d/b"), []string{"a", "d/", "d/b"}},
		"directory twice":       {files2("d/", "a", "d/", "d/b", "d/"), []string{"d/", "a", "d/b"}},
		"twice, with a dot":     {files2("./d/", "d/b", "d/"), []string{"d/", "d/b"}},
		"file twice":            {files2("a", "a"), nil},
		"file twice, a dot":     {files2("./a", "a"), nil},
		"file and directory":    {files2("d/", "d/", "./d"), nil},
		"absolute":              {files2("/a"), nil},
		"two slashes":           {files2("//", "a"), nil},
		"two dots":              {files2("././a"), nil},
		"root as a file":        {files2(".", "a"), nil},
		"out":                   {files2("./../a"), nil},
		"root that is a link":   {[]member{{Name: "a"}, {Name: "./", Mode: 0o777 | fs.ModeSymlink}}, nil},
		"again, that is a link": {[]member{{Name: "d/"}, {Name: "d/", Mode: 0o777 | fs.ModeSymlink}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := pack(t, test.members...)
			var got []string
			z, err := open(data, archive.Options{Lenient: true})
			if err == nil {
				var list []archive.File
				list, err = z.Unpack(t.Context(), openRoot(t, t.TempDir()))
				for _, f := range list {
					got = append(got, f.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) || err != nil && !errors.Is(err, failure.ErrArchive) {
				t.Errorf("%v, entries (-want +got):\n%s", err, diff)
			}
			if _, err := open(data, archive.Options{}); !errors.Is(err, failure.ErrArchive) {
				t.Errorf("without Lenient: %v, want ErrArchive", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	link := func(target string) member {
		return member{Name: "link", Content: target, Mode: 0o777 | fs.ModeSymlink}
	}
	for name, members := range map[string][]member{
		"symbolic link":        {link("target")},
		"link out":             {link("../../etc/passwd")},
		"entry through a link": {link("/etc"), {Name: "link/passwd"}},
		"device":               {{Name: "dev", Mode: fs.ModeDevice | 0o666}},
		"character device":     {{Name: "dev", Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}},
		"pipe":                 {{Name: "pipe", Mode: fs.ModeNamedPipe | 0o666}},
		"socket":               {{Name: "sock", Mode: fs.ModeSocket | 0o666}},
		"directory by mode":    {{Name: "dir", Mode: fs.ModeDir | 0o755}},
		"encrypted":            {{Name: "a", Header: func(h *zip.FileHeader) { h.Flags |= 1 }}},
		"twice":                files("a", "b", "a"),
		"directory twice":      files2("d/", "d/"),
		"file and directory":   files2("a", "a/"),
		"file above a file":    files("a", "a/b"),
		"file above, later":    files("a/b", "a"),
		"case":                 files("README.md", "readme.md"),
		"case of a directory":  files("Docs/a", "docs/b"),
		"case outside ASCII":   files("ÄRGER", "ärger"),
		"case, three letters":  files("\u017fort", "Sort"),
		"normal form":          files("caf\u00e9", "cafe\u0301"),
		"normal form, reverse": files("cafe\u0301", "caf\u00e9"),
		"normal form and case": files("CAFE\u0301", "caf\u00e9"),
		"normal form of a dir": files("caf\u00e9/a", "cafe\u0301/b"),
		"normal form, Hangul":  files("\uac01", "\u1100\u1161\u11a8"),
		"normal form, kana":    files("\u304c", "\u304b\u3099"),
		"normal form, Arabic":  files("\u0622", "\u0627\u0653"),
		"normal form, ASCII":   files("a;b", "a\u037eb"),
		"Kelvin and ASCII":     files("\u212aelvin", "kelvin"),
		"one ideograph twice":  files("\uf900", "\u8c48"),
		"one accent twice":     files("\u1f71", "\u03ac"),
		"order of accents":     files("a\u0323\u0301", "a\u0301\u0323"),
		"sharp s":              files("Stra\u00dfe", "STRASSE"),
		"great sharp s":        files("\u1e9e", "ss"),
		"ligature":             files("\ufb01le", "FILE"),
		"iota below":           files("\u1fb4", "\u0391\u0301\u0399"),
		"invisible":            files("a\u200db", "ab"),
		"between two accents":  files("a\u0301\u034f\u0323", "a\u0323\u0301"),
		"variation selector":   files("\u2600\ufe0f", "\u2600"),
		"no end of accents":    files("a" + strings.Repeat("\u0301", 31)),
		"empty archive":        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, pack(t, members...), archive.Limits{}, failure.ErrArchive)
		})
	}
}

// files2 returns empty files, whose names may be directories.
func files2(names ...string) []member {
	var out []member
	for _, name := range names {
		out = append(out, member{Name: name})
	}
	return out
}

// refused checks that data is refused with want and that nothing is written.
func refused(t *testing.T, data []byte, l archive.Limits, want error) {
	t.Helper()
	dir, _, err := unpack(t, data, l)
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	if err != nil && strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
		t.Errorf("control character in %q", err)
	}
	if got := tree(t, dir); len(got) > 0 {
		t.Errorf("written before the refusal: %v", names(got))
	}
}

// TestNeighbours: similar names that are different files on every file system are accepted.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{
		{"a", "b", "aa", "a-", "d/a", "e/a"},
		{"\u00e9", "\u00e8"},                // é, è
		{"e\u0301", "e"},                    // decomposed é, and e
		{"данные", "журнал"},                // as many letters
		{"e\u0301", "e\u0301e"},             // longer
		{"\uac01", "\uac02"},                // two syllables
		{"\u0131", "i"},                     // dotless i
		{"x\u00b2", "x2"},                   // a superscript: compatible only
		{"\u03b1\u03af", "\u03ac\u03b9"},    // the accent on the other letter
		{"caf\u00e9", "cafe\u0300", "cafe"}, // another accent, decomposed, and none
		{"a" + strings.Repeat("\u0301", 30)},
		{"console", "com", "com10", "com0x", "lpt"}, // no devices
		{"a.b.c", ".hidden", "..a", "a..b", " leading", "terraform-provider-a_v1.0.0_x5", "a b"},
		{strings.Repeat("n", 255) + "/" + strings.Repeat("n", 255)},
		{"\u0e01\u0e35", "\u0e21\u0e35"}, // Thai marks take no part in normalisation here
	} {
		if _, _, err := unpack(t, pack(t, files(list...)...), archive.Limits{}); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
	// Real packages have these; Windows refuses to create them.
	if _, err := open(pack(t, files("policies/*.json", `<what?>|"`)...), archive.Options{}); err != nil {
		t.Error(err)
	}
}

// TestCollisions: every letter collides with its normal form and with its full case folding.
func TestCollisions(t *testing.T) {
	t.Parallel()
	fold, tried := cases.Fold(), 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		name := string(r)
		if unicode.IsControl(r) || !utf8.ValidRune(r) || 0xac10 < r && r < 0xd7a0 { // syllables are all alike
			continue
		}
		for _, other := range []string{norm.NFD.String(name), fold.String(name)} {
			if other == name {
				continue
			}
			tried++
			data := pack(t, member{Name: name, Stored: true}, member{Name: other, Stored: true})
			if _, err := open(data, archive.Options{}); !errors.Is(err, failure.ErrArchive) {
				t.Errorf("%+q and %+q: %v, want ErrArchive", name, other, err)
			}
		}
	}
	if tried < 3000 {
		t.Errorf("only %d pairs", tried)
	}
}

// TestBadNames: every bad name is refused as the name of a zip entry, and nothing is written.
func TestBadNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "/", ".", "..", "../a", "a/..", "a/../b", "./a", "a/./b", "a//b", "//a", "/a", "a//", "d/../", "a/../../b",
		`a\b`, `..\a`, `C:\a`, "C:a", "C:/a", "a:b", "a::$DATA", `\\server\share`, "//server/share",
		"CON", "con", "nul.txt", "a/NUL", "aux.tar.gz", "com1", "LPT9.x", "com¹", "CONIN$", "conout$", "prn ", "nul .txt",
		"a.", "a ", "a./b", "a /b", "...", "a/ ", strings.Repeat("n", 256), "a/" + strings.Repeat("é", 128),
		"a\x00b", "a\nb", "a\x1bb", "a\x7f", "a\u0085", "\xff", "a\xc3",
	} {
		refused(t, pack(t, member{Name: "first", Content: "x"}, member{Name: name}), archive.Limits{}, failure.ErrArchive)
	}
}

// TestLimits: a zip and a tar with the same content are accepted at each limit, and refused beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	three := files("a", "b", "c")
	for _, tt := range []struct {
		name     string
		content  []member
		fits     archive.Limits
		tooSmall archive.Limits
	}{
		{"entries", three, archive.Limits{Entries: 3}, archive.Limits{Entries: 2}},
		{"implied directories", files("a/b/c/d", "a/b/e"), archive.Limits{Entries: 5}, archive.Limits{Entries: 4}}, // 2 files, 3 directories
		{"name", files(strings.Repeat("n", 200)), archive.Limits{NameLen: 200}, archive.Limits{NameLen: 199}},
		{"content", []member{{Name: "a", Content: strings.Repeat("x", 600)}, {Name: "b", Content: strings.Repeat("y", 400)}},
			archive.Limits{Unpacked: 1000}, archive.Limits{Unpacked: 999}},
		{"archive", three, archive.Limits{}, archive.Limits{}}, // set below
		{"none", three, archive.Limits{Package: -1, Unpacked: -1, Entries: -1, NameLen: -1}, archive.Limits{Entries: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var items []item
			for _, m := range tt.content {
				items = append(items, regular(m.Name, m.Content))
			}
			zip, tar, fits, tooSmall := pack(t, tt.content...), archivetest.Gzip(t, roll(t, items...)), tt.fits, tt.tooSmall
			limit := func(size int) {
				if tt.name == "archive" {
					fits.Package, tooSmall.Package = int64(size), int64(size)-1
				}
			}
			limit(len(zip))
			if _, _, err := unpack(t, zip, fits); err != nil {
				t.Errorf("zip at the limit: %v", err)
			}
			refused(t, zip, tooSmall, failure.ErrTooLarge)
			limit(len(tar))
			if _, _, err := untar(t, tar, archive.Options{Limits: fits}); err != nil {
				t.Errorf("tar at the limit: %v", err)
			}
			if _, _, err := untar(t, tar, archive.Options{Limits: tooSmall}); !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("tar beyond it: %v, want ErrTooLarge", err)
			}
		})
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	got := archive.Limits{Package: -1, Entries: 7}.Effective()
	want := archive.Limits{Package: 1<<63 - 1, Unpacked: 16 << 30, Entries: 7, NameLen: 1024}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestBomb: a zip with more content than announced costs no more than announced.
func TestBomb(t *testing.T) {
	t.Parallel()
	data := pack(t, member{Name: "zeros", Content: string(make([]byte, 20<<20))})
	if len(data) > 64<<10 {
		t.Fatalf("the bomb has %d bytes", len(data))
	}
	refused(t, data, archive.Limits{Unpacked: 10 << 20}, failure.ErrTooLarge)
	lying := patch(data, func(b []byte) { put32(b[headers(b)[0]+24:], 100) })
	dir, _, err := unpack(t, lying, archive.Limits{Unpacked: 10 << 20})
	if !errors.Is(err, failure.ErrArchive) {
		t.Errorf("error %v, want ErrArchive", err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "zeros")); err == nil && fi.Size() > 1<<20 {
		t.Errorf("%d bytes were written of 100 announced", fi.Size())
	}
}

func TestReaderErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	data := pack(t, member{Name: "a", Content: strings.Repeat("stored", 100), Stored: true})
	r := &failing{ReaderAt: bytes.NewReader(data), err: broken}
	z := must.Get(archive.OpenZip(t.Context(), r, int64(len(data)), archive.Options{}))(t)
	r.fail = true
	if _, err := z.Hash(t.Context()); !errors.Is(err, broken) || errors.Is(err, failure.ErrArchive) {
		t.Errorf("Hash: %v, want the reader's own error", err)
	}
	if _, err := archive.OpenZip(t.Context(), r, int64(len(data)), archive.Options{}); !errors.Is(err, broken) {
		t.Errorf("OpenZip: %v, want the reader's own error", err)
	}
}

type failing struct {
	io.ReaderAt
	err  error
	fail bool
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.fail {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// program returns n bytes that deflate to somewhat less than half, like executables.
func program(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 1<<12)
	for i := range words {
		var word [6]byte
		for j := range word {
			word[j] = byte(rnd.Uint32())
		}
		words[i] = string(word[:2+rnd.IntN(5)])
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[int(rnd.ExpFloat64()*200)%len(words)])
	}
	return b.String()[:n]
}

// BenchmarkHash reads and hashes 40 MB, deflated and stored.
func BenchmarkHash(b *testing.B) {
	content := program(40 << 20)
	for name, stored := range map[string]bool{"deflated": false, "stored": true} {
		data := pack(b, member{Name: "terraform-provider-x", Content: content, Mode: 0o755, Stored: stored})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				z := must.Get(open(data, archive.Options{}))(b)
				must.Get(z.Hash(b.Context()))(b)
			}
		})
	}
}

// BenchmarkUnpack writes to a temporary directory; memory must not grow with size.
func BenchmarkUnpack(b *testing.B) {
	for _, size := range []int{1 << 20, 64 << 20} {
		data := pack(b, member{Name: "terraform-provider-x", Content: program(size), Mode: 0o755})
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				b.StopTimer()
				dir := must.Get(os.MkdirTemp(b.TempDir(), ""))(b)
				root := must.Get(os.OpenRoot(dir))(b)
				b.StartTimer()
				z := must.Get(open(data, archive.Options{}))(b)
				must.Get(z.Unpack(b.Context(), root))(b)
				b.StopTimer()
				root.Close()
				os.RemoveAll(dir)
				b.StartTimer()
			}
		})
	}
}
