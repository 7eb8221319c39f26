package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
)

// TestErrorsNameTheDirectory: an error names the path that the caller gave, not a temporary file.
func TestErrorsNameTheDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	makers := map[string]func(dir string) error{
		"CreatePart": func(dir string) error {
			_, err := fsx.CreatePart(filepath.Join(dir, "x"), 0o600)
			return err
		},
		"CreatePartDir": func(dir string) error {
			_, err := fsx.CreatePartDir(dir)
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
