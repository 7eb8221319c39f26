package mirrordir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// keep says which entries of the documents stay that no record describes.
type keep int

const (
	keepOthers keep = iota // entries for existing archives and for other files
	keepFound              // entries for existing files other than archives; damaged documents are replaced
	keepNone               // no entries
)

// publish writes the documents of these versions from the records. It works in rounds. A round reads
// the documents, then lists the archives, then reads their records, and writes each document unless
// it has changed. Another writer that adds an archive after the listing reads the documents later. So
// one of the two sees a changed document, and starts the next round.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, versions []addrs.Version, what keep) error {
	return stored.Change(ctx, m.Store, indexName(p), func() error { return m.publishOnce(ctx, p, versions, what) })
}

// maxPublishing is the maximum number of documents and records that are read or written concurrently.
const maxPublishing = 16

// publishOnce is one round of publish.
func (m *Mirror) publishOnce(ctx context.Context, p addrs.Provider, versions []addrs.Version, what keep) error {
	read := func(ctx context.Context, name string) (stored.Document, error) {
		doc, err := stored.Read(ctx, m.Store, name)
		if errors.Is(err, errDamaged) && what == keepFound {
			err = nil
		}
		return doc, withRemedy(err)
	}
	oldIndex, err := read(ctx, indexName(p))
	if err != nil {
		return err
	}
	old := make([]stored.Document, len(versions))
	err = stored.Each(ctx, maxPublishing, len(versions), func(ctx context.Context, i int) (err error) {
		old[i], err = read(ctx, documentName(p, versions[i]))
		return err
	})
	if err != nil {
		return err
	}
	there, err := m.listFiles(ctx, p, providerDir(p))
	if err != nil {
		return err
	}

	// Documents come before the index that lists them.
	texts := make([][]byte, len(versions)) // nil if the version is not listed
	err = stored.Each(ctx, maxPublishing, len(versions), func(ctx context.Context, i int) (err error) {
		name := documentName(p, versions[i])
		if texts[i], err = m.renderFrom(ctx, p, versions[i], there, old[i], what); err != nil {
			return withRemedy(fmt.Errorf("%s: %w", name, err))
		}
		if texts[i] == nil {
			return nil
		}
		return m.write(ctx, name, texts[i], old[i])
	})
	if err != nil {
		return err
	}
	index, err := parseIndex(oldIndex.Data)
	if errors.Is(err, errDamaged) && what == keepFound {
		clear(index)
	} else if err != nil {
		return withRemedy(fmt.Errorf("%s: %w", indexName(p), err))
	}
	maps.DeleteFunc(index, func(text string, _ struct{}) bool {
		return !there.has(path.Join(providerDir(p), text+".json"))
	})
	isNew := make([]bool, len(versions))
	for i, v := range versions {
		_, indexed := index[v.String()]
		isNew[i] = old[i].Revision == "" || !indexed
		if delete(index, v.String()); texts[i] != nil {
			index[v.String()] = struct{}{}
		}
	}
	data, err := index.render()
	if err == nil {
		err = m.write(ctx, indexName(p), data, oldIndex)
	}
	if err != nil {
		return err
	}

	return stored.Each(ctx, maxPublishing, len(versions), func(ctx context.Context, i int) error {
		if texts[i] == nil { // nothing lists the document any more
			return m.write(ctx, documentName(p, versions[i]), nil, old[i])
		}
		if !isNew[i] {
			return nil
		}
		// A removal that found no document, or none in the index, has changed nothing that this round has read.
		now, err := m.renderFrom(ctx, p, versions[i], there, old[i], what)
		if err == nil && !bytes.Equal(now, texts[i]) {
			err = storage.ErrConflict
		}
		return err
	})
}

// renderFrom returns the document of a version, nil if it has no entries. It lists the archives that
// have their recorded size.
func (m *Mirror) renderFrom(ctx context.Context, p addrs.Provider, v addrs.Version, there *files, old stored.Document, what keep) ([]byte, error) {
	archives := map[addrs.Platform]listed{}
	for platform, one := range there.packages[v] {
		if !there.has(recordName(one.name)) {
			continue
		}
		_, rec, err := m.readRecord(ctx, one.name)
		if err != nil && !isUnrecorded(err) {
			return nil, err
		}
		if err == nil && rec.Size == there.sizes[one.name] {
			archives[platform] = rec.entry(one.name)
		}
	}
	keeps := func(name string) (bool, error) {
		if what == keepNone {
			return false, nil
		}
		if isArchiveOf(p, v, name) {
			return there.has(name) && !there.has(recordName(name)) && what != keepFound, nil
		}
		if name == "" || what != keepFound {
			return true, nil
		}
		size, err := m.fileSize(ctx, name)
		return size >= 0, err
	}
	data, err := renderVersion(providerDir(p), archives, old.Data, keeps)
	if errors.Is(err, errDamaged) && what == keepFound {
		return renderVersion(providerDir(p), archives, nil, keeps)
	}
	return data, err
}

// delete deletes a file of this revision, which is not empty.
func (m *Mirror) delete(ctx context.Context, name string, was storage.Revision) error {
	if m.Exclusive {
		was = ""
	}
	return m.Store.Delete(ctx, name, was)
}
