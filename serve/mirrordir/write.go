package mirrordir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// maxWriting is the maximum number of files that are read or written concurrently.
const maxWriting = 16

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

// lock waits for locks, if the store has locks. A writer holds the lock of a version from reading its document until
// document and index are written. The lock of a provider protects its index. A writer that needs both locks the version
// first. It locks several versions in their order.
func (m *Mirror) lock(ctx context.Context, names ...string) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, free := range held {
			free()
		}
	}
	for _, name := range names {
		free, err := stored.Lock(ctx, m.Store, name)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, free)
	}
	return unlock, nil
}

func (m *Mirror) hasLocks() bool {
	_, ok := storage.As[storage.Locker](m.Store)
	return ok
}

// errLayout means that this version of the package must not write.
var errLayout = errors.New("the mirror must be written by another program or version")

// mayWrite returns an error if a document says that m must not change it.
func (m *Mirror) mayWrite(name string, of *state) error {
	switch {
	case of == nil:
		return nil
	case of.Layout > layout:
		return fmt.Errorf("%s has layout %d, known is %d: %w", name, of.Layout, layout, errLayout)
	case of.Locked && !m.hasLocks():
		return fmt.Errorf("%s says that locks protect the archives, and the store has none: %w; use a store that is a storage.Locker", name, errLayout)
	}
	return nil
}

// begin reads the document of a version and returns an edit with its entries. If another program has written the document,
// begin drops the entries of missing archives. If anew is set, a damaged document counts as empty, and begin drops no
// entry: the caller does.
func (m *Mirror) begin(ctx context.Context, p addrs.Provider, v addrs.Version, anew bool) (*edit, error) {
	doc, err := m.readDocument(ctx, providerDir(p), v)
	if err != nil && !(anew && errors.Is(err, errDamaged)) {
		return nil, withRemedy(err)
	}
	if err := m.mayWrite(documentName(p, v), doc.state); err != nil {
		return nil, err
	}
	e := &edit{version: v, doc: doc, fresh: m.writesFresh(doc), entries: map[string]listed{}}
	for platform, l := range doc.entries {
		size := int64(0)
		if name := resolve(providerDir(p), l.URL); doc.state == nil && !anew && isArchiveOf(p, v, name) {
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
	return !m.hasLocks() || doc.state != nil && !doc.state.Locked
}

// publish writes the documents of the edits and the index. The error wraps storage.ErrConflict if another writer has
// changed one of them: then the caller begins again. If anew is set, a damaged index is replaced.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, edits []*edit, anew bool) error {
	unlock, err := m.lock(ctx, indexName(p))
	if err != nil {
		return err
	}
	defer unlock()
	doc, err := stored.Read(ctx, m.Store, indexName(p))
	if err != nil && !(anew && errors.Is(err, errDamaged)) {
		return withRemedy(err)
	}
	tooLarge := err != nil
	ix, err := parseIndex(doc)
	if err != nil && !(anew && errors.Is(err, errDamaged)) {
		return withRemedy(fmt.Errorf("%s: %w", indexName(p), err))
	}
	ix.damaged = ix.damaged || tooLarge
	if err := m.mayWrite(indexName(p), ix.state); err != nil {
		return err
	}
	for _, e := range edits {
		// The document was empty. If an addition has since written document and index, the index must not lose the version
		// before the write of the document fails: if this process died between the two, the version would stay unlisted.
		if len(e.doc.entries) == 0 && len(e.entries) == 0 && ix.lists(e.version) {
			now, err := m.readDocument(ctx, providerDir(p), e.version)
			if err != nil && !errors.Is(err, errDamaged) {
				return err
			}
			if now.was != e.doc.was {
				return storage.ErrConflict
			}
		}
	}
	groups, err := plan(p, ix, edits, m.hasLocks(), m.text)
	if err != nil {
		return err
	}
	for _, steps := range groups {
		err := stored.Each(ctx, maxWriting, len(steps), func(ctx context.Context, i int) error { return m.take(ctx, steps[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// take takes one step.
func (m *Mirror) take(ctx context.Context, s step) error {
	if s.data == nil {
		if s.was == "" {
			return nil
		}
		return m.Store.Delete(ctx, s.name) // the caller has the lock
	}
	return m.write(ctx, s.name, s.data, s.was)
}

func (m *Mirror) write(ctx context.Context, name string, data []byte, was storage.Revision) error {
	return m.Store.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), was)
}

// deleteAll deletes files that no document names, or will name.
func (m *Mirror) deleteAll(ctx context.Context, names []string) error {
	return stored.Each(ctx, maxWriting, len(names), func(ctx context.Context, i int) error { return m.Store.Delete(ctx, names[i]) })
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

// step is one change of a file.
type step struct {
	name string
	data []byte           // nil to delete the file
	was  storage.Revision // of the file that is replaced, empty if there is none
}

// plan returns the steps that turn what was read into what the edits want. The steps of a group may run concurrently,
// the groups in this order: documents that list archives, the index, documents that list none. So the index never
// lists a version without archives.
//
// A writer reads a document before the index, and writes each on the revision that it has read. Two more rules make
// writers of one version conflict. An addition writes the document even if only the index lacks the version: a removal
// that has read the document before then fails. A removal writes the index even if the index does not list the version:
// an addition that has read the index before, and is about to list the version, then fails.
func plan(p addrs.Provider, ix *index, edits []*edit, locked bool, serial func() string) (groups [3][]step, err error) {
	next := maps.Clone(ix.versions)
	dropped := ix.damaged
	for _, e := range edits {
		v := e.version.String()
		switch {
		case len(e.entries) > 0:
			if next[v] = struct{}{}; ix.lists(e.version) && !e.changes() {
				continue
			}
		case ix.lists(e.version) || len(e.doc.entries) > 0:
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
	if dropped || len(next) != len(ix.versions) || ix.state == nil && len(edits) > 0 && len(next) > 0 {
		s := step{name: indexName(p), was: ix.was}
		if len(next) > 0 || !locked {
			s.data, err = (&index{state: &state{Layout: layout, Serial: serial(), Locked: locked}, versions: next}).render()
		}
		groups[1] = []step{s}
	}
	return groups, err
}

// changes reports whether an edit changes the document. The first writer after another program takes it over.
func (e *edit) changes() bool {
	return e.doc.state == nil || len(e.retire) > 0 || !maps.EqualFunc(e.doc.entries, e.entries, listed.equal)
}

// step returns the change of the document of a version. A document without entries stays where there are no locks: it
// refuses writers that have read the document before.
func (e *edit) step(p addrs.Provider, serial string) (step, error) {
	s := step{name: documentName(p, e.version), was: e.doc.was}
	if !e.fresh && len(e.entries) == 0 && !e.sweep {
		return s, nil
	}
	of := state{Layout: layout, Serial: serial, Locked: !e.fresh}
	if e.doc.state != nil {
		of.Swept, of.Retired = e.doc.state.Swept, e.doc.state.Retired
	}
	if e.sweep {
		of.Swept++
	}
	if e.fresh {
		of.Retired = slices.Compact(slices.Sorted(slices.Values(slices.Concat(of.Retired, e.retire, e.takenOff(p)))))
	}
	var err error
	if s.data, err = (&document{&of, e.entries, ""}).render(); err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return s, err
}

// takenOff returns the usual names of archives that lose their entry. A fresh name is never used again anyway.
func (e *edit) takenOff(p addrs.Provider) (names []string) {
	stay := map[string]bool{}
	for _, l := range e.entries {
		stay[l.URL] = true
	}
	for _, l := range e.doc.entries {
		if name := resolve(providerDir(p), l.URL); !stay[l.URL] && isArchiveOf(p, e.version, name) && !isFresh(name) {
			names = append(names, path.Base(name))
		}
	}
	return names
}
