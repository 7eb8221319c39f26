package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Storage keeps the files of a mirror. [Directory] is the one for a local directory;
// others can keep a mirror in an object store. Package dirtest tells an implementer
// whether a Storage does what is written here.
//
// Names are slash-separated paths as [fs.ValidPath] has them, without ".", and may hold
// any letters, also such as "+" and ":". What a Storage cannot name it refuses with an
// error; it never changes a name. Its methods must be safe for concurrent use, also by
// other processes, and must end soon after ctx does.
type Storage interface {
	// Open opens a file for reading. The error wraps [fs.ErrNotExist] if there is
	// none of this name, or only a directory. An archive is often closed unread, when
	// only its size is asked for.
	Open(ctx context.Context, name string) (*Object, error)

	// Write makes content the file of this name, provided that the file has not
	// changed: its revision must be was, and with an empty was there must be no
	// file. Otherwise the error wraps [ErrConflict] and nothing has changed.
	// Of several at the same time only one succeeds. A reader gets the whole of
	// the file before or of the one after, and once Write has returned, the one
	// after.
	Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error

	// List returns what is directly in the directory dir, in any order; "." is
	// the top. A directory that does not exist is empty. What has been written
	// is listed.
	List(ctx context.Context, dir string) ([]Entry, error)

	// Delete removes a file. It is no error if there is none.
	Delete(ctx context.Context, name string) error
}

// Locker is a [Storage] that can keep others away from a version while its archives
// arrive. With it, a version that two processes add at the same time is downloaded once,
// and [Mirror.Remove] cannot run into [Mirror.Add]. Without it, both downloads are made
// and one of them is dropped.
type Locker interface {
	// Lock waits for the lock of this name, which need not be that of a file. If ctx
	// ends first, the error wraps that of ctx or its cause. The lock must not outlive
	// the process.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// Revision tells states of a file apart: an entity tag, a generation, a digest. It
// means something only to the [Storage] that it comes from, and for one name.
type Revision string

// Object is an open file. The caller closes it. Where the ReadCloser is an
// [io.ReaderAt] and an [io.Seeker] too, this saves copies.
type Object struct {
	io.ReadCloser

	// Size of the file in bytes.
	Size int64

	// Revision of the file, never empty.
	Revision Revision
}

// Entry is one name in a directory of a [Storage].
type Entry struct {
	Name string // the last element only
	Dir  bool   // it is a directory, or what stands for one
	Size int64  // of a file, in bytes
}

// ErrConflict: a file is not the one that its writer has seen, since somebody else
// was faster.
var ErrConflict = errors.New("the file has changed in the meantime")

// checkName refuses what is no name of a file in a Storage.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("%.200q is no name of a file: %w", name, fs.ErrInvalid)
	}
	return nil
}
