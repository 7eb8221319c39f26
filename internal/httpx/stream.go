package httpx

import (
	"context"
	"io"
	"time"
)

// stream is the body of a package, with the context on which it depends.
type stream struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration // bound of each read, 0: none
	timer  *time.Timer   // cancels after idle; runs only during a read
}

func newStream(ctx context.Context, cancel context.CancelCauseFunc, body io.ReadCloser, idle time.Duration) *stream {
	s := &stream{body: body, ctx: ctx, cancel: cancel, idle: idle}
	if idle > 0 {
		s.timer = time.AfterFunc(idle, func() { cancel(timeoutError("no data", idle)) })
		s.timer.Stop()
	}
	return s
}

// Read reads from the body. Its error is the cause where the context ended.
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

// Close gives the connection back, or gives it up if there is more to come.
func (s *stream) Close() error {
	s.cancel(nil)
	return s.body.Close()
}
