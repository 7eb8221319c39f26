package install

import (
	"errors"
	"io"
	"sync"
)

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
