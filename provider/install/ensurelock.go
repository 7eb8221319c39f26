package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reports are the reports on the packages of a version.
type reports = map[addrs.Platform]*verify.Report

// installAndLock installs the package and computes the hashes that the lock file lacks.
func (j *job) installAndLock(ctx context.Context, found *usablePackage) error {
	how := j.lockAnew
	if j.locked {
		how = j.extendLock
	}
	hashed, err := how(ctx, found)
	maps.Copy(j.s.Reports, hashed)
	if err != nil {
		return err
	}
	j.sendEvent(provider.EventInstalled, nil)
	return nil
}

// lockAnew installs a package whose version is not locked. Concurrently it hashes the packages of
// all other platforms.
func (j *job) lockAnew(ctx context.Context, found *usablePackage) (hashed reports, err error) {
	j.s.Unlocked = slices.Clone(j.otherPlatforms)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() { hashed, hashErr = j.hashAnew(ctx) })
	if err = j.install(ctx, found); err != nil {
		stop() // a version that cannot be installed must not be locked
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if errors.Is(hashErr, checksum.ErrMismatch) { // what else the source states is not recorded
		j.s.Reports[j.platform].Stated = nil
	}
	return hashed, hashErr
}

// hashAnew hashes the packages of all other platforms for a version that is not locked.
func (j *job) hashAnew(ctx context.Context) (reports, error) {
	if err := j.checkSource(); err != nil {
		return nil, err
	}
	return j.hashes(ctx, j.otherPlatforms, j.hashOptions(j.policy))
}

// extendLock installs a package with a locked hash. If the lock file may lack hashes of other
// platforms, it adds those computed here only: a registry that was taken over can sign and state
// any hashes.
func (j *job) extendLock(ctx context.Context, found *usablePackage) (reports, error) {
	if err := j.install(ctx, found); err != nil {
		return nil, err
	}
	j.s.Unlocked = j.unlocked(ctx, j.s.Reports[j.platform].Local)
	if len(j.s.Unlocked) == 0 {
		return nil, nil
	}
	if err := j.checkSource(); err != nil {
		return nil, err
	}
	own, known, err := j.knownArchives(ctx)
	if err != nil {
		return nil, err
	}
	packages := j.requestPackages(ctx)
	locked, added := j.partition(packages)
	o := j.hashOptions(j.lockedPolicy())
	o.Packages = packages
	lockedReports, lockedErr := j.hashes(ctx, locked, o)
	o.Policy.Accept, o.Policy.SameRelease = j.policy.Accept, known
	addedReports, addedErr := j.hashes(ctx, added, o)
	if errors.Is(addedErr, verify.ErrOtherRelease) {
		addedErr = j.failure("lock more platforms of", fmt.Errorf("%w: the source has replaced the locked packages; "+
			"to accept the new ones, delete the provider's entry from the lock file", verify.ErrOtherRelease))
	}
	maps.Copy(own, lockedReports)
	maps.Copy(own, addedReports)
	return own, errors.Join(lockedErr, addedErr)
}

// knownArchives returns the hashes of the locked version. If there is no zh among them, it downloads
// the archive for this platform, which must have a locked h1, and returns its report too.
func (j *job) knownArchives(ctx context.Context) (reports, []checksum.Hash, error) {
	known := slices.Concat(j.lock.Accept(j.s.Provider, j.s.Version), j.s.Reports[j.platform].Local)
	if checksum.HasScheme(known, checksum.SchemeZH) {
		return reports{}, known, nil
	}
	own, err := j.hashes(ctx, []addrs.Platform{j.platform}, j.hashOptions(j.lockedPolicy()))
	if err != nil {
		return nil, nil, err
	}
	return own, append(known, own[j.platform].Local...), nil
}

// checkSource returns an error if packages must be hashed and there is no source.
func (j *job) checkSource() error {
	if len(j.s.Unlocked) > 0 && j.source == nil {
		return j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", provider.ErrOffline, j.s.Unlocked))
	}
	return nil
}

func (j *job) hashOptions(policy verify.Policy) provider.HashOptions {
	return provider.HashOptions{
		Policy:   policy,
		Store:    j.Hashes,
		Limiter:  j.packages,
		TempDir:  j.TempDir,
		Progress: j.report,
	}
}

// hashes calls [provider.Hashes] unless on is empty. It may return reports beside an error.
func (j *job) hashes(ctx context.Context, on []addrs.Platform, o provider.HashOptions) (reports, error) {
	if len(on) == 0 {
		return nil, nil
	}
	return provider.Hashes(ctx, j.source, j.s.Provider, j.s.Version, on, o)
}

// requestPackages requests the packages of the platforms to hash. It omits failures:
// provider.Hashes requests those packages again and reports the error.
func (j *job) requestPackages(ctx context.Context) []*provider.Package {
	packages := make([]*provider.Package, len(j.s.Unlocked))
	var wg sync.WaitGroup
	for i, platform := range j.s.Unlocked {
		wg.Go(func() { packages[i], _ = j.requestPackage(ctx, platform) })
	}
	wg.Wait()
	return slices.DeleteFunc(packages, func(pkg *provider.Package) bool { return pkg == nil })
}

// partition divides the platforms to hash. For locked platforms the source states a locked hash, so
// the lock file decides about their packages. The caller's policy decides about added ones.
func (j *job) partition(packages []*provider.Package) (locked, added []addrs.Platform) {
	accept := j.lock.Accept(j.s.Provider, j.s.Version)
	for _, platform := range j.s.Unlocked {
		known := slices.ContainsFunc(packages, func(pkg *provider.Package) bool {
			stated := pkg.Evidence().Hashes
			return pkg.Platform == platform && checksum.Overlap(stated, accept)
		})
		if known {
			locked = append(locked, platform)
		} else {
			added = append(added, platform)
		}
	}
	return locked, added
}
