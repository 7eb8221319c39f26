package install

import (
	"errors"
	"io"
	"sync"
)

// arriving is an archive that is being received into a file, and can be read from there
// meanwhile by one goroutine: a read waits for what it wants.
type arriving struct {
	file io.ReaderAt
	pos  int64 // of the reader

	bodies int // that have begun to arrive

	mu    sync.Mutex
	more  sync.Cond // signalled when there is more, or the end
	there int64
	end   error // nil: more is to come
}

func newArriving(file io.ReaderAt) *arriving {
	a := &arriving{file: file}
	a.more.L = &a.mu
	return a
}

// errRestarted: what was read is not what is in the file now.
var errRestarted = errors.New("the archive arrives once more")

// arrived tells that so many bytes are in the file; see [provider.Options].
func (a *arriving) arrived(n, _ int64) error {
	if n == 0 {
		if a.bodies++; a.bodies > 1 {
			a.finish(errRestarted)
		}
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.there = n
		a.more.Signal()
	}
	return nil
}

// finish tells that no more will come: io.EOF if all is there.
func (a *arriving) finish(end error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = end
		a.more.Signal()
	}
}

// restarted reports whether the archive that is in the file has been preceded by another
// one, of which some was read: the two can be made so that they differ in nothing but the
// content. It is for the goroutine that receives.
func (a *arriving) restarted() bool { return a.bodies > 1 }

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	a.mu.Lock()
	for a.end == nil && a.pos >= a.there {
		a.more.Wait()
	}
	left, end := a.there-a.pos, a.end
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
