package storagetest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/tofureg/tofureg/storage"
)

// endsSoon calls do, which must return soon after ctx has ended.
func (r *run) endsSoon(ctx context.Context, what string, do func() error) (err error, ended bool) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err = <-done:
		return err, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err = <-done:
		return err, true
	case <-timer.C:
		r.errorf("%s has not returned %v after its context ended", what, soon)
		return nil, false
	}
}

// testEndedContext checks that a call with an ended context does not report a missing or changed file.
func testEndedContext(r *run) {
	name := r.path("file")
	if !r.write(name, "x", "") {
		return
	}
	was := r.want(name, "x", "after Write")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	s := r.storage(0)
	for what, do := range map[string]func() error{
		"Open": func() error {
			o, err := s.Open(ctx, name)
			if err == nil {
				o.Close()
			}
			return err
		},
		"Write":  func() error { return r.tryWrite(ctx, s, name, section("x"), was) },
		"List":   func() error { _, err := s.List(ctx, r.dir); return err },
		"Delete": func() error { return s.Delete(ctx, r.path("none")) },
	} {
		err, _ := r.endsSoon(ctx, what, do)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrConflict) {
			r.errorf("%s with an ended context = %v, want an error that wraps neither fs.ErrNotExist nor storage.ErrConflict", what, err)
		}
	}
	r.want(name, "x", "after calls with an ended context")
}

// slow is a reader that ends a context after some bytes, and is slow from then on.
type slow struct {
	after int64
	end   context.CancelFunc
}

func (s slow) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > s.after {
		s.end()
		const perSecond = 4 << 20
		time.Sleep(time.Duration(len(p)) * time.Second / perSecond)
	}
	clear(p)
	return len(p), nil
}

// testContextEnds checks that a canceled Write leaves the complete file or none.
func testContextEnds(r *run) {
	const size = 64 << 20
	name := r.path("file")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	content := io.NewSectionReader(slow{1 << 20, cancel}, 0, size)
	err, ended := r.endsSoon(ctx, "Write", func() error { return r.tryWrite(ctx, r.storage(0), name, content, "") })
	if !ended {
		return
	}
	if errors.Is(err, storage.ErrConflict) {
		r.errorf("Write whose context ended = %v, want an error that does not wrap storage.ErrConflict", err)
	}
	o, open := r.storage(0).Open(r.ctx, name)
	if errors.Is(open, fs.ErrNotExist) && err != nil {
		return
	}
	if open != nil {
		r.errorf("Write whose context ended = %v, then Open = %v", err, open)
		return
	}
	defer o.Close()
	if n, err := io.Copy(io.Discard, o); n != size || err != nil {
		r.errorf("Write whose context ended has left %d of %d bytes, %v", n, size, err)
	}
}
