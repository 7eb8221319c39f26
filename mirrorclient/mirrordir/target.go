package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// target is a package that is to be in the mirror.
type target struct {
	*Mirror
	Options
	pkg       *provider.Package // package of the source, at first only its address
	name      string            // canonical name of the archive
	size      int64             // size of the existing archive, negative if it is missing
	hasRecord bool              // whether a record exists, valid or not
	record    *record           // nil if it is missing or invalid
	report    *verify.Report    // report of the policy about the archive, nil if it was not read
}

// newTarget reads the files of a package. The caller has locked the version.
func (m *Mirror) newTarget(ctx context.Context, pkg *provider.Package, o Options) (*target, error) {
	a := &target{Mirror: m, Options: o, pkg: pkg, name: addressOf(pkg).archive()}
	rec, err := m.readRecord(ctx, a.name)
	if err != nil && !isUnrecorded(err) {
		return nil, err
	}
	a.record, a.hasRecord = rec, !errors.Is(err, fs.ErrNotExist)
	a.size, err = m.fileSize(ctx, a.name)
	return a, err
}

// fileSize returns the size of a file, negative if it is missing. The name may come from a document,
// so it may be one that no file can have.
func (m *Mirror) fileSize(ctx context.Context, name string) (int64, error) {
	o, err := m.Storage.Open(ctx, name)
	for _, none := range []error{fs.ErrNotExist, fs.ErrInvalid, ErrName, syscall.ENAMETOOLONG} {
		if errors.Is(err, none) {
			return -1, nil
		}
	}
	if err != nil {
		return 0, err
	}
	o.Close()
	return o.Size, nil
}

// judgeRecord returns the report of the policy about the archive that is recorded. It returns an error if
// the archive has another size or the policy refuses the record.
func (a *target) judgeRecord() (*verify.Report, error) {
	rec := a.record
	if rec == nil || rec.Size != a.size || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		return nil, errDamaged
	}
	return a.Policy.Judge(rec.evidence(addressOf(a.pkg)), rec.Size, rec.Hashes)
}

// isComplete reports whether the archive and its record are what the options require. If only an h1 is
// missing, it reads the archive to compute the h1, and sets the report.
func (a *target) isComplete(ctx context.Context) (bool, error) {
	rec := a.record
	if rec == nil || rec.Size != a.size || rec.Evidence == nil && !a.NoEvidence {
		return false, nil
	}
	read := !checksum.HasScheme(rec.Hashes, checksum.SchemeH1) && a.needsH1(rec)
	if read {
		if same, err := a.addH1(ctx); !same || err != nil {
			return false, err
		}
	}
	report, err := a.judgeRecord()
	if read {
		a.report = report
	}
	return err == nil, nil
}

// needsH1 reports whether an h1 must be computed for an archive whose record has none.
func (a *target) needsH1(rec *record) bool {
	if a.Policy.Accept != nil && !checksum.Overlap(a.Policy.Accept, rec.Hashes) {
		return checksum.HasScheme(a.Policy.Accept, checksum.SchemeH1)
	}
	return !a.ZHOnly
}

// addH1 computes the h1 of the archive and records it. It returns false if the archive differs from its
// record.
func (a *target) addH1(ctx context.Context) (bool, error) {
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	if !slices.Contains(a.record.Hashes, f.zh) {
		return false, nil
	}
	packed, tree, err := f.h1(ctx, a.Policy.Limits)
	if err != nil {
		return false, err
	}
	full := *a.record
	full.Hashes = checksum.Sorted(a.record.Hashes, []checksum.Hash{packed, tree})
	a.record = &full
	return true, a.writeRecord(ctx, a.name, a.record)
}

// adopt judges the existing archive with the evidence of the source, and records it. It returns false
// if the archive is missing or another one.
func (a *target) adopt(ctx context.Context, src provider.Source) (bool, error) {
	if a.size < 0 || a.pkg.Size > 0 && a.pkg.Size != a.size || a.pkg.Dir != "" {
		return false, nil
	}
	ev := a.pkg.Evidence()
	if a.Policy.NeedsEvidence() || !a.NoEvidence {
		var err error
		if ev, err = src.Evidence(ctx, a.pkg); err != nil {
			return false, err
		}
	}
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	err = a.judge(ctx, f, ev)
	if errors.Is(err, checksum.ErrMismatch) || errors.Is(err, fault.ErrArchive) {
		return false, nil // another archive, or an invalid one
	}
	if err != nil {
		return false, err
	}
	return true, a.writeRecord(ctx, a.name, a.record)
}

// judge judges an archive by the policy and sets the record and the report.
func (a *target) judge(ctx context.Context, f *archiveFile, ev verify.Evidence) error {
	report, err := a.Policy.JudgeArchive(ctx, ev, verify.Archive{
		Size: f.size, ZH: f.zh, AlwaysH1: !a.ZHOnly,
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) { return f.h1(ctx, a.Policy.Limits) },
	})
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err != nil {
		return err
	}
	a.report = report
	a.record = &record{Size: f.size, Hashes: report.Local, Trust: report.Trust, Protocols: a.pkg.Protocols}
	if !a.NoEvidence {
		if a.Policy.Keys != nil && report.SignedBy != nil {
			ev.Keys = a.Policy.Keys // which made the signature valid
		}
		a.record.Evidence = evidenceToRecord(ev, f.size, report.Local)
	}
	return nil
}

// write commits a judged archive and writes its record. It first removes another existing archive, from the
// documents on, so that no document or record states anything about the wrong archive. It calls placed
// when the staged file is no longer used.
func (a *target) write(ctx context.Context, s Staged, placed func()) error {
	if a.size == a.record.Size && a.checkSame(ctx) == nil {
		placed()
		return a.writeRecord(ctx, a.name, a.record)
	}
	if a.size >= 0 || a.hasRecord {
		unlock, err := a.lockProvider(ctx, a.pkg.Provider)
		if err != nil {
			return err
		}
		defer unlock()
		if err := a.removeOld(ctx); err != nil {
			return err
		}
	}
	err := s.Commit(ctx, a.name)
	placed()
	if errors.Is(err, ErrConflict) {
		err = a.checkSame(ctx)
	}
	if err != nil {
		return err
	}
	return a.writeRecord(ctx, a.name, a.record)
}

// removeOld removes the archive from the mirror. The caller has locked the provider.
func (a *target) removeOld(ctx context.Context) error {
	if err := a.publishLocked(ctx, a.pkg.Provider, []addrs.Version{a.pkg.Version}, publishOptions{except: a.name}); err != nil {
		return err
	}
	if err := a.Storage.Delete(ctx, recordName(a.name)); err != nil {
		return err
	}
	return a.Storage.Delete(ctx, a.name)
}

// checkSame returns nil if another writer has added the same archive.
func (a *target) checkSame(ctx context.Context) error {
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return err
	}
	defer f.close()
	if !slices.Contains(a.record.Hashes, f.zh) {
		return ErrConflict
	}
	return nil
}

func (a *target) added(fetched bool) *Added {
	return &Added{
		Provider: a.pkg.Provider, Version: a.pkg.Version, Platform: a.pkg.Platform,
		Size: a.record.Size, Fetched: fetched, Hashes: slices.Clone(a.record.Hashes), Report: a.report,
	}
}
