package install

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacking unpacks an archive into a staging directory while the archive is received.
type unpacking struct {
	archive *incoming
	at      *location // of the package
	part    *fsx.PartDir
	tree    *os.Root // the content of the package
	limits  archive.Limits
	ahead   chan *archive.Ahead // receives the result at the end of the archive
}

// startUnpacking unpacks what is received in f. The caller must call stop.
func startUnpacking(ctx context.Context, f *os.File, at *location, part *fsx.PartDir, l checksum.Limits) (u *unpacking, stop func(), err error) {
	u = &unpacking{archive: newIncoming(f), at: at, part: part, limits: archive.Limits(l), ahead: make(chan *archive.Ahead, 1)}
	if u.tree, err = newTree(at.root, part); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	tree := u.tree
	go func() {
		defer close(gone)
		u.ahead <- archive.UnpackAhead(ctx, u.archive, tree, u.limits)
	}()
	return u, func() {
		cancel()
		u.archive.finish(context.Canceled)
		<-gone
		u.tree.Close()
	}, nil
}

// complete unpacks the rest of the archive of this size and returns the files. The program of the provider
// becomes executable. If the files unpacked so far differ from the directory of the
// archive, everything is unpacked again.
func (u *unpacking) complete(ctx context.Context, size int64) ([]archive.File, error) {
	o := archive.Options{Limits: u.limits, Sync: true, Exec: func(name string) bool { return isProgram(name, u.at.pkg.Provider) }}
	z, err := archive.OpenZip(ctx, u.archive.file, size, o)
	if err != nil {
		return nil, err
	}
	ahead := <-u.ahead
	var files []archive.File
	again := u.archive.restarted()
	if !again {
		files, err = z.UnpackRest(ctx, u.tree, ahead)
		again = errors.Is(err, archive.ErrAhead)
	}
	if again {
		if err := errors.Join(u.tree.Close(), fsx.RemoveTree(ctx, u.at.root, path.Join(u.part.Name(), "tree"))); err != nil {
			return nil, err
		}
		tree, err := newTree(u.at.root, u.part)
		if err != nil {
			return nil, err
		}
		u.tree = tree
		if files, err = z.Unpack(ctx, u.tree); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	// Windows cannot rename an open directory.
	return files, u.tree.Close()
}

// incoming is an archive that is received into a file. One goroutine can read it meanwhile: Read
// waits for data.
type incoming struct {
	file io.ReaderAt
	pos  int64 // of the reader

	bodies int // number of responses that have begun

	mu   sync.Mutex
	more sync.Cond // signalled when size or end changes
	size int64     // bytes received
	end  error     // nil while data is expected
}

func newIncoming(file io.ReaderAt) *incoming {
	a := &incoming{file: file}
	a.more.L = &a.mu
	return a
}

// errRestarted: the bytes that were read may differ from those in the file.
var errRestarted = errors.New("the download was restarted")

// received implements Arrived of [provider.ReceiveOptions].
func (a *incoming) received(n, _ int64) error {
	if n == 0 {
		if a.bodies++; a.bodies > 1 {
			a.finish(errRestarted)
		}
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.size = n
		a.more.Signal()
	}
	return nil
}

// finish ends the reading with an error, io.EOF if the archive is complete.
func (a *incoming) finish(end error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = end
		a.more.Signal()
	}
}

// restarted reports whether the archive in the file replaced another one that was read in part. The
// two can be made so that they differ only in content. Only the receiving goroutine may call it.
func (a *incoming) restarted() bool { return a.bodies > 1 }

// Read implements io.Reader.
func (a *incoming) Read(p []byte) (int, error) {
	a.mu.Lock()
	for a.end == nil && a.pos >= a.size {
		a.more.Wait()
	}
	left, end := a.size-a.pos, a.end
	a.mu.Unlock()
	if end != nil && end != io.EOF || left == 0 {
		return 0, end
	}
	n, err := a.file.ReadAt(p[:min(int64(len(p)), left)], a.pos)
	a.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}
