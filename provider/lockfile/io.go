package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// not at all, whenever the process ends, and it is not touched if it has this content
// already. A new file gets the mode 0644 less the umask, an existing one keeps its mode.
// Where path is a symbolic link, the link is replaced, as the CLI does. What processes that
// were killed here have left beside it, under names that start with ".tofureg-", is removed.
func (f *File) Save(path string) error {
	if err := save(path, f.Bytes()); err != nil {
		return fmt.Errorf("writing a lock file: %w", err)
	}
	return nil
}

func save(path string, data []byte) error {
	perm := fs.FileMode(0o644)
	info, err := os.Lstat(path)
	existing := err == nil && info.Mode().IsRegular()
	if existing {
		perm = info.Mode().Perm()
		if old, err := read(path); err == nil && bytes.Equal(old, data) {
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
