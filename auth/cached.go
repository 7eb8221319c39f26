package auth

import (
	"context"
	"sync"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
)

const (
	defaultTTL = time.Hour
	maxHosts   = 4096
)

// Cached returns a Source that keeps what src says about a host for ttl, also
// that it has no token. Errors are never kept. A ttl of 0 stands for one hour;
// with a negative one nothing is kept. A nil src has no tokens.
//
// Concurrent callers for one host share one lookup, and a slow lookup for one
// host delays no other host. A caller whose context ends leaves at once, with
// an error that wraps the context's; the lookup goes on while anyone waits for
// it.
//
// Cached is an [Invalidator]: Invalidate drops what is kept for a host, and the
// result of a lookup that is under way reaches only those who wait for it
// already. The call is passed on to src if that is an Invalidator too.
func Cached(src Source, ttl time.Duration) Source {
	if ttl == 0 {
		ttl = defaultTTL
	}
	return &cache{src: src, ttl: ttl, slots: map[svchost.Hostname]*slot{}}
}

type cache struct {
	src     Source
	ttl     time.Duration
	lookups flight.Group[*slot, Token]

	mu    sync.Mutex
	slots map[svchost.Hostname]*slot
}

// A slot is the place of one host. To invalidate is to remove it from the map:
// lookups are shared by slot, so nobody joins one that began before.
type slot struct {
	token   Token
	expires time.Time // zero until a lookup has succeeded
}

func (c *cache) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	s, token, ok := c.open(host)
	if ok {
		return token, nil
	}
	token, err := c.lookups.Do(ctx, s, nil, func(ctx context.Context) (Token, error) {
		// Another lookup may have ended since the slot was read.
		if token, ok := c.read(s); ok {
			return token, nil
		}
		token, err := Lookup(ctx, c.src, host)
		if err == nil && c.ttl > 0 {
			c.fill(s, token)
		}
		return token, err
	})
	if err != nil {
		// Also the end of our own context, which src has never seen.
		return Token{}, asSourceError(c, host, err)
	}
	return token, nil
}

// open returns the slot of host, and the token in it if that is still good.
func (c *cache) open(host svchost.Hostname) (s *slot, token Token, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s = c.slots[host]
	if s == nil {
		if len(c.slots) >= maxHosts {
			// No real program has so many hosts; to begin anew bounds the memory.
			clear(c.slots)
		}
		s = new(slot)
		c.slots[host] = s
	}
	return s, s.token, time.Now().Before(s.expires)
}

func (c *cache) read(s *slot) (token Token, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.token, time.Now().Before(s.expires)
}

func (c *cache) fill(s *slot, token Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.token, s.expires = token, time.Now().Add(c.ttl)
}

func (c *cache) Invalidate(host svchost.Hostname) {
	// The inner one first: a lookup that comes between must not bring back
	// what the inner one still keeps.
	if keeper, ok := c.src.(Invalidator); ok {
		keeper.Invalidate(host)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.slots, host)
}

// String names the source behind the cache, which is the one that matters.
func (c *cache) String() string { return nameOf(c.src) }
