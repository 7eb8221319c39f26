package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
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
	c := newChecker(m, o)
	providers, err := m.providers(ctx, c.reporter)
	if err != nil {
		return nil, failed("reindex", "the mirror", err)
	}
	for _, p := range providers {
		if err := c.reindex(ctx, p); err != nil {
			return nil, failed("reindex", p.String(), err)
		}
	}
	return c.sorted(), nil
}

func (c *checker) reindex(ctx context.Context, p addrs.Provider) error {
	s, err := c.survey(ctx, p)
	if err != nil {
		return err
	}
	versions := slices.SortedFunc(maps.Keys(s.versions), addrs.Version.Compare)
	r := &reindexer{checker: c, survey: s, refused: map[string]bool{}}
	err = each(ctx, c.parallel, len(versions), func(ctx context.Context, i int) error {
		return r.version(ctx, versions[i])
	})
	if err != nil {
		return err
	}
	how := publication{anew: true, stays: r.stays}
	for some := range slices.Chunk(versions, maxReindexed) {
		if err := c.publish(ctx, p, some, how); err != nil {
			return err
		}
	}
	if len(versions) == 0 {
		if err := c.publish(ctx, p, nil, how); err != nil {
			return err
		}
	}
	c.count(1, 0, 0, 0)
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
	mu      sync.Mutex
	refused map[string]bool // archives that are no packages
}

// stays says whether an entry of a document is kept whose archive is not on record.
func (r *reindexer) stays(ctx context.Context, name string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[name] {
		return false, nil
	}
	return r.there(ctx, name)
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
	platforms, size := files.platforms(v), int64(0)
	for _, platform := range platforms {
		size += files.packages[packageKey{v, platform}].size
	}
	if len(platforms) > 0 {
		r.count(0, 1, len(platforms), size)
	}
	err = each(ctx, len(platforms)+1, len(platforms), func(ctx context.Context, i int) error {
		k := packageKey{v, platforms[i]}
		return r.archive(ctx, k, files.packages[k].name, stated[k.platform])
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
		if there, err := r.there(ctx, name); there || err != nil {
			return err
		}
	}
	return r.Storage.Delete(ctx, record)
}

// archive puts an archive on record, if need be after reading it.
func (r *reindexer) archive(ctx context.Context, k packageKey, name string, stated listed) error {
	if err := r.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer r.slots.Release(1)
	p := r.survey.provider
	find := func(kind FindingKind, format string, args ...any) {
		r.note(Finding{Kind: kind, Name: name, Provider: p, Version: k.version, Platform: k.platform, Detail: fmt.Sprintf(format, args...)})
	}
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
			return r.refuse(ctx, name)
		}
		if err != nil {
			return err
		}
		rec = &record{Size: size, Hashes: local}
		if err := r.writeRecord(ctx, name, rec); err != nil {
			return err
		}
		r.tell(provider.Event{Kind: EventChecked, Provider: p, Version: k.version, Platform: k.platform, Bytes: size, Total: size})
	}
	if wrong := foreign(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		find(Restated, "%s stated %v, the archive has %v", documentName(k.version), wrong, rec.Hashes)
	}
	return nil
}

// refuse keeps an archive that is no package out of the documents.
func (r *reindexer) refuse(ctx context.Context, name string) error {
	r.mu.Lock()
	r.refused[name] = true
	r.mu.Unlock()
	return r.Storage.Delete(ctx, recordName(name)) // if there is one, it is damaged
}
