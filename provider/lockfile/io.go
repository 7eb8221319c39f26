package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Load calls [Parse] for the file at path. If the file does not exist, it returns an empty
// File, as the CLI does: after a mistyped path, no provider is locked.
func Load(path string) (*File, error) { return load(path, false) }

// LoadLenient calls [ParseLenient] for the file at path. If the file does not exist, it
// returns an empty File.
func LoadLenient(path string) (*File, error) { return load(path, true) }

func load(path string, lenient bool) (*File, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	return parse(data, path, lenient)
}

// read returns the content of a regular file, or its first MaxSize+1 bytes.
func read(path string) ([]byte, error) {
	f, err := fsx.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Save atomically replaces the file at path by [File.Bytes]. Like the CLI, it leaves a file
// that has the same header and entries unchanged, with its comments, and creates no file
// without entries.
//
// A new file has mode 0644 before the umask; an existing file keeps its mode. A symbolic link
// at path is replaced, as the CLI does. Save also removes temporary files ".tofureg-…" that
// killed processes left in the directory.
func (f *File) Save(path string) error {
	if err := f.save(path); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

func (f *File) save(path string) error {
	perm := fs.FileMode(0o644)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) && f.Len() == 0 {
		return nil
	}
	data := f.Bytes()
	existing := err == nil && info.Mode().IsRegular()
	if existing {
		perm = info.Mode().Perm()
		if old, err := read(path); err == nil && (bytes.Equal(old, data) || f.sameContent(old)) {
			return nil
		}
	}
	out, err := fsx.CreatePart(path, perm)
	if err != nil {
		return err
	}
	defer out.Discard()
	fsx.SweepParts(context.Background(), filepath.Dir(path))
	if existing { // undo the umask
		if err := out.Chmod(perm); err != nil {
			return err
		}
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	return out.Commit()
}

// sameContent reports whether data has the header and entries of f. It is false for a file
// from ParseLenient, which keeps its layout.
func (f *File) sameContent(data []byte) bool {
	old, err := Parse(data, "")
	return err == nil && f.doc == nil && f.Header == old.Header && maps.EqualFunc(f.entries, old.entries, Entry.equal)
}
