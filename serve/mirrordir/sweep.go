package mirrordir

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
)

// maxTogether is the maximum number of versions that are locked, read and written together.
const maxTogether = 50

// Remove removes versions of p, or all if none is given. It ignores missing versions and keeps unpacked packages. If it
// fails, another call completes the removal. In a store without locks, the archives stay until [Mirror.Sweep].
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	return failure.Wrap("remove", p.String(), m.remove(ctx, p, versions))
}

func (m *Mirror) remove(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	if err := m.checkProvider(p); err != nil {
		return err
	}
	if len(versions) == 0 {
		f, err := m.listFiles(ctx, p, providerDir(p))
		if err != nil {
			return err
		}
		index, err := m.readIndex(ctx, p)
		if err != nil {
			return withRemedy(err)
		}
		maps.Copy(f.versions, index.list())
		versions = slices.Collect(maps.Keys(f.versions))
	}
	versions = slices.SortedFunc(slices.Values(versions), addrs.Version.Compare)
	for some := range slices.Chunk(slices.Compact(versions), maxTogether) {
		if err := m.removeVersions(ctx, p, some); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mirror) removeVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	unlock, err := stored.Lock(ctx, m.Store, documentNames(p, versions)...)
	if err != nil {
		return err
	}
	defer unlock()
	return stored.Retry(ctx, providerDir(p), func() error { return m.removeOnce(ctx, p, versions) })
}

// removeOnce takes versions off the documents. Where their locks are held, it then deletes their files.
func (m *Mirror) removeOnce(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	there, err := m.listFiles(ctx, p, providerDir(p))
	if err != nil {
		return err
	}
	edits := make([]*edit, len(versions))
	err = stored.Each(ctx, stored.Parallel, len(versions), func(ctx context.Context, i int) (err error) {
		edits[i], err = m.begin(ctx, p, versions[i], false)
		return err
	})
	if err != nil {
		return err
	}
	var garbage []string
	for _, e := range edits {
		clear(e.entries)
		if !e.fresh {
			garbage = slices.Concat(garbage, there.archives[e.version], there.records[e.version])
			continue
		}
		for _, name := range there.archives[e.version] {
			if !isFresh(name) && !e.doc.retired(name) {
				e.retire = append(e.retire, path.Base(name))
			}
		}
	}
	if err := m.publish(ctx, p, edits, false); err != nil {
		return err
	}
	return stored.Delete(ctx, m.Store, garbage)
}

// SweepResult is what [Mirror.Sweep] has deleted.
type SweepResult struct {
	Files int   `json:"files"` // number of deleted files
	Bytes int64 `json:"bytes"` // their total size
}

// Sweep deletes files that no document lists any more: removed and replaced files in a store without locks, and uploads
// of processes that have died. Files of other programs stay unless they were listed and removed.
//
// Call it once a day: a process that is adding a package uploads it again after a Sweep, and a client may have to
// read a document again.
func (m *Mirror) Sweep(ctx context.Context) (SweepResult, error) {
	var result SweepResult
	providers, err := m.providers(ctx, func(string, string) {})
	if err != nil {
		return result, failure.Wrap("sweep", "the mirror", err)
	}
	for _, p := range providers {
		there, err := m.listFiles(ctx, p, providerDir(p)) // before the documents
		if err != nil {
			return result, failure.Wrap("sweep", p.String(), err)
		}
		for _, v := range slices.SortedFunc(maps.Keys(there.versions), addrs.Version.Compare) {
			garbage, err := m.sweepVersion(ctx, p, v, there)
			for _, name := range garbage {
				result.Files++
				result.Bytes += there.sizes[name]
			}
			if err != nil {
				return result, failure.Wrap("sweep", Want{Provider: p, Version: v}.String(), err)
			}
		}
	}
	return result, nil
}

// sweepVersion deletes the files of a version that its document does not list. It writes the document before, so that
// no writer that has read it earlier can list one of them.
func (m *Mirror) sweepVersion(ctx context.Context, p addrs.Provider, v addrs.Version, there *files) (garbage []string, err error) {
	unlock, err := stored.Lock(ctx, m.Store, documentName(p, v))
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = stored.Retry(ctx, documentName(p, v), func() error {
		e, err := m.begin(ctx, p, v, false)
		if err != nil {
			return err
		}
		if garbage = e.unlisted(p, there); len(garbage) == 0 {
			return nil
		}
		e.sweep = true
		s, err := e.step(p, m.text())
		if err != nil {
			return err
		}
		return stored.Take(ctx, m.Store, []stored.Step{s})
	})
	if err != nil {
		return nil, err
	}
	return garbage, stored.Delete(ctx, m.Store, garbage)
}

// unlisted returns the files that the document does not list and never will: those with fresh names, and retired ones.
func (e *edit) unlisted(p addrs.Provider, there *files) (names []string) {
	listed := e.doc.names(p)
	for _, name := range slices.Concat(there.archives[e.version], there.records[e.version]) {
		if !listed[name] && (isFresh(name) || e.doc.retired(name)) {
			names = append(names, name)
		}
	}
	return names
}
