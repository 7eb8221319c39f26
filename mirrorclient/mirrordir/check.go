package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckOptions are the options of [Mirror.Check] and [Mirror.Reindex].
type CheckOptions struct {
	// Parallel is the maximum number of concurrent archives. If zero or less, it is the number of
	// processors.
	Parallel int

	// Policy, if not nil, returns the policy for a provider, by which Check judges recorded evidence;
	// otherwise only invalid evidence is refused. Archives without a record are not judged. Reindex uses
	// its Limits only. Policy may be called concurrently.
	Policy func(addrs.Provider) verify.Policy

	// Progress, if not nil, is called for each archive that has been read. Calls never overlap.
	Progress func(provider.Event)
}

// EventChecked means that [Mirror.Check] or [Mirror.Reindex] has read an archive.
const EventChecked provider.EventKind = "checked"

// CheckResult is the result of [Mirror.Check] or [Mirror.Reindex].
type CheckResult struct {
	Providers int   `json:"providers"` // with a directory
	Versions  int   `json:"versions"`  // with archives
	Archives  int   `json:"archives"`  // without unpacked packages
	Bytes     int64 `json:"bytes"`     // of the archives

	// Problems are the findings that can break clients, sorted by name.
	Problems []Finding `json:"problems"`

	// Notes are the others.
	Notes []Finding `json:"notes"`
}

// OK reports whether there are no problems.
func (r *CheckResult) OK() bool { return len(r.Problems) == 0 }

// Finding is a problem or note about a file.
type Finding struct {
	Kind     FindingKind    `json:"kind"`              // such as "missing"
	Name     string         `json:"name"`              // of the file or directory
	Provider addrs.Provider `json:"provider,omitzero"` // or zero
	Version  addrs.Version  `json:"version,omitzero"`  // or zero
	Platform addrs.Platform `json:"platform,omitzero"` // or zero
	Detail   string         `json:"detail"`            // one line
}

// String returns kind, name and detail.
func (f Finding) String() string { return fmt.Sprintf("%s: %q: %s", f.Kind, f.Name, f.Detail) }

// FindingKind is the kind of a [Finding]. The problems are:
//
//	missing    a document lists a missing file, or the index a missing or empty document
//	changed    an archive differs from its record or from a document
//	damaged    a document, a record or an archive is invalid
//	refused    the policy does not accept the recorded evidence
//
// The notes are:
//
//	unlisted     network clients do not find the archive or the version
//	unrecorded   an archive has no record
//	external     a document lists a URL outside of the mirror
//	leftover     a record has no archive, or an archive is only half removed
//	ignored      a name is invalid or not canonical
//	unreachable  network clients do not find the provider in the directory
//	corrected    a document stated wrong hashes and was corrected
type FindingKind string

const (
	kindMissing     FindingKind = "missing"
	kindChanged     FindingKind = "changed"
	kindDamaged     FindingKind = "damaged"
	kindRefused     FindingKind = "refused"
	kindUnlisted    FindingKind = "unlisted"
	kindUnrecorded  FindingKind = "unrecorded"
	kindExternal    FindingKind = "external"
	kindLeftover    FindingKind = "leftover"
	kindIgnored     FindingKind = "ignored"
	kindUnreachable FindingKind = "unreachable"
	kindCorrected   FindingKind = "corrected"
)

// Check reads all archives, documents and records and reports where they differ. It changes nothing
// except lock files and files of killed processes. Problems cause no error.
func (m *Mirror) Check(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	return m.inspect(ctx, "check", o, (*inspection).check)
}

// Reindex writes all documents anew, records archives that other programs have added, such as "tofu
// providers mirror", and deletes records without an archive. It cannot verify the origin of archives;
// [Mirror.Add] can.
//
// It lists archives of the recorded size unread, and archives without a record if they are valid. URLs
// outside of the mirror stay. Problems cause no error.
func (m *Mirror) Reindex(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	return m.inspect(ctx, "reindex", o, (*inspection).reindex)
}

// inspection is the state of one call of Check or Reindex.
type inspection struct {
	m        *Mirror
	options  CheckOptions
	slots    *semaphore.Weighted // one for each archive that is read
	progress func(provider.Event)
	found    findings

	unfinished []string // archives beside a tombstone; guarded by found.mu
}

// findings collects findings and totals from several goroutines.
type findings struct {
	mu     sync.Mutex
	report CheckResult
	again  bool // whether the archives are read a second time
}

// count adds the archives of a version to the totals.
func (f *findings) count(s *inventory, v addrs.Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report.Versions += min(1, len(s.files.archives[v]))
	for _, name := range s.files.archives[v] {
		f.report.Archives++
		f.report.Bytes += s.files.sizes[name]
	}
}

func (f *findings) note(list ...Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range list {
		switch one.Kind {
		case kindMissing, kindChanged, kindDamaged, kindRefused:
			f.report.Problems = append(f.report.Problems, one)
		default:
			f.report.Notes = append(f.report.Notes, one)
		}
	}
}

// inspect calls do for each provider and returns the report.
func (m *Mirror) inspect(ctx context.Context, op string, o CheckOptions, do func(*inspection, context.Context, *inventory) error) (*CheckResult, error) {
	o.Parallel = cmp.Or(max(o.Parallel, 0), runtime.GOMAXPROCS(0))
	c := &inspection{m: m, options: o, slots: semaphore.NewWeighted(int64(o.Parallel)), progress: flight.InTurn(o.Progress)}
	providers, err := m.providers(ctx, func(name, reason string) { c.found.note(Finding{Kind: kindIgnored, Name: name, Detail: reason}) })
	if err != nil {
		return nil, failure.Wrap(op, "the mirror", err)
	}
	for _, p := range providers {
		s, err := m.takeInventory(ctx, p)
		if err == nil {
			err = do(c, ctx, s)
		}
		if err != nil {
			return nil, failure.Wrap(op, p.String(), err)
		}
		c.found.report.Providers++
	}
	for _, list := range [][]Finding{c.found.report.Problems, c.found.report.Notes} {
		slices.SortFunc(list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), a.Platform.Compare(b.Platform), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
		})
	}
	return &c.found.report, nil
}

// inventory lists what the directory of a provider contains.
type inventory struct {
	provider addrs.Provider
	files    *files
	index    map[addrs.Version]bool // nil if it is missing or damaged
	versions []addrs.Version        // versions with any file, sorted
	findings []Finding              // about the directory
}

func (m *Mirror) takeInventory(ctx context.Context, p addrs.Provider) (s *inventory, err error) {
	s = &inventory{provider: p}
	find := func(kind FindingKind, name, detail string) {
		s.findings = append(s.findings, address{provider: p}.finding(kind, name, "%s", detail))
	}
	if host := p.Host(); strings.Contains(host.String(), ":") {
		// Both CLIs fail with "unsupported protocol scheme", since they parse the relative address of the
		// documents as an absolute URL.
		find(kindUnreachable, providerDir(p), "the host has a port, and neither OpenTofu nor Terraform can ask a network mirror for such a provider; use the directory as a filesystem_mirror")
	} else if host.String() != host.Display() {
		find(kindUnreachable, providerDir(p), "clients ask a web server for "+host.String()+"; serve the mirror with package mirrorserve, or use the directory as a filesystem_mirror")
	}
	if s.files, err = m.listFiles(ctx, p, providerDir(p)); err != nil {
		return nil, err
	}
	if s.index, err = m.readIndex(ctx, p); errors.Is(err, errDamaged) {
		find(kindDamaged, indexName(p), oneLine(err))
	} else if err != nil {
		return nil, err
	}
	versions := maps.Clone(s.files.versions)
	maps.Copy(versions, s.index)
	s.versions = slices.SortedFunc(maps.Keys(versions), addrs.Version.Compare)
	for _, i := range s.files.ignored {
		find(kindIgnored, i.name, "not the name of an archive of this provider")
	}
	return s, nil
}

// check checks the versions of a provider.
func (c *inspection) check(ctx context.Context, s *inventory) error {
	found := make([]findings, len(s.versions))
	err := stored.Each(ctx, c.options.Parallel, len(s.versions), func(ctx context.Context, i int) error {
		return c.checkVersion(ctx, s, s.versions[i], &found[i])
	})
	if err != nil {
		return err
	}
	var again []int
	for i := range found {
		if !found[i].report.OK() {
			again = append(again, i)
		}
	}
	if len(again) > 0 {
		// Another process may have changed the versions with problems. Check them again while no
		// archive and no document can go or change, unless the store cannot be written.
		unlock, err := c.m.lock(ctx, indexName(s.provider))
		if _, readOnly := errors.AsType[*fs.PathError](err); err != nil && (!readOnly || ctx.Err() != nil) {
			return err
		} else if err == nil {
			defer unlock()
		}
		now, err := c.m.takeInventory(ctx, s.provider)
		if err != nil {
			return err
		}
		err = stored.Each(ctx, c.options.Parallel, len(again), func(ctx context.Context, i int) error {
			found[again[i]] = findings{again: true}
			return c.checkVersion(ctx, now, s.versions[again[i]], &found[again[i]])
		})
		if err != nil {
			return err
		}
	}
	c.found.note(s.findings...)
	for i := range found {
		r := &found[i].report
		c.found.note(slices.Concat(r.Problems, r.Notes)...)
		c.found.report.Versions += r.Versions
		c.found.report.Archives += r.Archives
		c.found.report.Bytes += r.Bytes
	}
	return nil
}

// checkVersion checks one version.
func (c *inspection) checkVersion(ctx context.Context, s *inventory, v addrs.Version, found *findings) error {
	name := documentName(s.provider, v)
	find := func(kind FindingKind, name string, platform addrs.Platform, format string, args ...any) {
		found.note(address{s.provider, v, platform}.finding(kind, name, format, args...))
	}
	none := addrs.Platform{}
	list, err := c.m.readEntries(ctx, providerDir(s.provider), v)
	switch {
	case errors.Is(err, errDamaged):
		find(kindDamaged, name, none, "%s", oneLine(err))
	case err != nil:
		return err
	case len(list) == 0 && s.index[v]:
		find(kindMissing, name, none, "the document is missing or empty, but the index lists the version")
	case len(list) > 0 && !s.index[v]:
		find(kindUnlisted, name, none, "the index does not list the version")
	}
	for platform, l := range list {
		file := resolve(providerDir(s.provider), l.URL)
		if file == "" {
			find(kindExternal, name, platform, "it lists the URL %.200q", l.URL)
		} else if !s.files.has(file) {
			size, err := c.m.fileSize(ctx, file) // file may be in another directory
			if err != nil {
				return err
			}
			if size < 0 {
				find(kindMissing, file, platform, "%s lists it", name)
			}
		}
	}
	found.count(s, v)
	for _, name := range s.files.records[v] {
		if archive, _ := recordedArchive(name); !s.files.has(archive) {
			find(kindLeftover, name, none, "the record of a missing archive")
		}
	}
	archives := s.files.archives[v]
	return stored.Each(ctx, len(archives)+1, len(archives), func(ctx context.Context, i int) error {
		_, platform, _ := provider.ParseArchiveName(s.provider, path.Base(archives[i]))
		return c.checkArchive(ctx, address{s.provider, v, platform}, archives[i], list, found)
	})
}

// checkArchive reads one archive and compares it with its record and the entries of its document.
func (c *inspection) checkArchive(ctx context.Context, a address, name string, list map[addrs.Platform]listed, found *findings) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	find := func(kind FindingKind, name, format string, args ...any) {
		found.note(a.finding(kind, name, format, args...))
	}
	_, rec, err := c.m.readRecord(ctx, name)
	switch {
	case errors.Is(err, errDamaged):
		find(kindDamaged, recordName(name), "%s", oneLine(err))
	case errors.Is(err, errRemoved):
		find(kindLeftover, name, "the archive is being removed or replaced; if no process does it, run Mirror.Reindex")
	case errors.Is(err, fs.ErrNotExist):
		find(kindUnrecorded, name, "the archive has no record")
	case err != nil:
		return err
	}
	local, size, damaged, err := c.hash(ctx, a, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since it was listed
	} else if err != nil {
		return err
	}
	if !found.again {
		c.progress(a.event(EventChecked, size))
	}
	// Report only the first problem of an archive, since it explains the others.
	switch {
	case rec != nil && rec.Size != size:
		find(kindChanged, name, "the archive is %d bytes, the record states %d", size, rec.Size)
		return nil
	case rec != nil && len(contradicting(rec.Hashes, local)) > 0:
		find(kindChanged, name, "the record states %v, the archive has %v", contradicting(rec.Hashes, local), local)
		return nil
	case damaged != nil:
		find(kindDamaged, name, "%s", oneLine(damaged))
		return nil
	}
	document := documentName(a.provider, a.version)
	l, ok := list[a.platform]
	if !ok || resolve(providerDir(a.provider), l.URL) != name {
		find(kindUnlisted, name, "%s does not list it", document)
	} else if wrong := contradicting(l.Hashes, local); len(wrong) > 0 && rec != nil {
		find(kindChanged, name, "%s states %v, the archive has the recorded %v; run Mirror.Reindex to correct the document", document, wrong, local)
	} else if len(wrong) > 0 {
		// Some versions of "tofu providers mirror" write the zh of a new version into all documents.
		find(kindChanged, name, "%s states %v, the archive has %v; run Mirror.Add to compare the archive with the checksums of the source, or Mirror.Reindex if only the document is wrong", document, wrong, local)
	}
	if rec != nil {
		policy := verify.Policy{AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
		if c.options.Policy != nil {
			policy = c.options.Policy(a.provider)
		}
		if _, err := policy.Judge(ctx, rec.evidence(a), rec.Size, local); err != nil {
			find(kindRefused, name, "%s", oneLine(err))
		}
	}
	return nil
}

// hash computes all hashes of an archive, but only the zh of one that is damaged.
func (c *inspection) hash(ctx context.Context, a address, name string) (local []checksum.Hash, size int64, damaged, err error) {
	f, err := c.m.openArchive(ctx, name)
	if err != nil {
		return nil, 0, nil, err
	}
	defer f.close()
	packed, tree, err := f.h1(ctx, policyFor(c.options.Policy, a.provider).Limits)
	if errors.Is(err, failure.ErrArchive) || errors.Is(err, failure.ErrTooLarge) {
		return []checksum.Hash{f.zh}, f.size, err, nil
	}
	return checksum.Sorted([]checksum.Hash{f.zh, packed, tree}), f.size, nil, err
}

// contradicting returns the stated hashes that differ from a computed hash of the same scheme.
func contradicting(stated, local []checksum.Hash) (wrong []checksum.Hash) {
	for _, h := range stated {
		comparable := slices.ContainsFunc(local, func(l checksum.Hash) bool { return l.Scheme() == h.Scheme() })
		if comparable && !slices.Contains(local, h) {
			wrong = append(wrong, h)
		}
	}
	return wrong
}

// oneLine returns the text of an error in one line.
func oneLine(err error) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, err.Error())
}

// maxReindexed is the maximum number of versions that are published together.
const maxReindexed = 500

// reindex records the archives of a provider and publishes its versions.
func (c *inspection) reindex(ctx context.Context, s *inventory) error {
	err := stored.Each(ctx, c.options.Parallel, len(s.versions), func(ctx context.Context, i int) error {
		return c.recordVersion(ctx, s, s.versions[i])
	})
	if err != nil {
		return err
	}
	batches := slices.Collect(slices.Chunk(s.versions, maxReindexed))
	if len(batches) == 0 {
		batches = [][]addrs.Version{nil} // to remove the index
	}
	for _, versions := range batches {
		if err := c.m.publish(ctx, s.provider, versions, keepFound); err != nil {
			return err
		}
	}
	if err := c.finishRemovals(ctx, s.provider); err != nil {
		return err
	}
	for _, f := range s.findings {
		if f.Kind != kindDamaged { // the index has been replaced
			c.found.note(f)
		}
	}
	return nil
}

// finishRemovals removes the archives beside tombstones, which no document lists.
func (c *inspection) finishRemovals(ctx context.Context, p addrs.Provider) error {
	again := map[addrs.Version]bool{} // an addition has replaced an archive
	for _, name := range c.unfinished {
		replaced := false
		t, err := c.m.bury(ctx, name, true)
		if err == nil {
			replaced, err = c.m.clear(ctx, t)
		}
		if replaced || errors.Is(err, storage.ErrConflict) {
			v, _, _ := provider.ParseArchiveName(p, path.Base(name))
			again[v] = true
		} else if err != nil && !errors.Is(err, errors.ErrUnsupported) { // then they stay
			return err
		}
	}
	c.unfinished = nil
	if len(again) == 0 {
		return nil
	}
	return c.m.publish(ctx, p, slices.Collect(maps.Keys(again)), keepOthers)
}

// recordVersion records the archives of one version and deletes records without an archive.
func (c *inspection) recordVersion(ctx context.Context, s *inventory, v addrs.Version) error {
	unlock, err := c.m.lock(ctx, documentName(s.provider, v))
	if err != nil {
		return err
	}
	defer unlock()
	stated, err := c.m.readEntries(ctx, providerDir(s.provider), v)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	platforms := slices.Collect(maps.Keys(s.files.packages[v]))
	c.found.count(s, v)
	err = stored.Each(ctx, len(platforms)+1, len(platforms), func(ctx context.Context, i int) error {
		a := address{s.provider, v, platforms[i]}
		return c.recordArchive(ctx, a, s.files.packages[v][a.platform].name, stated[a.platform])
	})
	if err != nil {
		return err
	}
	for _, name := range s.files.records[v] {
		archive, _ := recordedArchive(name)
		size, err := c.m.fileSize(ctx, archive)
		if err == nil && size < 0 {
			err = c.dropRecord(ctx, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropRecord deletes a record whose archive is missing or damaged.
func (c *inspection) dropRecord(ctx context.Context, name string) error {
	old, err := stored.Read(ctx, c.m.Store, name)
	if err != nil && !errors.Is(err, errDamaged) || old.Revision == "" {
		return err
	}
	err = c.m.delete(ctx, name, old.Revision)
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, errors.ErrUnsupported) {
		return nil // an archive is being added, or the store keeps leftovers
	}
	return err
}

// recordArchive writes the record of an archive if it is missing.
func (c *inspection) recordArchive(ctx context.Context, a address, name string, stated listed) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	size, err := c.m.fileSize(ctx, name)
	if err != nil || size < 0 {
		return err // removed since it was listed
	}
	_, rec, err := c.m.readRecord(ctx, name)
	if errors.Is(err, errRemoved) {
		c.found.mu.Lock()
		defer c.found.mu.Unlock()
		c.unfinished = append(c.unfinished, name)
		return nil
	}
	if err != nil && !isUnrecorded(err) {
		return err
	}
	if rec != nil && rec.Size != size {
		c.found.note(a.finding(kindChanged, name, "the archive is %d bytes, the record states %d; run Mirror.Add to replace it", size, rec.Size))
		return nil
	}
	if rec == nil || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		local, size, damaged, err := c.hash(ctx, a, name)
		if err != nil {
			return err
		}
		c.progress(a.event(EventChecked, size))
		if damaged != nil {
			c.found.note(a.finding(kindDamaged, name, "%s", oneLine(damaged)))
			return c.dropRecord(ctx, recordName(name)) // a record that exists is damaged
		}
		rec = &record{Size: size, Hashes: local}
		if _, err := c.m.writeRecord(ctx, name, rec); err != nil {
			return err
		}
	}
	if wrong := contradicting(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		document := path.Base(documentName(a.provider, a.version))
		c.found.note(a.finding(kindCorrected, name, "%s stated %v, the archive has %v", document, wrong, rec.Hashes))
	}
	return nil
}
