package mirrortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/serve/access"
)

// Entries collects what a handler reports to Access.
type Entries struct {
	mu   sync.Mutex
	list []access.Entry
}

// Add is for the field Access.
func (e *Entries) Add(_ context.Context, one access.Entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, one)
}

// Take returns the entries since the last call, and their texts without sizes and durations, sorted.
func (e *Entries) Take() (list []access.Entry, texts []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list, e.list = e.list, nil
	for _, one := range list {
		text := fmt.Sprintf("%s: %d %s", strings.TrimSpace(fmt.Sprintf("%s %s", one.Kind, one.Subject())), one.Status, one.Cache)
		if one.Aborted {
			text += " aborted"
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	slices.Sort(texts)
	return list, texts
}
