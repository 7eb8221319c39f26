package mirrordir

import (
	"context"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

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

// openArchive opens an archive and hashes it. It copies an archive that is not on this machine to a
// temporary file.
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

// Stage creates a file for a download in Storage, or in TempDir if Storage is not [Local]. The caller
// must discard it.
func (m *Mirror) Stage(ctx context.Context) (Staged, error) {
	if l, ok := m.Storage.(Local); ok {
		return l.Stage(ctx)
	}
	f, err := fsx.Temp(m.TempDir)
	return stagedTemp{f, m.Storage}, err
}

// stagedTemp is a temporary file that Commit copies to the storage.
type stagedTemp struct {
	*fsx.TempFile
	storage Storage
}

func (s stagedTemp) File() *os.File { return s.TempFile.File }

func (s stagedTemp) Commit(ctx context.Context, name string) error {
	info, err := s.Stat()
	if err != nil {
		return err
	}
	return s.storage.Write(ctx, name, io.NewSectionReader(s.TempFile.File, 0, info.Size()), "")
}
