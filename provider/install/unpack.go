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

// unpacking unpacks an archive into a staging directory while it is received. It is the
// [provider.FileWriter] that receives the archive.
type unpacking struct {
	ctx    context.Context
	cancel context.CancelFunc
	at     *location // of the package
	part   *fsx.PartDir
	kept   *os.File // the archive, without the contents of the files that are unpacked ahead
	limits archive.Limits

	// Of the transfer that has begun last.
	tree     *os.Root      // the content of the package
	arriving *queue        // the archive
	waiting  chan struct{} // closed if the rest is unpacked when the archive is accepted
	accepted chan struct{} // closed when the archive is accepted
	ended    chan struct{} // closed at the end of unpacking, when ahead and err are set
	ahead    *archive.Ahead
	err      error
}

// newUnpacking returns an unpacking that keeps what it needs of the archive in f. The caller must call
// stop.
func newUnpacking(ctx context.Context, f *os.File, at *location, part *fsx.PartDir, l checksum.Limits) *unpacking {
	ctx, cancel := context.WithCancel(ctx)
	return &unpacking{ctx: ctx, cancel: cancel, at: at, part: part, kept: f, limits: archive.Limits(l)}
}

// Truncate begins to unpack an archive. It removes what was unpacked of an earlier transfer: the two
// archives can be made so that they differ only in content.
func (u *unpacking) Truncate(int64) error {
	if u.tree != nil {
		u.arriving.close(errors.New("the download was restarted"))
		<-u.ended
		if err := errors.Join(u.tree.Close(), fsx.RemoveTree(u.ctx, u.at.root, path.Join(u.part.Name(), "tree"))); err != nil {
			return err
		}
	}
	if err := u.kept.Truncate(0); err != nil {
		return err
	}
	tree, err := newTree(u.at.root, u.part)
	if err != nil {
		return err
	}
	u.tree, u.arriving = tree, newQueue()
	u.waiting, u.accepted, u.ended = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(u.ended)
		u.ahead, u.err = archive.UnpackAhead(u.ctx, u.arriving, u.kept, u.tree, u.limits, func() error {
			close(u.waiting)
			select {
			case <-u.accepted:
				return nil
			case <-u.ctx.Done():
				return u.ctx.Err()
			}
		})
		u.arriving.close(u.err)
	}()
	return nil
}

// WriteAt unpacks the next bytes of the archive.
func (u *unpacking) WriteAt(b []byte, _ int64) (int, error) { return u.arriving.Write(b) }

// stop ends the unpacking and waits for its end.
func (u *unpacking) stop() {
	u.cancel()
	if u.tree != nil {
		u.arriving.close(context.Canceled)
		<-u.ended
		u.tree.Close()
	}
}

// complete unpacks the rest of an accepted archive of this size and returns the files. The program of
// the provider becomes executable.
func (u *unpacking) complete(ctx context.Context, size int64) ([]archive.File, error) {
	u.arriving.close(io.EOF)
	select {
	case <-u.waiting:
	case <-u.ended:
		if u.err != nil {
			return nil, u.err
		}
	}
	o := archive.Options{Limits: u.limits, Exec: func(name string) bool { return isProgram(name, u.at.pkg.Provider) }}
	z, err := archive.OpenZip(ctx, u.kept, size, o)
	if err != nil {
		return nil, err
	}
	close(u.accepted)
	<-u.ended
	if u.err != nil {
		return nil, u.err
	}
	files, err := z.UnpackRest(ctx, u.tree, u.ahead)
	if err != nil {
		return nil, err
	}
	// Windows cannot rename an open directory.
	return files, u.tree.Close()
}

// A queue passes bytes from the goroutine that receives an archive to the one that unpacks it. It is
// an [io.Pipe] with a buffer, because the pieces that arrive are small. With a [bufio.Writer] before an
// io.Pipe, only one side has a buffer at a time: one provider takes 0.26 s instead of 0.20 s.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte
	at, n   int   // the bytes that are not read yet
	end     error // nil while bytes are expected
}

func newQueue() *queue {
	q := &queue{buf: make([]byte, 128<<10)}
	q.changed.L = &q.mu
	return q
}

// Write implements [io.Writer]. It waits while the queue is full.
func (q *queue) Write(p []byte) (done int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ; done < len(p); q.changed.Signal() {
		for q.end == nil && q.n == len(q.buf) {
			q.changed.Wait()
		}
		if q.end != nil {
			return done, q.end
		}
		from := (q.at + q.n) % len(q.buf)
		n := copy(q.buf[from:min(len(q.buf), from+len(q.buf)-q.n)], p[done:])
		q.n, done = q.n+n, done+n
	}
	return done, nil
}

// Read implements [io.Reader]. It waits while the queue is empty.
func (q *queue) Read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.end == nil && q.n == 0 {
		q.changed.Wait()
	}
	if q.end != nil && q.end != io.EOF || q.n == 0 {
		return 0, q.end
	}
	n := copy(p, q.buf[q.at:min(len(q.buf), q.at+q.n)])
	q.at, q.n = (q.at+n)%len(q.buf), q.n-n
	q.changed.Signal()
	return n, nil
}

// close ends reading and writing with an error: io.EOF after the last byte, any other at once. Only
// the first call has an effect, and nil has none.
func (q *queue) close(end error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end == nil {
		q.end = end
		q.changed.Signal()
	}
}
