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

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "file")
	for _, want := range []string{"old", "", "the new content"} {
		must.Do(t, fsx.WriteFile(target, []byte(want), 0o600))
		wantContent(t, target, want)
	}
	info := must.Get(os.Stat(target))(t)
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
			f := must.Get(fsx.CreatePart(target, 0o644))(t)
			if !strings.HasPrefix(filepath.Base(f.Name()), fsx.TempPrefix) || filepath.Dir(f.Name()) != dir {
				t.Errorf("the part is %s, want it beside the target, starting with %s", f.Name(), fsx.TempPrefix)
			}
			must.Get(f.WriteString(content))(t)
			fsx.SweepParts(t.Context(), dir)
			if got, err := os.ReadFile(target); string(got) != before || (err != nil) != (before == "") {
				t.Errorf("before Commit the target holds %q, %v; want %q", got, err, before)
			}
			if commit {
				must.Do(t, f.Commit())
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
	must.Do(t, os.Mkdir(sub, 0o755))
	for _, test := range []struct {
		name, target string
		want         error
	}{
		{"directory", sub, fsx.ErrNotAFile},
		{"no such parent", filepath.Join(dir, "none", "file"), fs.ErrNotExist},
		{"empty", "", fs.ErrInvalid},
		{"trailing separator", filepath.Join(dir, "new") + string(filepath.Separator), fs.ErrInvalid},
	} {
		if err := fsx.WriteFile(test.target, nil, 0o644); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	// The target is checked again when it is replaced.
	target := filepath.Join(dir, "turns")
	p := must.Get(fsx.CreatePart(target, 0o600))(t)
	must.Do(t, os.Mkdir(target, 0o700))
	if err := p.Commit(); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("Commit to a new directory: %v, want ErrNotAFile", err)
	}
	wantNames(t, dir, "sub", "turns")
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "file")
	must.Do(t, fsx.WriteFile(target, bytes.Repeat([]byte("0"), 4096), 0o644))
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
	entries := must.Get(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(path, []byte("content"), 0o600))
	f := must.Get(fsx.OpenRegular(path))(t)
	defer f.Close()
	buf := make([]byte, 8)
	if n, err := f.Read(buf); err != nil || string(buf[:n]) != "content" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	if _, err := fsx.OpenRegular(dir); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := fsx.OpenRegular(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func TestTemp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := func() int {
		list := must.Get(os.ReadDir(dir))(t)
		return len(list)
	}
	f := must.Get(fsx.Temp(dir))(t)
	if runtime.GOOS != "windows" && names() != 0 {
		t.Error("the file has a name")
	}
	if _, err := f.WriteString("some bytes"); err != nil {
		t.Error(err)
	}
	buf := make([]byte, 5)
	if _, err := f.ReadAt(buf, 5); err != nil || string(buf) != "bytes" {
		t.Errorf("read %q, %v", buf, err)
	}
	f.Discard()
	f.Discard()
	if names() != 0 {
		t.Error("the file was left behind")
	}
	if _, err := fsx.Temp(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// TestErrorsNameTheDirectory: an error names the path that the caller gave, not a temporary file.
func TestErrorsNameTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	makers := map[string]func(dir string) error{
		"CreatePart": func(dir string) error {
			_, err := fsx.CreatePart(filepath.Join(dir, "x"), 0o600)
			return err
		},
		"CreatePartDir": func(dir string) error {
			_, err := fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x"))
			return err
		},
		"WriteFile": func(dir string) error { return fsx.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
	}
	none := filepath.Join(dir, "none")
	for name, make := range makers {
		err := make(none)
		if want := "create a file in " + none + ": "; !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s...", name, err, want)
		}
		if runtime.GOOS == "windows" {
			continue // there is no directory in a file either
		}
		err = make(file)
		if err == nil || errors.Is(err, fs.ErrNotExist) && name == "CreatePartDir" || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), fsx.TempPrefix) {
			t.Errorf("%s in a file: %v", name, err)
		}
	}
	wantNames(t, dir, "file")
}

// TestReadRegular: a file of the maximum size is read, a larger one is refused.
func TestReadRegular(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte("12345"), 0o600))
	if data, err := fsx.ReadRegular(path, 5); err != nil || string(data) != "12345" {
		t.Errorf("ReadRegular of 5 bytes, 5 allowed: %q, %v", data, err)
	}
	if data, err := fsx.ReadRegular(path, 4); data != nil || !errors.Is(err, failure.ErrTooLarge) || !strings.Contains(err.Error(), path) {
		t.Errorf("ReadRegular of 5 bytes, 4 allowed: %q, %v; want ErrTooLarge", data, err)
	}
	if _, err := fsx.ReadRegular(filepath.Dir(path), 4); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("ReadRegular of a directory: %v; want ErrNotAFile", err)
	}
}
