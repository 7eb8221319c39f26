package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/fsx"
)

// readLocal copies a directory of this machine, or unpacks an archive on it.
func readLocal(ctx context.Context, loc *Location, s *staging, meter *progress.Meter) (*unpacked, error) {
	u, err := loc.parsedURL()
	if err != nil {
		return nil, err
	}
	name := u.Path
	if runtime.GOOS == "windows" && len(name) > 2 && name[0] == '/' && name[2] == ':' { // /C:/dir
		name = name[1:]
	}
	name = filepath.FromSlash(name)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", failure.ErrNotFound, err)
	case err != nil:
		return nil, err
	case info.IsDir() && loc.Checksum != "":
		return nil, errors.New("the location has a checksum, but is a directory and not an archive")
	case info.IsDir():
		if err := s.checkOutside(info); err != nil {
			return nil, err
		}
		meter.Start(0)
		got, err := s.copyTree(ctx, name, meter)
		if err == nil {
			meter.Finish()
		}
		return got, err
	}
	f, err := fsx.OpenRegular(name)
	if errors.Is(err, fsx.ErrNotAFile) {
		return nil, fmt.Errorf("%w: neither a file nor a directory", failure.ErrArchive)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	got, _, err := unpackBody(ctx, loc, &Body{ReadCloser: f, Size: info.Size()}, s, meter)
	return got, err
}

// callFetcher calls a Fetcher, and makes a package of its files by the same rules as for a directory.
func callFetcher(ctx context.Context, f Fetcher, loc *Location, s *staging, meter *progress.Meter) (*unpacked, error) {
	path := filepath.Join(s.part.Path(), "fetched")
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	given := *loc
	given.Subdir = ""
	o := s.o
	o.Progress = flight.InTurn(func(e progress.Event) {
		switch e.Kind { // other steps are of the download in which the fetcher is
		case progress.Bytes, progress.Resumed, progress.Restarted:
			meter.Bytes, meter.Total = e.Bytes, e.Total
			meter.Send(e.Kind, e.Err)
		}
	})
	skipped, err := f.FetchModule(ctx, &given, path, o)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, errors.Join(fmt.Errorf("%w: the fetcher removed the directory", failure.ErrArchive), err)
	}
	got, err := s.copyTree(ctx, path, io.Discard)
	if err == nil {
		got.skip(skipped...)
	}
	return got, err
}

// checkOutside refuses a target in the directory to copy: the copy would contain the staging
// directory, and so itself.
func (s *staging) checkOutside(source fs.FileInfo) error {
	beside := filepath.Dir(s.target)
	if real, err := filepath.EvalSymlinks(beside); err == nil {
		beside = real
	}
	dir, below := filepath.Join(beside, filepath.Base(s.target)), ""
	for ; dir != below; dir, below = filepath.Dir(dir), dir {
		if info, err := os.Lstat(dir); err == nil && os.SameFile(info, source) {
			return fmt.Errorf("target %s is in the directory to copy, %s", s.dir, dir)
		}
	}
	return nil
}

// copyTree makes a package of a directory. It converts the directory to a tar archive, to
// which the rules for packages apply, and writes that to copied, too.
func (s *staging) copyTree(ctx context.Context, dir string, copied io.Writer) (*unpacked, error) {
	from, err := fsx.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(archive.WriteTree(w, fsx.Tree(ctx, from), isControlDir))
	}()
	defer func() {
		r.Close()
		<-done
	}()
	info, err := from.Stat(".")
	return s.unpack(ctx, err == nil && info.Mode()&0o020 != 0, func(root *os.Root, o archive.Options) ([]archive.File, error) {
		return archive.UnpackTar(ctx, io.TeeReader(r, copied), archive.FormatTar, root, o)
	})
}
