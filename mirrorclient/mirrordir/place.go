package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// place is where one package is in a mirror, or will be.
type place struct {
	*Mirror
	Options
	pkg    *provider.Package // as the source describes it; at first only the address
	name   string            // of the archive in the storage
	size   int64             // of the archive that is there; negative: none is
	onFile bool              // there is a record, whatever it is worth
	record *record           // nil: there is none, or it is damaged
	report *verify.Report    // of the policy about the record; nil: it is not accepted
}

// look looks at what there is of a package. Its version must be locked.
func (m *Mirror) look(ctx context.Context, pkg *provider.Package, o Options) (*place, error) {
	a := &place{Mirror: m, Options: o, pkg: pkg, name: addressOf(pkg).archive()}
	rec, err := m.readRecord(ctx, a.name)
	if err != nil && !isUnrecorded(err) {
		return nil, err
	}
	a.record, a.onFile = rec, !errors.Is(err, fs.ErrNotExist)
	a.size, err = m.size(ctx, a.name)
	return a, err
}

// size returns the size of a file, negative if there is none, or can be none of this name: it may
// come from a document.
func (m *Mirror) size(ctx context.Context, name string) (int64, error) {
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

// recordSuffices reports whether the archive has the size on record, and the policy accepts
// what is on record. It sets the report.
func (a *place) recordSuffices() bool {
	rec := a.record
	if rec == nil || rec.Size != a.size || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		return false
	}
	report, err := a.Policy.Judge(rec.evidence(addressOf(a.pkg)), rec.Size, rec.Hashes)
	a.report = report
	return err == nil
}

// keep reports whether what is there and on record is what is wanted. If only an h1 is missing,
// it is computed.
func (a *place) keep(ctx context.Context) (bool, error) {
	rec := a.record
	if rec == nil || rec.Size != a.size || rec.Evidence == nil && !a.NoEvidence {
		return false, nil
	}
	if !checksum.HasScheme(rec.Hashes, checksum.SchemeH1) && a.wantsH1(nil) {
		if same, err := a.complete(ctx); !same || err != nil {
			return false, err
		}
	}
	return a.recordSuffices(), nil
}

// complete computes the h1 of the archive that is there and puts it on record. It reports
// false if the archive is not the one on record.
func (a *place) complete(ctx context.Context) (bool, error) {
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

// wantsH1 reports whether an h1 is to be computed, whatever the policy needs; stated are
// the hashes that the source states.
func (a *place) wantsH1(stated []checksum.Hash) bool {
	return !a.ZHOnly && len(a.recordable(stated)) == 0
}

// recordable returns those of the stated hashes that may stand in for one not computed.
func (a *place) recordable(stated []checksum.Hash) []checksum.Hash {
	if !a.Policy.RecordStated {
		return nil
	}
	return checksum.WithScheme(stated, checksum.SchemeH1)
}

// adopt hashes the archive that is there and judges it as if it had just arrived. It reports
// false if there is none, or the source has another one.
func (a *place) adopt(ctx context.Context, src provider.Source) (bool, error) {
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
		return false, nil // another archive, or none at all
	}
	if err != nil {
		return false, err
	}
	return true, a.writeRecord(ctx, a.name, a.record)
}

// judge has the policy decide about an archive, and sets the record of it and the report.
func (a *place) judge(ctx context.Context, f *archiveFile, ev verify.Evidence) error {
	stated := a.pkg.Hashes[a.pkg.Platform]
	report, err := a.Policy.JudgeArchive(ctx, ev, verify.Archive{
		Size: f.size, ZH: f.zh, WantH1: a.wantsH1(stated),
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) { return f.h1(ctx, a.Policy.Limits) },
	})
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err != nil {
		return err
	}
	hashes := report.Local
	if !checksum.HasScheme(hashes, checksum.SchemeH1) {
		hashes = checksum.Sorted(hashes, a.recordable(stated))
	}
	a.report = report
	a.record = &record{Size: f.size, Hashes: hashes, Trust: report.Trust, Protocols: a.pkg.Protocols}
	if !a.NoEvidence {
		a.record.Evidence = saveEvidence(ev, f.size, report.Local)
	}
	return nil
}

// put gives an archive that has been judged its name, and writes the record. What is there is
// first taken out, from the documents to the archive, so that at no time anything says
// something about an archive that is not true. It calls placed when the file is not used any
// more.
func (a *place) put(ctx context.Context, s Staged, placed func()) error {
	if a.size >= 0 || a.onFile {
		unlock, err := a.lockProvider(ctx, a.pkg.Provider)
		if err != nil {
			return err
		}
		defer unlock()
		if err := a.clear(ctx); err != nil {
			return err
		}
	}
	err := s.Commit(ctx, a.name)
	placed()
	if errors.Is(err, ErrConflict) {
		err = a.same(ctx)
	}
	if err != nil {
		return err
	}
	return a.writeRecord(ctx, a.name, a.record)
}

// clear takes the archive out of the mirror. The provider must be locked.
func (a *place) clear(ctx context.Context) error {
	if err := a.publishLocked(ctx, a.pkg.Provider, versionsOf(a.pkg), publication{without: a.name}); err != nil {
		return err
	}
	if err := a.Storage.Delete(ctx, recordName(a.name)); err != nil {
		return err
	}
	return a.Storage.Delete(ctx, a.name)
}

// same returns nil if the archive in the storage is the one to be put there: another writer
// was faster.
func (a *place) same(ctx context.Context) error {
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

func (a *place) added(fetched bool) *Added {
	return &Added{
		Provider: a.pkg.Provider, Version: a.pkg.Version, Platform: a.pkg.Platform,
		Size: a.record.Size, Fetched: fetched, Hashes: slices.Clone(a.record.Hashes), Report: a.report,
	}
}
