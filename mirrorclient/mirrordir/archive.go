package mirrordir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// fileSize returns the size of a file, negative if it is missing. The name may come from a document,
// so it may be one that no file can have.
func (m *Mirror) fileSize(ctx context.Context, name string) (int64, error) {
	info, err := m.Store.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return -1, nil
	}
	return info.Size, err
}

// locker is implemented by a store with locks, like [storage.Dir].
type locker interface {
	Lock(ctx context.Context, name string) (unlock func() error, err error)
}

// lock waits for a lock, if the store has locks. The lock of a version protects its archives, the
// lock of a provider its documents and the removal of archives. A caller that needs both locks the
// version first.
func (m *Mirror) lock(ctx context.Context, name string) (unlock func(), err error) {
	l, ok := m.Store.(locker)
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

	store storage.Store
	local *storage.Staged // in a directory, until it has a name
	drop  func()
}

// Stage creates a file for a download: in the directory of a local mirror, otherwise in TempDir. The
// caller must discard it.
func (m *Mirror) Stage(ctx context.Context) (*Staged, error) {
	if d, ok := m.Store.(*storage.Dir); ok {
		s, err := d.Stage(ctx)
		if err != nil {
			return nil, err
		}
		return &Staged{s.File, d, s, s.Discard}, nil
	}
	f, err := fsx.Temp(m.TempDir)
	if err != nil {
		return nil, err
	}
	return &Staged{f.File, m.Store, nil, f.Discard}, nil
}

// Discard closes the file, and removes it unless it has a name now. It may be called twice.
func (s *Staged) Discard() { s.drop() }

// commit gives the file a name, on the condition of Write of [storage.Store].
func (s *Staged) commit(ctx context.Context, name string, was storage.Revision) error {
	if s.local != nil {
		err := s.local.Commit(ctx, name, was)
		if err == nil {
			s.local = nil
		}
		return err
	}
	info, err := s.File.Stat()
	if err != nil {
		return err
	}
	return s.store.Write(ctx, name, io.NewSectionReader(s.File, 0, info.Size()), was)
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
	o, err := m.Store.Open(ctx, name)
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

// ctxReader fails when its context ends.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, fault.Ended(r.ctx)
	}
	return r.Reader.Read(p)
}
