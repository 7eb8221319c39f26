package mirrordir

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// packageAdder adds one package.
type packageAdder struct {
	*versionAdder
	pkg      *provider.Package // as the source describes it; at first only the address
	asked    bool              // the source has described it
	name     string            // of the archive in the storage
	size     int64             // of the archive that is there; negative: none is
	record   *record           // nil: there is none, or it is damaged
	recorded bool              // there is one, whatever it is worth
	release  func()            // lets the next archive begin
}

// onePackage makes sure that a package is in the mirror, with the least that it takes.
func (v *versionAdder) onePackage(ctx context.Context, platform addrs.Platform) (Added, error) {
	if err := v.slots.take(ctx); err != nil {
		return Added{}, err
	}
	release := sync.OnceFunc(v.slots.give)
	defer release()
	a, err := v.packageAdder(ctx, platform, release)
	if err != nil {
		return Added{}, err
	}
	for _, way := range []func(context.Context) (*Added, error){a.keep, a.adopt, a.fetch} {
		if added, err := way(ctx); added != nil || err != nil {
			return value(added), err
		}
	}
	return Added{}, errors.New("unreachable")
}

// packageAdder looks at what there is of a package.
func (v *versionAdder) packageAdder(ctx context.Context, platform addrs.Platform, release func()) (*packageAdder, error) {
	a := &packageAdder{
		versionAdder: v,
		pkg:          &provider.Package{Provider: v.job.Provider, Version: v.job.Version, Platform: platform},
		name:         v.nameOf(platform),
		release:      release,
	}
	var err error
	if a.size, err = v.size(ctx, a.name); err != nil {
		return nil, err
	}
	rec, err := v.readRecord(ctx, a.name)
	if err != nil && !errors.Is(err, errDocument) {
		return nil, err
	}
	a.record, a.recorded = rec, rec != nil || err != nil
	return a, nil
}

func value(a *Added) Added {
	if a == nil {
		return Added{}
	}
	return *a
}

// keep leaves the archive that is there as it is, if what is on record suffices. It
// returns nil if it does not.
func (a *packageAdder) keep(ctx context.Context) (*Added, error) {
	rec := a.record
	switch {
	case rec == nil, rec.Size != a.size, !rec.has(checksum.SchemeZH):
		return nil, nil
	case rec.Evidence == nil && !a.options.NoEvidence:
		return nil, nil
	case !rec.has(checksum.SchemeH1) && a.wantsH1(nil):
		var err error
		if rec, err = a.complete(ctx, rec); rec == nil {
			return nil, err
		}
	}
	report, err := a.job.policy.Judge(rec.evidence(a.pkg), rec.Size, rec.Hashes)
	if err != nil {
		return nil, ctx.Err()
	}
	a.tell(EventKept)
	return a.added(rec, report, false), ctx.Err()
}

// complete computes the h1 of the archive that is there and puts it on record. It returns
// nil if the archive is not the one on record.
func (a *packageAdder) complete(ctx context.Context, rec *record) (*record, error) {
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zh, err := f.zh(ctx)
	if err != nil || !slices.Contains(rec.Hashes, zh) {
		return nil, err
	}
	packed, tree, err := checksum.H1Zip(ctx, f, f.size, a.job.policy.Limits)
	if err != nil {
		return nil, err
	}
	full := *rec
	full.Hashes = hashSet(append(slices.Clone(rec.Hashes), packed, tree))
	if err := a.writeRecord(ctx, a.name, &full); err != nil {
		return nil, err
	}
	return &full, nil
}

// hashSet sorts hashes and removes those that occur twice.
func hashSet(list []checksum.Hash) []checksum.Hash {
	slices.SortFunc(list, checksum.Hash.Compare)
	return slices.Compact(list)
}

// wantsH1 reports whether an h1 is to be computed, whatever the policy needs; stated are
// the hashes that the source states.
func (a *packageAdder) wantsH1(stated []checksum.Hash) bool {
	return !a.options.ZHOnly && len(a.recordable(stated)) == 0
}

// recordable returns those of the stated hashes that may stand in for one not computed.
func (a *packageAdder) recordable(stated []checksum.Hash) (list []checksum.Hash) {
	if !a.job.policy.RecordStated {
		return nil
	}
	for _, h := range stated {
		if h.Scheme() == checksum.SchemeH1 {
			list = append(list, h)
		}
	}
	return list
}

// adopt hashes the archive that is there and judges it as if it had just arrived. It
// returns nil if the source has another one.
func (a *packageAdder) adopt(ctx context.Context) (*Added, error) {
	if a.size < 0 {
		return nil, nil
	}
	if err := a.ask(ctx); err != nil {
		return nil, err
	}
	if a.pkg.Size > 0 && a.pkg.Size != a.size || a.pkg.Dir != "" {
		return nil, nil
	}
	ev := a.pkg.Evidence()
	if a.needsEvidence() {
		var err error
		if ev, err = a.source.Evidence(ctx, a.pkg); err != nil {
			return nil, err
		}
	}
	f, err := a.openArchive(ctx, a.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zh, err := f.zh(ctx)
	if err != nil {
		return nil, err
	}
	rec, report, err := a.judge(ctx, f, ev, zh)
	switch {
	case isAnother(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := a.writeRecord(ctx, a.name, rec); err != nil {
		return nil, err
	}
	a.tell(EventKept)
	return a.added(rec, report, false), nil
}

// isAnother reports whether err is a reason to replace an archive: it is not the one that
// the source describes, or no archive at all.
func isAnother(err error) bool {
	if _, ok := errors.AsType[*checksum.MismatchError](err); ok {
		return true
	}
	_, ok := errors.AsType[*checksum.SizeError](err)
	return ok || errors.Is(err, fault.ErrArchive)
}

// ask has the source describe the package.
func (a *packageAdder) ask(ctx context.Context) error {
	if a.asked {
		return nil
	}
	pkg, err := a.source.ProviderPackage(ctx, a.pkg.Provider, a.pkg.Version, a.pkg.Platform)
	if err != nil {
		return err
	}
	a.pkg, a.asked = pkg, true
	return nil
}

func (a *packageAdder) needsEvidence() bool {
	return a.job.policy.NeedsEvidence() || !a.options.NoEvidence
}

// judge computes what is missing of the hashes of an archive and has the policy decide.
func (a *packageAdder) judge(ctx context.Context, f *archiveFile, ev verify.Evidence, zh checksum.Hash) (*record, *verify.Report, error) {
	stated := a.pkg.Hashes[a.pkg.Platform]
	report, err := a.job.policy.JudgeArchive(ctx, ev, verify.Archive{
		Size: f.size, ZH: zh, WantH1: a.wantsH1(stated),
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) {
			return checksum.H1Zip(ctx, f, f.size, a.job.policy.Limits)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	local, hashes := report.Local, report.Local
	if !checksum.HasScheme(local, checksum.SchemeH1) {
		hashes = checksum.Sorted(local, a.recordable(stated))
	}
	rec := &record{Size: f.size, Hashes: hashes, Trust: report.Trust, Protocols: a.pkg.Protocols}
	if !a.options.NoEvidence {
		rec.Evidence = saveEvidence(ev, f.size, local)
	}
	return rec, report, nil
}
