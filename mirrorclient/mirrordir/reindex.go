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

// Reindex makes all documents anew from the archives that are there, whoever put them there:
// it takes over the directory that `tofu providers mirror` has filled, or that somebody has
// copied archives into. Archives without a record are read and get one; what the documents
// said about them before is corrected and noted as Restated. Entries that lead out of the
// mirror stay, and so do those that lead to files elsewhere in it; entries for archives that
// are not there go, and so do documents and records that nothing is left of.
//
// An archive that is not the one on record is not listed, but reported as Changed, and one
// that is no package as Damaged; [Mirror.Add] replaces both. Whether archives without a
// record are what their publisher released, Reindex cannot tell; Add with a policy that wants
// signatures finds out without fetching them. What is placed while Reindex runs is left to
// who places it.
//
// The error is not nil only if Reindex could not finish.
func (m *Mirror) Reindex(ctx context.Context, o CheckOptions) (*Report, error) {
	return m.inspect(ctx, "reindex", o, (*checker).reindex)
}

func (c *checker) reindex(ctx context.Context, s *survey) error {
	r := &reindexer{checker: c, survey: s}
	err := each(ctx, c.parallel, len(s.versions), func(ctx context.Context, i int) error {
		return r.version(ctx, s.versions[i])
	})
	if err != nil {
		return err
	}
	// Once also if there are no versions: the index goes.
	for rest, first := s.versions, true; first || len(rest) > 0; first = false {
		n := min(len(rest), maxReindexed)
		if err := c.publish(ctx, s.provider, rest[:n], publication{anew: true, stays: r.stays}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for _, f := range s.findings {
		if f.Kind != Damaged { // it has been made anew
			c.note(f)
		}
	}
	return nil
}

// maxReindexed is how many versions are published at once.
const maxReindexed = 500

// reindexer puts the archives of one provider on record.
type reindexer struct {
	*checker
	survey  *survey
	refused sync.Map // names of archives that are no packages
}

// stays says whether an entry of a document is kept whose archive is not on record.
func (r *reindexer) stays(ctx context.Context, name string) (bool, error) {
	if _, refused := r.refused.Load(name); refused {
		return false, nil
	}
	size, err := r.size(ctx, name)
	return size >= 0, err
}

// version puts the archives of one version on record, and deletes records without an archive.
func (r *reindexer) version(ctx context.Context, v addrs.Version) error {
	p, files := r.survey.provider, r.survey.files
	unlock, err := r.lockVersion(ctx, p, v)
	if err != nil {
		return err
	}
	defer unlock()
	stated, err := r.entries(ctx, homeOf(p), v)
	if err != nil && !errors.Is(err, errDocument) {
		return err
	}
	platforms := slices.Collect(maps.Keys(files.packages[v]))
	for _, one := range files.packages[v] {
		r.count(0, 0, 1, one.size)
	}
	r.count(0, min(1, len(platforms)), 0, 0)
	err = each(ctx, len(platforms)+1, len(platforms), func(ctx context.Context, i int) error {
		on := platforms[i]
		return r.archive(ctx, address{p, v, on}, files.packages[v][on].name, stated[on])
	})
	if err != nil {
		return err
	}
	for _, name := range files.records[v] {
		if err := r.orphan(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// orphan deletes a record if its archive is gone.
func (r *reindexer) orphan(ctx context.Context, record string) error {
	for _, name := range archivesOf(record) {
		if size, err := r.size(ctx, name); size >= 0 || err != nil {
			return err
		}
	}
	return r.Storage.Delete(ctx, record)
}

// archive puts an archive on record, if need be after reading it.
func (r *reindexer) archive(ctx context.Context, a address, name string, stated listed) error {
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer r.slots.Release(1)
	find := func(kind FindingKind, format string, args ...any) { r.note(a.finding(kind, name, format, args...)) }
	size, err := r.size(ctx, name)
	if err != nil || size < 0 {
		return err // removed since the survey
	}
	rec, err := r.readRecord(ctx, name)
	if err != nil && !isUnrecorded(err) {
		return err
	}
	if rec != nil && rec.Size != size {
		find(Changed, "%d bytes, on record are %d; Add replaces it", size, rec.Size)
		return nil
	}
	if rec == nil || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		local, size, err := r.hash(ctx, name)
		if errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge) {
			find(Damaged, "%s", oneLine(err))
			r.refused.Store(name, true)
			return r.Storage.Delete(ctx, recordName(name)) // if there is one, it is damaged
		}
		if err != nil {
			return err
		}
		rec = &record{Size: size, Hashes: local}
		if err := r.writeRecord(ctx, name, rec); err != nil {
			return err
		}
		r.tell(a.event(EventChecked, size))
	}
	if wrong := foreign(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		find(Restated, "%s stated %v, the archive has %v", documentName(a.version), wrong, rec.Hashes)
	}
	return nil
}
