package provider

import (
	"context"
	"runtime"
)

// A Gate bounds how many archives are in progress at once, from the request for one to
// its verdict, in all calls that share it. It is safe for concurrent use. [NewGate] makes
// one.
type Gate struct {
	archives chan struct{}
	hashing  chan struct{} // by those that keep a core busy
}

// defaultGate hides the latency of a server and is no burden to it. Each archive in
// progress takes its size in temporary files, which some systems keep in memory.
const defaultGate = 8

// NewGate returns a Gate for n archives at once; 0 or less means 8.
func NewGate(n int) *Gate {
	if n <= 0 {
		n = defaultGate
	}
	return &Gate{archives: make(chan struct{}, n), hashing: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// Enter waits until there is room for one more archive, or until ctx ends, whose error it
// returns then. Who has entered must call leave, once.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) { return enter(ctx, g.archives) }

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
