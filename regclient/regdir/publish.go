package regdir

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// parallel is the maximum number of files that are read or written concurrently.
const parallel = 4

// file is a verified file to publish.
type file struct {
	name  string // in the directory of the record
	size  int64
	zh    checksum.Hash // of the verified content
	fixed bool          // whether other content of the version has the same name
	open  func() (io.ReadCloser, error)
}

// publish puts the files of a version into the store, then its record, then the documents. Files without a
// record are invisible. A version that another process publishes at the same time gets the archives of both.
func (r *Registry) publish(ctx context.Context, i item, want *record, files []file) error {
	return stored.Change(ctx, r.Store, i.record(), func() error { return r.publishOnce(ctx, i, want, files) })
}

func (r *Registry) publishOnce(ctx context.Context, i item, want *record, files []file) error {
	old, current, err := r.read(ctx, i)
	if err != nil {
		return fmt.Errorf("%w; remove the version to publish it again", err)
	}
	merged := want
	switch {
	case current != nil && current.Removed != "":
		// Its files must not be taken for those of the new version.
		return fmt.Errorf("the version is being removed; if that process is dead, remove it again: %w", storage.ErrConflict)
	case current != nil:
		if err := current.mustEqual(want); err != nil {
			return err
		}
		merged = current.with(want.Archives)
	}
	err = stored.Each(ctx, parallel, len(files), func(ctx context.Context, n int) error {
		return r.put(ctx, merged.file(i, files[n].name), files[n], current != nil)
	})
	if err != nil {
		return err
	}
	data, err := stored.Encode(merged)
	if err != nil {
		return err
	}
	if err := stored.Write(ctx, r.Store, i.record(), data, old); err != nil {
		return err
	}
	// In a store whose revisions are digests, a removal can have taken the files for those that it removes.
	if err := r.hasFiles(ctx, i, merged); err != nil {
		return err
	}
	if err := r.writeDiscovery(ctx); err != nil {
		return err
	}
	return r.update(ctx, i)
}

// read reads the record of a version, nil if it is missing.
func (r *Registry) read(ctx context.Context, i item) (stored.Document, *record, error) {
	doc, err := stored.Read(ctx, r.Store, i.record())
	if err != nil {
		return doc, nil, err
	}
	rec, err := parseRecord(i, doc.Data)
	return doc, rec, err
}

// mustEqual returns an error that wraps ErrExists unless o is the same version, perhaps with other platforms.
func (rec *record) mustEqual(o *record) error {
	differ := func(what string, was, want any, equal bool) error {
		if equal {
			return nil
		}
		return fmt.Errorf("%w: its %s: %q, new: %q; remove the version first", ErrExists, what, was, want)
	}
	return cmp.Or(
		differ("SHA256SUMS and signature", rec.Dir, o.Dir, rec.Dir == o.Dir),
		differ("plugin protocols", rec.Protocols, o.Protocols, slices.Equal(rec.Protocols, o.Protocols)),
		differ("keys", rec.keyIDs(), o.keyIDs(), slices.Equal(rec.Keys, o.Keys)),
		differ("hash", rec.H1, o.H1, rec.H1 == o.H1),
		differ("directory", rec.Subdir, o.Subdir, rec.Subdir == o.Subdir),
	)
}

func (rec *record) keyIDs() (ids []string) {
	for _, k := range rec.Keys {
		ids = append(ids, k.ID)
	}
	return ids
}

// with returns rec with the archives of other platforms.
func (rec *record) with(archives []packed) *record {
	merged := *rec
	merged.Archives = slices.Clone(rec.Archives)
	for _, a := range archives {
		if !slices.ContainsFunc(rec.Archives, func(b packed) bool { return a.Platform == b.Platform }) {
			merged.Archives = append(merged.Archives, a)
		}
	}
	merged.sort()
	return &merged
}

func (rec *record) sort() {
	slices.SortFunc(rec.Archives, func(a, b packed) int { return a.Platform.Compare(b.Platform) })
}

// put writes a file. It keeps an existing one with the right content; if a record describes the file, the
// size suffices.
func (r *Registry) put(ctx context.Context, name string, f file, recorded bool) error {
	info, err := r.Store.Stat(ctx, name)
	if err != nil && !isMissing(err) {
		return err
	}
	if err == nil {
		if recorded && info.Size == f.size {
			return nil
		}
		zh, err := r.hash(ctx, name)
		switch {
		case isMissing(err): // another process removes the version
			return fmt.Errorf("%s: %w", name, storage.ErrConflict)
		case err != nil || zh == f.zh:
			return err
		}
		if f.fixed && !recorded {
			return fmt.Errorf("%w, unfinished: its archive has %q, the new one %q; remove the version first", ErrExists, zh, f.zh)
		}
	}
	s, err := stored.Stage(ctx, r.Store, r.TempDir)
	if err != nil {
		return err
	}
	defer s.Discard()
	src, err := f.open()
	if err != nil {
		return err
	}
	defer src.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(s.File, sum), io.LimitReader(archive.Until(ctx, src), f.size+1)); err != nil {
		return err
	}
	if got := checksum.ZHSum([32]byte(sum.Sum(nil))); got != f.zh {
		return &checksum.MismatchError{Filename: f.name, Source: "the verified file", Want: []checksum.Hash{f.zh}, Got: []checksum.Hash{got}}
	}
	return s.Commit(ctx, name, info.Revision)
}

// hash returns the zh of a file in the store.
func (r *Registry) hash(ctx context.Context, name string) (checksum.Hash, error) {
	o, err := r.Store.Open(ctx, name)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer o.Close()
	return checksum.ZH(ctx, o)
}

// hasFiles returns an error that wraps ErrConflict if an archive is missing.
func (r *Registry) hasFiles(ctx context.Context, i item, rec *record) error {
	return stored.Each(ctx, parallel, len(rec.Archives), func(ctx context.Context, n int) error {
		_, err := r.Store.Stat(ctx, rec.file(i, rec.Archives[n].Name))
		if isMissing(err) {
			return fmt.Errorf("%s: %w", i.record(), storage.ErrConflict)
		}
		return err
	})
}

// discovery is the name of the discovery document.
const discovery = ".well-known/terraform.json"

// writeDiscovery writes the discovery document, unless there is one.
func (r *Registry) writeDiscovery(ctx context.Context) error {
	if _, err := r.Store.Stat(ctx, discovery); err == nil || !isMissing(err) {
		return err
	}
	data, err := stored.Encode(map[string]string{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"})
	if err == nil {
		err = stored.Write(ctx, r.Store, discovery, data, stored.Document{})
	}
	if errors.Is(err, storage.ErrConflict) {
		return nil // another process has written it
	}
	return err
}

// update writes the documents of a version from its record. It works in rounds. A round reads the documents,
// then the record, then writes each document unless it has changed, and looks whether the record has. So of
// two processes that change a record, the later one leaves the documents that follow from it.
func (r *Registry) update(ctx context.Context, i item) error {
	return stored.Change(ctx, r.Store, i.list(), func() error { return r.updateOnce(ctx, i) })
}

func (r *Registry) updateOnce(ctx context.Context, i item) error {
	oldList, err := stored.Read(ctx, r.Store, i.list())
	if err != nil {
		return err
	}
	names, err := r.walk(ctx, i.documents())
	if err != nil {
		return err
	}
	old := make(map[string]stored.Document, len(names))
	for _, name := range names {
		if old[name], err = stored.Read(ctx, r.Store, name); err != nil && !errors.Is(err, stored.ErrDamaged) {
			return err
		}
	}
	doc, rec, err := r.read(ctx, i)
	if err != nil {
		return err
	}
	list, err := parseList(i, oldList.Data)
	if err != nil {
		return err
	}
	delete(list, i.version)
	docs := map[string][]byte{}
	if rec != nil && rec.Removed == "" {
		raw, err := json.Marshal(rec.entry(i))
		if err == nil {
			docs, err = rec.render(i)
		}
		if err != nil {
			return err
		}
		list[i.version] = listed{raw: raw}
	}
	// The list is written after the documents that it leads to, and before others are deleted.
	for name, data := range docs {
		if err := stored.Write(ctx, r.Store, name, data, old[name]); err != nil {
			return err
		}
		delete(old, name)
	}
	data, err := list.render(i)
	if err == nil && data == nil {
		err = r.erase(ctx, i.list(), oldList.Revision)
	} else if err == nil {
		err = stored.Write(ctx, r.Store, i.list(), data, oldList)
	}
	if err != nil {
		return err
	}
	for name, was := range old {
		if err := r.erase(ctx, name, was.Revision); err != nil {
			return err
		}
	}
	if now, err := stored.Read(ctx, r.Store, i.record()); err != nil || now.Revision != doc.Revision {
		return cmp.Or(err, storage.ErrConflict)
	}
	return nil
}

// erase deletes a file of this revision, if there is one.
func (r *Registry) erase(ctx context.Context, name string, was storage.Revision) error {
	if was == "" {
		return nil
	}
	return r.Store.Delete(ctx, name, was)
}

// walk returns the names of all files below dir.
func (r *Registry) walk(ctx context.Context, dir string) (names []string, err error) {
	const depth = 4 // the deepest is VERSION/download/OS/ARCH
	dirs := []string{dir}
	for range depth {
		var below []string
		for _, dir := range dirs {
			entries, err := r.Store.List(ctx, dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if name := path.Join(dir, e.Name); e.IsDir {
					below = append(below, name)
				} else {
					names = append(names, name)
				}
			}
		}
		dirs = below
	}
	return names, nil
}

// remove removes a version. It ignores a missing one.
func (r *Registry) remove(ctx context.Context, i item) error {
	if err := r.Store.Delete(ctx, i.files()+"/none", "none"); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("the store cannot delete on a condition, so that what other processes publish could be lost: %w", err)
		}
		return err
	}
	return stored.Change(ctx, r.Store, i.record(), func() error {
		old, err := stored.Read(ctx, r.Store, i.record())
		if err != nil && !errors.Is(err, stored.ErrDamaged) {
			return err
		}
		if old.Revision == "" {
			documents, err := r.walk(ctx, i.documents())
			files, err2 := r.walk(ctx, i.files())
			if err = cmp.Or(err, err2); err != nil || len(documents)+len(files) == 0 {
				return err
			}
		}
		return r.removeOnce(ctx, i, old)
	})
}

// removeOnce removes a version whose record is old: it writes a tombstone, then the documents without the
// version, then deletes the files, then the tombstone. A process that publishes the version meanwhile finds the
// tombstone, at the latest when it writes its record, and waits for the end of the removal.
func (r *Registry) removeOnce(ctx context.Context, i item, old stored.Document) error {
	rec, err := parseRecord(i, old.Data)
	if rec == nil || err != nil {
		rec = &record{Release: i.String()}
	}
	rec.Removed = rand.Text()
	tombstone, err := stored.Encode(rec)
	if err != nil {
		return err
	}
	if err := stored.Write(ctx, r.Store, i.record(), tombstone, old); err != nil {
		return err
	}
	now, err := stored.Read(ctx, r.Store, i.record())
	if err != nil || !bytes.Equal(now.Data, tombstone) {
		return cmp.Or(err, storage.ErrConflict)
	}
	if err := r.update(ctx, i); err != nil {
		return err
	}
	names, err := r.walk(ctx, i.files())
	if err != nil {
		return err
	}
	err = stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) error {
		if names[n] == i.record() {
			return nil
		}
		info, err := r.Store.Stat(ctx, names[n])
		if isMissing(err) {
			return nil
		}
		return cmp.Or(err, r.erase(ctx, names[n], info.Revision))
	})
	if err == nil {
		err = r.erase(ctx, i.record(), now.Revision)
	}
	if err != nil {
		return err
	}
	// In a store whose revisions are digests, the files can have been those of a version published since.
	_, rec, err = r.read(ctx, i)
	if err != nil || rec == nil || rec.Removed != "" {
		return err
	}
	return r.hasFiles(ctx, i, rec)
}
