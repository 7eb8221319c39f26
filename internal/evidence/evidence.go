// Package evidence caches SHA256SUMS documents with their signatures. The packages of a version share them.
package evidence

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
)

// Cache is a cache of evidence. Set the fields before the first use. It is safe for concurrent use.
type Cache struct {
	// Lifetime is the time for which evidence is used.
	Lifetime time.Duration
	// Bytes is the maximum size of the cached documents and keys. New ones evict others.
	Bytes int64
	// Accept, if not nil, reports whether documents prove what is stated about a package. If not, they are
	// neither cached for it nor used from the cache.
	Accept func(verify.Evidence) bool

	fetching flight.Group[Key, documents]
	once     sync.Once
	cached   flight.Cache[Key, documents]
}

// Key identifies documents: by their URLs, the provider, whose host may need a token, and the way to it.
type Key struct {
	Provider             addrs.Provider
	Sums, Signature, Via string
}

type documents struct{ sums, signature []byte }

// evidence returns the evidence for the package that stated describes.
func (d documents) evidence(stated verify.Evidence) verify.Evidence {
	stated.Sums, stated.Signature = bytes.Clone(d.sums), bytes.Clone(d.signature)
	return stated
}

func size(key Key, d documents) int64 {
	return int64(len(d.sums) + len(d.signature) + len(key.Sums) + len(key.Signature) + len(key.Via))
}

// Get returns stated, which has no documents, with the cached ones, or with those that fetch returns.
// Concurrent callers share them, and each gets a copy.
func (c *Cache) Get(ctx context.Context, key Key, stated verify.Evidence, fetch func(context.Context) (verify.Evidence, error)) (verify.Evidence, error) {
	c.once.Do(func() { c.cached.Bytes, c.cached.Size = c.Bytes, size })
	if known, ok := c.look(key, stated); ok {
		return known.evidence(stated), nil
	}
	fetched, err := c.fetching.Do(ctx, key, nil, func(ctx context.Context) (documents, error) {
		if known, ok := c.look(key, stated); ok { // fetched since the first look
			return known, nil
		}
		ev, err := fetch(ctx)
		d := documents{ev.Sums, ev.Signature}
		if err == nil && c.accepts(d.evidence(stated)) {
			c.cached.Put(key, d, c.Lifetime) // before the next caller can miss this one
		}
		return d, err
	})
	if err != nil {
		return verify.Evidence{}, err
	}
	return fetched.evidence(stated), nil
}

// look returns the cached documents if they prove what stated says.
func (c *Cache) look(key Key, stated verify.Evidence) (documents, bool) {
	known, ok := c.cached.Get(key)
	return known, ok && c.accepts(known.evidence(stated))
}

func (c *Cache) accepts(ev verify.Evidence) bool { return c.Accept == nil || c.Accept(ev) }

// MaxSums bounds the bytes of the different SHA256SUMS documents in the reports of a job. Each platform may have its own.
const MaxSums = 16 << 20

// Shared makes reports with equal SHA256SUMS documents share one. It is safe for concurrent use.
type Shared struct {
	// Budget has the bytes of the documents, of which [MaxSums] are free at first. Several Shared may have it. It must not be nil.
	Budget *semaphore.Weighted

	mu   sync.Mutex
	sums []*verify.Sums
}

// Share replaces the document in report, which may be nil, by an equal one. The error means that Budget does not suffice.
func (s *Shared) Share(report *verify.Report) error {
	if report == nil || report.Sums == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.sums, report.Sums.Equal); i >= 0 {
		report.Sums = s.sums[i]
		return nil
	}
	text, _ := report.Sums.MarshalText() // its error is always nil
	if !s.Budget.TryAcquire(int64(len(text))) {
		return fmt.Errorf("more than %d bytes in the SHA256SUMS documents of all platforms: %w", MaxSums, failure.ErrTooLarge)
	}
	s.sums = append(s.sums, report.Sums)
	return nil
}
