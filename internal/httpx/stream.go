package httpx

import (
	"context"
	"io"
	"time"
)

// stream is the body of a package.
type stream struct {
	body   io.ReadCloser
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	idle   time.Duration // limits each read, unless 0
	timer  *time.Timer   // cancels ctx; runs during a read
}

func newStream(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, idle time.Duration) *stream {
	s := &stream{body: body, ctx: ctx, cancel: cancel, idle: idle}
	if idle > 0 {
		s.timer = time.AfterFunc(idle, func() { cancel(timeoutError("no data", idle)) })
		s.timer.Stop()
	}
	return s
}

// Read reads from the body. If the context has ended, the error is its cause.
func (s *stream) Read(p []byte) (int, error) {
	if s.timer != nil {
		s.timer.Reset(s.idle)
		defer s.timer.Stop()
	}
	n, err := s.body.Read(p)
	if err != nil && err != io.EOF {
		err = cause(s.ctx, err)
	}
	return n, err
}

// Close closes the body.
func (s *stream) Close() error {
	s.cancel(nil)
	return s.body.Close()
}
