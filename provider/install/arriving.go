package install

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tofureg/tofureg/provider"
)

// arriving is an archive that is being received into a file, and can be read from there
// meanwhile by one goroutine: a read waits for what it wants.
type arriving struct {
	file io.ReaderAt
	pos  int64 // of the reader

	bodies int // that were asked for

	mu    sync.Mutex
	more  chan struct{} // closed when there is more, or the end
	there int64
	end   error // nil: more is to come
}

func newArriving(file io.ReaderAt) *arriving {
	return &arriving{file: file, more: make(chan struct{})}
}

// errRestarted: what was read is not what is in the file now.
var errRestarted = errors.New("the archive arrives once more")

// reached tells that so many bytes are in the file.
func (a *arriving) reached(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.there && a.end == nil {
		a.there = n
		a.wake()
	}
}

// finish tells that no more will come: io.EOF if all is there.
func (a *arriving) finish(end error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = end
		a.wake()
	}
}

func (a *arriving) wake() {
	close(a.more)
	a.more = make(chan struct{})
}

// state returns what is there and what to wait for.
func (a *arriving) state() (there int64, more <-chan struct{}, end error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.there, a.more, a.end
}

// restarted reports whether the archive that is in the file has been preceded by another
// one, of which some was read: the two can be made so that they differ in nothing but the
// content. It is for the goroutine that receives.
func (a *arriving) restarted() bool { return a.bodies > 1 }

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	for {
		there, more, end := a.state()
		switch {
		case end != nil && end != io.EOF:
			return 0, end
		case a.pos < there:
			n, err := a.file.ReadAt(p[:min(int64(len(p)), there-a.pos)], a.pos)
			a.pos += int64(n)
			if n > 0 {
				err = nil
			}
			return n, err
		case end != nil:
			return 0, end
		}
		<-more
	}
}

// from returns a source whose bodies tell a how far they have come.
func (a *arriving) from(src provider.Fetcher) provider.Fetcher { return watched{src, a} }

type watched struct {
	provider.Fetcher
	to *arriving
}

// Open opens the archive. The second time it arrives from its first byte on again.
func (w watched) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	if w.to.bodies++; w.to.bodies > 1 {
		w.to.finish(errRestarted)
	}
	body, err := w.Fetcher.Open(ctx, pkg)
	if err != nil || body == nil || body.ReadCloser == nil {
		return body, err
	}
	seen := *body
	seen.ReadCloser = &watchedBody{ReadCloser: body.ReadCloser, to: w.to}
	return &seen, nil
}

type watchedBody struct {
	io.ReadCloser
	to   *arriving
	read int64
}

// Read reads on. Who asks for more has written what it was given before.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.to.reached(b.read)
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}
