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
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// CheckOptions are the options of [Mirror.Check] and [Mirror.Reindex].
type CheckOptions struct {
	Parallel int // maximum of concurrent archives; if 0 or less, the number of processors

	// Policy, if not nil, judges recorded evidence in Check; otherwise only invalid evidence is refused. Reindex uses
	// its Limits only.
	Policy provider.Policies

	// Progress, if not nil, is called for each archive read. Calls never overlap.
	Progress func(progress.Event)
}

// CheckResult is the result of [Mirror.Check] or [Mirror.Reindex]. Problems cause no error.
type CheckResult struct {
	Providers int   `json:"providers"` // with a directory
	Versions  int   `json:"versions"`  // with archives
	Archives  int   `json:"archives"`  // without unpacked packages
	Bytes     int64 `json:"bytes"`     // of the archives

	Problems []Finding `json:"problems"` // that can break clients, sorted by name

	Notes []Finding `json:"notes"` // other findings
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

// FindingKind is the kind of a [Finding].
type FindingKind string

// The problems.
const (
	FindingMissing FindingKind = "missing" // a document lists a missing file, or the index a missing or empty document
	FindingChanged FindingKind = "changed" // an archive differs from its record or a document
	FindingDamaged FindingKind = "damaged" // a document, record or archive is invalid
	FindingRefused FindingKind = "refused" // the policy refuses the recorded evidence
)

// The notes.
const (
	FindingUnlisted   FindingKind = "unlisted"   // network clients do not find the archive or version
	FindingUnrecorded FindingKind = "unrecorded" // an archive has no record
	FindingExternal   FindingKind = "external"   // a document lists a URL outside of the mirror
	FindingLeftover   FindingKind = "leftover"   // a record has no archive, or [Mirror.Sweep] deletes the file
	FindingIgnored    FindingKind = "ignored"    // a name is invalid or not canonical
	FindingCorrected  FindingKind = "corrected"  // wrong hashes in a document were corrected
)

// Check reads all archives, documents and records and reports where they differ. It changes nothing except lock files
// and files of killed processes.
func (m *Mirror) Check(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	return m.inspect(ctx, "check", o, (*inspection).check)
}

// Reindex makes index and documents agree with the files, records archives of other programs, such as "tofu providers
// mirror", and in a directory deletes records without an archive. It cannot verify the origin of archives; [Mirror.Add]
// can.
//
// It lists archives of the recorded size unread, and archives without a record if they are valid. URLs outside of the
// mirror stay. In a store without locks, removed archives are not listed again.
func (m *Mirror) Reindex(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	return m.inspect(ctx, "reindex", o, (*inspection).reindex)
}

// inspection is the state of one call of Check or Reindex.
type inspection struct {
	m        *Mirror
	options  CheckOptions
	slots    *semaphore.Weighted // one for each archive that is read
	progress func(progress.Event)
	found    findings
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
		case FindingMissing, FindingChanged, FindingDamaged, FindingRefused:
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
	providers, err := m.providers(ctx, func(name, reason string) { c.found.note(Finding{Kind: FindingIgnored, Name: name, Detail: reason}) })
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
	index    map[addrs.Version]bool // empty if it is missing or damaged
	versions []addrs.Version        // versions with any file, sorted
	findings []Finding              // about the directory
}

func (m *Mirror) takeInventory(ctx context.Context, p addrs.Provider) (s *inventory, err error) {
	s = &inventory{provider: p}
	find := func(kind FindingKind, name, detail string) {
		s.findings = append(s.findings, address{provider: p}.finding(kind, name, "%s", detail))
	}
	if s.files, err = m.listFiles(ctx, p, providerDir(p)); err != nil {
		return nil, err
	}
	index, err := m.readIndex(ctx, p)
	if s.index = index.list(); errors.Is(err, errDamaged) {
		find(FindingDamaged, indexName(p), oneLine(err))
	} else if err != nil {
		return nil, err
	}
	versions := maps.Clone(s.files.versions)
	maps.Copy(versions, s.index)
	s.versions = slices.SortedFunc(maps.Keys(versions), addrs.Version.Compare)
	for _, i := range s.files.ignored {
		find(FindingIgnored, i.name, "not the name of an archive of this provider")
	}
	return s, nil
}

// check checks the versions of a provider.
func (c *inspection) check(ctx context.Context, s *inventory) error {
	found := make([]findings, len(s.versions))
	versions, isOK := s.versions, true
	round := func(again bool) error {
		return stored.Each(ctx, c.options.Parallel, len(found), func(ctx context.Context, i int) error {
			if again && found[i].report.OK() {
				return nil
			}
			found[i] = findings{again: again}
			return c.checkVersion(ctx, s, versions[i], &found[i])
		})
	}
	if err := round(false); err != nil {
		return err
	}
	for i := range found {
		isOK = isOK && found[i].report.OK()
	}
	if !isOK {
		// Another process may have changed the versions with problems. Check them again while no
		// archive and no document can go or change, unless the store cannot be written.
		unlock, err := stored.Lock(ctx, c.m.Store, indexName(s.provider))
		if _, readOnly := errors.AsType[*fs.PathError](err); err != nil && (!readOnly || ctx.Err() != nil) {
			return err
		} else if err == nil {
			defer unlock()
		}
		if s, err = c.m.takeInventory(ctx, s.provider); err != nil {
			return err
		}
		if err := round(true); err != nil {
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
	doc, err := c.m.readDocument(ctx, providerDir(s.provider), v)
	list := doc.platforms()
	switch {
	case errors.Is(err, errDamaged):
		find(FindingDamaged, name, none, "%s", oneLine(err))
	case err != nil:
		return err
	case len(list) == 0 && s.index[v]:
		find(FindingMissing, name, none, "the document is missing or empty, but the index lists the version")
	case len(list) > 0 && !s.index[v]:
		find(FindingUnlisted, name, none, "the index does not list the version")
	}
	for platform, l := range list {
		file := resolve(providerDir(s.provider), l.URL)
		if file == "" {
			find(FindingExternal, name, platform, "it lists the URL %.200q", l.URL)
		} else if !s.files.has(file) {
			size, err := c.m.fileSize(ctx, file) // file may be in another directory
			if err != nil {
				return err
			}
			if size < 0 {
				find(FindingMissing, file, platform, "%s lists it", name)
			}
		}
	}
	found.count(s, v)
	garbage := (&edit{version: v, doc: doc}).unlisted(s.provider, s.files)
	for _, name := range garbage {
		find(FindingLeftover, name, none, "no document lists it; Mirror.Sweep deletes it")
	}
	for _, name := range s.files.records[v] {
		if archive, _ := recordedArchive(name); !isFresh(name) && !s.files.has(archive) {
			find(FindingLeftover, name, none, "the record of a missing archive")
		}
	}
	archives := s.files.archives[v]
	return stored.Each(ctx, len(archives)+1, len(archives), func(ctx context.Context, i int) error {
		_, platform, _ := provider.ParseArchiveName(s.provider, path.Base(archives[i]))
		if slices.Contains(garbage, archives[i]) {
			return nil
		}
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
	l, ok := list[a.platform]
	if ok = ok && resolve(providerDir(a.provider), l.URL) == name; !ok {
		l = listed{}
	}
	_, rec, err := c.m.readRecord(ctx, recordOf(name, l))
	switch {
	case errors.Is(err, errDamaged):
		find(FindingDamaged, recordOf(name, l), "%s", oneLine(err))
	case errors.Is(err, fs.ErrNotExist):
		find(FindingUnrecorded, name, "the archive has no record")
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
		c.progress(a.event(progress.Checked, size))
	}
	// Report only the first problem of an archive, since it explains the others.
	switch {
	case rec != nil && rec.Size != size:
		find(FindingChanged, name, "the archive is %d bytes, the record states %d", size, rec.Size)
		return nil
	case rec != nil && len(contradicting(rec.Hashes, local)) > 0:
		find(FindingChanged, name, "the record states %v, the archive has %v", contradicting(rec.Hashes, local), local)
		return nil
	case damaged != nil:
		find(FindingDamaged, name, "%s", oneLine(damaged))
		return nil
	}
	document := documentName(a.provider, a.version)
	if !ok {
		find(FindingUnlisted, name, "%s does not list it", document)
	} else if wrong := contradicting(l.Hashes, local); len(wrong) > 0 && rec != nil {
		find(FindingChanged, name, "%s states %v, the archive has the recorded %v; run Mirror.Reindex to correct the document", document, wrong, local)
	} else if len(wrong) > 0 {
		// Some versions of "tofu providers mirror" write the zh of a new version into all documents.
		find(FindingChanged, name, "%s states %v, the archive has %v; run Mirror.Add to compare the archive with the checksums of the source, or Mirror.Reindex if only the document is wrong", document, wrong, local)
	}
	if rec != nil {
		policy := verify.Policy{AllowUnchecked: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
		if c.options.Policy != nil {
			policy = c.options.Policy(a.provider)
		}
		if _, err := policy.Judge(ctx, rec.evidence(a), checksum.Digests{Size: rec.Size, Hashes: local}); err != nil {
			find(FindingRefused, name, "%s", oneLine(err))
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
	packed, tree, err := f.h1(ctx, c.options.Policy.For(a.provider).Limits)
	if errors.Is(err, failure.ErrArchive) || errors.Is(err, failure.ErrTooLarge) {
		return f.Hashes, f.Size, err, nil
	}
	return hashlist.Sorted(f.Hashes, []checksum.Hash{packed, tree}), f.Size, nil, err
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
func oneLine(err error) string { return failure.Printable(err.Error(), 10_000) }

// reindex makes the documents of a provider agree with its files.
func (c *inspection) reindex(ctx context.Context, s *inventory) error {
	batches := slices.Collect(slices.Chunk(s.versions, maxTogether))
	if len(batches) == 0 {
		batches = [][]addrs.Version{nil} // for the index
	}
	for _, v := range s.versions {
		c.found.count(s, v)
	}
	for _, versions := range batches {
		if err := c.reindexVersions(ctx, s.provider, versions); err != nil {
			return err
		}
	}
	for _, f := range s.findings {
		if f.Kind != FindingDamaged { // the index has been replaced
			c.found.note(f)
		}
	}
	return nil
}

// reindexVersions reads the documents, then lists the files, then writes.
func (c *inspection) reindexVersions(ctx context.Context, p addrs.Provider, versions []addrs.Version) error {
	unlock, err := stored.Lock(ctx, c.m.Store, documentNames(p, versions)...)
	if err != nil {
		return err
	}
	defer unlock()
	var notes []Finding
	var uploads []string
	err = stored.Retry(ctx, indexName(p), func() error {
		restated := make([]*restatement, len(versions))
		err := stored.Each(ctx, stored.Parallel, len(versions), func(ctx context.Context, i int) error {
			e, err := c.m.begin(ctx, p, versions[i], true)
			restated[i] = &restatement{edit: e}
			return err
		})
		if err != nil {
			return err
		}
		for _, r := range restated {
			listed := r.doc.names(p)
			uploads = slices.DeleteFunc(uploads, func(name string) bool { return listed[name] })
		}
		if err := stored.Delete(ctx, c.m.Store, uploads); err != nil {
			return err
		}
		uploads = nil
		there, err := c.m.listFiles(ctx, p, providerDir(p))
		if err != nil {
			return err
		}
		err = stored.Each(ctx, c.options.Parallel, len(versions), func(ctx context.Context, i int) error {
			return c.restate(ctx, p, there, restated[i])
		})
		if err != nil {
			return err
		}
		notes = nil
		edits := make([]*edit, len(versions))
		for i, r := range restated {
			edits[i] = r.edit
			notes = append(notes, r.notes...)
			uploads = append(uploads, r.uploads...)
		}
		return c.m.publish(ctx, p, edits, true)
	})
	c.found.note(notes...)
	return err
}

// restatement is what the document of a version should be.
type restatement struct {
	*edit
	mu      sync.Mutex // guards the following and the entries
	notes   []Finding
	uploads []string // records with fresh names
}

// restate sets the entries of a version: entries of existing files and of URLs outside of the mirror stay, and archives
// with usual names that are not retired are listed. Under the lock of the version the records beside the archives
// are right, and not the document.
func (c *inspection) restate(ctx context.Context, p addrs.Provider, there *files, r *restatement) error {
	own := r.fresh && r.doc.State.Layout != 0
	for platform, l := range r.entries {
		name := resolve(providerDir(p), l.URL)
		if isArchiveOf(p, r.version, name) && (!own || !there.has(name)) {
			delete(r.entries, platform)
		} else if name != "" && !there.has(name) {
			size, err := c.m.fileSize(ctx, name) // it may be in another directory
			if err != nil {
				return err
			}
			if size < 0 {
				delete(r.entries, platform)
			}
		}
	}
	if r.fresh {
		return c.adopt(ctx, p, there, r)
	}
	if err := c.adopt(ctx, p, there, r); err != nil {
		return err
	}
	for _, name := range there.records[r.version] {
		if archive, _ := recordedArchive(name); !there.has(archive) {
			if err := c.m.Store.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt lists the archives of a version that have usual names and no entry.
func (c *inspection) adopt(ctx context.Context, p addrs.Provider, there *files, r *restatement) error {
	platforms := slices.Collect(maps.Keys(there.packages[r.version]))
	return stored.Each(ctx, len(platforms)+1, len(platforms), func(ctx context.Context, i int) error {
		a, name := address{p, r.version, platforms[i]}, there.packages[r.version][platforms[i]].name
		r.mu.Lock()
		_, has := r.entries[a.platform.String()]
		r.mu.Unlock()
		if has || r.doc.retired(name) {
			return nil
		}
		stated := r.doc.Archives[a.platform.String()]
		l, err := c.recordArchive(ctx, a, name, there.sizes[name], stated, r)
		if err == nil && l.URL != "" {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.entries[a.platform.String()] = l
		}
		return err
	})
}

// recordArchive returns the entry of an archive, without a URL if it must not be listed. It writes the record if it is missing.
func (c *inspection) recordArchive(ctx context.Context, a address, name string, size int64, stated listed, r *restatement) (listed, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return listed{}, fault.Ended(ctx)
	}
	defer c.slots.Release(1)
	note := func(f Finding) (listed, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, f)
		return listed{}, nil
	}
	at := recordOf(name, stated)
	if !r.fresh {
		at = recordName(name)
	}
	old, rec, err := c.m.readRecord(ctx, at)
	if err != nil && !isUnrecorded(err) {
		return listed{}, err
	}
	if rec != nil && rec.Size != size {
		return note(a.finding(FindingChanged, name, "the archive is %d bytes, the record states %d; run Mirror.Add to replace it", size, rec.Size))
	}
	if rec == nil || !hashlist.Has(rec.Hashes, checksum.SchemeZH) {
		local, size, damaged, err := c.hash(ctx, a, name)
		if errors.Is(err, fs.ErrNotExist) {
			return listed{}, nil // removed since it was listed
		}
		if err != nil {
			return listed{}, err
		}
		c.progress(a.event(progress.Checked, size))
		if damaged != nil {
			if !r.fresh && old.Revision != "" { // the record is damaged
				if err := c.m.Store.Delete(ctx, at); err != nil {
					return listed{}, err
				}
			}
			return note(a.finding(FindingDamaged, name, "%s", oneLine(damaged)))
		}
		rec = &record{Size: size, Hashes: local}
		t := &target{v: &version{m: c.m, provider: a.provider, edit: r.edit}, pkg: a.pkg(), name: name, recordAt: at, recorded: old, record: rec}
		if err := t.save(ctx); err != nil {
			return listed{}, err
		}
		at = t.recordAt
		r.mu.Lock()
		r.uploads = append(r.uploads, t.uploads...)
		r.mu.Unlock()
	}
	if wrong := contradicting(stated.Hashes, rec.Hashes); len(wrong) > 0 {
		document := path.Base(documentName(a.provider, a.version))
		note(a.finding(FindingCorrected, name, "%s stated %v, the archive has %v", document, wrong, rec.Hashes))
	}
	return rec.entry(name, at), nil
}
