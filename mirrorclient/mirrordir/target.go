package mirrordir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// target is a package that is to be in the mirror.
type target struct {
	m        *Mirror
	policy   verify.Policy
	zhOnly   bool              // as in AddOptions
	pkg      *provider.Package // package of the source, at first only its address
	name     string            // canonical name of the archive
	size     int64             // size of the existing archive, negative if it is missing
	revision storage.Revision  // of the existing archive, empty if it is missing
	recorded stored.Document   // the record
	removed  bool              // whether the record is a tombstone
	record   *record           // nil if it is missing or invalid, later that of the judged archive
	report   *verify.Report    // report of the policy about the archive, nil if it was not read
}

// newTarget reads the files of a package. The caller has locked the version.
func (m *Mirror) newTarget(ctx context.Context, pkg *provider.Package, policy verify.Policy, zhOnly bool) (*target, error) {
	t := &target{m: m, policy: policy, zhOnly: zhOnly, pkg: pkg, name: addressOf(pkg).archive()}
	var err error
	t.record, err = t.look(ctx)
	return t, err
}

// look reads the record and the size and the revision of the archive. The record is nil if it is missing or invalid.
func (t *target) look(ctx context.Context) (*record, error) {
	var rec *record
	var err error
	if t.recorded, rec, err = t.m.readRecord(ctx, t.name); err != nil && !isUnrecorded(err) {
		return nil, err
	}
	t.removed = errors.Is(err, errRemoved)
	info, err := t.m.Store.Stat(ctx, t.name)
	t.size, t.revision = info.Size, info.Revision
	if errors.Is(err, fs.ErrNotExist) {
		t.size, err = -1, nil
	}
	return rec, err
}

// judgeRecord returns the report of the policy about the archive that is recorded. It returns an error if
// the archive has another size or the policy refuses the record.
func (t *target) judgeRecord(ctx context.Context) (*verify.Report, error) {
	rec := t.record
	if rec == nil || rec.Size != t.size || !checksum.HasScheme(rec.Hashes, checksum.SchemeZH) {
		return nil, errDamaged
	}
	return t.policy.Judge(ctx, rec.evidence(addressOf(t.pkg)), rec.Size, rec.Hashes)
}

// isComplete reports whether the archive and its record are what the options require. If only an h1 is
// missing, it reads the archive to compute the h1, and sets the report.
func (t *target) isComplete(ctx context.Context) (bool, error) {
	rec := t.record
	if rec == nil || rec.Size != t.size || rec.Evidence == nil {
		return false, nil
	}
	needsH1 := !t.zhOnly
	if accept := t.policy.Accept.Hashes(); !t.policy.Accept.IsZero() && !checksum.Overlap(accept, rec.Hashes) {
		needsH1 = checksum.HasScheme(accept, checksum.SchemeH1)
	}
	read := needsH1 && !checksum.HasScheme(rec.Hashes, checksum.SchemeH1)
	if read {
		if same, err := t.addH1(ctx); !same || err != nil {
			return false, err
		}
	}
	report, err := t.judgeRecord(ctx)
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
	return t.m.writeRecord(ctx, t.name, t.record)
}

// adopt judges the existing archive with the evidence of the source, and records it. It returns false
// if the archive is missing or another one.
func (t *target) adopt(ctx context.Context, src provider.Source) (bool, error) {
	if t.size < 0 || t.removed || t.pkg.Size > 0 && t.pkg.Size != t.size || t.pkg.Dir != "" {
		return false, nil
	}
	ev, err := src.Evidence(ctx, t.pkg)
	if err != nil {
		return false, err
	}
	f, err := t.m.openArchive(ctx, t.name)
	if err != nil {
		return false, err
	}
	defer f.close()
	err = t.judge(ctx, f, &provider.Received{Size: f.size, ZH: f.zh, Evidence: ev})
	if errors.Is(err, checksum.ErrMismatch) || errors.Is(err, failure.ErrArchive) {
		return false, nil // another archive, or an invalid one
	}
	if err != nil {
		return false, err
	}
	return t.m.writeRecord(ctx, t.name, t.record)
}

// judge judges an archive by the policy and sets the record and the report.
func (t *target) judge(ctx context.Context, file io.ReaderAt, got *provider.Received) error {
	report, err := got.Judge(ctx, t.policy, file, !t.zhOnly)
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
		Evidence: evidenceToRecord(ctx, ev, got.Size, report.Local),
	}
	return nil
}

// write commits a judged archive and writes its record. It calls placed when the next download can
// start. If another writer has changed the archive or the record, it looks again.
func (t *target) write(ctx context.Context, s *storage.Staged, placed func()) error {
	data, err := stored.Encode(t.record)
	if err != nil {
		return err
	}
	again := false
	return stored.Retry(ctx, t.name, func() error {
		if again {
			if _, err := t.look(ctx); err != nil {
				return err
			}
		}
		again = true
		return t.writeOnce(ctx, s, data, placed)
	})
}

func (t *target) writeOnce(ctx context.Context, s *storage.Staged, data []byte, placed func()) error {
	if !t.removed && t.size == t.record.Size {
		same, err := t.isSame(ctx)
		if err != nil {
			return err
		}
		if same {
			placed()
			return t.m.write(ctx, recordName(t.name), data, t.recorded)
		}
	}
	if !t.removed && (t.revision != "" || t.recorded.Revision != "") {
		// No document or record may state anything about the wrong archive.
		buried, err := t.m.bury(ctx, t.name, false)
		if err == nil {
			err = t.m.publish(ctx, t.pkg.Provider, []addrs.Version{t.pkg.Version}, keepOthers)
		}
		if err != nil {
			return err
		}
		t.revision, t.recorded.Revision = buried.was, buried.revision
	}
	// Beside the tombstone of a removal the archive is written even if it is the same, so that the removal
	// does not delete it.
	err := s.Commit(ctx, t.name, t.revision)
	placed()
	if err != nil {
		return err
	}
	t.recorded.Data = nil // the tombstone; the record is written also if it says the same
	return t.m.write(ctx, recordName(t.name), data, t.recorded)
}

// isSame reports whether the existing archive is the judged one.
func (t *target) isSame(ctx context.Context) (bool, error) {
	f, err := t.m.openArchive(ctx, t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.close()
	return slices.Contains(t.record.Hashes, f.zh), nil
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

// AddArchive adds an archive that [provider.Receive] has received, with FetchEvidence, into a file of
// [Mirror.Stage], if policy accepts it, unless the mirror has one that policy accepts.
func (m *Mirror) AddArchive(ctx context.Context, s *storage.Staged, pkg *provider.Package, got *provider.Received, policy verify.Policy) (*Added, error) {
	added, err := m.addArchive(ctx, s, pkg, got, policy)
	return added, failure.Wrap("mirror", pkg.String(), err)
}

func (m *Mirror) addArchive(ctx context.Context, s *storage.Staged, pkg *provider.Package, got *provider.Received, policy verify.Policy) (*Added, error) {
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
	t, err := m.newTarget(ctx, pkg, policy, false)
	if err != nil {
		return nil, err
	}
	kept, err := t.isComplete(ctx)
	if err == nil && !kept {
		if err = t.judge(ctx, s.File, got); err == nil {
			err = t.write(ctx, s, func() {})
		}
	}
	if err != nil {
		return nil, err
	}
	return t.added(!kept), m.publish(ctx, pkg.Provider, []addrs.Version{pkg.Version}, keepOthers)
}
