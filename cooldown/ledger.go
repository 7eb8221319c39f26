package cooldown

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// Ledger is a [Dates] that records when it first saw each version, in a store that programs and processes
// may share. It must not be shared by Rules with different ages. It works with each source, and a
// registry cannot change it.
//
// Each provider and module has a file, such as providers/registry.opentofu.org/hashicorp/random.txt, with
// a line for each version, which people may edit:
//
//	# first seen: registry.opentofu.org/hashicorp/random
//	3.7.2 2026-11-26T10:00:00Z
//	3.7.1 2026-11-20T10:00:00Z first listed
//
// The word "first" marks versions of the first look, and "listed" those that stay listed. A damaged line
// is ignored, and its version is recorded again as seen now. So are all versions if the file is damaged.
// A file has at most 20,000 versions of at most 128 bytes; others have no date. No version is recorded as
// older than the newest one in its file, so a clock that is set back makes no version old.
type Ledger struct {
	// Store has the files. It must not be nil.
	Store storage.Store

	// Old makes versions of the first look old enough: their date is 1970-01-01. If false, it is the date in
	// the list, or without one the time of the first look.
	Old bool

	// Now returns the time. If nil, it is [time.Now]. A [Rule] uses its own.
	Now func() time.Time
}

// Limits of a file.
const (
	maxEntries = 20_000
	maxVersion = 128     // bytes
	maxLedger  = 4 << 20 // bytes; more than that many entries have

	minSeen = -62135596800 // 0001-01-01T00:00:00Z, which is unknown, in seconds since 1970
	maxSeen = 253402300800 // 10000-01-01T00:00:00Z
)

// FirstSeen implements [Dates]. It records versions that are new.
func (l *Ledger) FirstSeen(ctx context.Context, of Subject, list []Version) ([]time.Time, error) {
	times := make([]time.Time, len(list))
	version := func(i int) Version { return list[i] }
	return times, l.visit(ctx, of, clock(l.Now), len(list), version, func(i int, _ Version, seen time.Time, listed bool) bool {
		times[i] = seen
		return listed
	})
}

// visit records n versions and calls decide for each, which reports whether the version is listed now.
// If another process changes the file, it starts again.
func (l *Ledger) visit(ctx context.Context, of Subject, now time.Time, n int, version func(i int) Version, decide func(i int, v Version, seen time.Time, listed bool) bool) error {
	name := fileName(of)
	return stored.Retry(ctx, "the ledger "+name, func() error {
		entries, revision, err := l.read(ctx, name, of)
		if err != nil {
			return err
		}
		var stamp int64 // of new versions
		var text []byte
		first := revision == ""
		changed := first // also record that there was no version
		for i := range n {
			v := version(i)
			text, _ = v.Version.AppendText(text[:0])
			e, known := entries[string(text)]
			if !known && len(entries) < maxEntries && len(text) <= maxVersion {
				if stamp == 0 {
					stamp = next(entries, now)
				}
				e, known, changed = entry{seen: stamp, first: first}, true, true
				if first && !v.Discovered.IsZero() {
					e.seen = min(stamp, v.Discovered.Unix())
				}
				entries[string(text)] = e
			}
			var seen time.Time
			switch {
			case e.first && l.Old:
				seen = time.Unix(0, 0).UTC()
			case known:
				seen = time.Unix(e.seen, 0).UTC()
			}
			if decide(i, v, seen, e.listed) && known && !e.listed {
				e.listed, changed = true, true
				entries[string(text)] = e
			}
		}
		if !changed {
			return nil
		}
		data := encode(of, entries)
		return l.Store.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), revision)
	})
}

// next returns the time for new entries, which is never earlier than now or another entry.
func next(entries map[string]entry, now time.Time) int64 {
	stamp := now.Add(time.Second - 1).Unix()
	for _, e := range entries {
		stamp = max(stamp, e.seen)
	}
	return stamp
}

// read returns the entries of a file, and "" as the revision if there is no file.
func (l *Ledger) read(ctx context.Context, name string, of Subject) (map[string]entry, storage.Revision, error) {
	f, err := l.Store.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	var data strings.Builder
	data.Grow(int(min(f.Size, maxLedger)))
	_, err = io.Copy(&data, io.LimitReader(f, maxLedger+1))
	return decode(of, data.String()), f.Revision, err
}

// entry is a line of a ledger.
type entry struct {
	seen          int64 // seconds since 1970
	first, listed bool
}

func header(of Subject) string { return "# first seen: " + of.String() }

// decode returns the entries of a ledger without damaged ones. If there are several for a version, the one
// with the latest date counts.
func decode(of Subject, data string) map[string]entry {
	entries := make(map[string]entry, min(strings.Count(data, "\n"), maxEntries))
	top, rest, _ := strings.Cut(data, "\n")
	if len(data) > maxLedger || strings.TrimSpace(top) != header(of) {
		return entries // it is about something else
	}
	for line := range strings.Lines(rest) {
		text, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		date, words, _ := strings.Cut(words, " ")
		seen, err := time.Parse(time.RFC3339, date)
		if text == "" || text[0] == '#' || len(text) > maxVersion || err != nil || seen.Unix() <= minSeen || seen.Unix() >= maxSeen {
			continue
		}
		e := entry{seen: seen.Unix()}
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
		old, again := entries[text]
		if !again && len(entries) < maxEntries || again && e.seen > old.seen {
			entries[text] = e
		}
	}
	return entries
}

// encode returns the file of a ledger, the newest entries first.
func encode(of Subject, entries map[string]entry) []byte {
	b := []byte(header(of) + "\n")
	order := slices.SortedFunc(maps.Keys(entries), func(x, y string) int {
		return cmp.Or(cmp.Compare(entries[y].seen, entries[x].seen), strings.Compare(y, x))
	})
	for _, text := range order {
		e := entries[text]
		b = append(b, text+" "...)
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

// fileName returns the name of the file of a ledger. Names of modules that differ only in case have different
// files on all systems.
func fileName(of Subject) string {
	name := "providers/" + of.Provider.Host().String() + "/" + of.Provider.Namespace() + "/" + of.Provider.Type()
	if m := of.Module; !m.IsZero() {
		name = "modules/" + m.Host().String() + "/" + m.Namespace() + "/" + m.Name() + "/" + m.System()
	}
	var b strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String() + ".txt"
}
