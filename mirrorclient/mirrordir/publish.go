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

// publishOptions control how documents are written.
type publishOptions struct {
	except         string // name of an archive that is not listed
	replaceDamaged bool   // whether invalid documents are replaced

	// keepsEntry, if not nil, reports whether to keep an entry for a file without a record.
	keepsEntry func(ctx context.Context, name string) (bool, error)

	// removeFiles, if not nil, removes the versions from all documents, and is then called with
	// their files.
	removeFiles func(ctx context.Context, there *files) error
}

// lock waits for a lock, if the storage has locks. The lock of a version protects its archives, the
// lock of a provider its documents and the removal of archives. A caller that needs both locks the
// version first.
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
	return m.lock(ctx, providerDir(p)+"/"+documentName(v))
}

func (m *Mirror) lockProvider(ctx context.Context, p addrs.Provider) (unlock func(), err error) {
	return m.lock(ctx, providerDir(p)+"/"+indexName)
}

// publish writes the documents of these versions from the records.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publishOptions) error {
	unlock, err := m.lockProvider(ctx, p)
	if err != nil {
		return err
	}
	defer unlock()
	return m.publishLocked(ctx, p, versions, how)
}

// publishLocked is publish for a caller that has locked the provider. It works in rounds. A round reads
// the documents, then lists the archives, then reads their records, and writes each document unless
// it has changed. Another writer that adds an archive after the listing reads the documents later. So
// one of the two sees a changed document, and starts the next round.
func (m *Mirror) publishLocked(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publishOptions) error {
	return retry(ctx, providerDir(p), func() error {
		r := &round{Mirror: m, provider: p, versions: versions, options: how}
		return r.run(ctx)
	})
}

// retry calls change until it does not conflict with another writer.
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

// pause waits for a random time, so that two writers do not conflict again.
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

// each calls do with 0 to n-1, at most limit calls concurrently, until one fails.
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

// queue publishes versions in the background. While it publishes one batch of a provider, it collects
// the next one.
type queue struct {
	*Mirror
	ctx     context.Context
	workers sync.WaitGroup
	mu      sync.Mutex
	waiting map[addrs.Provider][]finishedVersion // has an element while a worker runs
}

// finishedVersion is a version whose archives have been added.
type finishedVersion struct {
	version addrs.Version
	err     *error
}

// add queues a version. err is set when the workers have ended.
func (q *queue) add(p addrs.Provider, v addrs.Version, err *error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	list, running := q.waiting[p]
	q.waiting[p] = append(list, finishedVersion{v, err})
	if !running {
		q.workers.Go(func() { q.run(p) })
	}
}

func (q *queue) run(p addrs.Provider) {
	for list := q.nextBatch(p); len(list) > 0; list = q.nextBatch(p) {
		versions := make([]addrs.Version, len(list))
		for i, f := range list {
			versions[i] = f.version
		}
		err := q.publish(q.ctx, p, versions, publishOptions{})
		for i, f := range list {
			if *f.err = err; err != nil && len(list) > 1 {
				// One damaged version must not affect the others.
				*f.err = q.publish(q.ctx, p, versions[i:i+1], publishOptions{})
			}
		}
	}
}

// nextBatch returns the queued versions, or ends the worker if there are none.
func (q *queue) nextBatch(p addrs.Provider) []finishedVersion {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.waiting[p]
	if q.waiting[p] = nil; len(list) == 0 {
		delete(q.waiting, p)
	}
	return list
}
