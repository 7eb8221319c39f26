package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// version is a version to which packages are added. Where the store has locks, its lock is held.
type version struct {
	m        *Mirror
	provider addrs.Provider

	// adoptable reports whether there is an archive with the usual name, which may be used where the version has
	// no document.
	adoptable func(ctx context.Context, name string) (bool, error)

	// add adds one package. It does not write the document.
	add func(ctx context.Context, platform addrs.Platform) (*target, error)

	mu       sync.Mutex
	edit     *edit
	targets  map[addrs.Platform]*target // what add has returned
	failures map[addrs.Platform]error   // what it has failed with
}

// openVersion reads the document of a version.
func (m *Mirror) openVersion(ctx context.Context, p addrs.Provider, v addrs.Version) (*version, error) {
	e, err := m.begin(ctx, p, v, false)
	return &version{m: m, provider: p, edit: e, adoptable: never, targets: map[addrs.Platform]*target{}, failures: map[addrs.Platform]error{}}, err
}

// never is an adoptable that finds nothing.
func never(context.Context, string) (bool, error) { return false, nil }

// put adds a package.
func (v *version) put(ctx context.Context, platform addrs.Platform) {
	t, err := v.add(ctx, platform)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.failures[platform] = err
	} else {
		v.targets[platform] = t
	}
}

// find returns the name of the archive of a package, its entry, and the number of sweeps so far. Under a lock, the
// archive has the usual name, listed or not. Otherwise it has the name of its entry. The name is empty if there is no
// such archive.
func (v *version) find(ctx context.Context, platform addrs.Platform) (name string, base listed, swept int, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := address{v.provider, v.edit.version, platform}
	base = v.edit.doc.Archives[platform.String()]
	swept = v.edit.doc.State.Swept
	if !v.edit.fresh {
		return a.archive(), base, swept, nil
	}
	if name = resolve(providerDir(v.provider), base.URL); isArchiveOf(v.provider, v.edit.version, name) {
		return name, base, swept, nil
	}
	if v.edit.doc.was == "" {
		if ok, err := v.adoptable(ctx, a.archive()); ok || err != nil {
			return a.archive(), base, swept, err
		}
	}
	return "", base, swept, nil
}

// fresh reports whether archives get fresh names.
func (v *version) fresh() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.edit.fresh
}

// takeOff takes all entries of an archive off the documents before the archive is replaced.
func (v *version) takeOff(ctx context.Context, archive string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, err := v.m.begin(ctx, v.provider, v.edit.version, false)
	if err != nil {
		return err
	}
	maps.DeleteFunc(e.entries, func(_ string, l listed) bool { return resolve(providerDir(v.provider), l.URL) == archive })
	if len(e.entries) < len(e.doc.Archives) {
		if err := v.m.publish(ctx, v.provider, []*edit{e}, false); err != nil {
			return err
		}
	}
	if e, err = v.m.begin(ctx, v.provider, e.version, false); err == nil {
		v.edit = e
	}
	return err
}

// finish lists what was added to some versions of a provider, and the versions in the index. After a conflict it looks at
// each package again.
func (m *Mirror) finish(ctx context.Context, p addrs.Provider, versions []*version) error {
	again := false
	return stored.Retry(ctx, indexName(p), func() error {
		var edits []*edit
		for _, v := range versions {
			if again {
				if err := v.review(ctx); err != nil {
					return err
				}
			}
			for platform, t := range v.targets {
				v.edit.entries[platform.String()] = t.entry()
			}
			if len(v.targets) > 0 {
				edits = append(edits, v.edit)
			}
		}
		again = true
		return m.publish(ctx, p, edits, false)
	})
}

// review reads the document again. If another writer has changed the entry of a package, or a sweep may have deleted its
// files, review deletes the uploads of the package, unless the document names them, and adds the package again.
func (v *version) review(ctx context.Context) (err error) {
	if v.edit, err = v.m.begin(ctx, v.provider, v.edit.version, false); err != nil {
		return err
	}
	listed := v.edit.doc.names(v.provider)
	for platform, t := range maps.Clone(v.targets) {
		_, now, swept, err := v.find(ctx, platform)
		if err != nil {
			return err
		}
		if now.equal(t.entry()) || now.equal(t.base) && (swept == t.swept || len(t.uploads) == 0) {
			continue
		}
		delete(v.targets, platform)
		void := slices.DeleteFunc(t.uploads, func(name string) bool { return listed[name] })
		if err := stored.Delete(ctx, v.m.Store, void); err != nil {
			return err
		}
		v.put(ctx, platform)
	}
	return nil
}

// target is a package that is to be in the mirror.
type target struct {
	v      *version
	policy verify.Policy
	pkg    *provider.Package // package of the source, at first only its address

	// What is there.
	base     listed           // entry of the document on which the rest is based, or zero
	swept    int              // sweeps so far
	name     string           // name of the archive, empty if there is none with a name that may be used
	size     int64            // its size, negative if it is missing
	revision storage.Revision // of the archive, empty if it is missing
	recordAt string           // name of the record
	recorded stored.Document  // the record
	record   *record          // nil if it is missing or invalid, later the record of the judged archive

	fetched bool           // whether the archive was downloaded
	report  *verify.Report // report of the policy about the archive, nil if it was not read
	uploads []string       // files of this target with fresh names
}

// newTarget reads the files of a package of v, except its document.
func (v *version) newTarget(ctx context.Context, pkg *provider.Package, policy verify.Policy) (*target, error) {
	t := &target{v: v, policy: policy, pkg: pkg, size: -1}
	var err error
	if t.name, t.base, t.swept, err = v.find(ctx, pkg.Platform); err != nil || t.name == "" {
		return t, err
	}
	t.recordAt = recordOf(t.name, t.base)
	if !v.fresh() {
		t.recordAt = recordName(t.name)
	}
	if t.recorded, t.record, err = v.m.readRecord(ctx, t.recordAt); err != nil && !isUnrecorded(err) {
		return nil, err
	}
	info, err := v.m.Store.Stat(ctx, t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	t.size, t.revision = info.Size, info.Revision
	return t, err
}

// judgeRecord returns the report of the policy about the archive that is recorded. It returns an error if
// the archive has another size or the policy refuses the record.
func (t *target) judgeRecord(ctx context.Context) (*verify.Report, error) {
	rec := t.record
	if rec == nil || rec.Size != t.size || !hashlist.Has(rec.Hashes, checksum.SchemeZH) {
		return nil, errDamaged
	}
	return t.policy.Judge(ctx, rec.evidence(addressOf(t.pkg)), checksum.Digests{Size: rec.Size, Hashes: rec.Hashes})
}

// isComplete reports whether the record has evidence of the archive and the policy accepts both.
func (t *target) isComplete(ctx context.Context) bool {
	_, err := t.judgeRecord(ctx)
	return err == nil && t.record.Evidence != nil
}

// adopt judges the existing archive with the evidence of the source, and records it. It returns false
// if the archive is missing or another one.
func (t *target) adopt(ctx context.Context, src provider.Source) (bool, error) {
	if t.size < 0 || t.pkg.Size > 0 && t.pkg.Size != t.size || t.pkg.Dir != "" {
		return false, nil
	}
	ev, err := src.Evidence(ctx, t.pkg)
	if err != nil {
		return false, err
	}
	f, err := t.v.m.openArchive(ctx, t.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	err = t.judge(ctx, f, &provider.Received{Digests: f.Digests, Evidence: ev})
	if errors.Is(err, checksum.ErrMismatch) || errors.Is(err, failure.ErrArchive) {
		return false, nil // another archive, or an invalid one
	}
	if err != nil {
		return false, err
	}
	return true, t.save(ctx)
}

// judge judges an archive by the policy and sets the record and the report.
func (t *target) judge(ctx context.Context, file io.ReaderAt, got *provider.Received) error {
	report, err := got.Judge(ctx, t.policy, file, true)
	if err != nil {
		return err
	}
	t.report = report
	ev := got.Evidence
	if keys := t.policy.Keys; !keys.IsZero() && report.SignedBy != nil {
		ev.Keys = keys.Keys() // which made the signature valid
	}
	t.record = &record{
		Size: got.Size, Hashes: report.Local, Trust: report.Trust, Protocols: t.pkg.Protocols,
		Evidence: evidenceToRecord(ctx, ev, checksum.Digests{Size: got.Size, Hashes: report.Local}),
	}
	return nil
}

// save writes the record: in place under the lock of the version, otherwise under a fresh name.
func (t *target) save(ctx context.Context) error {
	data, err := stored.Encode(t.record)
	switch {
	case err != nil:
		return err
	case len(data) > maxRecord:
		return fmt.Errorf("the evidence has more than %d bytes: %w", maxRecord, failure.ErrTooLarge)
	case !t.v.fresh():
		t.recordAt = recordName(t.name)
		return stored.Write(ctx, t.v.m.Store, t.recordAt, data, t.recorded)
	case t.recordAt == "":
		t.recordAt = recordName(t.name)
	default:
		t.recordAt = recordName(t.v.m.freshName(addressOf(t.pkg)))
	}
	return t.upload(t.recordAt, func() error { return stored.Put(ctx, t.v.m.Store, t.recordAt, data, "") })
}

// upload writes a file with a fresh name, which no other writer uses: after a conflict, the file is there.
func (t *target) upload(name string, write func() error) error {
	t.uploads = append(t.uploads, name)
	err := write()
	if errors.Is(err, storage.ErrConflict) {
		return nil
	}
	return err
}

// write commits a judged archive and writes its record. It calls placed when the next download can
// start.
func (t *target) write(ctx context.Context, s *storage.Staged, placed func()) error {
	defer placed()
	t.fetched = true
	if t.v.fresh() {
		t.name = t.v.m.freshName(addressOf(t.pkg))
		t.recordAt = "" // beside it
		if err := t.upload(t.name, func() error { return s.Commit(ctx, t.name, "") }); err != nil {
			return err
		}
		return t.save(ctx)
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	ctx, cancel := withGrace(ctx)
	defer cancel()
	// No document or record may state anything about the wrong archive.
	if t.size >= 0 || t.base.URL != "" {
		if err := t.v.takeOff(ctx, t.name); err != nil {
			return err
		}
		t.base = listed{}
	}
	if t.recorded.Revision != "" {
		if err := t.v.m.Store.Delete(ctx, t.recordAt); err != nil {
			return err
		}
		t.recorded = stored.Document{}
	}
	if err := s.Commit(ctx, t.name, t.revision); err != nil {
		return err
	}
	return t.save(ctx)
}

// entry returns the entry of the package in the document.
func (t *target) entry() listed { return t.record.entry(t.name, t.recordAt) }

func (t *target) added() Added {
	return Added{
		Provider: t.pkg.Provider, Version: t.pkg.Version, Platform: t.pkg.Platform,
		Size: t.record.Size, Fetched: t.fetched, Hashes: slices.Clone(t.record.Hashes), Report: t.report,
	}
}

// RecordedPackage returns a package if its archive has the recorded size and policy accepts its record, otherwise nil
// without an error. It does not read the archive.
func (m *Mirror) RecordedPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform, policy verify.Policy) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	doc, err := m.readDocument(ctx, providerDir(p), v)
	if err != nil {
		return nil, failure.Wrap("find", pkg.String(), err)
	}
	of := &version{m: m, provider: p, edit: &edit{version: v, doc: doc, fresh: m.writesFresh(doc)}, adoptable: never}
	t, err := of.newTarget(ctx, pkg, policy)
	if err != nil {
		return nil, failure.Wrap("find", pkg.String(), err)
	}
	if _, err := t.judgeRecord(ctx); err != nil {
		return nil, nil
	}
	m.state(pkg, packageFile{name: t.name}, doc)
	t.record.describe(pkg)
	return pkg, nil
}

// checkAddress returns an error if no mirror can have packages of p.
func checkAddress(p addrs.Provider) error {
	if p.IsZero() || p.IsBuiltIn() || p.IsLegacy() {
		return fmt.Errorf("no mirror can have the provider %q", p)
	}
	return nil
}

// checkWant returns an error if m cannot have the packages.
func (m *Mirror) checkWant(w Want) error {
	if err := m.checkProvider(w.Provider); err != nil {
		return err
	}
	if w.Version.IsZero() || slices.ContainsFunc(w.Platforms, addrs.Platform.IsZero) {
		return errors.New("the version or a platform is missing")
	}
	return nil
}

// checkProvider returns an error if m cannot have packages of p.
func (m *Mirror) checkProvider(p addrs.Provider) error {
	err := checkAddress(p)
	if pather, ok := m.pather(); ok && err == nil {
		_, err = pather.FilePath(providerDir(p))
	}
	return err
}

// AddArchive adds an archive if policy accepts it, unless the mirror has one that policy accepts. [provider.Receive]
// has received the archive, with FetchEvidence, into a file of [storage.Stage] for Store. It is for caches.
func (m *Mirror) AddArchive(ctx context.Context, s *storage.Staged, pkg *provider.Package, got *provider.Received, policy verify.Policy) (_ *Added, err error) {
	defer func() { err = failure.Wrap("mirror", pkg.String(), err) }()
	if s == nil || pkg == nil || got == nil {
		return nil, errors.New("no archive was received")
	}
	if err := m.checkWant(Want{pkg.Provider, pkg.Version, []addrs.Platform{pkg.Platform}}); err != nil {
		return nil, err
	}
	unlock, err := stored.Lock(ctx, m.Store, documentName(pkg.Provider, pkg.Version))
	if err != nil {
		return nil, err
	}
	defer unlock()
	v, err := m.openVersion(ctx, pkg.Provider, pkg.Version)
	if err != nil {
		return nil, err
	}
	v.add = func(ctx context.Context, _ addrs.Platform) (*target, error) {
		t, err := v.newTarget(ctx, pkg, policy)
		if err != nil {
			return nil, err
		}
		if t.isComplete(ctx) {
			return t, nil
		}
		if err := t.judge(ctx, s.File, got); err != nil {
			return nil, err
		}
		return t, t.write(ctx, s, func() {})
	}
	v.put(ctx, pkg.Platform)
	if len(v.failures) == 0 {
		ctx, cancel := withGrace(ctx)
		defer cancel()
		err = m.finish(ctx, pkg.Provider, []*version{v})
	}
	if err := cmp.Or(v.failures[pkg.Platform], err); err != nil {
		return nil, err
	}
	added := v.targets[pkg.Platform].added()
	return &added, nil
}
