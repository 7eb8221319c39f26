package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// publication says how documents are made.
type publication struct {
	without string // the name of an archive that is not listed
	anew    bool   // documents that cannot be read are replaced

	// stays, if not nil, says whether an entry for a file of this name is kept that is no
	// recorded archive of the version.
	stays func(ctx context.Context, name string) (bool, error)

	// drop, if not nil, takes the versions out of all documents. It is called when they are in none,
	// with what is there of them.
	drop func(ctx context.Context, there *files) error
}

// lock keeps other processes from using the lock of this name, where the storage can do that.
// That of a version is for those who work on its archives, that of an index for those who
// change documents or remove archives of the provider. Who needs both takes that of the version
// first.
func (m *Mirror) lock(ctx context.Context, name string) (unlock func(), err error) {
	l, ok := m.Storage.(Locker)
	if !ok {
		return func() {}, nil
	}
	free, err := l.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return func() { _ = free() }, nil
}

func (m *Mirror) lockVersion(ctx context.Context, p addrs.Provider, v addrs.Version) (unlock func(), err error) {
	return m.lock(ctx, homeOf(p)+"/"+documentName(v))
}

func (m *Mirror) lockProvider(ctx context.Context, p addrs.Provider) (unlock func(), err error) {
	return m.lock(ctx, homeOf(p)+"/"+indexName)
}

// publish makes the documents of these versions say what is on record.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publication) error {
	unlock, err := m.lockProvider(ctx, p)
	if err != nil {
		return err
	}
	defer unlock()
	return m.publishLocked(ctx, p, versions, how)
}

// publishLocked is publish for those who have locked the provider. It works in rounds: it reads
// the documents, then lists the archives, then reads their records, and writes each document
// that has not changed since. Another writer that has placed an archive after the listing has
// not read the documents yet, and so sees them change; this one sees a change of the other, and
// begins again.
func (m *Mirror) publishLocked(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publication) error {
	return retry(ctx, homeOf(p), func() error {
		r := &round{Mirror: m, provider: p, versions: versions, how: how}
		return r.run(ctx)
	})
}

// retry makes a change until no other writer interferes.
func retry(ctx context.Context, name string, change func() error) error {
	const tries = 100
	for range tries {
		err := change()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w, %d times", name, ErrConflict, tries)
}

// pause keeps writers that have met from meeting again.
func pause(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fault.Ended(ctx)
	}
}

// each calls do with 0 to n-1, at most limit at the same time, until one fails.
func each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return fault.Ended(ctx)
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// queue publishes versions in the background, those of one provider one batch after the other:
// what comes while one batch is published goes into the next one together.
type queue struct {
	*Mirror
	ctx     context.Context
	workers sync.WaitGroup
	mu      sync.Mutex
	waiting map[addrs.Provider][]finished // there is an element as long as a worker runs
}

// finished is a version that is to be published.
type finished struct {
	version addrs.Version
	err     *error
}

// add has a version published. The error is set when wait returns.
func (q *queue) add(p addrs.Provider, v addrs.Version, err *error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, running := q.waiting[p]
	q.waiting[p] = append(list, finished{v, err})
	if !running {
		q.workers.Go(func() { q.run(p) })
	}
}

func (q *queue) wait() { q.workers.Wait() }

func (q *queue) run(p addrs.Provider) {
	for list := q.next(p); len(list) > 0; list = q.next(p) {
		versions := make([]addrs.Version, len(list))
		for i, f := range list {
			versions[i] = f.version
		}
		err := q.publish(q.ctx, p, versions, publication{})
		for i, f := range list {
			if *f.err = err; err != nil && len(list) > 1 {
				// That of one version must not be that of all.
				*f.err = q.publish(q.ctx, p, versions[i:i+1], publication{})
			}
		}
	}
}

// next returns what has come meanwhile.
func (q *queue) next(p addrs.Provider) []finished {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.waiting[p]
	if q.waiting[p] = nil; len(list) == 0 {
		delete(q.waiting, p)
	}
	return list
}
