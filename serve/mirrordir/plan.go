package mirrordir

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/storage"
)

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
