package regclient

import (
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// spellings remembers how registries write those versions of a provider or module,
// an A, that they do not write in the canonical way, such as "1.0" or "v1.2.3": a
// package must be asked for by the very text that was listed.
type spellings[A comparable] struct {
	mu    sync.Mutex
	lists map[A]map[addrs.Version]string
}

// Few registries need any of this, so the bounds are low.
const (
	maxSpelledAddresses = 1000
	maxSpelledVersions  = 10_000 // of one address
)

// set replaces what is known about a.
func (s *spellings[A]) set(a A, list map[addrs.Version]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, a)
	if len(list) == 0 {
		return
	}
	if s.lists == nil {
		s.lists = map[A]map[addrs.Version]string{}
	}
	for other := range s.lists {
		if len(s.lists) < maxSpelledAddresses {
			break
		}
		delete(s.lists, other)
	}
	s.lists[a] = list
}

// of returns the text to ask for v with.
func (s *spellings[A]) of(a A, v addrs.Version) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.lists[a][v]; ok {
		return text
	}
	return v.String()
}
