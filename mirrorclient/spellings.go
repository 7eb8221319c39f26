package mirrorclient

import (
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// spellings remembers how a mirror writes those versions that it does not write
// in the canonical way, such as "1.0" or "01.2.3": a package must be asked for by
// the very text that was listed.
type spellings struct {
	mu    sync.Mutex
	lists map[addrs.Provider]map[addrs.Version]string
}

// Few mirrors need any of this, so the bounds are low.
const (
	maxSpelledProviders = 1000
	maxSpelledVersions  = 10_000 // of one provider
)

// set replaces what is known about p.
func (s *spellings) set(p addrs.Provider, list map[addrs.Version]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, p)
	if len(list) == 0 {
		return
	}
	if s.lists == nil {
		s.lists = map[addrs.Provider]map[addrs.Version]string{}
	}
	for other := range s.lists {
		if len(s.lists) < maxSpelledProviders {
			break
		}
		delete(s.lists, other)
	}
	s.lists[p] = list
}

// of returns the text to ask for v with.
func (s *spellings) of(p addrs.Provider, v addrs.Version) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.lists[p][v]; ok {
		return text
	}
	return v.String()
}
