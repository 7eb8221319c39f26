package regdir

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// parallel is the maximum number of archives that are verified or written concurrently.
const parallel = 4

// change does something with a version until no other writer interferes. If anew is set, a damaged record is replaced.
func (r *Registry) change(ctx context.Context, i item, anew bool, do func(v *version) error) error {
	unlock, err := stored.Lock(ctx, r.Store, strings.ToLower(i.record())) // the store may not tell names apart by case
	if err != nil {
		return err
	}
	defer unlock()
	return stored.Retry(ctx, i.record(), func() error {
		doc, rec, err := r.readRecord(ctx, i)
		switch isDamaged := errors.Is(err, stored.ErrDamaged); {
		case isDamaged && !anew:
			return fmt.Errorf("%w; remove the version to publish it again", err)
		case err != nil && !isDamaged:
			return err
		}
		v := &version{item: i, rec: rec, fresh: !stored.HasLocks(r.Store), was: map[string]stored.Document{i.record(): doc}}
		if rec != nil {
			if err := rec.State.MayWrite(r.Store, i.record()); err != nil {
				return err
			}
			v.fresh = !rec.State.Locked
		}
		return do(v)
	})
}

// commit makes next of the record and the documents of a version. The error wraps storage.ErrConflict if another writer has
// changed one of them.
func (r *Registry) commit(ctx context.Context, v *version, next *record) (err error) {
	if v.was[v.item.list()], v.list, err = r.readList(ctx, v.item); err != nil {
		return err
	}
	if err := v.list.state.MayWrite(r.Store, v.item.list()); err != nil {
		return err
	}
	entry, isListed := v.list.entries[v.version]
	if v.rec == nil && isListed && next.State.Swept == 0 { // of a damaged record, or of another program
		for _, on := range entry.platforms(v.kind) {
			if !slices.ContainsFunc(next.Archives, func(a packed) bool { return a.Platform == on }) {
				next.set(packed{Platform: on})
			}
		}
	}
	names := slices.Sorted(maps.Keys(next.documents(v.item)))
	docs := make([]stored.Document, len(names))
	err = stored.Each(ctx, stored.Parallel, len(names), func(ctx context.Context, n int) (err error) {
		if docs[n], err = stored.Read(ctx, r.Store, names[n]); errors.Is(err, stored.ErrDamaged) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for n, name := range names {
		v.was[name] = docs[n]
	}
	if isListed && len(v.rec.published())+len(next.published()) == 0 {
		// A publication may have completed since the record was read. To take it off for a moment would be for good if this
		// process died in it.
		if now, err := stored.Read(ctx, r.Store, v.item.record()); err != nil || now.Revision != v.was[v.item.record()].Revision {
			return cmp.Or(err, storage.ErrConflict)
		}
	}
	steps, err := v.plan(next, r.text())
	if err != nil {
		return err
	}
	return stored.Take(ctx, r.Store, steps...)
}

// file is a verified file to publish.
type file struct {
	size  int64
	zh    checksum.Hash
	write func(ctx context.Context, w io.Writer) error // writes the content, also several times
}

// publication is a version that is to be published.
type publication struct {
	*Registry
	item
	rec   *record         // with archives that have no directory yet
	usual string          // their directory under a lock
	files map[string]file // by name, without directory

	dir     string
	swept   int             // sweeps before the uploads
	uploads map[string]bool // files with fresh names, and whether they are complete
}

// publish puts the files of a version into the store, then its record, then the documents. Files without a
// record are invisible. A version that another process publishes at the same time gets the archives of both.
func (r *Registry) publish(ctx context.Context, i item, rec *record, usual string, files map[string]file) error {
	p := &publication{Registry: r, item: i, rec: rec, usual: usual, files: files, swept: -1, uploads: map[string]bool{}}
	return r.change(ctx, i, false, func(v *version) error {
		next, err := p.next(ctx, v)
		if err == nil {
			err = r.writeDiscovery(ctx)
		}
		if err == nil {
			err = r.commit(ctx, v, next)
		}
		if errors.Is(err, ErrExists) {
			err = errors.Join(err, p.discard(ctx, v.rec))
		}
		return err
	})
}

// next uploads what is missing and returns the record of the version with it. It never writes to an archive of a published
// version.
func (p *publication) next(ctx context.Context, v *version) (*record, error) {
	published := v.rec.published()
	if len(published) > 0 && v.rec.content() != p.rec.content() {
		return nil, fmt.Errorf("%w: %q, new: %q; remove the version first", ErrExists, v.rec.content(), p.rec.content())
	}
	if v.rec == nil {
		if err := p.claim(ctx); err != nil {
			return nil, err
		}
	}
	if p.swept != v.swept() { // a sweep may delete earlier uploads
		if err := p.discard(ctx, v.rec); err != nil {
			return nil, err
		}
		p.swept, p.dir = v.swept(), strings.ToLower(p.text())
	}
	next := *p.rec
	next.Archives = nil
	if v.rec != nil {
		next.State, next.Archives = v.rec.State, slices.Clone(v.rec.Archives)
	}
	var names []string
	for _, a := range p.rec.Archives {
		if !slices.ContainsFunc(published, func(o packed) bool { return o.Platform == a.Platform }) {
			if a.File = path.Join(p.dir, a.File); !v.fresh {
				a.File = path.Join(p.usual, path.Base(a.File))
			}
			next.set(a)
			names = append(names, a.names(p.item)...)
		}
	}
	if err := next.limits(); err != nil {
		return nil, err
	}
	if err := p.upload(ctx, v, names); err != nil {
		return nil, err
	}
	return &next, p.discard(ctx, &next)
}

// upload writes files.
func (p *publication) upload(ctx context.Context, v *version, names []string) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return p.uploads[name] })
	for _, name := range names {
		p.uploads[name] = false
	}
	err := stored.Each(ctx, parallel, len(names), func(ctx context.Context, n int) error { return p.put(ctx, v, names[n]) })
	for _, name := range names {
		p.uploads[name] = err == nil && v.fresh
	}
	return err
}

// put writes a file. Under a lock, no record names one that is there, or it is the same SHA256SUMS.
func (p *publication) put(ctx context.Context, v *version, name string) error {
	f := p.files[path.Base(name)]
	was := storage.Info{}
	if !v.fresh {
		var err error
		if was, err = p.Store.Stat(ctx, name); err != nil && !isMissing(err) {
			return err
		}
	}
	s, err := storage.Stage(ctx, p.Store, p.TempDir)
	if err != nil {
		return err
	}
	defer s.Discard()
	sum := sha256.New()
	if err := f.write(ctx, io.MultiWriter(s.File, sum)); err != nil {
		return err
	}
	if got := checksum.ZHSum([32]byte(sum.Sum(nil))); got != f.zh {
		return &checksum.MismatchError{Filename: path.Base(name), Source: "the verified file", Want: []checksum.Hash{f.zh}, Got: []checksum.Hash{got}}
	}
	if err = s.Commit(ctx, name, was.Revision); v.fresh && errors.Is(err, storage.ErrConflict) {
		return nil // the answer to a repeated request, since no other process writes it
	}
	return err
}

// discard deletes uploads that rec does not name. No other record can.
func (p *publication) discard(ctx context.Context, rec *record) error {
	var void []string
	for name := range p.uploads {
		if !rec.names(p.item)[name] {
			void = append(void, name)
			delete(p.uploads, name)
		}
	}
	return stored.Delete(ctx, p.Store, void)
}

// claim makes the names of a module its own, so that no other one differs in case only. Names of providers have no capitals.
func (p *publication) claim(ctx context.Context) error {
	if p.kind == providers {
		return nil
	}
	for _, name := range []string{path.Dir(path.Dir(p.path)), path.Dir(p.path)} { // first the namespace
		file := path.Join("files", modules, strings.ToLower(name), "name.json")
		doc, err := p.writeOnce(ctx, file, map[string]string{"name": name})
		if err != nil {
			return err
		}
		var of struct{ Name string }
		if err := json.Unmarshal(doc, &of); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if of.Name != name {
			return fmt.Errorf("%w: it has modules of %q, not of %q", ErrExists, of.Name, name)
		}
	}
	return nil
}

// writeOnce writes a document, unless there is one, and returns the content that there is.
func (r *Registry) writeOnce(ctx context.Context, name string, v any) ([]byte, error) {
	old, err := stored.Read(ctx, r.Store, name)
	if err != nil || old.Revision != "" {
		return old.Data, err
	}
	data, err := stored.Encode(v)
	if err != nil {
		return nil, err
	}
	return data, stored.Put(ctx, r.Store, name, data, "")
}

// writeDiscovery writes the discovery document, unless there is one.
func (r *Registry) writeDiscovery(ctx context.Context) error {
	_, err := r.writeOnce(ctx, ".well-known/terraform.json", map[string]string{"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"})
	return err
}
