package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// grace is how long an operation may continue after its context has ended, so that it does not leave
// a package half replaced or unlisted. If this is too short, the next call completes the work.
const grace = time.Second

// withGrace returns a context that ends shortly after ctx.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { cancel(fault.Ended(ctx)) })
		context.AfterFunc(late, func() { timer.Stop() })
	})
	return late, func() { stop(); cancel(nil) }
}

// begin reads the document of a version and returns an edit with its entries. If another program has written the document,
// begin drops the entries of missing archives. If anew is set, a damaged document counts as empty, and begin drops no
// entry: the caller does.
func (m *Mirror) begin(ctx context.Context, p addrs.Provider, v addrs.Version, anew bool) (*edit, error) {
	doc, err := m.readDocument(ctx, providerDir(p), v)
	if err != nil && !(anew && errors.Is(err, errDamaged)) {
		return nil, withRemedy(err)
	}
	if err := doc.State.MayWrite(m.Store, documentName(p, v)); err != nil {
		return nil, err
	}
	e := &edit{version: v, doc: doc, fresh: m.writesFresh(doc), entries: map[string]listed{}}
	for platform, l := range doc.Archives {
		size := int64(0)
		if name := resolve(providerDir(p), l.URL); doc.State.Layout == 0 && !anew && isArchiveOf(p, v, name) {
			if size, err = m.fileSize(ctx, name); err != nil {
				return nil, err
			}
		}
		if size >= 0 {
			e.entries[platform] = l
		}
	}
	return e, nil
}

// writesFresh reports whether archives of a version get fresh names, since no lock protects usual ones.
func (m *Mirror) writesFresh(doc *document) bool {
	return !stored.HasLocks(m.Store) || doc.listsFresh()
}

// publish writes the documents of the edits and the index. The error wraps storage.ErrConflict if another writer has
// changed one of them: then the caller begins again. If anew is set, a damaged index is replaced.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, edits []*edit, anew bool) error {
	unlock, err := stored.Lock(ctx, m.Store, indexName(p))
	if err != nil {
		return err
	}
	defer unlock()
	ix, err := m.readIndex(ctx, p)
	damaged := anew && errors.Is(err, errDamaged)
	if err != nil && !damaged {
		return withRemedy(err)
	}
	if err := ix.State.MayWrite(m.Store, indexName(p)); err != nil {
		return err
	}
	for _, e := range edits {
		// The document was empty. If an addition has since written document and index, the index must not lose the version
		// before the write of the document fails: if this process died between the two, the version would stay unlisted.
		if len(e.doc.Archives) == 0 && len(e.entries) == 0 && ix.lists(e.version) {
			now, err := m.readDocument(ctx, providerDir(p), e.version)
			if err != nil && !errors.Is(err, errDamaged) {
				return err
			}
			if now.was != e.doc.was {
				return storage.ErrConflict
			}
		}
	}
	groups, err := plan(p, ix, edits, damaged, stored.HasLocks(m.Store), m.text)
	if err != nil {
		return err
	}
	return stored.Take(ctx, m.Store, groups[:]...)
}

// edit is what a writer wants to make of the document of a version.
type edit struct {
	version addrs.Version
	doc     *document         // as the writer has read it first
	fresh   bool              // whether archives have fresh names, and no lock is held
	entries map[string]listed // the new ones; if empty, the version is removed
	retire  []string          // usual names, without directory, that must not be listed later
	sweep   bool              // whether unlisted files are deleted afterwards
}

// plan returns the steps that turn what was read into what the edits want. The steps of a group may run concurrently,
// the groups in this order: documents that list archives, the index, documents that list none. So the index never
// lists a version without archives.
//
// A writer reads a document before the index, and writes each on the revision that it has read. Two more rules make
// writers of one version conflict. An addition writes the document even if only the index lacks the version: a removal
// that has read the document before then fails. A removal writes the index even if the index does not list the version:
// an addition that has read the index before, and is about to list the version, then fails.
func plan(p addrs.Provider, ix *index, edits []*edit, dropped, locked bool, serial func() string) (groups [3][]stored.Step, err error) {
	next := map[string]struct{}{}
	maps.Copy(next, ix.Versions)
	for _, e := range edits {
		v := e.version.String()
		switch {
		case len(e.entries) > 0:
			if next[v] = struct{}{}; ix.lists(e.version) && !e.changes() {
				continue
			}
		case ix.lists(e.version) || len(e.doc.Archives) > 0:
			delete(next, v)
			dropped = true
		case len(e.retire) == 0 && (e.fresh || e.doc.was == ""):
			continue // nothing is there
		}
		group := 0
		if len(e.entries) == 0 {
			group = 2
		}
		s, err := e.step(p, serial())
		if err != nil {
			return groups, err
		}
		groups[group] = append(groups[group], s)
	}
	if dropped || len(next) != len(ix.Versions) || ix.State.Layout == 0 && len(edits) > 0 && len(next) > 0 {
		s := stored.Step{Name: indexName(p), Was: ix.was}
		if len(next) > 0 || !locked {
			s.Data, err = stored.Encode(&index{State: stored.State{Layout: stored.Layout, Serial: serial(), Locked: locked}, Versions: next})
		}
		if err == nil && (len(next) > stored.MaxList || len(s.Data) > stored.MaxDocument) {
			err = fmt.Errorf("%s would have more than %d versions or %d bytes: %w", s.Name, stored.MaxList, stored.MaxDocument, failure.ErrTooLarge)
		}
		groups[1] = []stored.Step{s}
	}
	return groups, err
}

// changes reports whether an edit changes the document. The first writer after another program takes it over.
func (e *edit) changes() bool {
	return e.doc.State.Layout == 0 || len(e.retire) > 0 || !maps.EqualFunc(e.doc.Archives, e.entries, listed.equal)
}

// step returns the change of the document of a version. A document without entries stays where there are no locks: it
// refuses writers that have read the document before.
func (e *edit) step(p addrs.Provider, serial string) (stored.Step, error) {
	s := stored.Step{Name: documentName(p, e.version), Was: e.doc.was}
	if !e.fresh && len(e.entries) == 0 && !e.sweep {
		return s, nil
	}
	of := stored.State{Layout: stored.Layout, Serial: serial, Locked: !e.fresh, Swept: e.doc.State.Swept, Retired: e.doc.State.Retired}
	if e.sweep {
		of.Swept++
	}
	if e.fresh {
		of.Retired = slices.Compact(slices.Sorted(slices.Values(slices.Concat(of.Retired, e.retire, e.takenOff(p)))))
	}
	var err error
	if s.Data, err = stored.Encode(&document{Archives: e.entries, State: of}); err == nil && len(s.Data) > maxDocument {
		err = fmt.Errorf("%s would have more than %d bytes: %w", s.Name, maxDocument, failure.ErrTooLarge)
	}
	return s, err
}

// takenOff returns the usual names of archives that lose their entry. A fresh name is never used again anyway.
func (e *edit) takenOff(p addrs.Provider) (names []string) {
	stay := map[string]bool{}
	for _, l := range e.entries {
		stay[l.URL] = true
	}
	for _, l := range e.doc.Archives {
		if name := resolve(providerDir(p), l.URL); !stay[l.URL] && isArchiveOf(p, e.version, name) && !isFresh(name) {
			names = append(names, path.Base(name))
		}
	}
	return names
}
