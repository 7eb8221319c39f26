package flight

import (
	"context"
	"sync"
	"time"
)

const (
	defaultTTL = time.Hour
	// maxKeys bounds the memory. No real program has so many registries.
	maxKeys = 1024
)

// Cache keeps what shared work has brought, by key and for a time. The zero value
// is ready to use. A Cache must not be copied after its first use; its methods are
// safe for concurrent use.
type Cache[K comparable, V any] struct {
	runs Group[run[V], V]

	mu     sync.Mutex
	places map[K]*place[V]
}

// place is where the value of one key is kept. To forget is to remove it from the
// map: runs are shared by place, so nobody joins one that began before.
type place[V any] struct {
	value   V
	expires time.Time // zero until a run has succeeded
}

func (p *place[V]) get() (V, bool) { return p.value, time.Now().Before(p.expires) }

// run is work for a place, which callers share that ask with the same means.
type run[V any] struct {
	place *place[V]
	means any
}

// Get returns the value of key, if one is kept.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.places[key]; p != nil {
		return p.get()
	}
	return v, false
}

// Do returns the value of key, if one is kept, and otherwise what fn returns, as
// [Group.Do] does. If fn succeeds, its value is kept for ttl: an hour if that is 0,
// not at all if it is negative. All callers get the same value.
func (c *Cache[K, V]) Do(ctx context.Context, key K, ttl time.Duration, fn func(context.Context) (V, error)) (V, error) {
	return c.DoBy(ctx, key, nil, ttl, fn)
}

// DoBy is Do for callers whose means differ, such as their tokens: only those with equal
// means, which must be comparable, share a run.
func (c *Cache[K, V]) DoBy(ctx context.Context, key K, means any, ttl time.Duration, fn func(context.Context) (V, error)) (V, error) {
	if ttl == 0 {
		ttl = defaultTTL
	}
	p, v, ok := c.open(key)
	if ok {
		return v, nil
	}
	return c.runs.Do(ctx, run[V]{p, means}, nil, func(ctx context.Context) (V, error) {
		// Another run may have ended since the place was looked at.
		c.mu.Lock()
		v, ok := p.get()
		c.mu.Unlock()
		if ok {
			return v, nil
		}
		v, err := fn(ctx)
		if err == nil && ttl > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			p.value, p.expires = v, time.Now().Add(ttl)
		}
		return v, err
	})
}

// open returns the place of key, and the value in it if that is still good.
func (c *Cache[K, V]) open(key K) (p *place[V], v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p = c.places[key]
	if p == nil {
		if c.places == nil || len(c.places) >= maxKeys {
			c.places = make(map[K]*place[V])
		}
		p = new(place[V])
		c.places[key] = p
	}
	v, ok = p.get()
	return p, v, ok
}

// Forget drops what is kept for key. A run that is under way is left alone, but its
// result reaches only those who wait for it already.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.places, key)
}
