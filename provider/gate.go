package provider

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Gate bounds how many archives are in progress, from the request to the verdict, in all calls
// that share it. It is safe for concurrent use and must not be copied after its first use.
type Gate struct {
	// Parallel is the maximum number of archives in progress, each in a temporary file. If 0
	// or less, 8 is used. It must not be changed after the first use.
	Parallel int

	once     sync.Once
	archives *semaphore.Weighted
	hashing  *semaphore.Weighted // of one archive for each core
}

const defaultParallel = 8

// Enter waits for a free place. If ctx ends first, it returns a nil leave and the error of ctx.
// The caller must call leave when done. Calling it again has no effect.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	g.prepare()
	return enter(ctx, g.archives)
}

// compute is Enter for work that keeps one core busy.
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
