package provider

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A Gate bounds how many archives are in progress at once, from the request for one to
// its verdict, in all calls that share it. The zero value is ready to use. A Gate is safe
// for concurrent use, and must not be copied after its first use.
type Gate struct {
	// Parallel is how many archives may be in progress; 0 or less: 8, which hides the
	// latency of a server and is no burden to it. Each takes its size in temporary files,
	// which some systems keep in memory. It must not be changed after the first use.
	Parallel int

	once     sync.Once
	archives *semaphore.Weighted
	hashing  *semaphore.Weighted // of archives that keep a core busy
}

const defaultParallel = 8

// Enter waits until there is room for one more archive, or until ctx ends, whose error it
// returns then. Who has entered must call leave; a second time does no harm.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	g.prepare()
	return enter(ctx, g.archives)
}

// compute is like Enter, for work of which no more than there are cores makes sense.
func (g *Gate) compute(ctx context.Context) (leave func(), err error) {
	g.prepare()
	return enter(ctx, g.hashing)
}

func (g *Gate) prepare() {
	g.once.Do(func() {
		n := g.Parallel
		if n <= 0 {
			n = defaultParallel
		}
		g.archives, g.hashing = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))
	})
}

func enter(ctx context.Context, places *semaphore.Weighted) (leave func(), err error) {
	if err := places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { places.Release(1) }), nil
}
