package throttle

import (
	"context"
	"io"
	"sync"
)

// turn is the time of one request, which ends once.
type turn struct {
	once   sync.Once
	over   func()
	forget func() bool // the context; nil: it is not followed
}

// follow has the turn end with ctx, with which the body ends too.
func (t *turn) follow(ctx context.Context) {
	if ctx.Done() != nil {
		t.forget = context.AfterFunc(ctx, func() { t.once.Do(t.over) })
	}
}

func (t *turn) end() {
	if t.forget != nil {
		t.forget()
	}
	t.once.Do(t.over)
}

// body is the body of a response, whose turn it ends.
type body struct {
	io.ReadCloser
	turn *turn
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.turn.end()
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.turn.end()
	return err
}
