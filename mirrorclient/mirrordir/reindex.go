package mirrordir

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Reindex writes all documents anew, and records archives that other programs such as "tofu providers
// mirror" have added. It cannot verify their origin; [Mirror.Add] can.
//
// It removes entries for missing archives, and reports but does not list archives without a record that
// are invalid, and archives of another size than recorded; [Mirror.Check] also compares their bytes. The error is nil if Reindex completes, whatever the report contains.
func (m *Mirror) Reindex(ctx context.Context, o CheckOptions) (*Report, error) {
	return m.inspectProviders(ctx, "reindex", o, (*checker).reindexProvider)
}

func (c *checker) reindexProvider(ctx context.Context, s *inventory) error {
	r := &reindexer{checker: c, inventory: s}
	err := each(ctx, c.parallel, len(s.versions), func(ctx context.Context, i int) error {
		return r.recordVersion(ctx, s.versions[i])
	})
	if err != nil {
		return err
	}
	// Publish also if there are no versions, to remove the index.
	for rest, first := s.versions, true; first || len(rest) > 0; first = false {
		n := min(len(rest), maxReindexed)
		if err := c.publish(ctx, s.provider, rest[:n], publishOptions{replaceDamaged: true, keepsEntry: r.keepsEntry}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for _, f := range s.findings {
		if f.Kind != Damaged { // the index has been replaced
			c.note(f)
		}
	}
	return nil
}

// maxReindexed is the maximum number of versions that are published together.
const maxReindexed = 500

// reindexer records the archives of one provider.
type reindexer struct {
	*checker
	inventory *inventory
	refused   sync.Map // names of invalid archives
}

// keepsEntry reports whether an entry for a file without a record is kept.
func (r *reindexer) keepsEntry(ctx context.Context, name string) (bool, error) {
	if _, refused := r.refused.Load(name); refused {
		return false, nil
	}
	size, err := r.fileSize(ctx, name)
	return size >= 0, err
}

// recordVersion records the archives of one version and deletes records without an archive.
func (r *reindexer) recordVersion(ctx context.Context, v addrs.Version) error {
	p, files := r.inventory.provider, r.inventory.files
	unlock, err := r.lockVersion(ctx, p, v)
	if err != nil {
		return err
	}
	defer unlock()
	stated, err := r.readEntries(ctx, providerDir(p), v)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	platforms := slices.Collect(maps.Keys(files.packages[v]))
	for _, one := range files.packages[v] {
		r.count(0, 0, 1, one.size)
	}
	r.count(0, min(1, len(platforms)), 0, 0)
	err = each(ctx, len(platforms)+1, len(platforms), func(ctx context.Context, i int) error {
		on := platforms[i]
		return r.recordArchive(ctx, address{p, v, on}, files.packages[v][on].name, stated[on])
	})
	if err != nil {
		return err
	}
	for _, name := range files.records[v] {
		if err := r.deleteOrphan(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphan deletes a record if its archive is missing.
func (r *reindexer) deleteOrphan(ctx context.Context, record string) error {
	for _, name := range possibleArchives(record) {
		if size, err := r.fileSize(ctx, name); size >= 0 || err != nil {
			return err
		}
	}
	return r.Storage.Delete(ctx, record)
}

// recordArchive writes the record of an archive if it is missing.
func (r *reindexer) recordArchive(ctx context.Context, a address, name string, stated listed) error {
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer r.slots.Release(1)
	find := func(kind FindingKind, format string, args ...any) { r.note(a.finding(kind, name, format, args...)) }
	size, err := r.fileSize(ctx, name)
	if err != nil || size < 0 {
		return err // removed since it was listed
	}
	rec, err := r.readRecord(ctx, name)
	if err != nil && !isUnrecorded(err) {
		return err
	}
	if rec != nil && rec.Size != size {
		find(Changed, "the archive is %d bytes, the record states %d; run Mirror.Add to replace it", size, rec.Size)
		return nil
	}
	if rec == nil || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		local, size, err := r.hash(ctx, name)
		if errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge) {
			find(Damaged, "%s", oneLine(err))
			r.refused.Store(name, true)
			return r.Storage.Delete(ctx, recordName(name)) // a record that exists is damaged
		}
		if err != nil {
			return err
		}
		rec = &record{Size: size, Hashes: local}
		if err := r.writeRecord(ctx, name, rec); err != nil {
			return err
		}
		r.progress(a.event(EventChecked, size))
	}
	if wrong := contradicting(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		find(Corrected, "%s stated %v, the archive has %v", documentName(a.version), wrong, rec.Hashes)
	}
	return nil
}
