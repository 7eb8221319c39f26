package regdir

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// parallel is the maximum number of files that are read or written concurrently.
const parallel = 4

// file is a verified file to publish.
type file struct {
	name  string                                       // in the store
	size  int64                                        // zero if it is unknown
	zh    checksum.Hash                                // of the verified content
	write func(ctx context.Context, w io.Writer) error // writes the content, also several times
}

// publish puts the files of a version into the store, then its record, then the documents. Files without a
// record are invisible. A version that another process publishes at the same time gets the archives of both.
func (r *Registry) publish(ctx context.Context, i item, rec *record, files []file) error {
	return stored.Change(ctx, r.Store, i.record(), func() error { return r.publishOnce(ctx, i, *rec, files) })
}

func (r *Registry) publishOnce(ctx context.Context, i item, rec record, files []file) error {
	old, current, err := r.read(ctx, i)
	switch {
	case err != nil:
		return fmt.Errorf("%w; remove the version to publish it again", err)
	case current == nil:
	case current.Removed != "":
		// Its files must not be taken for those of the new version.
		return fmt.Errorf("the version is being removed; if that process is dead, remove it again: %w", storage.ErrConflict)
	case current.content() != rec.content():
		return fmt.Errorf("%w: %q, new: %q; remove the version first", ErrExists, current.content(), rec.content())
	default:
		rec.Archives = slices.Concat(current.Archives, rec.Archives)
		slices.SortStableFunc(rec.Archives, func(a, b packed) int { return a.Platform.Compare(b.Platform) })
		rec.Archives = slices.CompactFunc(rec.Archives, func(a, b packed) bool { return a.Platform == b.Platform })
	}
	err = stored.Each(ctx, parallel, len(files), func(ctx context.Context, n int) error {
		return r.put(ctx, i, files[n], current != nil)
	})
	if err != nil {
		return err
	}
	if err := stored.Put(ctx, r.Store, i.record(), rec, old); err != nil {
		return err
	}
	// In a store whose revisions are digests, a removal can have taken the files for those that it removes.
	if err := r.hasFiles(ctx, i, &rec); err != nil {
		return err
	}
	if err := r.writeDiscovery(ctx); err != nil {
		return err
	}
	return r.update(ctx, i)
}

// read reads the record of a version, nil if it is missing. The error wraps stored.ErrDamaged if it is invalid.
func (r *Registry) read(ctx context.Context, i item) (stored.Document, *record, error) {
	doc, err := stored.Read(ctx, r.Store, i.record())
	if err != nil || doc.Data == nil {
		return doc, nil, err
	}
	var rec *record
	err = stored.Decode(doc.Data, &rec)
	if err == nil && (rec.Removed == "" || len(rec.Archives) > 0) {
		err = rec.check(i)
	}
	if err != nil {
		return doc, nil, fmt.Errorf("%s: %w", i.record(), err)
	}
	return doc, rec, nil
}

// content describes what all publications of a version must have in common.
func (rec *record) content() string {
	if rec.Dir == "" {
		return fmt.Sprintf("%s in directory %s", rec.H1, cmp.Or(rec.Subdir, "."))
	}
	return fmt.Sprintf("SHA256SUMS, signature and keys %s, protocols %v", rec.Dir, rec.Protocols)
}

// put writes a file. It keeps an existing one with the right content; if a record describes the file, the
// size suffices.
func (r *Registry) put(ctx context.Context, i item, f file, recorded bool) error {
	info, err := r.Store.Stat(ctx, f.name)
	switch {
	case isMissing(err):
	case err != nil || recorded && info.Size == f.size:
		return err
	default:
		zh, err := r.hash(ctx, f.name)
		switch {
		case isMissing(err): // another process removes the version
			return fmt.Errorf("%s: %w", f.name, storage.ErrConflict)
		case err != nil || zh == f.zh:
			return err
		case i.kind == modules && !recorded: // another process may publish it
			return fmt.Errorf("%w, which is not published yet: its archive has %q, the new one %q; remove the version first", ErrExists, zh, f.zh)
		}
	}
	s, err := storage.Stage(ctx, r.Store, r.TempDir)
	if err != nil {
		return err
	}
	defer s.Discard()
	sum := sha256.New()
	if err := f.write(ctx, io.MultiWriter(s.File, sum)); err != nil {
		return err
	}
	if got := checksum.ZHSum([32]byte(sum.Sum(nil))); got != f.zh {
		return &checksum.MismatchError{Filename: path.Base(f.name), Source: "the verified file", Want: []checksum.Hash{f.zh}, Got: []checksum.Hash{got}}
	}
	return s.Commit(ctx, f.name, info.Revision)
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

// hasFiles returns an error that wraps ErrConflict if a file is missing.
func (r *Registry) hasFiles(ctx context.Context, i item, rec *record) error {
	names := rec.names(i)
	return stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) error {
		_, err := r.Store.Stat(ctx, names[n])
		if isMissing(err) {
			return fmt.Errorf("%s: %w", names[n], storage.ErrConflict)
		}
		return err
	})
}

// discovery is the name of the discovery document.
const discovery = ".well-known/terraform.json"

// writeDiscovery writes the discovery document, unless there is one.
func (r *Registry) writeDiscovery(ctx context.Context) error {
	old, err := stored.Read(ctx, r.Store, discovery)
	if err != nil || old.Revision != "" {
		return err
	}
	err = stored.Put(ctx, r.Store, discovery, map[string]string{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}, old)
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
	oldList, list, err := r.readList(ctx, i)
	if err != nil && !errors.Is(err, failure.ErrNotFound) {
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
	delete(list, i.version)
	var docs map[string]any
	if rec != nil && rec.Removed == "" {
		docs, list[i.version] = rec.documents(i), rec.entry(i)
	}
	// The list is written after the documents that it leads to, and before others are deleted.
	for name, data := range docs {
		if err := stored.Put(ctx, r.Store, name, data, old[name]); err != nil {
			return err
		}
		delete(old, name)
	}
	if err := stored.Put(ctx, r.Store, i.list(), list.document(i), oldList); err != nil {
		return err
	}
	for name, was := range old {
		if err := stored.Put(ctx, r.Store, name, nil, was); err != nil {
			return err
		}
	}
	if now, err := stored.Read(ctx, r.Store, i.record()); err != nil || now.Revision != doc.Revision {
		return cmp.Or(err, storage.ErrConflict)
	}
	return nil
}

// remove removes a version. It ignores a missing one.
func (r *Registry) remove(ctx context.Context, i item) error {
	if i.version.IsZero() {
		return errNoVersion
	}
	if err := stored.CanDelete(ctx, r.Store, i.files()); err != nil {
		return err
	}
	return stored.Change(ctx, r.Store, i.record(), func() error { return r.removeOnce(ctx, i) })
}

// removeOnce looks at the files of a version, then writes a tombstone, then the documents without the version, then
// deletes these files, then the tombstone. A process that publishes the version meanwhile finds the tombstone, at the
// latest when it writes its record, and waits for the end of the removal. Files of a later publication, which follows
// another removal, have other revisions.
func (r *Registry) removeOnce(ctx context.Context, i item) error {
	old, rec, err := r.read(ctx, i)
	if err != nil && !errors.Is(err, stored.ErrDamaged) {
		return err
	}
	rec = cmp.Or(rec, &record{Release: i.String()})
	names, err := r.walk(ctx, i.files())
	if err != nil {
		return err
	}
	was := map[string]stored.Document{}
	for _, name := range names {
		info, err := r.Store.Stat(ctx, name)
		if err != nil && !isMissing(err) {
			return err
		}
		was[name] = stored.Document{Revision: info.Revision}
	}
	delete(was, i.record())
	rec.Removed = rand.Text()
	tombstone, err := stored.Replace(ctx, r.Store, i.record(), rec, old)
	if err != nil {
		return err
	}
	if err := r.update(ctx, i); err != nil {
		return err
	}
	for name, old := range was {
		if err := stored.Put(ctx, r.Store, name, nil, old); err != nil {
			return err
		}
	}
	if err := stored.Put(ctx, r.Store, i.record(), nil, tombstone); err != nil {
		return err
	}
	// In a store whose revisions are digests, the files can have been those of a version published since.
	_, rec, err = r.read(ctx, i)
	if err != nil || rec == nil || rec.Removed != "" {
		return err
	}
	return r.hasFiles(ctx, i, rec)
}

// walk returns the names of all files below dir.
func (r *Registry) walk(ctx context.Context, dir string) (names []string, err error) {
	// Four levels, since the deepest is VERSION/download/OS/ARCH.
	err = stored.Walk(ctx, r.Store, dir, 4, func(_ int, name string, e storage.Entry) bool {
		if !e.IsDir {
			names = append(names, name)
		}
		return true
	})
	return names, err
}
