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
	return m.inspect(ctx, "check", o, (*checker).check)
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

// inspect looks at one provider after the other.
func (m *Mirror) inspect(ctx context.Context, op string, o CheckOptions, one func(*checker, context.Context, *survey) error) (*Report, error) {
	c := &checker{Mirror: m, reporter: &reporter{}, options: o, parallel: cmp.Or(max(o.Parallel, 0), runtime.GOMAXPROCS(0))}
	if o.Policy != nil {
		c.limits = o.Policy.Limits
	}
	c.slots = semaphore.NewWeighted(int64(c.parallel))
	c.tell = flight.InTurn(o.Progress)
	providers, err := m.providers(ctx, c.reporter)
	if err != nil {
		return nil, failed(op, "the mirror", err)
	}
	for _, p := range providers {
		s, err := c.survey(ctx, p)
		if err == nil {
			err = one(c, ctx, s)
		}
		if err != nil {
			return nil, failed(op, p.String(), err)
		}
		c.count(1, 0, 0, 0)
	}
	return c.sorted(), nil
}

func (c *checker) check(ctx context.Context, s *survey) error {
	err := each(ctx, c.parallel, len(s.versions), func(ctx context.Context, i int) error {
		return c.version(ctx, s, s.versions[i])
	})
	c.note(s.findings...)
	for _, f := range s.contradicted {
		c.note(f.explain(s.read))
	}
	return err
}

// survey is what the directories of a provider hold.
type survey struct {
	provider addrs.Provider
	files    *files                            // of the directory with the archives
	homes    []string                          // the directories with documents
	indices  map[string]map[addrs.Version]bool // by the directory; nil: none, or a damaged one
	versions []addrs.Version                   // that there is anything of, in order
	findings []Finding

	mu           sync.Mutex
	read         map[checksum.Hash]string // names of the archives that were read, by zh
	contradicted []contradiction
}

func (c *checker) survey(ctx context.Context, p addrs.Provider) (*survey, error) {
	s := &survey{
		provider: p, homes: documentHomes(p),
		indices: map[string]map[addrs.Version]bool{}, read: map[checksum.Hash]string{},
	}
	find := func(kind FindingKind, name, detail string) {
		s.findings = append(s.findings, address{provider: p}.finding(kind, name, "%s", detail))
	}
	if hasPort(p) {
		find(Unreachable, homeOf(p), "the host has a port, and neither OpenTofu nor Terraform can ask a network mirror for such a provider; use the directory as a filesystem_mirror")
	}
	versions := map[addrs.Version]bool{}
	for _, dir := range s.homes {
		f, err := c.list(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		if s.files == nil {
			s.files = f
		}
		maps.Copy(versions, f.versions)
		if s.indices[dir], err = c.readIndex(ctx, dir); errors.Is(err, errDocument) {
			find(Damaged, path.Join(dir, indexName), oneLine(err))
		} else if err != nil {
			return nil, err
		}
		maps.Copy(versions, s.indices[dir])
	}
	s.versions = slices.SortedFunc(maps.Keys(versions), addrs.Version.Compare)
	for _, name := range s.files.strange {
		find(Ignored, name, "not the name of an archive of this provider")
	}
	return s, nil
}

// again looks again at what a survey tells of one version, and at what its documents list by now.
// It does not list the directory: there may be many such versions.
func (c *checker) again(ctx context.Context, s *survey, v addrs.Version) (*survey, error) {
	now := &survey{provider: s.provider, homes: s.homes, files: newFiles(), indices: map[string]map[addrs.Version]bool{}}
	names := slices.Concat(s.files.archives[v], s.files.records[v])
	for _, dir := range s.homes {
		index, err := c.readIndex(ctx, dir)
		if err != nil && !errors.Is(err, errDocument) {
			return nil, err
		}
		now.indices[dir] = index
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
		if err != nil {
			return nil, err
		}
		if size >= 0 {
			now.files.add(s.provider, path.Dir(name), Entry{Name: path.Base(name), Size: size})
		}
	}
	return now, nil
}

// version checks one version. If that finds problems, it looks once more, without others at work
// on the version.
func (c *checker) version(ctx context.Context, s *survey, v addrs.Version) error {
	vc := &versionChecker{checker: c, survey: s, version: v}
	if err := vc.run(ctx); err != nil {
		return err
	}
	if len(vc.contradicted) > 0 || len(vc.report.Problems) > 0 {
		unlock, err := c.lockIfPossible(ctx, s.provider, v)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := c.again(ctx, s, v)
		if err != nil {
			return err
		}
		vc = &versionChecker{checker: c, survey: now, version: v}
		if err := vc.run(ctx); err != nil {
			return err
		}
	}
	c.note(slices.Concat(vc.report.Problems, vc.report.Notes)...)
	c.count(0, vc.report.Versions, vc.report.Archives, vc.report.Bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contradicted = append(s.contradicted, vc.contradicted...)
	maps.Copy(s.read, vc.read)
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
