package flight

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/internal/fault"
)

// Shares limits what callers hold at the same time: all of them together, and those with one key, so
// that one client, or one slow host, leaves room for others. It is safe for concurrent use.
type Shares[K comparable] struct {
	total *semaphore.Weighted
	each  int64

	mu   sync.Mutex
	keys map[K]*share // of keys with callers
}

type share struct {
	*semaphore.Weighted
	callers int // those that wait or hold something
}

// NewShares returns Shares of total for all callers, and of each for the callers with one key.
func NewShares[K comparable](total, each int64) *Shares[K] {
	return &Shares[K]{total: semaphore.NewWeighted(total), each: each, keys: map[K]*share{}}
}

// Acquire waits for n, and returns a function that must be called once to release it. When ctx ends,
// it returns the error of [fault.Ended].
func (s *Shares[K]) Acquire(ctx context.Context, key K, n int64) (release func(), err error) {
	own := s.join(key)
	// First the own share: a caller that waits for it must hold nothing that callers with other keys need.
	if own.Acquire(ctx, n) == nil {
		if s.total.Acquire(ctx, n) == nil {
			return s.release(key, own, n), nil
		}
		own.Release(n)
	}
	s.leave(key, own)
	return nil, fault.Ended(ctx)
}

// TryAcquire is Acquire without waiting. More than the share of a key is taken as the whole share.
func (s *Shares[K]) TryAcquire(key K, n int64) (release func(), ok bool) {
	n = min(n, s.each)
	own := s.join(key)
	if own.TryAcquire(n) {
		if s.total.TryAcquire(n) {
			return s.release(key, own, n), true
		}
		own.Release(n)
	}
	s.leave(key, own)
	return nil, false
}

func (s *Shares[K]) release(key K, own *share, n int64) func() {
	return func() {
		s.total.Release(n)
		own.Release(n)
		s.leave(key, own)
	}
}

func (s *Shares[K]) join(key K) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.keys[key]
	if own == nil {
		own = &share{Weighted: semaphore.NewWeighted(s.each)}
		s.keys[key] = own
	}
	own.callers++
	return own
}

func (s *Shares[K]) leave(key K, own *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.callers--; own.callers == 0 {
		delete(s.keys, key)
	}
}
