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
	if d, ok := m.Storage.(interface{ clean(context.Context) error }); ok {
		if err := d.clean(ctx); err != nil {
			return nil, failed("reindex", "the mirror", err)
		}
	}
	providers, err := m.walk(ctx, c.reporter)
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
	listed := make([]bool, len(versions))
	errs := make([]error, len(versions))
	inParallel(cap(c.slots), len(versions), func(i int) {
		listed[i], errs[i] = c.reindexVersion(ctx, s, versions[i])
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, dir := range s.homes {
		if err := c.writeIndex(ctx, dir, versions, listed); err != nil {
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

// reindexVersion makes the documents of one version anew and reports whether there is
// anything to list. What somebody else has made of the version since the survey, its
// documents tell.
func (c *checker) reindexVersion(ctx context.Context, s *survey, v addrs.Version) (bool, error) {
	p := s.provider
	unlock, err := c.lockVersion(ctx, p, v)
	if err != nil {
		return false, err
	}
	defer unlock()
	names, err := c.documented(ctx, p, v)
	if err != nil {
		return false, err
	}
	names = append(names, s.files.archives[v]...)
	entries, err := c.look(ctx, names)
	if err != nil {
		return false, err
	}
	h := holdingOf(p, entries)
	stated, err := c.readListed(ctx, homeOf(p), v)
	if err != nil && !errors.Is(err, errDocument) {
		return false, err
	}
	platforms := h.platforms(v)
	records := make([]*record, len(platforms))
	errs := make([]error, len(platforms))
	var wg sync.WaitGroup
	for i, platform := range platforms {
		wg.Go(func() {
			k := packageKey{v, platform}
			records[i], errs[i] = c.reindexArchive(ctx, p, k, h.packages[k], stated[platform])
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	changes := listing{}
	var size int64
	for i, platform := range platforms {
		one := h.packages[packageKey{v, platform}]
		size += one.size
		if records[i] != nil {
			changes[platform] = &recorded{records[i], one.name}
		}
	}
	if len(platforms) > 0 {
		c.count(0, 1, len(platforms), size)
	}
	if err := c.deleteOrphans(ctx, s.files.records[v], entries); err != nil {
		return false, err
	}
	return c.writeDocuments(ctx, p, v, changes, names)
}

// reindexArchive returns what is on record about an archive, if need be after reading it,
// and nil if it is not to be listed.
func (c *checker) reindexArchive(ctx context.Context, p addrs.Provider, k packageKey, one held, stated listed) (*record, error) {
	if err := c.slots.take(ctx); err != nil {
		return nil, err
	}
	defer c.slots.give()
	find := func(kind FindingKind, format string, args ...any) {
		c.note(Finding{Kind: kind, Name: one.name, Provider: p, Version: k.version, Platform: k.platform, Detail: fmt.Sprintf(format, args...)})
	}
	rec, err := c.readRecord(ctx, one.name)
	switch {
	case err != nil && !errors.Is(err, errDocument):
		return nil, err
	case rec != nil && rec.Size != one.size:
		find(Changed, "%d bytes, on record are %d; Add replaces it", one.size, rec.Size)
		return nil, nil
	case rec == nil || !rec.has(checksum.SchemeZH):
		local, size, err := c.hash(ctx, one.name)
		if errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge) {
			find(Damaged, "%s", oneLine(err))
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		rec = &record{Size: size, Hashes: local}
		if err := c.writeRecord(ctx, one.name, rec); err != nil {
			return nil, err
		}
		c.tell(provider.Event{Kind: EventChecked, Provider: p, Version: k.version, Platform: k.platform, Bytes: size, Total: size})
	}
	if wrong := foreign(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		find(Restated, "%s stated %v, the archive has %v", documentName(k.version), wrong, rec.Hashes)
	}
	return rec, nil
}
