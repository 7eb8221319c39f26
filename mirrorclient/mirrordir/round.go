package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"

	"github.com/tofureg/tofureg/addrs"
)

// round is one attempt to publish.
type round struct {
	*Mirror
	provider addrs.Provider
	versions []addrs.Version
	how      publication
	files    *files // in the directory with the archives
	shelves  []*shelf
}

// shelf is a directory with documents of the provider.
type shelf struct {
	dir    string
	index  document
	old    []document // of the versions
	listed []bool     // whether the new document of a version lists anything
	files  *files
}

// maxPublishing is how many documents and records are read or written at the same time.
const maxPublishing = 16

func (r *round) run(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	err := each(ctx, maxPublishing, len(r.versions), func(ctx context.Context, i int) error {
		return r.version(ctx, i)
	})
	if err != nil {
		return err
	}
	marked := false
	for _, s := range r.shelves {
		some, err := r.writeIndex(ctx, s)
		if err != nil {
			return err
		}
		marked = marked || some
	}
	if marked || r.how.drop != nil {
		return r.drop(ctx)
	}
	return nil
}

// look reads the documents, and then lists the archives.
func (r *round) look(ctx context.Context) error {
	for _, dir := range documentHomes(r.provider) {
		s := &shelf{dir: dir, old: make([]document, len(r.versions)), listed: make([]bool, len(r.versions))}
		r.shelves = append(r.shelves, s)
		var err error
		if s.index, err = r.readOld(ctx, path.Join(dir, indexName)); err != nil {
			return err
		}
		err = each(ctx, maxPublishing, len(r.versions), func(ctx context.Context, i int) error {
			var err error
			s.old[i], err = r.readOld(ctx, path.Join(dir, documentName(r.versions[i])))
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range r.shelves {
		var err error
		if s.files, err = r.list(ctx, r.provider, s.dir); err != nil {
			return err
		}
	}
	r.files = r.shelves[0].files
	return nil
}

// readOld reads a document that is to be replaced.
func (r *round) readOld(ctx context.Context, name string) (document, error) {
	doc, err := r.read(ctx, name)
	if errors.Is(err, errDocument) && r.how.anew {
		err = nil
	}
	return doc, withRemedy(err)
}

// version writes the documents of one version. One that would list nothing is left for drop.
func (r *round) version(ctx context.Context, i int) error {
	if r.how.drop != nil {
		return nil
	}
	v := r.versions[i]
	archives, err := r.recorded(ctx, v)
	if err != nil {
		return err
	}
	for _, s := range r.shelves {
		name := path.Join(s.dir, documentName(v))
		data, err := r.render(ctx, s, v, archives, s.old[i].data)
		if err != nil {
			return withRemedy(fmt.Errorf("%s: %w", name, err))
		}
		if s.listed[i] = data != nil; !s.listed[i] {
			continue
		}
		if err := r.write(ctx, name, data, s.old[i]); err != nil {
			return err
		}
	}
	return nil
}

// recorded returns the archives of a version that are to be listed.
func (r *round) recorded(ctx context.Context, v addrs.Version) (map[addrs.Platform]recorded, error) {
	archives := map[addrs.Platform]recorded{}
	for platform, one := range r.files.packages[v] {
		if _, ok := r.files.sizes[recordName(one.name)]; !ok || one.name == r.how.without {
			continue
		}
		rec, err := r.readRecord(ctx, one.name)
		if err != nil && !isUnrecorded(err) {
			return nil, err
		}
		if err == nil && rec.Size == one.size {
			archives[platform] = recorded{one.name, rec.Hashes}
		}
	}
	return archives, nil
}

func (r *round) render(ctx context.Context, s *shelf, v addrs.Version, archives map[addrs.Platform]recorded, old []byte) ([]byte, error) {
	stays := func(name string) (bool, error) {
		if name == "" {
			return true, nil
		}
		if isArchiveOf(r.provider, v, name) {
			_, there := r.files.sizes[name]
			_, onRecord := r.files.sizes[recordName(name)]
			if !there || onRecord {
				return false, nil
			}
		}
		if r.how.stays == nil {
			return true, nil
		}
		return r.how.stays(ctx, name)
	}
	data, err := render(s.dir, archives, old, stays)
	if errors.Is(err, errDocument) && r.how.anew {
		return render(s.dir, archives, nil, stays)
	}
	return data, err
}

// writeIndex has the index in a directory list the versions that have a document. It notes there
// which documents are going to be deleted, and reports whether there are any.
func (r *round) writeIndex(ctx context.Context, s *shelf) (marked bool, err error) {
	name := path.Join(s.dir, indexName)
	i, err := parseIndex(s.index.data)
	if errors.Is(err, errDocument) && r.how.anew {
		i, err = parseIndex(nil)
	}
	if err != nil {
		return false, withRemedy(fmt.Errorf("%s: %w", name, err))
	}
	withoutDocument := func(text string, _ struct{}) bool {
		return s.files.sizes[path.Join(s.dir, text+".json")] <= int64(len(emptyDocument))
	}
	maps.DeleteFunc(i.Versions, withoutDocument)
	maps.DeleteFunc(i.Removing, withoutDocument)
	for v, listing := range s.files.documents {
		if _, removing := i.Removing[v.String()]; listing && !removing {
			i.Versions[v.String()] = struct{}{}
		}
	}
	for n, v := range r.versions {
		delete(i.Removing, v.String())
		delete(i.Versions, v.String())
		switch {
		case s.listed[n]:
			i.Versions[v.String()] = struct{}{}
		case s.files.documents[v]:
			i.Removing[v.String()] = struct{}{}
			marked = true
		}
	}
	return marked, r.saveIndex(ctx, name, i, s.index)
}

func (r *round) saveIndex(ctx context.Context, name string, i index, old document) error {
	data, err := i.render()
	if err != nil {
		return err
	}
	if data == nil {
		return r.erase(ctx, name, old, false)
	}
	return r.write(ctx, name, data, old)
}

// erase removes a document that has not changed since it was read. If there may be another writer
// who could change it before it is deleted, an empty one takes its place.
func (r *round) erase(ctx context.Context, name string, old document, alone bool) error {
	if old.revision == "" {
		return nil
	}
	if _, locked := r.Storage.(Locker); locked || alone {
		return r.Storage.Delete(ctx, name)
	}
	return r.write(ctx, name, []byte(emptyDocument), old)
}

// drop deletes the documents that list nothing, and what else is to go with them, and takes
// the notes about them out of the index.
func (r *round) drop(ctx context.Context) error {
	for _, s := range r.shelves {
		for n, v := range r.versions {
			if s.listed[n] || r.how.drop == nil && string(s.old[n].data) == emptyDocument {
				continue
			}
			if err := r.erase(ctx, path.Join(s.dir, documentName(v)), s.old[n], r.how.drop != nil); err != nil {
				return err
			}
		}
	}
	if r.how.drop != nil {
		if err := r.how.drop(ctx, r.files); err != nil {
			return err
		}
	}
	for _, s := range r.shelves {
		name := path.Join(s.dir, indexName)
		old, err := r.read(ctx, name)
		if err != nil {
			return err
		}
		i, err := parseIndex(old.data)
		if err != nil {
			return err
		}
		for n, v := range r.versions {
			if !s.listed[n] {
				delete(i.Removing, v.String())
			}
		}
		if err := r.saveIndex(ctx, name, i, old); err != nil {
			return err
		}
	}
	return nil
}
