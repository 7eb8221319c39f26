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
	options  publishOptions
	files    *files // files in the directory with the archives
	dirs     []*documentDir
}

// documentDir is a directory with documents of the provider.
type documentDir struct {
	name     string
	index    document
	old      []document // documents of the versions
	nonEmpty []bool     // whether the new document of a version has entries
	files    *files
}

// maxPublishing is the maximum number of documents and records that are read or written concurrently.
const maxPublishing = 16

func (r *round) run(ctx context.Context) error {
	if err := r.readState(ctx); err != nil {
		return err
	}
	err := each(ctx, maxPublishing, len(r.versions), func(ctx context.Context, i int) error {
		return r.writeDocuments(ctx, i)
	})
	if err != nil {
		return err
	}
	marked := false
	for _, s := range r.dirs {
		some, err := r.writeIndex(ctx, s)
		if err != nil {
			return err
		}
		marked = marked || some
	}
	if marked || r.options.removeFiles != nil {
		return r.removeDocuments(ctx)
	}
	return nil
}

// readState reads the documents, and then lists the archives.
func (r *round) readState(ctx context.Context) error {
	for _, dir := range documentDirs(r.provider) {
		s := &documentDir{name: dir, old: make([]document, len(r.versions)), nonEmpty: make([]bool, len(r.versions))}
		r.dirs = append(r.dirs, s)
		var err error
		if s.index, err = r.readDocument(ctx, path.Join(dir, indexName)); err != nil {
			return err
		}
		err = each(ctx, maxPublishing, len(r.versions), func(ctx context.Context, i int) error {
			var err error
			s.old[i], err = r.readDocument(ctx, path.Join(dir, documentName(r.versions[i])))
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range r.dirs {
		var err error
		if s.files, err = r.listFiles(ctx, r.provider, s.name); err != nil {
			return err
		}
	}
	r.files = r.dirs[0].files
	return nil
}

// readDocument reads a document that is to be replaced.
func (r *round) readDocument(ctx context.Context, name string) (document, error) {
	doc, err := r.read(ctx, name)
	if errors.Is(err, errDamaged) && r.options.replaceDamaged {
		err = nil
	}
	return doc, withRemedy(err)
}

// writeDocuments writes the documents of one version, except empty ones, which removeDocuments deletes.
func (r *round) writeDocuments(ctx context.Context, i int) error {
	if r.options.removeFiles != nil {
		return nil
	}
	v := r.versions[i]
	archives, err := r.recorded(ctx, v)
	if err != nil {
		return err
	}
	for _, s := range r.dirs {
		name := path.Join(s.name, documentName(v))
		data, err := r.render(ctx, s, v, archives, s.old[i].data)
		if err != nil {
			return withRemedy(fmt.Errorf("%s: %w", name, err))
		}
		if s.nonEmpty[i] = data != nil; !s.nonEmpty[i] {
			continue
		}
		if err := r.write(ctx, name, data, s.old[i]); err != nil {
			return err
		}
	}
	return nil
}

// recorded returns the archives of a version that are to be listed.
func (r *round) recorded(ctx context.Context, v addrs.Version) (map[addrs.Platform]recordedArchive, error) {
	archives := map[addrs.Platform]recordedArchive{}
	for platform, one := range r.files.packages[v] {
		if _, ok := r.files.sizes[recordName(one.name)]; !ok || one.name == r.options.except {
			continue
		}
		rec, err := r.readRecord(ctx, one.name)
		if err != nil && !isUnrecorded(err) {
			return nil, err
		}
		if err == nil && rec.Size == one.size {
			archives[platform] = recordedArchive{one.name, rec.Hashes}
		}
	}
	return archives, nil
}

func (r *round) render(ctx context.Context, s *documentDir, v addrs.Version, archives map[addrs.Platform]recordedArchive, old []byte) ([]byte, error) {
	keepsEntry := func(name string) (bool, error) {
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
		if r.options.keepsEntry == nil {
			return true, nil
		}
		return r.options.keepsEntry(ctx, name)
	}
	data, err := render(s.name, archives, old, keepsEntry)
	if errors.Is(err, errDamaged) && r.options.replaceDamaged {
		return render(s.name, archives, nil, keepsEntry)
	}
	return data, err
}

// writeIndex writes the index with the versions that have a document. It marks the documents that are
// going to be deleted, and reports whether there are any.
func (r *round) writeIndex(ctx context.Context, s *documentDir) (marked bool, err error) {
	name := path.Join(s.name, indexName)
	i, err := parseIndex(s.index.data)
	if errors.Is(err, errDamaged) && r.options.replaceDamaged {
		i, err = parseIndex(nil)
	}
	if err != nil {
		return false, withRemedy(fmt.Errorf("%s: %w", name, err))
	}
	withoutDocument := func(text string, _ struct{}) bool {
		return s.files.sizes[path.Join(s.name, text+".json")] <= int64(len(emptyDocument))
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
		case s.nonEmpty[n]:
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

// erase deletes a document that has not changed since it was read. Without locks another writer could
// change the document before it is deleted; then erase writes an empty document, unless alone is set.
func (r *round) erase(ctx context.Context, name string, old document, alone bool) error {
	if old.revision == "" {
		return nil
	}
	if _, locked := r.Storage.(Locker); locked || alone {
		return r.Storage.Delete(ctx, name)
	}
	return r.write(ctx, name, []byte(emptyDocument), old)
}

// removeDocuments deletes the empty documents and the files of removed versions, and then removes the
// marks from the index.
func (r *round) removeDocuments(ctx context.Context) error {
	for _, s := range r.dirs {
		for n, v := range r.versions {
			if s.nonEmpty[n] || r.options.removeFiles == nil && string(s.old[n].data) == emptyDocument {
				continue
			}
			if err := r.erase(ctx, path.Join(s.name, documentName(v)), s.old[n], r.options.removeFiles != nil); err != nil {
				return err
			}
		}
	}
	if r.options.removeFiles != nil {
		if err := r.options.removeFiles(ctx, r.files); err != nil {
			return err
		}
	}
	for _, s := range r.dirs {
		name := path.Join(s.name, indexName)
		old, err := r.read(ctx, name)
		if err != nil {
			return err
		}
		i, err := parseIndex(old.data)
		if err != nil {
			return err
		}
		for n, v := range r.versions {
			if !s.nonEmpty[n] {
				delete(i.Removing, v.String())
			}
		}
		if err := r.saveIndex(ctx, name, i, old); err != nil {
			return err
		}
	}
	return nil
}
