package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// target is a package that is to be in the mirror.
type target struct {
	m         *Mirror
	policy    verify.Policy
	options   AddOptions        // without Policy
	pkg       *provider.Package // package of the source, at first only its address
	name      string            // canonical name of the archive
	size      int64             // size of the existing archive, negative if it is missing
	hasRecord bool              // whether a record exists, valid or not
	record    *record           // nil if it is missing or invalid
	report    *verify.Report    // report of the policy about the archive, nil if it was not read
}

// newTarget reads the files of a package. The caller has locked the version.
func (m *Mirror) newTarget(ctx context.Context, pkg *provider.Package, policy verify.Policy, o AddOptions) (*target, error) {
	t := &target{m: m, policy: policy, options: o, pkg: pkg, name: addressOf(pkg).archive()}
	rec, err := m.readRecord(ctx, t.name)
	if err != nil && !isUnrecorded(err) {
		return nil, err
	}
	t.record, t.hasRecord = rec, !errors.Is(err, fs.ErrNotExist)
	t.size, err = m.fileSize(ctx, t.name)
	return t, err
}

// judgeRecord returns the report of the policy about the archive that is recorded. It returns an error if
// the archive has another size or the policy refuses the record.
func (t *target) judgeRecord() (*verify.Report, error) {
	rec := t.record
	if rec == nil || rec.Size != t.size || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		return nil, errDamaged
	}
	return t.policy.Judge(rec.evidence(addressOf(t.pkg)), rec.Size, rec.Hashes)
}

// isComplete reports whether the archive and its record are what the options require. If only an h1 is
// missing, it reads the archive to compute the h1, and sets the report.
func (t *target) isComplete(ctx context.Context) (bool, error) {
	rec := t.record
	if rec == nil || rec.Size != t.size || rec.Evidence == nil && !t.options.NoEvidence {
		return false, nil
	}
	needsH1 := !t.options.ZHOnly
	if accept := t.policy.Accept.Hashes(); !t.policy.Accept.IsZero() && !checksum.Overlap(accept, rec.Hashes) {
		needsH1 = checksum.HasScheme(accept, checksum.SchemeH1)
	}
	read := needsH1 && !checksum.HasScheme(rec.Hashes, checksum.SchemeH1)
	if read {
		if same, err := t.addH1(ctx); !same || err != nil {
			return false, err
		}
	}
	report, err := t.judgeRecord()
	if read {
		t.report = report
	}
	return err == nil, nil
}

// addH1 computes the h1 of the archive and records it. It returns false if the archive differs from its
// record.
func (t *target) addH1(ctx context.Context) (bool, error) {
	f, err := t.m.openArchive(ctx, t.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	if !slices.Contains(t.record.Hashes, f.zh) {
		return false, nil
	}
	packed, tree, err := f.h1(ctx, t.policy.Limits)
	if err != nil {
		return false, err
	}
	full := *t.record
	full.Hashes = checksum.Sorted(t.record.Hashes, []checksum.Hash{packed, tree})
	t.record = &full
	return true, t.m.writeRecord(ctx, t.name, t.record)
}

// adopt judges the existing archive with the evidence of the source, and records it. It returns false
// if the archive is missing or another one.
func (t *target) adopt(ctx context.Context, src provider.Source) (bool, error) {
	if t.size < 0 || t.pkg.Size > 0 && t.pkg.Size != t.size || t.pkg.Dir != "" {
		return false, nil
	}
	ev := t.pkg.Evidence()
	if t.policy.NeedsEvidence() || !t.options.NoEvidence {
		var err error
		if ev, err = src.Evidence(ctx, t.pkg); err != nil {
			return false, err
		}
	}
	f, err := t.m.openArchive(ctx, t.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	err = t.judge(ctx, f, ev)
	if errors.Is(err, checksum.ErrMismatch) || errors.Is(err, failure.ErrArchive) {
		return false, nil // another archive, or an invalid one
	}
	if err != nil {
		return false, err
	}
	return true, t.m.writeRecord(ctx, t.name, t.record)
}

// judge judges an archive by the policy and sets the record and the report.
func (t *target) judge(ctx context.Context, f *archiveFile, ev verify.Evidence) error {
	x := t.policy.Examine(ev)
	needsH1, err := x.Archive(f.size, f.zh)
	if err == nil && (needsH1 || !t.options.ZHOnly) {
		var packed, tree checksum.Hash
		if packed, tree, err = f.h1(ctx, t.policy.Limits); err == nil {
			err = x.H1(packed, tree)
		}
	}
	var report *verify.Report
	if err == nil {
		report, err = x.Report()
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err != nil {
		return err
	}
	t.report = report
	t.record = &record{Size: f.size, Hashes: report.Local, Trust: report.Trust, Protocols: t.pkg.Protocols}
	if !t.options.NoEvidence {
		if keys := t.policy.Keys; !keys.IsZero() && report.SignedBy != nil {
			ev.Keys = keys.Keys() // which made the signature valid
		}
		t.record.Evidence = evidenceToRecord(ev, f.size, report.Local)
	}
	return nil
}

// write commits a judged archive and writes its record. It first removes another existing archive, from the
// documents on, so that no document or record states anything about the wrong archive. It calls placed
// when the staged file is no longer used.
func (t *target) write(ctx context.Context, s *Staged, placed func()) error {
	if t.size == t.record.Size && t.checkSame(ctx) == nil {
		placed()
		return t.m.writeRecord(ctx, t.name, t.record)
	}
	if t.size >= 0 || t.hasRecord {
		unlock, err := t.m.lock(ctx, indexName(t.pkg.Provider))
		if err != nil {
			return err
		}
		defer unlock()
		err = t.m.publishLocked(ctx, t.pkg.Provider, []addrs.Version{t.pkg.Version}, publishOptions{except: t.name})
		for _, name := range []string{t.name + recordSuffix, t.name} {
			if err == nil {
				err = t.m.Storage.Delete(ctx, name)
			}
		}
		if err != nil {
			return err
		}
	}
	err := s.commit(ctx, t.name)
	placed()
	if errors.Is(err, ErrConflict) {
		err = t.checkSame(ctx)
	}
	if err != nil {
		return err
	}
	return t.m.writeRecord(ctx, t.name, t.record)
}

// checkSame returns nil if another writer has added the same archive.
func (t *target) checkSame(ctx context.Context) error {
	f, err := t.m.openArchive(ctx, t.name)
	if err != nil {
		return err
	}
	defer f.close()
	if !slices.Contains(t.record.Hashes, f.zh) {
		return ErrConflict
	}
	return nil
}

func (t *target) added(fetched bool) *Added {
	return &Added{
		Provider: t.pkg.Provider, Version: t.pkg.Version, Platform: t.pkg.Platform,
		Size: t.record.Size, Fetched: fetched, Hashes: slices.Clone(t.record.Hashes), Report: t.report,
	}
}

// maxLockWait is the maximum time that AddArchive waits for the lock of a version, since the staged
// file uses disk space.
const maxLockWait = 5 * time.Minute

// AddArchive adds an archive that [provider.Receive] has received into a file of [Mirror.Stage], if
// policy accepts it, unless the mirror has one that policy accepts. Receive it with FetchEvidence, since
// the evidence is recorded.
func (m *Mirror) AddArchive(ctx context.Context, s *Staged, pkg *provider.Package, got *provider.Received, policy verify.Policy) (*Added, error) {
	added, err := m.addArchive(ctx, s, pkg, got, policy)
	return added, failure.Wrap("mirror", pkg.String(), err)
}

func (m *Mirror) addArchive(ctx context.Context, s *Staged, pkg *provider.Package, got *provider.Received, policy verify.Policy) (*Added, error) {
	if err := m.checkWant(Want{pkg.Provider, pkg.Version, []addrs.Platform{pkg.Platform}}); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	unlock, err := m.lock(waiting, documentName(pkg.Provider, pkg.Version))
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, err := m.newTarget(ctx, pkg, policy, AddOptions{})
	if err != nil {
		return nil, err
	}
	kept, err := t.isComplete(ctx)
	if err == nil && !kept {
		if err = t.judge(ctx, &archiveFile{ReaderAt: s.File, size: got.Size, zh: got.ZH}, got.Evidence); err == nil {
			err = t.write(ctx, s, func() {})
		}
	}
	if err != nil {
		return nil, err
	}
	return t.added(!kept), m.publish(ctx, pkg.Provider, []addrs.Version{pkg.Version}, publishOptions{})
}
