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
	// Bytes is the maximum size of all values together by Size, which may be nil if Bytes is zero. Then
	// only the number of values is limited.
	Bytes int64
	Size  func(K, V) int64

	runs Group[run[K], V]

	mu      sync.Mutex
	entries map[K]entry[V] // of successful work
	bytes   int64          // of the entries
	forgets int            // calls of Forget
}

type entry[V any] struct {
	value   V
	bytes   int64
	expires time.Time
}

// run identifies shared work. Callers after Forget do not share an earlier run.
type run[K comparable] struct {
	key     K
	forgets int
}

// Do returns the cached value of key, or the result of fn as [Group.Do] does. If fn succeeds, its
// value is cached for ttl. If ttl is zero, it is an hour. If ttl is negative, the value is not
// cached. All callers get the same value. A new value may evict any other one.
func (c *Cache[K, V]) Do(ctx context.Context, key K, fn func(context.Context) (v V, ttl time.Duration, err error)) (V, error) {
	v, forgets, ok := c.get(key)
	if ok {
		return v, nil
	}
	return c.runs.Do(ctx, run[K]{key, forgets}, nil, func(ctx context.Context) (V, error) {
		// Another run may have ended in the meantime.
		if v, _, ok := c.get(key); ok {
			return v, nil
		}
		v, ttl, err := fn(ctx)
		if err == nil && ttl >= 0 {
			c.put(key, v, ttl, forgets)
		}
		return v, err
	})
}

// get returns the cached value of key, and the number of calls of Forget.
func (c *Cache[K, V]) get(key K) (v V, forgets int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return e.value, c.forgets, ok && time.Now().Before(e.expires)
}

// Get returns the cached value of key.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	v, _, ok = c.get(key)
	return v, ok
}

// Put caches a value for ttl. It may evict any other value.
func (c *Cache[K, V]) Put(key K, v V, ttl time.Duration) {
	c.mu.Lock()
	forgets := c.forgets
	c.mu.Unlock()
	c.put(key, v, ttl, forgets)
}

// put caches a value, unless Forget has been called since the run began. It first removes what has
// expired, and then any others, until there is room.
func (c *Cache[K, V]) put(key K, v V, ttl time.Duration, forgets int) {
	if ttl == 0 {
		ttl = defaultTTL
	}
	var n int64
	if c.Bytes > 0 {
		if n = c.Size(key, v); n > c.Bytes {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets != forgets {
		return
	}
	if c.entries == nil {
		c.entries = map[K]entry[V]{}
	}
	c.drop(key)
	full := func() bool { return len(c.entries) >= maxKeys || c.Bytes > 0 && c.bytes+n > c.Bytes }
	now := time.Now()
	for _, expired := range []bool{true, false} {
		if !full() {
			break
		}
		for other, e := range c.entries {
			if full() && (!expired || !now.Before(e.expires)) {
				c.drop(other)
			}
		}
	}
	c.entries[key] = entry[V]{v, n, now.Add(ttl)}
	c.bytes += n
}

// drop removes a value. The caller holds the mutex.
func (c *Cache[K, V]) drop(key K) {
	c.bytes -= c.entries[key].bytes
	delete(c.entries, key)
}

// Forget removes the values of keys that match. Runs that have begun continue, and their results
// go only to callers that wait for them.
func (c *Cache[K, V]) Forget(match func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	for key := range c.entries {
		if match(key) {
			c.drop(key)
		}
	}
}
