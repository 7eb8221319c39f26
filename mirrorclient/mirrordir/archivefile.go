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
	file  io.ReaderAt
	size  int64
	close func()
}

// ReadAt implements io.ReaderAt.
func (f *archiveFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Close gives back what openArchive has taken.
func (f *archiveFile) Close() {
	if f.close != nil {
		f.close()
	}
}

// zh returns the SHA-256 of the archive.
func (f *archiveFile) zh(ctx context.Context) (checksum.Hash, error) {
	return checksum.ZH(ctx, io.NewSectionReader(f.file, 0, f.size))
}

// openArchive opens an archive of the storage; one that is not on this machine is copied
// to a temporary file, since its content is read in any order.
func (m *Mirror) openArchive(ctx context.Context, name string) (*archiveFile, error) {
	o, err := m.Storage.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if at, ok := o.ReadCloser.(io.ReaderAt); ok {
		return &archiveFile{at, o.Size, func() { o.Close() }}, nil
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
	return &archiveFile{f.File, n, f.Discard}, nil
}

// stagedArchive is a file in which an archive arrives before it is judged.
type stagedArchive interface {
	file() *os.File
	commit(ctx context.Context, name string) error // gives it a name that nothing has
	Discard()
}

// stageArchive returns a new file; in a local directory one that only needs its name.
func (m *Mirror) stageArchive(ctx context.Context) (stagedArchive, error) {
	if d, ok := m.Storage.(interface {
		stage(context.Context) (*staged, error)
	}); ok {
		s, err := d.stage(ctx)
		return stagedInPlace{s}, err
	}
	f, err := fsx.Temp(m.TempDir)
	return stagedElsewhere{f, m.Storage}, err
}

type stagedInPlace struct{ *staged }

func (s stagedInPlace) file() *os.File { return s.File }

// commit leaves it to the record, which is written next, to make the name durable.
func (s stagedInPlace) commit(ctx context.Context, name string) error {
	return s.staged.commit(ctx, name, "")
}

type stagedElsewhere struct {
	*fsx.TempFile
	storage Storage
}

func (s stagedElsewhere) file() *os.File { return s.File }

func (s stagedElsewhere) commit(ctx context.Context, name string) error {
	info, err := s.Stat()
	if err != nil {
		return err
	}
	return s.storage.Write(ctx, name, io.NewSectionReader(s.File, 0, info.Size()), "")
}
