package flight

import (
	"context"
	"sync"
	"time"
)

const (
	defaultTTL = time.Hour
	// maxKeys limits the memory.
	maxKeys = 1024
)

// Cache caches results of shared work by key, for a time. The zero Cache is ready to use. It is
// safe for concurrent use and must not be copied after the first use.
type Cache[K comparable, V any] struct {
	runs Group[run[V], V]

	mu      sync.Mutex
	entries map[K]*entry[V]
}

// entry is the entry of a key. Runs are shared by entry, so that a caller after Forget, which
// removes the entry, does not share an earlier run.
type entry[V any] struct {
	value   V
	expires time.Time // zero until a run has succeeded
}

func (e *entry[V]) get() (V, bool) { return e.value, time.Now().Before(e.expires) }

// run identifies shared work: callers with the same entry and the same group share it.
type run[V any] struct {
	entry *entry[V]
	group any
}

// Get returns the value of key, if it is cached.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.get()
	}
	return v, false
}

// Do returns the cached value of key, or the result of fn as [Group.Do] does. If fn succeeds, its
// value is cached for ttl. If ttl is zero, it is an hour. If ttl is negative, the value is not
// cached. All callers get the same value.
func (c *Cache[K, V]) Do(ctx context.Context, key K, ttl time.Duration, fn func(context.Context) (V, error)) (V, error) {
	return c.DoBy(ctx, key, nil, ttl, fn)
}

// DoBy is Do for callers with different credentials: only callers with an equal group, which must
// be comparable, share a run.
func (c *Cache[K, V]) DoBy(ctx context.Context, key K, group any, ttl time.Duration, fn func(context.Context) (V, error)) (V, error) {
	if ttl == 0 {
		ttl = defaultTTL
	}
	e, v, ok := c.entry(key)
	if ok {
		return v, nil
	}
	return c.runs.Do(ctx, run[V]{e, group}, nil, func(ctx context.Context) (V, error) {
		// Another run may have ended in the meantime.
		c.mu.Lock()
		v, ok := e.get()
		c.mu.Unlock()
		if ok {
			return v, nil
		}
		v, err := fn(ctx)
		if err == nil && ttl > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			e.value, e.expires = v, time.Now().Add(ttl)
		}
		return v, err
	})
}

// entry returns the entry of key, which it adds if it is missing, and the value if it is cached.
func (c *Cache[K, V]) entry(key K) (e *entry[V], v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[key]
	if e == nil {
		if c.entries == nil || len(c.entries) >= maxKeys {
			c.entries = make(map[K]*entry[V])
		}
		e = new(entry[V])
		c.entries[key] = e
	}
	v, ok = e.get()
	return e, v, ok
}

// Forget removes the value of key. A run that has begun continues, and its result goes only to
// callers that wait for it.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}
