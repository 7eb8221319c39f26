package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Locker is a [Storage] with locks. With it, a version that two processes add at the same
// time is downloaded once, and removing and replacing archives wait for other writers.
// Without it, such a version is downloaded twice and one copy is dropped. Then
// [Mirror.Remove], and a [Mirror.Add] that replaces archives, must be the only writers of
// the provider.
type Locker interface {
	// Lock waits for the lock of this name, which need not be that of a file. If ctx
	// ends first, the error wraps that of ctx or its cause. The lock must not outlive
	// the process.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// Local is a [Storage] on this machine. A [Mirror] asks for nothing else behind a Storage.
// With it, packages tell where they are, unpacked packages are found, and archives arrive
// where they will stay. What Open returns must be an [io.ReaderAt].
type Local interface {
	Storage

	// LocalPath returns the path of the file or directory with this name, whether or not it
	// is there. The error says why the system cannot have such a name.
	LocalPath(name string) (string, error)

	// Stage opens a new file that has no name in the mirror. The caller discards it.
	Stage(ctx context.Context) (Staged, error)
}

// Staged is a file that has no name in the mirror yet.
type Staged interface {
	// File returns the file, for writing and reading until Discard.
	File() *os.File

	// Commit gives the file a name, as Write does for a new file: the error wraps
	// [ErrConflict] if there is a file of this name. The content must not change after it.
	Commit(ctx context.Context, name string) error

	// Discard closes the file, and removes it unless it was committed. It can be called
	// twice.
	Discard()
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
