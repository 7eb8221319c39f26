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
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckOptions for [Mirror.Check] and [Mirror.Reindex].
type CheckOptions struct {
	// Parallel is the maximum number of archives that are read at the same time. If it
	// is zero or less, the number of processors is used.
	Parallel int

	// Policy, if not nil, has Check judge each archive with the evidence on record,
	// and report as Refused those that it does not accept. If it is nil, only what is
	// wrong is Refused, such as a bad signature, but not what is missing.
	Policy *verify.Policy

	// Progress, if not nil, is called for each archive that has been read. It is
	// called by one goroutine at a time. Reindex reads only what is not on record.
	Progress func(provider.Event)
}

// EventChecked is reported by [Mirror.Check] and [Mirror.Reindex]: an archive has been read.
const EventChecked provider.EventKind = "checked"

// Check reads everything in the mirror again, archives, documents and records, and
// reports where they do not agree. It changes nothing there. What is being added while it
// runs is looked at again before it is called a problem, under the lock of its version: for
// this a [Directory] may get its ".tofureg".
//
// The error is not nil only if Check could not finish; a mirror with problems is none.
func (m *Mirror) Check(ctx context.Context, o CheckOptions) (*Report, error) {
	c := newChecker(m, o)
	providers, err := m.providers(ctx, c.reporter)
	if err != nil {
		return nil, failed("check", "the mirror", err)
	}
	for _, p := range providers {
		if err := c.provider(ctx, p); err != nil {
			return nil, failed("check", p.String(), err)
		}
	}
	return c.sorted(), nil
}

// checker does one call of Check or Reindex.
type checker struct {
	*Mirror
	*reporter
	options  CheckOptions
	limits   checksum.Limits
	parallel int
	slots    *semaphore.Weighted // one for each archive that is read
	tell     func(provider.Event)
}

func newChecker(m *Mirror, o CheckOptions) *checker {
	c := &checker{Mirror: m, reporter: &reporter{}, options: o, parallel: cmp.Or(max(o.Parallel, 0), runtime.GOMAXPROCS(0))}
	if o.Policy != nil {
		c.limits = o.Policy.Limits
	}
	c.slots = semaphore.NewWeighted(int64(c.parallel))
	c.tell = flight.InTurn(o.Progress)
	return c
}

func (c *checker) provider(ctx context.Context, p addrs.Provider) error {
	s, err := c.survey(ctx, p)
	if err != nil {
		return err
	}
	versions := slices.SortedFunc(maps.Keys(s.versions), addrs.Version.Compare)
	err = each(ctx, c.parallel, len(versions), func(ctx context.Context, i int) error {
		return c.version(ctx, s, versions[i])
	})
	c.count(1, 0, 0, 0)
	c.note(s.findings...)
	for _, f := range s.contradicted {
		c.note(f.explain(s.archives))
	}
	return err
}

// survey is what the directories of a provider hold.
type survey struct {
	provider addrs.Provider
	files    *files                            // of the directory with the archives
	homes    []string                          // the directories with documents
	indices  map[string]map[addrs.Version]bool // by the directory; nil: none, or a damaged one
	versions map[addrs.Version]bool            // that there is anything of
	findings []Finding

	mu           sync.Mutex
	archives     map[checksum.Hash]string // names of those that were read, by zh
	contradicted []contradiction
}

func (c *checker) survey(ctx context.Context, p addrs.Provider) (*survey, error) {
	s := &survey{
		provider: p, homes: documentHomes(p), versions: map[addrs.Version]bool{},
		indices: map[string]map[addrs.Version]bool{}, archives: map[checksum.Hash]string{},
	}
	find := func(kind FindingKind, name, detail string) {
		s.findings = append(s.findings, Finding{Kind: kind, Name: name, Provider: p, Detail: detail})
	}
	if hasPort(p) {
		find(Unreachable, homeOf(p), "the host has a port, and neither OpenTofu nor Terraform can ask a network mirror for such a provider; use the directory as a filesystem_mirror")
	}
	for _, dir := range s.homes {
		f, err := c.list(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		if s.files == nil {
			s.files = f
		}
		maps.Copy(s.versions, f.versions)
		if s.indices[dir], err = c.readIndex(ctx, dir); errors.Is(err, errDocument) {
			find(Damaged, path.Join(dir, indexName), oneLine(err))
		} else if err != nil {
			return nil, err
		}
		maps.Copy(s.versions, s.indices[dir])
	}
	for _, name := range s.files.strange {
		find(Ignored, name, "not the name of an archive of this provider")
	}
	return s, nil
}

// again looks again at what a survey tells of one version, and at what its documents list by now.
func (c *checker) again(ctx context.Context, s *survey, v addrs.Version) (*versionChecker, error) {
	vc := &versionChecker{checker: c, survey: s, version: v, files: newFiles(), indices: map[string]map[addrs.Version]bool{}}
	names := slices.Concat(s.files.archives[v], s.files.records[v])
	for _, dir := range s.homes {
		index, err := c.readIndex(ctx, dir)
		if err != nil && !errors.Is(err, errDocument) {
			return nil, err
		}
		vc.indices[dir] = index
		entries, err := c.entries(ctx, dir, v)
		if err != nil && !errors.Is(err, errDocument) {
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
		size, err := c.size(ctx, name)
		if err != nil && !unnameable(err) {
			return nil, err
		}
		if err == nil && size >= 0 {
			vc.files.add(s.provider, path.Dir(name), Entry{Name: path.Base(name), Size: size})
		}
	}
	return vc, nil
}

// version checks one version, and once more without others at work on it if that finds
// problems.
func (c *checker) version(ctx context.Context, s *survey, v addrs.Version) error {
	vc := &versionChecker{checker: c, survey: s, version: v, files: s.files, indices: s.indices}
	if err := vc.run(ctx); err != nil {
		return err
	}
	if len(vc.contradicted) > 0 || slices.ContainsFunc(vc.found, func(f Finding) bool { return f.Kind.isProblem() }) {
		unlock, err := c.lockIfPossible(ctx, s.provider, v)
		if err != nil {
			return err
		}
		defer unlock()
		if vc, err = c.again(ctx, s, v); err != nil {
			return err
		}
		if err := vc.run(ctx); err != nil {
			return err
		}
	}
	c.note(vc.found...)
	s.mu.Lock()
	s.contradicted = append(s.contradicted, vc.contradicted...)
	s.mu.Unlock()
	if vc.archives > 0 {
		c.count(0, 1, vc.archives, vc.bytes)
	}
	return nil
}

// lockIfPossible is lockVersion for those who only read: where nobody can write, nobody
// need be kept away.
func (m *Mirror) lockIfPossible(ctx context.Context, p addrs.Provider, v addrs.Version) (unlock func(), err error) {
	unlock, err = m.lockVersion(ctx, p, v)
	if err != nil && ctx.Err() == nil {
		if _, isPath := errors.AsType[*fs.PathError](err); isPath {
			return func() {}, nil
		}
	}
	return unlock, err
}
