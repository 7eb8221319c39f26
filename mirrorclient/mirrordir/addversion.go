package mirrordir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// versionAdder adds the packages of one version.
type versionAdder struct {
	*adder
	job    *job
	source provider.Source // fetches shared documents once

	left *semaphore.Weighted // bytes for sums
	stop context.CancelCauseFunc

	mu   sync.Mutex
	sums []*verify.Sums // different documents of the added packages
}

// addVersion does one job.
func (a *adder) addVersion(ctx context.Context, j *job) ([]Added, []error) {
	whole := func(err error) []error { return []error{failed("mirror", j.String(), err)} }
	if ctx.Err() != nil {
		return nil, whole(fault.Ended(ctx))
	}
	unlock, err := a.lockVersion(ctx, j.Provider, j.Version)
	if err != nil {
		return nil, whole(err)
	}
	defer unlock()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	v := &versionAdder{adder: a, job: j, source: provider.ShareEvidence(a.src), left: semaphore.NewWeighted(maxSums), stop: stop}
	platforms := j.Platforms
	if len(platforms) == 0 {
		if platforms, err = v.allPlatforms(ctx); err != nil {
			return nil, whole(err)
		}
	}
	return v.addPackages(ctx, platforms)
}

// allPlatforms returns the platforms that the source lists.
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
		return nil, errors.New("the source does not list platforms; set Want.Platforms")
	}
	return release.Platforms, nil
}

// addPackages adds the packages concurrently.
func (v *versionAdder) addPackages(ctx context.Context, platforms []addrs.Platform) (added []Added, failures []error) {
	var wg sync.WaitGroup
	for _, platform := range platforms {
		wg.Go(func() {
			pkg := address{v.job.Provider, v.job.Version, platform}.pkg()
			done, err := v.addPackage(ctx, pkg)
			v.mu.Lock()
			defer v.mu.Unlock()
			if err != nil {
				failures = append(failures, v.job.explain(platform, failed("mirror", pkg.String(), err)))
				return
			}
			added = append(added, *done)
		})
	}
	wg.Wait()
	return added, failures
}

// maxSums is the maximum total size in bytes of the different SHA256SUMS documents of a version.
const maxSums = 4 << 20

// shareSums lets reports with equal SHA256SUMS documents share one.
func (v *versionAdder) shareSums(report *verify.Report) error {
	if report == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(v.sums, report.Sums.Equal)
	if report.Sums == nil || i >= 0 {
		if i >= 0 {
			report.Sums = v.sums[i]
		}
		return nil
	}
	size := 0
	for name := range report.Sums.All() {
		size += sha256.Size*2 + len("  ") + len(name) + len("\n")
	}
	if !v.left.TryAcquire(int64(size)) {
		err := fmt.Errorf("more than %d bytes in the SHA256SUMS documents of all platforms: %w", maxSums, fault.ErrTooLarge)
		v.stop(err)
		return err
	}
	v.sums = append(v.sums, report.Sums)
	return nil
}

// addPackage adds a package. It uses the record, then the existing archive, then the source.
func (v *versionAdder) addPackage(ctx context.Context, pkg *provider.Package) (*Added, error) {
	if err := v.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Ended(ctx)
	}
	release := sync.OnceFunc(func() { v.slots.Release(1) })
	defer release()
	o := v.options
	o.Policy = v.job.policy
	a, err := v.newTarget(ctx, pkg, o)
	if err != nil {
		return nil, err
	}
	kept, err := a.isComplete(ctx)
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
	if kept {
		err = v.shareSums(a.report) // nil if the archive was not read
	} else {
		kind, err = provider.EventVerified, v.fetch(ctx, a, release)
	}
	if err != nil {
		return nil, err
	}
	v.progress(addressOf(pkg).event(kind, a.record.Size))
	return a.added(!kept), nil
}

// fetch downloads the archive. It calls arrived when the next download can start.
func (v *versionAdder) fetch(ctx context.Context, a *target, arrived func()) error {
	s, err := v.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Discard()
	got, err := provider.Receive(ctx, v.source, a.pkg, s.File(), provider.Options{Policy: a.Policy, WantEvidence: !a.NoEvidence, Progress: v.progress})
	if err != nil {
		return err
	}
	f := &archiveFile{ReaderAt: s.File(), size: got.Size, zh: got.ZH}
	if err := a.judge(ctx, f, got.Evidence); err != nil {
		return failed("verify", a.pkg.String(), err)
	}
	if err := v.shareSums(a.report); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	late, cancel := withGrace(ctx)
	defer cancel()
	return a.write(late, s, arrived)
}
