package source

import (
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
)

// Few sources need any of this, so the bounds are low: 100,000 texts of 256 bytes.
const (
	maxSpelled         = 100_000
	maxSpelledVersions = 10_000 // of one address
)

// Spelling holds those versions of a list that are not written in the canonical way,
// such as "1.0" or "v1.2.3", with the text that was listed: most servers know them by
// that.
type Spelling map[addrs.Version]string

// Add notes that v is written as text. Of a version that is listed again, the first
// spelling counts, or the canonical one if that is among them.
func (s *Spelling) Add(v addrs.Version, text string, again bool) {
	switch {
	case text == v.String():
		delete(*s, v)
	case again || len(*s) >= maxSpelledVersions:
	default:
		if *s == nil {
			*s = Spelling{}
		}
		(*s)[v] = text
	}
}

// Spellings remembers the spelling of each provider or module, an A. It is safe for
// concurrent use.
type Spellings[A comparable] struct {
	mu    sync.Mutex
	lists map[A]Spelling
	total int // versions in all lists
}

// Set replaces what is known about a.
func (s *Spellings[A]) Set(a A, list Spelling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(a)
	if len(list) == 0 {
		return
	}
	if s.lists == nil {
		s.lists = map[A]Spelling{}
	}
	for other := range s.lists {
		if s.total+len(list) <= maxSpelled {
			break
		}
		s.forget(other)
	}
	s.lists[a] = list
	s.total += len(list)
}

func (s *Spellings[A]) forget(a A) {
	s.total -= len(s.lists[a])
	delete(s.lists, a)
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

// Ask has ask get what a server has of v of a: by the spelling that it lists, then by the
// canonical one, which is all that the CLI ever asks for. If the server refuses both, see
// [httpx.Refusal], explain turns the first refusal into the reason for it. In doing so it
// may come to know the list, and the spelling there has not been tried yet; only if that
// is refused as well, the reason is what Ask returns.
func Ask[A comparable, T any](s *Spellings[A], a A, v addrs.Version, ask func(text string) (T, error), explain func(*failure.RequestError) error) (T, error) {
	texts := slices.Compact([]string{s.Of(a, v), v.String()})
	var first *failure.RequestError
	for _, text := range texts {
		got, err := ask(text)
		refused := httpx.Refusal(err)
		if refused == nil {
			return got, err
		}
		if first == nil {
			first = refused
		}
	}
	reason := explain(first)
	if listed := s.Of(a, v); !slices.Contains(texts, listed) {
		if got, err := ask(listed); httpx.Refusal(err) == nil {
			return got, err
		}
	}
	var none T
	return none, first.Because(reason)
}
