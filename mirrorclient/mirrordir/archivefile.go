package mirrordir

import (
	"context"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// archiveFile is an archive that can be read anywhere.
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

// openArchive opens an archive of the storage and hashes it.
func (m *Mirror) openArchive(ctx context.Context, name string) (*archiveFile, error) {
	f, err := m.openAnywhere(ctx, name)
	if err != nil {
		return nil, err
	}
	if f.zh, err = checksum.ZH(ctx, io.NewSectionReader(f, 0, f.size)); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// openAnywhere opens an archive; one that is not on this machine is copied to a temporary file,
// since its content is read in any order.
func (m *Mirror) openAnywhere(ctx context.Context, name string) (*archiveFile, error) {
	o, err := m.Storage.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if at, ok := o.ReadCloser.(io.ReaderAt); ok {
		return &archiveFile{ReaderAt: at, size: o.Size, close: func() { o.Close() }}, nil
	}
	defer o.Close()
	f, err := fsx.Temp(m.TempDir)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(f, ctxReader{ctx, o})
	if err != nil {
		f.Discard()
		return nil, err
	}
	return &archiveFile{ReaderAt: f.File, size: n, close: f.Discard}, nil
}

// Stage opens a file for an archive that arrives: where it will stay if the storage is [Local],
// otherwise in TempDir. The caller discards it. [Mirror.Keep] makes the archive a part of the
// mirror.
func (m *Mirror) Stage(ctx context.Context) (Staged, error) {
	if l, ok := m.Storage.(Local); ok {
		return l.Stage(ctx)
	}
	f, err := fsx.Temp(m.TempDir)
	return elsewhere{f, m.Storage}, err
}

// elsewhere is a staged file that is copied to the storage.
type elsewhere struct {
	*fsx.TempFile
	storage Storage
}

func (s elsewhere) File() *os.File { return s.TempFile.File }

func (s elsewhere) Commit(ctx context.Context, name string) error {
	info, err := s.Stat()
	if err != nil {
		return err
	}
	return s.storage.Write(ctx, name, io.NewSectionReader(s.TempFile.File, 0, info.Size()), "")
}
