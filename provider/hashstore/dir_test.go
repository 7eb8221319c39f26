package hashstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	zh1    = checksum.MustParseHash("zh:5f9c7aa76b7c34d722fc9123208e26b22d60440cb47150dd04733b9b94f4541a")
	zh2    = checksum.MustParseHash("zh:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	h1a    = checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	h1b    = checksum.MustParseHash("h1:lDpwLQbzRZmu4fjajvyiMuvYVAxZEnLhOmvMNbnPfLU=")
	future = checksum.MustParseHash("h9:of-the-future")
)

// good is the content of the file for zh1 with h1a and h1b.
const good = "zh:5f9c7aa76b7c34d722fc9123208e26b22d60440cb47150dd04733b9b94f4541a\n" +
	"h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n" +
	"h1:lDpwLQbzRZmu4fjajvyiMuvYVAxZEnLhOmvMNbnPfLU=\n" +
	"sha256 CHECKSUM\n"

// fileOf returns the path of the file for an archive.
func fileOf(d *hashstore.Dir, zh checksum.Hash) string {
	return filepath.Join(d.Path, zh.Value())
}

func store(t testing.TB) *hashstore.Dir {
	return &hashstore.Dir{Path: filepath.Join(t.TempDir(), "not", "there", "yet")}
}

func put(t testing.TB, d *hashstore.Dir, zh checksum.Hash, hashes ...checksum.Hash) {
	t.Helper()
	must.Do(t, d.StoreHashes(t.Context(), zh, hashes))
}

func wantHashes(t testing.TB, d *hashstore.Dir, zh checksum.Hash, want ...checksum.Hash) {
	t.Helper()
	got, err := d.Hashes(t.Context(), zh)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s has %v, %v\nwant %v", zh, got, err, want)
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	d := store(t)
	wantHashes(t, d, zh1)
	list := []checksum.Hash{h1b, h1a, h1b, future}
	put(t, d, zh1, list...)
	if list[0] != h1b {
		t.Error("the argument was changed")
	}
	wantHashes(t, d, zh1, h1a, h1b, future)
	wantHashes(t, d, zh2)
	put(t, d, zh2, h1b)
	put(t, d, zh1, h1a)
	again := &hashstore.Dir{Path: d.Path}
	wantHashes(t, again, zh1, h1a)
	wantHashes(t, again, zh2, h1b)
	names, err := os.ReadDir(d.Path)
	if err != nil || len(names) != 2 {
		t.Errorf("the directory holds %v, %v", names, err)
	}
}

// TestRefused: invalid hashes are refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := store(t)
	for _, zh := range []checksum.Hash{{}, h1a, future} {
		if _, err := d.Hashes(t.Context(), zh); err == nil {
			t.Errorf("read %q", zh)
		}
		if err := d.StoreHashes(t.Context(), zh, []checksum.Hash{h1a}); err == nil {
			t.Errorf("stored %q", zh)
		}
	}
	many := func(n int) (list []checksum.Hash) {
		for i := range n {
			list = append(list, checksum.MustParseHash(fmt.Sprintf("h9:%s%03d", strings.Repeat("x", 500), i)))
		}
		return list
	}
	for name, list := range map[string][]checksum.Hash{"none": nil, "17": many(17), "a zh": {h1a, zh2}, "zero": {h1a, {}}} {
		if err := d.StoreHashes(t.Context(), zh1, list); err == nil {
			t.Errorf("stored %s", name)
		}
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("a directory was made: %v", err)
	}
	put(t, d, zh1, many(16)...)
	wantHashes(t, d, zh1, many(16)...)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Hashes(ctx, zh1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := d.StoreHashes(ctx, zh2, []checksum.Hash{h1a}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var zero hashstore.Dir
	if _, err := zero.Hashes(t.Context(), zh1); err == nil {
		t.Error("a Dir without Path was read")
	}
	if _, err := zero.Prune(t.Context(), time.Now()); err == nil {
		t.Error("a Dir without Path was pruned")
	}
}

// damage is what may happen to a file.
var damage = map[string]func(text string) string{
	"empty":              func(string) string { return "" },
	"cut":                func(s string) string { return s[:len(s)-1] },
	"cut in the middle":  func(s string) string { return s[:100] },
	"more":               func(s string) string { return s + "\n" },
	"zeros":              func(s string) string { return strings.Repeat("\x00", len(s)) },
	"another hash":       func(s string) string { return strings.Replace(s, "47DEQ", "47DEX", 1) },
	"another archive":    func(s string) string { return strings.Replace(s, "zh:5f9c", "zh:5f9d", 1) },
	"another checksum":   func(s string) string { return s[:len(s)-2] + string('0'+('1'-s[len(s)-2])&1) + "\n" },
	"no hashes":          func(s string) string { return s[:strings.Index(s, "\n")+1] + s[strings.LastIndex(s, "sha256"):] },
	"not a hash":         func(s string) string { return strings.Replace(s, "h1:47DEQ", "h1 47DEQ", 1) },
	"CRLF":               func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"16 KiB + 1":         func(s string) string { return s + strings.Repeat("x", 16<<10+1-len(s)) },
	"a thousand lines":   func(s string) string { return strings.Repeat("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", 300) },
	"upper case":         func(s string) string { return strings.Replace(s, "zh:5f9c7aa", "zh:5F9C7AA", 1) },
	"control characters": func(s string) string { return "\x1b[31m" + s },
}

// TestDamaged: a changed file is an error, and StoreHashes replaces it.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := store(t)
			put(t, d, zh1, h1a, h1b)
			text := must.Get(os.ReadFile(fileOf(d, zh1)))(t)
			if want, _, _ := strings.Cut(good, "CHECKSUM"); !strings.HasPrefix(string(text), want) {
				t.Errorf("the file is\n%s\nwant\n%s", text, good)
			}
			overwrite(t, fileOf(d, zh1), change(string(text)))
			got, err := d.Hashes(t.Context(), zh1)
			if got != nil || !strings.Contains(fmt.Sprint(err), "damaged entry") || strings.ContainsAny(err.Error(), "\x1b\r\n") {
				t.Errorf("%v, %q", got, err)
			}
			put(t, d, zh1, h1a, h1b)
			wantHashes(t, d, zh1, h1a, h1b)
		})
	}
}

func overwrite(t testing.TB, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestMoved: a file with the name of another archive is an error.
func TestMoved(t *testing.T) {
	t.Parallel()
	d := store(t)
	put(t, d, zh1, h1a)
	put(t, d, zh2, h1b)
	must.Do(t, os.Rename(fileOf(d, zh1), fileOf(d, zh2)))
	if got, err := d.Hashes(t.Context(), zh2); got != nil || !strings.Contains(fmt.Sprint(err), "damaged entry") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoFile: a directory in the place of a file is an error and stays. A pipe does not block. A link is replaced.
func TestNoFile(t *testing.T) {
	t.Parallel()
	d := store(t)
	must.Do(t, os.MkdirAll(fileOf(d, zh1), 0o755))
	if got, err := d.Hashes(t.Context(), zh1); got != nil || !strings.Contains(fmt.Sprint(err), "damaged entry") {
		t.Errorf("%v, %v", got, err)
	}
	if err := d.StoreHashes(t.Context(), zh1, []checksum.Hash{h1a}); err == nil {
		t.Error("stored")
	}
	file := filepath.Join(t.TempDir(), "file")
	overwrite(t, file, "no directory")
	if err := (&hashstore.Dir{Path: file}).StoreHashes(t.Context(), zh1, []checksum.Hash{h1a}); err == nil {
		t.Error("stored in a file")
	}
	target := t.TempDir()
	must.Do(t, os.Remove(fileOf(d, zh1)))
	if disktest.Mkfifo(fileOf(d, zh1)) == nil {
		if got, err := d.Hashes(t.Context(), zh1); got != nil || !strings.Contains(fmt.Sprint(err), "damaged entry") {
			t.Errorf("a pipe: %v, %v", got, err)
		}
		must.Do(t, os.Remove(fileOf(d, zh1)))
	}
	if err := disktest.Symlink(target, fileOf(d, zh1)); err != nil {
		t.Skipf("skipped: links cannot be made here: %v", err)
	}
	if got, err := d.Hashes(t.Context(), zh1); got != nil || !strings.Contains(fmt.Sprint(err), "damaged entry") {
		t.Errorf("%v, %v", got, err)
	}
	put(t, d, zh1, h1a)
	wantHashes(t, d, zh1, h1a)
}

// TestReadOnly: a read-only store can be read.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	d := store(t)
	put(t, d, zh1, h1a)
	old := time.Now().Add(-240 * time.Hour)
	must.Do(t, os.Chtimes(fileOf(d, zh1), old, old))
	must.Do(t, os.Chmod(d.Path, 0o555))
	defer os.Chmod(d.Path, 0o755)
	wantHashes(t, d, zh1, h1a)
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		if err := d.StoreHashes(t.Context(), zh2, []checksum.Hash{h1b}); err == nil {
			t.Error("stored in a read-only directory")
		}
	}
}

// TestConcurrent: concurrent readers, writers and Prune do not disturb each other.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	var wg sync.WaitGroup
	for i := range 8 {
		d := &hashstore.Dir{Path: path}
		wg.Go(func() {
			for j := range 10 {
				zh := []checksum.Hash{zh1, zh2}[(i+j)%2]
				// Where a file cannot be replaced while it is read, that is an error of
				// the writer and nothing else.
				if err := d.StoreHashes(t.Context(), zh, []checksum.Hash{h1a, h1b}); err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
				got, err := d.Hashes(t.Context(), zh)
				if err != nil || len(got) != 0 && !slices.Equal(got, []checksum.Hash{h1a, h1b}) {
					t.Errorf("%v, %v", got, err)
				}
				if i == 0 {
					if _, err := d.Prune(t.Context(), time.Now().Add(time.Hour)); err != nil && runtime.GOOS != "windows" {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestPrune: recently used files and other files stay.
func TestPrune(t *testing.T) {
	t.Parallel()
	d := store(t)
	if n, err := d.Prune(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("an empty store: %d, %v", n, err)
	}
	put(t, d, zh1, h1a)
	put(t, d, zh2, h1b)
	files := map[string]bool{ // and whether it is to go
		fileOf(d, zh1): true,
		fileOf(d, zh2): false,
		filepath.Join(d.Path, ".tofureg-123.part"): true,
		filepath.Join(d.Path, "README"):            false,
		filepath.Join(d.Path, zh1.Value()[:62]):    false,
		filepath.Join(d.Path, ".git", zh1.Value()): false,
	}
	if upper := filepath.Join(d.Path, strings.ToUpper(zh1.Value())); isMissing(upper) { // not where case does not count
		files[upper] = false
	}
	old := time.Now().Add(-100 * 24 * time.Hour)
	for path := range files {
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if _, err := os.Stat(path); err != nil {
			overwrite(t, path, "something")
		}
		must.Do(t, os.Chtimes(path, old, old))
	}
	part := must.Get(fsx.CreatePart(filepath.Join(d.Path, "in work"), 0o600))(t)
	defer part.Discard()
	files[part.Name()] = false

	if n, err := d.Prune(t.Context(), old.Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("nothing is that old, but %d, %v", n, err)
	}
	wantHashes(t, d, zh2, h1b) // which uses it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := d.Prune(ctx, time.Now()); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
	if n, err := d.Prune(t.Context(), time.Now().Add(-24*time.Hour)); n != 1 || err != nil {
		t.Errorf("%d removed, %v, want 1", n, err)
	}
	for path, gone := range files {
		if isMissing(path) != gone {
			t.Errorf("%s is missing: %v, want %v", path, !gone, gone)
		}
	}
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// FuzzFile: a file is either an error or what StoreHashes would write.
func FuzzFile(f *testing.F) {
	text, _, _ := strings.Cut(good, "CHECKSUM")
	f.Add(good)
	for _, change := range damage {
		f.Add(change(text + strings.Repeat("0", 64) + "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := &hashstore.Dir{Path: t.TempDir()}
		must.Do(t, os.MkdirAll(filepath.Dir(fileOf(d, zh1)), 0o755))
		overwrite(t, fileOf(d, zh1), text)
		got, err := d.Hashes(t.Context(), zh1)
		if (err == nil) == (got == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if err != nil {
			if !strings.Contains(fmt.Sprint(err), "damaged entry") {
				t.Fatal(err)
			}
			return
		}
		other := &hashstore.Dir{Path: t.TempDir()}
		put(t, other, zh1, got...)
		if again, err := os.ReadFile(fileOf(other, zh1)); err != nil || string(again) != text {
			t.Fatalf("read %q, wrote %q, %v", text, again, err)
		}
	})
}
