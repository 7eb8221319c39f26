package regdir

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
)

// version is what is stored of a version. The record is read first.
type version struct {
	item
	rec   *record // nil if it is missing, or damaged and to be replaced
	fresh bool    // whether archives have fresh names, and no lock is held
	list  *versionList
	was   map[string]stored.Document // record, list and documents of archives, by name
}

// plan returns the steps, in groups, that turn what was read into next; none if all is so already.
//
// A version becomes visible from the record over its documents to the list, and disappears the other way. Each file is
// written on the revision that was read after the record, and before it was written. If one must be written, the record
// and all documents are, with a new serial. So a writer fails at the first file that another one has written since,
// however long it was stopped.
func (v *version) plan(next *record, serial string) (groups [][]stored.Step, err error) {
	publish := len(next.published()) > 0
	entry, isListed := v.list.entries[v.version]
	sweeps, exists := next.State.Swept != v.swept(), v.was[v.item.record()].Revision != ""
	list := publish && !next.entry(v.item).equal(entry) || !publish && isListed && (exists || !sweeps)
	if !exists && !publish && !list && !sweeps {
		return nil, nil // nothing is there
	}
	if _, same, err := v.render(next); err != nil || same && !list && !sweeps {
		return nil, err
	}
	next.State = stored.State{Layout: stored.Layout, Serial: serial, Locked: !v.fresh, Swept: next.State.Swept}
	steps, _, err := v.render(next)
	if err != nil {
		return nil, err
	}
	groups = [][]stored.Step{steps[:1], steps[1:], nil}
	// The new serial of a list refuses a publication that has read it before.
	if list || !publish && exists {
		data, err := v.listed(next)
		if err != nil {
			return nil, err
		}
		groups[2] = []stored.Step{v.step(v.item.list(), data)}
	}
	if !publish {
		slices.Reverse(groups)
	}
	return groups, nil
}

// swept returns the number of sweeps so far.
func (v *version) swept() int {
	if v.rec == nil {
		return 0
	}
	return v.rec.State.Swept
}

func (v *version) step(name string, data []byte) stored.Step {
	return stored.Step{Name: name, Data: data, Was: v.was[name].Revision}
}

// render returns the steps that write the record, and then the documents of archives, and whether they change nothing.
func (v *version) render(next *record) (steps []stored.Step, same bool, err error) {
	docs := next.documents(v.item)
	names := slices.Concat([]string{v.item.record()}, slices.Sorted(maps.Keys(docs)))
	docs[names[0]], same = next, true
	for _, name := range names {
		data, err := stored.Encode(docs[name])
		if err == nil && len(data) > maxRecord {
			err = fmt.Errorf("%s would have more than %d bytes: %w", name, maxRecord, failure.ErrTooLarge)
		}
		if err != nil {
			return nil, false, err
		}
		steps = append(steps, v.step(name, data))
		same = same && bytes.Equal(data, v.was[name].Data)
	}
	return steps, same, nil
}

// listed returns the list with next.
func (v *version) listed(next *record) ([]byte, error) {
	list := &versionList{stored.State{Layout: stored.Layout, Serial: next.State.Serial}, map[addrs.Version]listed{}}
	maps.Copy(list.entries, v.list.entries)
	if delete(list.entries, v.version); len(next.published()) > 0 {
		for other := range list.entries {
			if strings.EqualFold(other.String(), v.version.String()) {
				return nil, fmt.Errorf("%w: the version %q is listed; remove it first", ErrExists, other)
			}
		}
		list.entries[v.version] = next.entry(v.item)
	}
	return list.render(v.item)
}
