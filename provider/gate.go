package provider

import (
	"context"
	"runtime"
)

// A Gate bounds how many archives are in progress at once, from the request for one to
// its verdict, in all calls that share it. It is safe for concurrent use. Make it with
// [NewGate].
type Gate struct {
	archives chan struct{}
	hashing  chan struct{} // for what keeps a core busy
}

// NewGate returns a Gate for n archives at once; 0 or less: 8.
func NewGate(n int) *Gate {
	if n <= 0 {
		n = 8
	}
	return &Gate{archives: make(chan struct{}, n), hashing: make(chan struct{}, max(runtime.GOMAXPROCS(0), 1))}
}

// Enter waits until there is room for one more archive, or ctx ends, whose error it
// returns. The caller must call leave once, when it is done with the archive.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	return enter(ctx, g.archives)
}

func enter(ctx context.Context, places chan struct{}) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
