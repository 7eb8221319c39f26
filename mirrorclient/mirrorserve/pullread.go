package mirrorserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
)

// change calls what and wakes the readers.
func (p *pull) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until ready returns true or the download fails. It calls ready with the mutex held.
func (p *pull) await(ctx context.Context, ready func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ready() {
		if p.err != nil {
			return p.err
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
	}
	return nil
}

// readable returns the number of bytes that may be read. The caller holds the mutex.
func (p *pull) readable() int64 {
	if p.judged {
		return p.size
	}
	return min(p.arrived, p.size-1)
}

// setArrived records the progress of the download.
func (p *pull) setArrived(n, total int64) (err error) {
	p.change(func() {
		switch {
		case n > 0:
			p.arrived = n
		case p.begun:
			// Readers may have forwarded the first bytes already.
			err = errors.New("the archive has changed during the download")
		case total > 0:
			p.size = total
		}
		p.begun = true
	})
	return err
}

// stall is the maximum time between two reads, since the archive uses disk space meanwhile.
const stall = 5 * time.Minute

var errStalled = fmt.Errorf("the client has read nothing for %v", stall)

// pullReader reads an archive while it is downloaded. Its caller calls begin, and leave at the end.
type pullReader struct {
	ctx    context.Context
	pull   *pull
	leave  func()
	size   int64
	offset int64
	err    error // why reading has failed

	timer *time.Timer // runs between two reads
	ended atomic.Bool
}

// read joins the download of an archive.
func (u *puller) read(ctx context.Context, q request, pkg *provider.Package) *pullReader {
	r := &pullReader{ctx: ctx, pull: u.join(ctx, q, pkg)}
	left := sync.OnceFunc(func() { u.leave(r.pull) })
	r.timer = time.AfterFunc(stall, func() {
		r.ended.Store(true)
		left()
	})
	r.timer.Stop()
	r.leave = func() {
		r.timer.Stop()
		left()
	}
	return r
}

// begin waits until the size of the archive is known, and if judged is set, until it is verified.
func (r *pullReader) begin(judged bool) error {
	defer r.timer.Reset(stall)
	return r.pull.await(r.ctx, func() bool {
		r.size = r.pull.size
		return r.size >= 0 && (r.pull.judged || !judged)
	})
}

// Read implements io.Reader.
func (r *pullReader) Read(b []byte) (int, error) {
	r.timer.Stop()
	defer r.timer.Reset(stall)
	if r.offset >= r.size {
		return 0, io.EOF
	}
	var readable int64
	var file io.ReaderAt
	r.err = r.pull.await(r.ctx, func() bool {
		readable, file = r.pull.readable(), r.pull.file
		return readable > r.offset
	})
	if r.ended.Load() {
		r.err = errStalled
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := file.ReadAt(b[:min(int64(len(b)), readable-r.offset)], r.offset)
	r.offset += int64(n)
	if err == io.EOF && n > 0 {
		err = nil
	}
	r.err = err
	return n, err
}

// Seek implements io.Seeker.
func (r *pullReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	r.offset = offset
	return offset, nil
}
