package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckOptions are the options of [Mirror.Check] and [Mirror.Reindex].
type CheckOptions struct {
	// Parallel is the maximum number of concurrent archives. If zero or less, it is the number of
	// processors.
	Parallel int

	// Policy, if not nil, judges the recorded evidence. If nil, only invalid evidence is refused.
	Policy *verify.Policy

	// Progress, if not nil, is called for each archive that has been read. Calls never overlap.
	Progress func(provider.Event)
}

// EventChecked means that [Mirror.Check] or [Mirror.Reindex] has read an archive.
const EventChecked provider.EventKind = "checked"

// Check reads all archives, documents and records and reports where they differ. It changes nothing
// except lock files and files of killed processes. The error is nil if Check completes, whatever the report contains.
func (m *Mirror) Check(ctx context.Context, o CheckOptions) (*Report, error) {
	return m.inspectProviders(ctx, "check", o, (*checker).checkProvider)
}

// checker is the state of one call of Check or Reindex.
type checker struct {
	*Mirror
	*reporter
	options  CheckOptions
	limits   checksum.Limits
	parallel int
	slots    *semaphore.Weighted // one for each archive that is read
	progress func(provider.Event)
}

// inspectProviders calls do for each provider and returns the report.
func (m *Mirror) inspectProviders(ctx context.Context, op string, o CheckOptions, do func(*checker, context.Context, *inventory) error) (*Report, error) {
	c := &checker{Mirror: m, reporter: &reporter{}, options: o, parallel: cmp.Or(max(o.Parallel, 0), runtime.GOMAXPROCS(0))}
	if o.Policy != nil {
		c.limits = o.Policy.Limits
	}
	c.slots = semaphore.NewWeighted(int64(c.parallel))
	c.progress = flight.InTurn(o.Progress)
	providers, err := m.providers(ctx, c.reporter)
	if err != nil {
		return nil, failed(op, "the mirror", err)
	}
	for _, p := range providers {
		s, err := c.takeInventory(ctx, p)
		if err == nil {
			err = do(c, ctx, s)
		}
		if err != nil {
			return nil, failed(op, p.String(), err)
		}
		c.count(1, 0, 0, 0)
	}
	return c.sorted(), nil
}

func (c *checker) checkProvider(ctx context.Context, s *inventory) error {
	err := each(ctx, c.parallel, len(s.versions), func(ctx context.Context, i int) error {
		return c.checkVersion(ctx, s, s.versions[i])
	})
	c.note(s.findings...)
	for _, f := range s.contradicted {
		c.note(f.explain(s.archivesByZH))
	}
	return err
}

// inventory lists what the directories of a provider contain.
type inventory struct {
	provider addrs.Provider
	files    *files                            // in the directory with the archives
	dirs     []string                          // directories with documents
	indices  map[string]map[addrs.Version]bool // by directory; nil if the index is missing or damaged
	versions []addrs.Version                   // versions with any file, sorted
	findings []Finding

	mu           sync.Mutex
	archivesByZH map[checksum.Hash]string // names of the archives that were read
	contradicted []contradiction
}

func (c *checker) takeInventory(ctx context.Context, p addrs.Provider) (*inventory, error) {
	s := &inventory{
		provider: p, dirs: documentDirs(p),
		indices: map[string]map[addrs.Version]bool{}, archivesByZH: map[checksum.Hash]string{},
	}
	find := func(kind FindingKind, name, detail string) {
		s.findings = append(s.findings, address{provider: p}.finding(kind, name, "%s", detail))
	}
	if strings.Contains(p.Host().String(), ":") {
		// Both CLIs fail with "unsupported protocol scheme", since they parse the relative address of the
		// documents as an absolute URL.
		find(Unreachable, providerDir(p), "the host has a port, and neither OpenTofu nor Terraform can ask a network mirror for such a provider; use the directory as a filesystem_mirror")
	}
	versions := map[addrs.Version]bool{}
	for _, dir := range s.dirs {
		f, err := c.listFiles(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		if s.files == nil {
			s.files = f
		}
		maps.Copy(versions, f.versions)
		if s.indices[dir], err = c.readIndex(ctx, dir); errors.Is(err, errDamaged) {
			find(Damaged, path.Join(dir, indexName), oneLine(err))
		} else if err != nil {
			return nil, err
		}
		maps.Copy(versions, s.indices[dir])
	}
	s.versions = slices.SortedFunc(maps.Keys(versions), addrs.Version.Compare)
	for _, name := range s.files.ignored {
		find(Ignored, name, "not the name of an archive of this provider")
	}
	return s, nil
}

// refresh returns a new inventory of one version. It does not list the directory, since there may be
// many versions with problems.
func (c *checker) refresh(ctx context.Context, s *inventory, v addrs.Version) (*inventory, error) {
	now := &inventory{provider: s.provider, dirs: s.dirs, files: newFiles(), indices: map[string]map[addrs.Version]bool{}}
	names := slices.Concat(s.files.archives[v], s.files.records[v])
	for _, dir := range s.dirs {
		index, err := c.readIndex(ctx, dir)
		if err != nil && !errors.Is(err, errDamaged) {
			return nil, err
		}
		now.indices[dir] = index
		entries, err := c.readEntries(ctx, dir, v)
		if err != nil && !errors.Is(err, errDamaged) {
			return nil, err
		}
		for _, l := range entries {
			if name := resolve(dir, l.URL); isArchiveOf(s.provider, v, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		size, err := c.fileSize(ctx, name)
		if err != nil {
			return nil, err
		}
		if size >= 0 {
			now.files.addFile(s.provider, path.Dir(name), Entry{Name: path.Base(name), Size: size})
		}
	}
	return now, nil
}

// checkVersion checks one version. If it finds problems, it locks the version and checks it again.
func (c *checker) checkVersion(ctx context.Context, s *inventory, v addrs.Version) error {
	vc := &versionChecker{checker: c, inventory: s, version: v}
	if err := vc.run(ctx); err != nil {
		return err
	}
	if len(vc.contradicted) > 0 || len(vc.report.Problems) > 0 {
		unlock, err := c.lockIfPossible(ctx, s.provider, v)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := c.refresh(ctx, s, v)
		if err != nil {
			return err
		}
		vc = &versionChecker{checker: c, inventory: now, version: v}
		if err := vc.run(ctx); err != nil {
			return err
		}
	}
	c.note(slices.Concat(vc.report.Problems, vc.report.Notes)...)
	c.count(0, vc.report.Versions, vc.report.Archives, vc.report.Bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contradicted = append(s.contradicted, vc.contradicted...)
	maps.Copy(s.archivesByZH, vc.archivesByZH)
	return nil
}

// lockIfPossible is like lockVersion, but does without a lock if the storage cannot be written.
func (m *Mirror) lockIfPossible(ctx context.Context, p addrs.Provider, v addrs.Version) (unlock func(), err error) {
	unlock, err = m.lockVersion(ctx, p, v)
	if err != nil && ctx.Err() == nil {
		if _, isPath := errors.AsType[*fs.PathError](err); isPath {
			return func() {}, nil
		}
	}
	return unlock, err
}
