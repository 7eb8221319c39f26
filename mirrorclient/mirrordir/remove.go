package mirrordir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// Remove removes versions of p, or all if none is given. It ignores missing versions and keeps
// unpacked packages. If it fails, another call completes the removal.
//
// Other processes may add packages concurrently: a package of these versions is then removed or added. In
// a store that cannot delete on a condition, Remove fails with [errors.ErrUnsupported] unless Exclusive is
// set, and changes nothing.
func (m *Mirror) Remove(ctx context.Context, p addrs.Provider, versions ...addrs.Version) error {
	return failure.Wrap("remove", p.String(), m.remove(ctx, p, versions))
}

// maxRemoved is the maximum number of versions that are locked and removed together.
const maxRemoved = 50

func (m *Mirror) remove(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	if err := m.checkProvider(p); err != nil {
		return err
	}
	if !m.Exclusive {
		err := stored.CanDelete(ctx, m.Store, providerDir(p))
		if errors.Is(err, errors.ErrUnsupported) {
			err = fmt.Errorf("%w; set Exclusive if there are no others", err)
		}
		if err != nil {
			return err
		}
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
	return stored.Retry(ctx, providerDir(p), func() error { return m.removeOnce(ctx, p, versions) })
}

// removeOnce is one round of a removal: tombstones, documents without the archives, archives, then the
// tombstones. An addition beside a tombstone writes the archive and the record again. It may have found
// its entries in the documents before these were written without them, so they are written once more.
func (m *Mirror) removeOnce(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	there, err := m.listFiles(ctx, p, providerDir(p))
	if err != nil {
		return err
	}
	var archives []string
	for _, v := range versions {
		archives = append(archives, there.archives[v]...)
		for _, name := range there.records[v] {
			archive, _ := recordedArchive(name)
			archives = append(archives, archive)
		}
	}
	slices.Sort(archives)
	archives = slices.Compact(archives)
	tombstones := make([]tombstone, len(archives))
	err = stored.Each(ctx, maxPublishing, len(archives), func(ctx context.Context, i int) (err error) {
		tombstones[i], err = m.bury(ctx, archives[i], false)
		return err
	})
	if err != nil {
		return err
	}
	if err := m.publish(ctx, p, versions, keepNone); err != nil {
		return err
	}
	replaced := make([]bool, len(tombstones))
	err = stored.Each(ctx, maxPublishing, len(tombstones), func(ctx context.Context, i int) (err error) {
		replaced[i], err = m.clear(ctx, tombstones[i])
		return err
	})
	if err != nil || !slices.Contains(replaced, true) {
		return err
	}
	return m.publish(ctx, p, versions, keepOthers)
}

// tombstone is a record that says that its archive is being removed or replaced.
type tombstone struct {
	archive  string           // name
	revision storage.Revision // of the tombstone
	was      storage.Revision // of the archive, empty if it is missing
}

// bury replaces the record of an archive by a tombstone, or, if again is set, a tombstone by another one.
// The error wraps ErrConflict if another writer has changed the record.
func (m *Mirror) bury(ctx context.Context, archive string, again bool) (tombstone, error) {
	old, _, err := m.readRecord(ctx, archive)
	switch {
	case again && !errors.Is(err, errRemoved):
		return tombstone{}, storage.ErrConflict
	case err != nil && !isUnrecorded(err):
		return tombstone{}, err
	}
	info, err := m.Store.Stat(ctx, archive)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tombstone{}, err
	}
	now, err := stored.Replace(ctx, m.Store, recordName(archive), record{Removed: rand.Text()}, old)
	return tombstone{archive, now.Revision, info.Revision}, err
}

// clear deletes a buried archive and its tombstone, unless an addition has replaced them. The error
// wraps ErrConflict if the addition has lost its archive.
func (m *Mirror) clear(ctx context.Context, t tombstone) (replaced bool, err error) {
	if t.was != "" {
		err := m.delete(ctx, t.archive, t.was)
		if errors.Is(err, storage.ErrConflict) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	err = m.delete(ctx, recordName(t.archive), t.revision)
	if !errors.Is(err, storage.ErrConflict) {
		return false, err
	}
	// If revisions of the store are digests, the archive of the addition had the revision of the old one.
	size, err := m.fileSize(ctx, t.archive)
	if err == nil && size < 0 {
		err = storage.ErrConflict
	}
	return true, err
}
