package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Load reads the file at path as [Parse] does. A file that does not exist is an empty
// one, as it is for the CLI, and no error.
func Load(path string) (*File, error) { return load(path, false) }

// LoadLenient reads the file at path as [ParseLenient] does. A file that does not exist
// is an empty one and no error.
func LoadLenient(path string) (*File, error) { return load(path, true) }

func load(path string, lenient bool) (*File, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a lock file: %w", err)
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

// Save writes the content of [File.Bytes] to path. The file is replaced as a whole or
// not at all, whenever the process ends. As with the CLI, a file that says the same already
// is left as it is, with its comments, and a File without entries does not become a new
// file.
//
// A new file gets the mode 0644 less the umask, an existing one keeps its mode. If path is a
// symbolic link, the link is replaced, as the CLI does. What killed processes have left
// beside it, under names that start with ".tofureg-", is removed.
func (f *File) Save(path string) error {
	if err := f.save(path); err != nil {
		return fmt.Errorf("writing a lock file: %w", err)
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
		if old, err := read(path); err == nil && (bytes.Equal(old, data) || f.saysTheSame(old)) {
			return nil
		}
	}
	out, err := fsx.CreatePart(path, perm)
	if err != nil {
		return err
	}
	defer out.Discard()
	fsx.SweepParts(filepath.Dir(path))
	if existing { // the umask need not have applied to it
		if err := out.Chmod(perm); err != nil {
			return err
		}
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	return out.Commit()
}

// saysTheSame reports whether a lock file has the header and the entries of f. A file from
// ParseLenient has a layout of its own.
func (f *File) saysTheSame(data []byte) bool {
	old, err := Parse(data, "")
	return err == nil && f.doc == nil && f.Header == old.Header && maps.EqualFunc(f.entries, old.entries, Entry.equal)
}
