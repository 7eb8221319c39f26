package mirrordir

import (
	"context"
	"errors"
	"slices"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// fetch brings the archive from the source.
func (a *packageAdder) fetch(ctx context.Context) (*Added, error) {
	if err := a.ask(ctx); err != nil {
		return nil, err
	}
	s, err := a.stageArchive(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Discard()
	got, err := provider.Receive(ctx, a.source, a.pkg, s.file(), provider.Options{
		Policy: a.job.policy, WantEvidence: !a.options.NoEvidence, Progress: a.report,
	})
	if err != nil {
		return nil, err
	}
	rec, report, err := a.judge(ctx, &archiveFile{file: s.file(), size: got.Size}, got.Evidence, got.ZH)
	if err != nil {
		return nil, failed("verify", a.pkg.String(), err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// From here on it takes moments, and half of it would be a mirror that lacks what
	// it had before.
	if err := a.place(context.WithoutCancel(ctx), s, rec); err != nil {
		return nil, err
	}
	a.size = rec.Size
	a.tell(provider.EventVerified)
	return a.added(rec, report, true), nil
}

// place puts the archive and its record into the mirror. What is there is first taken
// out, from the documents to the archive, so that at no time anything says something
// about an archive that is not true.
func (a *packageAdder) place(ctx context.Context, s stagedArchive, rec *record) error {
	if a.size >= 0 {
		if _, err := a.list(ctx, a.pkg.Provider, a.pkg.Version, listing{a.pkg.Platform: nil}); err != nil {
			return err
		}
	}
	if a.recorded {
		if err := a.Storage.Delete(ctx, recordName(a.name)); err != nil {
			return err
		}
	}
	if a.size >= 0 {
		if err := a.Storage.Delete(ctx, a.name); err != nil {
			return err
		}
	}
	err := s.commit(ctx, a.name)
	a.release()
	if errors.Is(err, ErrConflict) {
		err = a.same(ctx, rec)
	}
	if err != nil {
		return err
	}
	return a.writeRecord(ctx, a.name, rec)
}

// same returns nil if the archive in the storage is the one on record: somebody else has
// fetched it too and was faster.
func (a *packageAdder) same(ctx context.Context, rec *record) error {
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return err
	}
	defer f.Close()
	zh, err := f.zh(ctx)
	if err == nil && !slices.Contains(rec.Hashes, zh) {
		err = ErrConflict
	}
	return err
}

// tell reports that the package is in its place.
func (a *packageAdder) tell(kind provider.EventKind) {
	a.report(provider.Event{
		Kind: kind, Provider: a.pkg.Provider, Version: a.pkg.Version, Platform: a.pkg.Platform,
		Bytes: a.size, Total: a.size,
	})
}

func (a *packageAdder) added(rec *record, report *verify.Report, fetched bool) *Added {
	return &Added{
		Provider: a.pkg.Provider, Version: a.pkg.Version, Platform: a.pkg.Platform,
		Size: rec.Size, Fetched: fetched, Hashes: slices.Clone(rec.Hashes), Report: report,
	}
}
