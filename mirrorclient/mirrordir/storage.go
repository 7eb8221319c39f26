package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Storage contains the files of a mirror. Package
// [github.com/tofureg/tofureg/mirrorclient/mirrordir/dirtest] tests implementations.
//
// Names are paths as defined by [fs.ValidPath], except ".", and may have "+" and ":". A Storage does
// not change names. For a name that it does not support, the error wraps [fs.ErrInvalid]. The
// methods must be safe for concurrent use, also by other processes, and must return soon after ctx ends.
type Storage interface {
	// Open opens a file. The error wraps [fs.ErrNotExist] if the file is missing. Archives are often
	// opened for Size and Revision only.
	Open(ctx context.Context, name string) (*Object, error)

	// Write writes content, from its start, if the revision of the file is still was, or if was is
	// empty and there is no file. Otherwise it changes nothing and the error wraps [ErrConflict].
	// Only one of several concurrent calls with the same revision succeeds. Readers get the complete
	// old or new file, and the new one after Write has returned.
	Write(ctx context.Context, name string, content *io.SectionReader, was Revision) error

	// List returns what is directly in dir, in any order. dir is "." for the top. A missing
	// directory is empty. It shows each completed Write and Delete.
	List(ctx context.Context, dir string) ([]Entry, error)

	// Delete removes a file. It ignores a missing file.
	Delete(ctx context.Context, name string) error
}

// Locker is implemented by a [Storage] with locks, like the Storage of [Open]. Without locks, nothing
// else may change a provider while a call removes or replaces its archives.
type Locker interface {
	// Lock waits until no process or goroutine has the lock of this name, which need not be a file.
	// If ctx ends first, the error wraps its error or cause. The lock ends with the process.
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// Revision identifies the content of a file, such as an entity tag or a digest.
type Revision string

// Object is an open file. The caller must close it. If its ReadCloser is an [io.ReaderAt], archives
// are read without a copy.
type Object struct {
	io.ReadCloser

	Size int64 // in bytes

	// Revision must not be empty.
	Revision Revision
}

// Entry is a file or directory in a [Storage].
type Entry struct {
	Name  string // last element of the path
	IsDir bool   // whether it is a directory
	Size  int64  // of a file in bytes, 0 for a directory
}

// ErrConflict means that a file has changed since it was read. A [Mirror] tries again.
var ErrConflict = errors.New("the file has changed since it was read")

// checkName returns an error unless name can be the name of a file in a Storage.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("invalid file name %.200q: %w", name, fs.ErrInvalid)
	}
	return nil
}

// fileSize returns the size of a file, negative if it is missing. The name may come from a document,
// so it may be one that no file can have.
func (m *Mirror) fileSize(ctx context.Context, name string) (int64, error) {
	o, err := m.Storage.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	o.Close()
	return o.Size, nil
}

// lock waits for a lock, if the storage has locks. The lock of a version protects its archives, the
// lock of a provider its documents and the removal of archives. A caller that needs both locks the
// version first.
func (m *Mirror) lock(ctx context.Context, name string) (unlock func(), err error) {
	l, ok := m.Storage.(Locker)
	if !ok {
		return func() {}, nil
	}
	free, err := l.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return func() { _ = free() }, nil
}

// Staged is a file of [Mirror.Stage], which has no name in the mirror yet.
type Staged struct {
	File *os.File // for reading and writing until Discard

	part    *part         // in a directory
	temp    *fsx.TempFile // for any other storage
	storage Storage
}

// Stage creates a file for a download: in the directory of a local mirror, otherwise in TempDir. The
// caller must discard it.
func (m *Mirror) Stage(ctx context.Context) (*Staged, error) {
	if d, ok := m.Storage.(*directory); ok {
		p, err := d.stage(ctx, "top") // any valid name
		if err != nil {
			return nil, err
		}
		return &Staged{File: p.file.File, part: p}, nil
	}
	f, err := fsx.Temp(m.TempDir)
	if err != nil {
		return nil, err
	}
	return &Staged{File: f.File, temp: f, storage: m.Storage}, nil
}

// Discard closes the file, and removes it unless it has a name now. It may be called twice.
func (s *Staged) Discard() {
	if s.part != nil {
		s.part.discard()
	} else {
		s.temp.Discard()
	}
}

// commit gives the file a name. The error wraps ErrConflict if the name exists.
func (s *Staged) commit(ctx context.Context, name string) error {
	if s.part != nil {
		return s.part.commit(ctx, name, "")
	}
	info, err := s.File.Stat()
	if err != nil {
		return err
	}
	return s.storage.Write(ctx, name, io.NewSectionReader(s.File, 0, info.Size()), "")
}

// archiveFile is an archive that can be read in any order.
type archiveFile struct {
	io.ReaderAt
	size  int64
	zh    checksum.Hash
	close func()
}

// h1 returns the h1 of the archive itself and of its content.
func (f *archiveFile) h1(ctx context.Context, limits checksum.Limits) (packed, tree checksum.Hash, err error) {
	return checksum.H1Zip(ctx, f, f.size, limits)
}

// openArchive opens an archive and hashes it. It copies an archive that cannot be read in any order to
// a temporary file.
func (m *Mirror) openArchive(ctx context.Context, name string) (*archiveFile, error) {
	o, err := m.Storage.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	a := &archiveFile{size: o.Size, close: func() { o.Close() }}
	if at, ok := o.ReadCloser.(io.ReaderAt); ok {
		a.ReaderAt = at
	} else {
		defer o.Close()
		f, err := fsx.Temp(m.TempDir)
		if err != nil {
			return nil, err
		}
		a.ReaderAt, a.close = f.File, f.Discard
		a.size, err = io.Copy(f, ctxReader{ctx, o})
		if err != nil {
			f.Discard()
			return nil, err
		}
	}
	if a.zh, err = checksum.ZH(ctx, io.NewSectionReader(a, 0, a.size)); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}
