package mirrordir

import (
	"context"
	"encoding/json"
	"path"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// documentHomes returns the directories that have the documents of p: the one with the
// archives and, for an internationalised host, the one where network clients look.
func documentHomes(p addrs.Provider) []string {
	home, wire := homeOf(p), wireHomeOf(p)
	if home == wire {
		return []string{home}
	}
	return []string{home, wire}
}

// listing is what the documents are to say about archives of one version. Nil takes the
// platform out.
type listing map[addrs.Platform]*recorded

// recorded is an archive that is on record.
type recorded struct {
	*record
	name string // of the archive in the storage
}

// list brings the documents of a version up to date and reports whether they list anything
// then.
func (m *Mirror) list(ctx context.Context, p addrs.Provider, v addrs.Version, changes listing) (lists bool, err error) {
	if len(changes) == 0 {
		return false, nil
	}
	for _, dir := range documentHomes(p) {
		err := m.update(ctx, path.Join(dir, documentName(v)), func(data []byte) ([]byte, error) {
			doc, archives, err := parseDocument(data, memberArchives)
			if err != nil {
				return nil, err
			}
			if archives == nil {
				archives = object{}
			}
			if err := changes.apply(archives, dir); err != nil {
				return nil, err
			}
			lists = lists || len(archives) > 0
			if data == nil && len(archives) == 0 {
				return nil, nil
			}
			return edited(doc, memberArchives, archives)
		})
		if err != nil {
			return false, err
		}
	}
	return lists, nil
}

// apply changes the entries of a document in the directory dir.
func (l listing) apply(archives object, dir string) error {
	for platform, r := range l {
		if r == nil {
			delete(archives, platform.String())
			continue
		}
		raw, err := json.Marshal(listed{Hashes: r.Hashes, URL: urlOf(dir, r.name)})
		if err != nil {
			return err
		}
		archives[platform.String()] = raw
	}
	return nil
}

// listVersions puts versions into the index of p, after the documents about them: what the
// index names can be asked for.
func (m *Mirror) listVersions(ctx context.Context, p addrs.Provider, list []addrs.Version) error {
	for _, dir := range documentHomes(p) {
		err := m.update(ctx, path.Join(dir, indexName), func(data []byte) ([]byte, error) {
			doc, versions, err := parseDocument(data, memberVersions)
			if err != nil {
				return nil, err
			}
			if versions == nil {
				versions = object{}
			}
			added := false
			for _, v := range list {
				if raw, ok := versions[v.String()]; !ok || isNull(raw) {
					versions[v.String()], added = json.RawMessage("{}"), true
				}
			}
			if !added {
				return data, nil
			}
			return edited(doc, memberVersions, versions)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexQueue collects the versions of each provider that are to be put into its index, so
// that those that come while one change is written go into the next one together.
type indexQueue struct {
	mu      sync.Mutex
	waiting map[addrs.Provider]*indexBatch // that can still be joined
	busy    map[addrs.Provider]bool        // somebody writes
}

type indexBatch struct {
	versions []addrs.Version
	done     chan struct{}
	err      error
}

// add puts v into the index of p, or has somebody do it who is at it already.
func (q *indexQueue) add(p addrs.Provider, v addrs.Version, write func(list []addrs.Version) error) error {
	q.mu.Lock()
	if q.waiting == nil {
		q.waiting, q.busy = map[addrs.Provider]*indexBatch{}, map[addrs.Provider]bool{}
	}
	mine := q.waiting[p]
	if mine == nil {
		mine = &indexBatch{done: make(chan struct{})}
		q.waiting[p] = mine
	}
	mine.versions = append(mine.versions, v)
	if q.busy[p] {
		q.mu.Unlock()
		<-mine.done
		return mine.err
	}
	q.busy[p] = true
	for b := mine; b != nil; b = q.waiting[p] {
		delete(q.waiting, p)
		q.mu.Unlock()
		b.err = write(b.versions)
		close(b.done)
		q.mu.Lock()
	}
	q.busy[p] = false
	q.mu.Unlock()
	return mine.err
}
