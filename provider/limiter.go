package provider

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/internal/fault"
)

// Limiter bounds what the calls of [Hashes] that share it have in progress, and the documents in
// their reports. Use one for each job, such as a lock file. It is safe for concurrent use and must
// not be copied after its first use.
type Limiter struct {
	// Parallel is the maximum number of archives in progress, from the request to the verdict, each
	// in a temporary file. If 0 or less, 8 is used. It must not be changed after the first use.
	Parallel int

	once      sync.Once
	archives  *semaphore.Weighted
	hashing   *semaphore.Weighted // of one archive for each core
	documents *semaphore.Weighted // bytes, which are never released
}

const defaultParallel = 8

// maxDocuments bounds the bytes of the SHA256SUMS documents in reports, and of the keys that sources
// list. Each platform may have its own.
const maxDocuments = 16 << 20

// Acquire waits until one more archive may be in progress. If ctx ends first, it returns a nil
// release and the error of ctx. The caller must call release when done. Calling it again has no
// effect.
func (l *Limiter) Acquire(ctx context.Context) (release func(), err error) {
	l.setup()
	return acquire(ctx, l.archives)
}

func (l *Limiter) setup() {
	l.once.Do(func() {
		n := l.Parallel
		if n <= 0 {
			n = defaultParallel
		}
		l.archives, l.hashing = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))
		l.documents = semaphore.NewWeighted(maxDocuments)
	})
}

// take takes n bytes for documents.
func (l *Limiter) take(n int) error {
	if !l.documents.TryAcquire(int64(n)) {
		return fmt.Errorf("more than %d bytes in the SHA256SUMS documents and keys of all platforms: %w", maxDocuments, fault.ErrTooLarge)
	}
	return nil
}

func acquire(ctx context.Context, places *semaphore.Weighted) (release func(), err error) {
	if err := places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { places.Release(1) }), nil
}
