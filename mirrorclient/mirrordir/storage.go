package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Storage contains the files of a mirror, such as a [Directory] or an object store. Package
// [github.com/tofureg/tofureg/mirrorclient/mirrordir/dirtest] tests an implementation.
//
// Names are paths as defined by [fs.ValidPath], except ".", and may have "+" and ":" in them. A Storage
// does not change names. It returns an error for a name that
// it does not support. The methods must be safe for concurrent use, also by other processes, and must
// return soon after ctx ends.
type Storage interface {
	// Open opens a file for reading. The error wraps [fs.ErrNotExist] if the file is missing.
	Open(ctx context.Context, name string) (*Object, error)

	// Write writes content, from its start, if the revision of the file is was, which is empty
	// for a new file. If not, it changes nothing and the error wraps [ErrConflict]. Of
	// concurrent calls only one succeeds. Readers get the complete old or new file, and the new one after Write has returned.
	Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error

	// List returns what is directly in dir, in any order. dir is "." for the top. A missing
	// directory is empty. A file is listed after Write has returned.
	List(ctx context.Context, dir string) ([]Entry, error)

	// Delete removes a file. It ignores a missing file.
	Delete(ctx context.Context, name string) error
}

// Locker is a [Storage] with locks. Without them, processes may download the same version twice, and
// only one may remove or replace archives of a provider while none adds any.
type Locker interface {
	// Lock waits for the lock of this name, which need not be a file. If ctx ends first,
	// the error wraps its error or cause. The lock ends with the process.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// Local is a [Storage] on this machine. Its packages have file URLs and may be unpacked. The files that
// Open returns must be [io.ReaderAt].
type Local interface {
	Storage

	// LocalPath returns the path for a name, or an error if the system does not support the name.
	LocalPath(name string) (string, error)

	// Stage creates a file without a name in the mirror. The caller must discard it.
	Stage(ctx context.Context) (Staged, error)
}

// Staged is a file that does not have a name in the mirror yet.
type Staged interface {
	// File returns the file for reading and writing.
	File() *os.File

	// Commit gives the file a name. The error wraps [ErrConflict] if the name exists. The content
	// must not change afterwards.
	Commit(ctx context.Context, name string) error

	// Discard closes the file, and removes it unless it was committed. It may be called twice.
	Discard()
}

// Revision identifies the content of a file, such as an entity tag or a digest.
type Revision string

// Object is an open file. The caller must close it. If it is an [io.ReaderAt], archives are read
// without a copy.
type Object struct {
	io.ReadCloser

	Size int64 // in bytes

	// Revision must not be empty.
	Revision Revision
}

// Entry is a file or directory in a directory of a [Storage].
type Entry struct {
	Name string // last element of the path
	Dir  bool   // whether it is a directory
	Size int64  // size of a file in bytes
}

// ErrConflict means that a file has changed since it was read.
var ErrConflict = errors.New("the file has changed since it was read")

// checkName returns an error unless name can be the name of a file in a Storage.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("invalid file name %.200q: %w", name, fs.ErrInvalid)
	}
	return nil
}
