package mirrordir

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/verify/checksum"
)

// fileSize returns the size of a file, negative if it is missing. The name may come from a document,
// so it may be one that no file can have.
func (m *Mirror) fileSize(ctx context.Context, name string) (int64, error) {
	if m.Store == nil {
		return 0, stored.ErrNoStore
	}
	info, err := m.Store.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return -1, nil
	}
	return info.Size, err
}

// archiveFile is an archive that can be read in any order.
type archiveFile struct {
	io.ReaderAt
	checksum.Digests
	close func()
}

// h1 returns the h1 of the archive itself and of its content.
func (f *archiveFile) h1(ctx context.Context, limits checksum.Limits) (packed, tree checksum.Hash, err error) {
	return checksum.H1Zip(ctx, f, f.Size, limits)
}

// openArchive opens an archive and hashes it. It copies an archive that cannot be read in any order to
// a temporary file.
func (m *Mirror) openArchive(ctx context.Context, name string) (*archiveFile, error) {
	o, err := stored.Open(ctx, m.Store, name)
	if err != nil {
		return nil, err
	}
	size := o.Size
	a := &archiveFile{close: func() { o.Close() }}
	if at, ok := o.ReadCloser.(io.ReaderAt); ok {
		a.ReaderAt = at
	} else {
		defer o.Close()
		f, err := fsx.Temp(m.TempDir)
		if err != nil {
			return nil, err
		}
		a.ReaderAt, a.close = f.File, f.Discard
		size, err = io.Copy(f, archive.Until(ctx, o))
		if err != nil {
			f.Discard()
			return nil, err
		}
	}
	var bytes checksum.Digester
	if _, err := bytes.ReadFrom(archive.Until(ctx, io.NewSectionReader(a, 0, size))); err != nil {
		a.close()
		return nil, err
	}
	a.Digests = bytes.Digests()
	return a, nil
}
