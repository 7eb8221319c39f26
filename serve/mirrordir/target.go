package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// target is a package that is to be in the mirror.
type target struct {
	v      *version
	policy verify.Policy
	zhOnly bool              // as in AddOptions
	pkg    *provider.Package // package of the source, at first only its address

	// What is there.
	base     listed           // entry of the document on which all else rests, or zero
	swept    int              // sweeps so far
	name     string           // name of the archive, empty if there is none with a name that may be used
	size     int64            // its size, negative if it is missing
	revision storage.Revision // of the archive, empty if it is missing
	recordAt string           // name of the record
	recorded stored.Document  // the record
	record   *record          // nil if it is missing or invalid, later that of the judged archive

	fetched bool           // whether the archive was downloaded
	report  *verify.Report // report of the policy about the archive, nil if it was not read
	uploads []string       // files of this target with fresh names
}

// newTarget reads the files of a package of v, except its document.
func (v *version) newTarget(ctx context.Context, pkg *provider.Package, policy verify.Policy, zhOnly bool) (*target, error) {
	t := &target{v: v, policy: policy, zhOnly: zhOnly, pkg: pkg, size: -1}
	var err error
	if t.name, t.base, t.swept, err = v.find(ctx, pkg.Platform); err != nil || t.name == "" {
		return t, err
	}
	t.recordAt = recordOf(t.name, t.base)
	if !v.edit.fresh {
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
	f, err := t.v.m.openArchive(ctx, t.name)
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
	return true, t.save(ctx)
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
	err = t.judge(ctx, f, &provider.Received{Size: f.size, ZH: f.zh, Evidence: ev})
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

// save writes the record: in place under the lock of the version, otherwise under a fresh name.
func (t *target) save(ctx context.Context) error {
	data, err := stored.Encode(t.record)
	switch {
	case err != nil:
		return err
	case len(data) > maxRecord:
		return fmt.Errorf("the evidence has more than %d bytes: %w", maxRecord, failure.ErrTooLarge)
	case !t.v.edit.fresh:
		t.recordAt = recordName(t.name)
		return stored.Write(ctx, t.v.m.Store, t.recordAt, data, t.recorded)
	case t.recordAt == "":
		t.recordAt = recordName(t.name)
	default:
		t.recordAt = recordName(t.v.m.freshName(addressOf(t.pkg)))
	}
	return t.upload(t.recordAt, func() error { return t.v.m.write(ctx, t.recordAt, data, "") })
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
	if t.size == t.record.Size {
		same, err := t.isSame(ctx)
		if err != nil {
			return err
		}
		if same {
			return t.save(ctx)
		}
	}
	if t.v.edit.fresh {
		t.name = t.v.m.freshName(addressOf(t.pkg))
		t.recordAt = "" // beside it
		if err := t.upload(t.name, func() error { return s.Commit(ctx, t.name, "") }); err != nil {
			return err
		}
		return t.save(ctx)
	}
	// No document or record may state anything about the wrong archive.
	if t.size >= 0 || t.base.URL != "" {
		if err := t.v.takeOff(ctx, t.name); err != nil {
			return err
		}
		t.base = listed{}
	}
	if t.recorded.Revision != "" {
		if err := t.v.m.Store.Delete(ctx, t.recordAt, ""); err != nil {
			return err
		}
		t.recorded = stored.Document{}
	}
	if err := s.Commit(ctx, t.name, t.revision); err != nil {
		return err
	}
	return t.save(ctx)
}

// isSame reports whether the existing archive is the judged one.
func (t *target) isSame(ctx context.Context) (bool, error) {
	f, err := t.v.m.openArchive(ctx, t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.close()
	return slices.Contains(t.record.Hashes, f.zh), nil
}

// entry returns the entry of the package in the document.
func (t *target) entry() listed { return t.record.entry(t.name, t.recordAt) }

func (t *target) added() Added {
	return Added{
		Provider: t.pkg.Provider, Version: t.pkg.Version, Platform: t.pkg.Platform,
		Size: t.record.Size, Fetched: t.fetched, Hashes: slices.Clone(t.record.Hashes), Report: t.report,
	}
}
