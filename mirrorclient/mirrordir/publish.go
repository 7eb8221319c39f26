package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// publishOptions control how documents are written.
type publishOptions struct {
	except string // name of an archive that is not listed

	// reindex replaces damaged documents, and removes entries for missing files and for archives
	// without a record.
	reindex bool

	// remove removes the versions from the documents, and then their files. The caller has locked
	// the versions.
	remove bool
}

// publish writes the documents of these versions from the records.
func (m *Mirror) publish(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publishOptions) error {
	unlock, err := m.lock(ctx, indexName(p))
	if err != nil {
		return err
	}
	defer unlock()
	return m.publishLocked(ctx, p, versions, how)
}

// publishLocked is publish for a caller that has locked the provider. It works in rounds. A round reads
// the documents, then lists the archives, then reads their records, and writes each document unless
// it has changed. Another writer that adds an archive after the listing reads the documents later. So
// one of the two sees a changed document, and starts the next round.
func (m *Mirror) publishLocked(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publishOptions) error {
	return retry(ctx, providerDir(p), func() error { return m.publishOnce(ctx, p, versions, how) })
}

// maxPublishing is the maximum number of documents and records that are read or written concurrently.
const maxPublishing = 16

// publishOnce is one round of publish.
func (m *Mirror) publishOnce(ctx context.Context, p addrs.Provider, versions []addrs.Version, how publishOptions) error {
	read := func(ctx context.Context, name string) (document, error) {
		doc, err := m.read(ctx, name)
		if errors.Is(err, errDamaged) && how.reindex {
			err = nil
		}
		return doc, withRemedy(err)
	}
	oldIndex, err := read(ctx, indexName(p))
	if err != nil {
		return err
	}
	old := make([]document, len(versions))
	err = each(ctx, maxPublishing, len(versions), func(ctx context.Context, i int) (err error) {
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
	listed := make([]bool, len(versions))
	if !how.remove {
		err = each(ctx, maxPublishing, len(versions), func(ctx context.Context, i int) error {
			name := documentName(p, versions[i])
			data, err := m.renderFrom(ctx, p, versions[i], there, old[i], how)
			if err != nil {
				return withRemedy(fmt.Errorf("%s: %w", name, err))
			}
			if listed[i] = data != nil; !listed[i] {
				return nil
			}
			return m.write(ctx, name, data, old[i])
		})
		if err != nil {
			return err
		}
	}
	index, err := parseIndex(oldIndex.data)
	if errors.Is(err, errDamaged) && how.reindex {
		clear(index)
	} else if err != nil {
		return withRemedy(fmt.Errorf("%s: %w", indexName(p), err))
	}
	maps.DeleteFunc(index, func(text string, _ struct{}) bool {
		_, ok := there.sizes[path.Join(providerDir(p), text+".json")]
		return !ok
	})
	for i, v := range versions {
		if delete(index, v.String()); listed[i] {
			index[v.String()] = struct{}{}
		}
	}
	data, err := index.render()
	if err == nil && data == nil {
		err = m.erase(ctx, indexName(p), oldIndex)
	} else if err == nil {
		err = m.write(ctx, indexName(p), data, oldIndex)
	}
	if err != nil {
		return err
	}

	// Nothing lists the other documents any more, and then nothing the files.
	for i, v := range versions {
		switch {
		case listed[i]:
		case how.remove && old[i].revision != "":
			err = m.Storage.Delete(ctx, documentName(p, v))
		default:
			err = m.erase(ctx, documentName(p, v), old[i])
		}
		if err != nil {
			return err
		}
	}
	if !how.remove {
		return nil
	}
	// Records go first: an archive without a record is not listed again.
	for _, kind := range []map[addrs.Version][]string{there.records, there.archives} {
		for _, v := range versions {
			for _, name := range kind[v] {
				if err := m.Storage.Delete(ctx, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// renderFrom returns the document of a version, nil if it has no entries. It lists the archives that
// have their recorded size.
func (m *Mirror) renderFrom(ctx context.Context, p addrs.Provider, v addrs.Version, there *files, old document, how publishOptions) ([]byte, error) {
	archives := map[addrs.Platform]listed{}
	for platform, one := range there.packages[v] {
		if _, ok := there.sizes[one.name+recordSuffix]; !ok || one.name == how.except {
			continue
		}
		rec, err := m.readRecord(ctx, one.name)
		if err != nil && !isUnrecorded(err) {
			return nil, err
		}
		if err == nil && rec.Size == one.size {
			archives[platform] = rec.entry(one.name)
		}
	}
	keeps := func(name string) (bool, error) {
		if isArchiveOf(p, v, name) {
			_, ok := there.sizes[name]
			_, recorded := there.sizes[name+recordSuffix]
			return ok && !recorded && !how.reindex && name != how.except, nil
		}
		if name == "" || !how.reindex {
			return true, nil
		}
		size, err := m.fileSize(ctx, name)
		return size >= 0, err
	}
	data, err := renderVersion(providerDir(p), archives, old.data, keeps)
	if errors.Is(err, errDamaged) && how.reindex {
		return renderVersion(providerDir(p), archives, nil, keeps)
	}
	return data, err
}

// erase deletes a document that has not changed since it was read. Without locks another writer could
// change it before it is deleted, so erase writes an empty one.
func (m *Mirror) erase(ctx context.Context, name string, old document) error {
	if old.revision == "" {
		return nil
	}
	if _, locked := m.Storage.(Locker); locked {
		return m.Storage.Delete(ctx, name)
	}
	return m.write(ctx, name, []byte("{}"), old)
}

// retry calls change until it does not conflict with another writer.
func retry(ctx context.Context, name string, change func() error) error {
	const tries = 100
	for range tries {
		err := change()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		// Wait for a random time, so that two writers do not conflict again.
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fault.Ended(ctx)
		}
	}
	return fmt.Errorf("%s: %w, %d times", name, ErrConflict, tries)
}

// each calls do with 0 to n-1, at most limit calls concurrently, until one fails.
func each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return fault.Ended(ctx)
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// Remove removes versions of p, or all if none is given. It ignores missing versions and keeps
// unpacked packages. If it fails, another call completes the removal. See [Locker] for concurrent
// changes.
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	return failure.Wrap("remove", p.String(), m.remove(ctx, p, versions))
}

// maxRemoved is the maximum number of versions that are locked and removed together.
const maxRemoved = 50

func (m *Mirror) remove(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	if err := m.checkProvider(p); err != nil {
		return err
	}
	if len(versions) == 0 {
		f, err := m.listFiles(ctx, p, providerDir(p))
		if err != nil {
			return err
		}
		index, err := m.readIndex(ctx, p)
		if err != nil {
			return withRemedy(err)
		}
		maps.Copy(f.versions, index)
		versions = slices.Collect(maps.Keys(f.versions))
	}
	// Concurrent calls lock the versions in one order.
	versions = slices.SortedFunc(slices.Values(versions), addrs.Version.Compare)
	for some := range slices.Chunk(slices.Compact(versions), maxRemoved) {
		if err := m.removeVersions(ctx, p, some); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mirror) removeVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	for _, v := range versions {
		unlock, err := m.lock(ctx, documentName(p, v))
		if err != nil {
			return err
		}
		defer unlock()
	}
	return m.publish(ctx, p, versions, publishOptions{remove: true})
}
