// Package storage keeps files under names, in a directory, in memory or in a bucket. It is meant for 1.0.
//
// A change of a file in a [Store] names the revision that it replaces, and fails with [ErrConflict] if another
// process was faster.
//
//	f, err := store.Open(ctx, "list.json") // read, change, then
//	err = store.Write(ctx, "list.json", content, f.Revision)
//
// Package [github.com/tofureg/tofureg/testkit/storagetest] tests implementations.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tofureg/tofureg/internal/wrap"
)

// Store contains files.
//
// A name is a path as defined by [fs.ValidPath], except ".", of at most 1,024 bytes. A Store does not change it.
// If a Store does not support a name, the error wraps [fs.ErrInvalid]. The methods must be safe for concurrent
// use, also by other processes, and return soon after ctx ends.
//
// A Store may also be a [Locker], [Stager], [Pather] or [Linker]; see [As].
type Store interface {
	// Stat returns size and revision of a file. If it is missing, the error wraps [fs.ErrNotExist].
	Stat(ctx context.Context, name string) (Info, error)

	// Open opens a file. Errors are as for Stat.
	Open(ctx context.Context, name string) (*File, error)

	// Write writes content, from its start, if the file still has the revision was, or is missing and was is empty.
	// Otherwise it changes nothing and the error wraps [ErrConflict]. Of concurrent calls with the same revision, at
	// most one succeeds. Readers get the complete old or new file, and the new one after Write has returned.
	Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error

	// List returns what is directly in dir, "." for the top, in any order. A missing directory is empty. Completed
	// Writes and Deletes are visible.
	List(ctx context.Context, dir string) ([]Entry, error)

	// Delete removes a file, if any.
	Delete(ctx context.Context, name string) error
}

// Revision identifies the content of a file, such as an entity tag.
type Revision string

// Info describes a file.
type Info struct {
	Size     int64    // in bytes
	Revision Revision // never empty
}

// File is an open file. The caller must close it. If ReadCloser is an [io.ReaderAt], archives are read without
// a copy.
type File struct {
	io.ReadCloser
	Info
}

// Read reads from ReadCloser, if not nil.
func (f *File) Read(p []byte) (int, error) { return wrap.Read(f.ReadCloser, p) }

// Close closes ReadCloser, if not nil.
func (f *File) Close() error { return wrap.Close(f.ReadCloser) }

// Entry is a file or directory in a [Store].
type Entry struct {
	Name  string // last element
	IsDir bool   // a directory
	Size  int64  // in bytes, 0 for a directory
}

// ErrConflict is an error of Write and Commit.
var ErrConflict = errors.New("the file has changed since it was read")

// maxName is the maximum length of a name in bytes, as object stores have it.
const maxName = 1024

// CheckName returns an error that wraps [fs.ErrInvalid] if name cannot be a name in a [Store].
func CheckName(name string) error {
	if len(name) > maxName || !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("invalid file name %.200q: %w", name, fs.ErrInvalid)
	}
	return nil
}
