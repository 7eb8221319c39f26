package fsx_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "file")
	for _, want := range []string{"old", "", "the new content"} {
		must(t, fsx.WriteFile(target, []byte(want), 0o600))
		wantContent(t, target, want)
	}
	info, err := os.Stat(target)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	wantNames(t, dir, "file")
}

// TestCommitIsTheFirstAppearance: only Commit changes the target, whether it exists or not. A sweep spares the
// part, and after Discard nothing of it is left.
func TestCommitIsTheFirstAppearance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "file")
	before := ""
	for _, content := range []string{"old", "new"} {
		for _, commit := range []bool{false, true} {
			f, err := fsx.CreatePart(target, 0o644)
			must(t, err)
			if !strings.HasPrefix(filepath.Base(f.Name()), fsx.TempPrefix) || filepath.Dir(f.Name()) != dir {
				t.Errorf("the part is %s, want it beside the target, starting with %s", f.Name(), fsx.TempPrefix)
			}
			_, err = f.WriteString(content)
			must(t, err)
			fsx.SweepParts(t.Context(), dir)
			if got, err := os.ReadFile(target); string(got) != before || (err != nil) != (before == "") {
				t.Errorf("before Commit the target holds %q, %v; want %q", got, err, before)
			}
			if commit {
				must(t, f.Commit())
				before = content
			}
			f.Discard()
			f.Discard()
			if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Commit after Discard: %v, want fs.ErrClosed", err)
			}
			if before != "" {
				wantContent(t, target, before)
				wantNames(t, dir, "file")
			} else {
				wantNames(t, dir)
			}
		}
	}
}

func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	must(t, os.Mkdir(sub, 0o755))
	tests := []struct {
		name, target string
		want         error
	}{
		{"directory", sub, fsx.ErrNotAFile},
		{"no such parent", filepath.Join(dir, "none", "file"), fs.ErrNotExist},
		{"empty", "", fs.ErrInvalid},
		{"trailing separator", filepath.Join(dir, "new") + string(filepath.Separator), fs.ErrInvalid},
	}
	for _, test := range tests {
		if err := fsx.WriteFile(test.target, nil, 0o644); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	// The target is checked again when it is replaced.
	target := filepath.Join(dir, "turns")
	p, err := fsx.CreatePart(target, 0o600)
	must(t, err)
	must(t, os.Mkdir(target, 0o700))
	if err := p.Commit(); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("Commit to a new directory: %v, want ErrNotAFile", err)
	}
	wantNames(t, dir, "sub", "turns")
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "file")
	must(t, fsx.WriteFile(target, bytes.Repeat([]byte("0"), 4096), 0o644))
	writers := 8
	if runtime.GOOS == "windows" {
		writers = 3 // more of them may need longer than the two seconds of attempts
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			content := bytes.Repeat([]byte{'a' + byte(i)}, 4096)
			for range 10 {
				if err := fsx.WriteFile(target, content, 0o644); err != nil {
					t.Error(err)
				}
				got, err := read(target)
				if err != nil {
					t.Error(err)
				}
				if len(got) != 4096 || bytes.Count(got, got[:1]) != len(got) {
					t.Errorf("read a mixture of %d bytes", len(got))
				}
			}
		})
	}
	wg.Wait()
	wantNames(t, dir, "file")
}

// read reads a file that another goroutine may be replacing.
func read(path string) ([]byte, error) {
	f, err := fsx.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}

// wantNames fails if dir has other names.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
