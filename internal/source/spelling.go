package source

import (
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// Few sources need any of this, so the bounds are low.
const (
	maxSpelledAddresses = 1000
	maxSpelledVersions  = 10_000 // of one address
)

// Spelling holds those versions of a list that are not written in the canonical way,
// such as "1.0" or "v1.2.3", with the text that was listed: they must be asked for by
// that.
type Spelling map[addrs.Version]string

// Add notes that v is written as text.
func (s *Spelling) Add(v addrs.Version, text string) {
	if text == v.String() || len(*s) >= maxSpelledVersions {
		return
	}
	if *s == nil {
		*s = Spelling{}
	}
	(*s)[v] = text
}

// Spellings remembers the spelling of each provider or module, an A. It is safe for
// concurrent use.
type Spellings[A comparable] struct {
	mu    sync.Mutex
	lists map[A]Spelling
}

// Set replaces what is known about a.
func (s *Spellings[A]) Set(a A, list Spelling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, a)
	if len(list) == 0 {
		return
	}
	if s.lists == nil {
		s.lists = map[A]Spelling{}
	}
	for other := range s.lists {
		if len(s.lists) < maxSpelledAddresses {
			break
		}
		delete(s.lists, other)
	}
	s.lists[a] = list
}

// Of returns the text to ask for v with.
func (s *Spellings[A]) Of(a A, v addrs.Version) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.lists[a][v]; ok {
		return text
	}
	return v.String()
}
