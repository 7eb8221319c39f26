package mirrordir

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
)

// versionAdder adds the packages of one version.
type versionAdder struct {
	*adder
	job    *job
	source provider.Source // checks the answers, and asks once for what packages have in common
}

// version does one job.
func (a *adder) version(ctx context.Context, j *job) ([]Added, []error) {
	whole := func(err error) []error { return []error{failed("mirror", j.String(), err)} }
	if ctx.Err() != nil {
		return nil, whole(fault.Ended(ctx))
	}
	unlock, err := a.lockVersion(ctx, j.Provider, j.Version)
	if err != nil {
		return nil, whole(err)
	}
	defer unlock()
	v := &versionAdder{adder: a, job: j, source: provider.ShareEvidence(a.src)}
	platforms := j.Platforms
	if len(platforms) == 0 {
		if platforms, err = v.allPlatforms(ctx); err != nil {
			return nil, whole(err)
		}
	}
	return v.packages(ctx, platforms)
}

// allPlatforms asks the source.
func (v *versionAdder) allPlatforms(ctx context.Context) ([]addrs.Platform, error) {
	if err := v.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	defer v.slots.Release(1)
	j := v.job
	versions, err := v.source.ProviderVersions(ctx, j.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(j.Version)
	if !ok {
		return nil, versions.Unavailable(j.Version, addrs.Platform{})
	}
	if len(release.Platforms) == 0 {
		return nil, errors.New("the source does not tell its platforms: name those that are wanted")
	}
	return release.Platforms, nil
}

// packages adds the packages for these platforms, side by side.
func (v *versionAdder) packages(ctx context.Context, platforms []addrs.Platform) (added []Added, failures []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, platform := range platforms {
		wg.Go(func() {
			pkg := address{v.job.Provider, v.job.Version, platform}.pkg()
			done, err := v.onePackage(ctx, pkg)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, v.job.explain(platform, failed("mirror", pkg.String(), err)))
				return
			}
			// The platforms of a version commonly have one document, which may be large.
			if i := slices.IndexFunc(added, func(a Added) bool { return a.Report.Sums.Equal(done.Report.Sums) }); i >= 0 {
				done.Report.Sums = added[i].Report.Sums
			}
			added = append(added, *done)
		})
	}
	wg.Wait()
	return added, failures
}

// onePackage makes sure that a package is in the mirror, with the least that it takes: what is
// on record suffices, or the archive that is there, or the source sends another one.
func (v *versionAdder) onePackage(ctx context.Context, pkg *provider.Package) (*Added, error) {
	if err := v.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	release := sync.OnceFunc(func() { v.slots.Release(1) })
	defer release()
	o := v.options
	o.Policy = v.job.policy
	a, err := v.look(ctx, pkg, o)
	if err != nil {
		return nil, err
	}
	kept, err := a.keep(ctx)
	if err != nil {
		return nil, err
	}
	if !kept {
		if a.pkg, err = v.source.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
		if kept, err = a.adopt(ctx, v.source); err != nil {
			return nil, err
		}
	}
	kind := EventKept
	if !kept {
		if err := v.fetch(ctx, a, release); err != nil {
			return nil, err
		}
		kind = provider.EventVerified
	}
	v.report(addressOf(pkg).event(kind, a.record.Size))
	return a.added(!kept), nil
}

// fetch brings the archive from the source. It calls arrived when the next one can begin.
func (v *versionAdder) fetch(ctx context.Context, a *place, arrived func()) error {
	s, err := v.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Discard()
	got, err := provider.Receive(ctx, v.source, a.pkg, s.File(), provider.Options{Policy: a.Policy, WantEvidence: !a.NoEvidence, Progress: v.report})
	if err != nil {
		return err
	}
	f := &archiveFile{ReaderAt: s.File(), size: got.Size, zh: got.ZH}
	if err := a.judge(ctx, f, got.Evidence); err != nil {
		return failed("verify", a.pkg.String(), err)
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	late, cancel := withGrace(ctx)
	defer cancel()
	return a.put(late, s, arrived)
}
