package cooldown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// Ledger is a [Recorder] in a store. Processes may share it, but not Rules with different ages. A registry cannot
// change it.
//
// Each provider and module has a file, such as providers/registry.opentofu.org,hashicorp,random.txt, which
// people may edit. Modules whose names differ only in case share one.
//
//	# first seen: registry.opentofu.org/hashicorp/random
//	3.7.2 2026-11-26T10:00:00Z
//	3.7.1 2026-11-20T10:00:00Z first listed
//
// The word "first" marks versions of the first list, and "listed" those that stay listed. A version that a list
// lacks is removed, and new if it comes back, unless the list is [provider.Versions.Partial].
//
// The versions of a damaged line or file are recorded again as seen now. A file has at most 20,000 versions of
// at most 128 bytes; others count as seen now. There are at most 10,000 files for providers, and as many for
// modules; the error for another one wraps [failure.ErrTooLarge]. A new version is not older than the newest in
// its file, so a clock that is set back makes none old. If the clock was ahead, edit the dates.
type Ledger struct {
	Store storage.Store // must not be nil

	// Old, if not zero, is a time such as the day after a server first started. A version of the first list is old
	// enough if its stated date, or without one the time of that list, is before Old.
	Old time.Time

	// Now, if not nil, replaces [time.Now]. A [Rule] uses its own.
	Now func() time.Time
}

var (
	_ Dates    = (*Ledger)(nil)
	_ Recorder = (*Ledger)(nil)
)

// Limits of a ledger and of a file.
const (
	maxFiles   = 10_000 // of providers, and of modules
	maxEntries = 20_000
	maxTries   = 10      // to write a file; each judges all versions again
	maxVersion = 128     // bytes
	maxLedger  = 4 << 20 // bytes; more than that many entries have

	minSeen = -62135596799 // a second after 0001-01-01T00:00:00Z, which is unknown, in seconds since 1970
	maxSeen = 253402300800 // 10000-01-01T00:00:00Z
)

// FirstSeen implements [Dates]. It records new versions, and removes none. Errors are as of Record.
func (l *Ledger) FirstSeen(ctx context.Context, of Subject, list []Version) ([]time.Time, error) {
	times := make([]time.Time, len(list))
	err := l.visit(ctx, of, clock(l.Now), false, func(p *page) {
		for i, v := range list {
			times[i] = p.find(v).date(l.Old)
		}
	})
	return times, err
}

// Record implements [Recorder]. If other processes change the file during 10 attempts, the error wraps
// [storage.ErrConflict].
func (l *Ledger) Record(ctx context.Context, look Look, decide func(i int, seen time.Time, listed bool) bool) error {
	return l.visit(ctx, look.Of, look.Now, look.Partial, func(p *page) {
		for i, v := range look.List {
			if e := p.find(v); decide(i, e.date(l.Old), e.listed) {
				p.list(e)
			}
		}
		if !look.Partial {
			p.forget()
		}
	})
}

// visit calls change with the file of a provider or a module, and writes the file if it has changed. If another process
// has written it meanwhile, visit starts again, 10 times at most. If partial is set, the file is not created.
func (l *Ledger) visit(ctx context.Context, of Subject, now time.Time, partial bool, change func(*page)) error {
	name := fileName(of)
	return stored.RetryAtMost(ctx, maxTries, "the ledger "+name, func() error {
		file, err := stored.Read(ctx, l.Store, name)
		if err != nil && !errors.Is(err, stored.ErrDamaged) {
			return err
		}
		p := decode(of, string(file.Data))
		if file.Revision == "" && !partial {
			p.first, p.changed = true, true // also record that there was no version
		}
		p.now = now.Add(time.Second - 1).Unix()
		for _, e := range p.entries {
			p.now = max(p.now, e.seen)
		}
		change(p)
		if !p.changed || file.Revision == "" && partial {
			return nil
		}
		if file.Revision == "" {
			files, err := l.Store.List(ctx, path.Dir(name))
			if err != nil {
				return err
			}
			if len(files) >= maxFiles {
				return fmt.Errorf("the ledger has no place for %s: there are %d files in %s, delete some: %w", of, len(files), path.Dir(name), failure.ErrTooLarge)
			}
		}
		return stored.Write(ctx, l.Store, name, p.encode(of), file)
	})
}

// page is a file of a ledger.
type page struct {
	entries []entry
	index   map[string]int // of entries, by version
	first   bool           // whether there was no file
	changed bool
	now     int64  // date of new versions, never earlier than another entry
	text    []byte // buffer
}

// entry is a line of a ledger.
type entry struct {
	version       string
	seen          int64 // seconds since 1970
	first, listed bool
	found         bool // in this visit
}

// date returns when the version was first seen. Versions of the first list before old are old.
func (e *entry) date(old time.Time) time.Time {
	seen := time.Unix(e.seen, 0).UTC()
	if e.first && seen.Before(old) {
		return time.Unix(0, 0).UTC()
	}
	return seen
}

// find returns the entry of a version, which is new if it is missing. An entry that exceeds a limit is not added, so
// the version is new each time.
func (p *page) find(v Version) *entry {
	p.text, _ = v.Version.AppendText(p.text[:0])
	if i, known := p.index[string(p.text)]; known {
		p.entries[i].found = true
		return &p.entries[i]
	}
	e := entry{version: string(p.text), seen: p.now, found: true}
	if len(p.entries) >= maxEntries || len(e.version) > maxVersion {
		return &e
	}
	if e.first = p.first; e.first && !v.Discovered.IsZero() {
		e.seen = max(minSeen, min(e.seen, v.Discovered.Unix()))
	}
	p.changed = true
	p.add(e)
	return &p.entries[len(p.entries)-1]
}

func (p *page) add(e entry) {
	p.index[e.version] = len(p.entries)
	p.entries = append(p.entries, e)
}

// list marks an entry as listed.
func (p *page) list(e *entry) {
	if !e.listed {
		e.listed, p.changed = true, true
	}
}

// forget removes the entries that find has not returned. Afterwards, find must not be called.
func (p *page) forget() {
	before := len(p.entries)
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool { return !e.found })
	p.changed = p.changed || len(p.entries) < before
}

func header(of Subject) string { return "# first seen: " + strings.ToLower(of.String()) }

// decode returns the entries of a ledger without damaged ones. If there are several for a version, the one
// with the latest date counts.
func decode(of Subject, data string) *page {
	lines := min(strings.Count(data, "\n"), maxEntries)
	p := &page{entries: make([]entry, 0, lines), index: make(map[string]int, lines)}
	top, rest, _ := strings.Cut(data, "\n")
	if len(data) > maxLedger || strings.TrimSpace(top) != header(of) {
		return p // it is about something else
	}
	for line := range strings.Lines(rest) {
		text, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		date, words, _ := strings.Cut(words, " ")
		if text == "" || text[0] == '#' || len(text) > maxVersion || len(date) < len("2026-11-26T10:00:00Z") {
			continue // the error of time.Parse takes more memory than the line
		}
		seen, err := time.Parse(time.RFC3339, date)
		if err != nil || seen.Unix() < minSeen || seen.Unix() >= maxSeen {
			continue
		}
		e := entry{version: text, seen: seen.Unix()}
		switch words {
		case "":
		case "first":
			e.first = true
		case "listed":
			e.listed = true
		case "first listed":
			e.first, e.listed = true, true
		default:
			continue
		}
		if old, again := p.index[text]; again {
			if e.seen > p.entries[old].seen {
				p.entries[old] = e
			}
		} else if len(p.entries) < maxEntries {
			p.add(e)
		}
	}
	return p
}

// encode returns the file, the newest entries first.
func (p *page) encode(of Subject) []byte {
	b := []byte(header(of) + "\n")
	slices.SortFunc(p.entries, func(x, y entry) int {
		return cmp.Or(cmp.Compare(y.seen, x.seen), strings.Compare(y.version, x.version))
	})
	for _, e := range p.entries {
		b = append(b, e.version+" "...)
		b = time.Unix(e.seen, 0).UTC().AppendFormat(b, time.RFC3339)
		if e.first {
			b = append(b, " first"...)
		}
		if e.listed {
			b = append(b, " listed"...)
		}
		b = append(b, '\n')
	}
	return b
}

// fileName returns the name of the file of a ledger. All files of a kind are in one directory, so that they can be
// counted.
func fileName(of Subject) string {
	p, m := of.Provider, of.Module
	if m.IsZero() {
		return "providers/" + strings.Join([]string{p.Host().String(), p.Namespace(), p.Type()}, ",") + ".txt"
	}
	return "modules/" + strings.ToLower(strings.Join([]string{m.Host().String(), m.Namespace(), m.Name(), m.System()}, ",")) + ".txt"
}
