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

// reports are the verdicts on the packages of a version.
type reports = map[addrs.Platform]*verify.Report

// installAndLock installs the package and computes the hashes of other platforms that the
// lock file lacks.
func (j *job) installAndLock(ctx context.Context, here *local) error {
	how := j.lockAnew
	if j.locked {
		how = j.extendLock
	}
	hashed, err := how(ctx, here)
	maps.Copy(j.s.Reports, hashed)
	if err != nil {
		return err
	}
	j.tell(provider.EventInstalled, nil)
	return nil
}

// lockAnew installs the package and hashes those of all other platforms meanwhile.
func (j *job) lockAnew(ctx context.Context, here *local) (hashed reports, err error) {
	j.s.Unlocked = slices.Clone(j.others)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() { hashed, hashErr = j.hashAnew(ctx) })
	if err = j.install(ctx, here); err != nil {
		stop() // a version that cannot be installed is not locked
	}
	wg.Wait()
	if err != nil {
		return nil, err
	}
	return hashed, hashErr
}

// hashAnew hashes the packages of all other platforms of a version that is not locked.
func (j *job) hashAnew(ctx context.Context) (reports, error) {
	if err := j.mayHash(); err != nil {
		return nil, err
	}
	o := j.hashOptions(j.policy)
	if j.policy.RecordStated && len(j.others) > 0 {
		// One description may state the hashes for all platforms, so it is worth a wait.
		if pkg := <-j.described; pkg != nil {
			o.Packages = []*provider.Package{pkg}
		}
	}
	return j.hashes(ctx, j.others, o)
}

// extendLock installs the package, which has a locked hash, and hashes those of the other
// platforms if the lock file may lack some. Of these the lock file gains only hashes that
// were computed here: a registry that was taken over can sign and state any others.
func (j *job) extendLock(ctx context.Context, here *local) (reports, error) {
	if err := j.install(ctx, here); err != nil {
		return nil, err
	}
	j.s.Unlocked = j.unlocked(ctx, j.s.Reports[j.platform].Local)
	if len(j.s.Unlocked) == 0 {
		return nil, nil
	}
	if err := j.mayHash(); err != nil {
		return nil, err
	}
	own, known, err := j.knownArchives(ctx)
	if err != nil {
		return nil, err
	}
	packages := j.describeAll(ctx)
	locked, added := j.partition(packages)
	o := j.hashOptions(j.accepting())
	o.Packages, o.Policy.RecordStated = packages, false
	lockedReports, lockedErr := j.hashes(ctx, locked, o)
	o.Policy.Accept, o.Policy.SameRelease = j.policy.Accept, known
	addedReports, addedErr := j.hashes(ctx, added, o)
	if errors.Is(addedErr, verify.ErrOtherRelease) {
		addedErr = j.failure("lock more platforms of", fmt.Errorf("%w: the source has replaced the packages that are locked; "+
			"if that is right, delete the provider's entry from the lock file and lock it again", verify.ErrOtherRelease))
	}
	maps.Copy(own, lockedReports)
	maps.Copy(own, addedReports)
	return own, errors.Join(lockedErr, addedErr)
}

// knownArchives returns the zh of archives that are known to be of the locked version. If
// the lock file has none, it fetches the archive for this platform, which must have a
// locked h1, and returns its report too.
func (j *job) knownArchives(ctx context.Context) (reports, []checksum.Hash, error) {
	known := slices.Concat(j.lock.Accept(j.s.Provider, j.s.Version), j.s.Reports[j.platform].Local)
	if known = checksum.WithScheme(known, checksum.SchemeZH); len(known) > 0 {
		return reports{}, known, nil
	}
	o := j.hashOptions(j.accepting())
	o.Policy.RecordStated = false
	own, err := j.hashes(ctx, []addrs.Platform{j.platform}, o)
	if err != nil {
		return nil, nil, err
	}
	return own, checksum.WithScheme(own[j.platform].Local, checksum.SchemeZH), nil
}

// mayHash returns an error if there are packages to hash and no source to ask.
func (j *job) mayHash() error {
	if len(j.s.Unlocked) > 0 && j.source == nil {
		return j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", provider.ErrOffline, j.s.Unlocked))
	}
	return nil
}

func (j *job) hashOptions(policy verify.Policy) provider.HashOptions {
	return provider.HashOptions{
		Policy:   policy,
		Store:    j.Hashes,
		Gate:     j.packages,
		TempDir:  j.TempDir,
		Progress: j.report,
	}
}

// hashes is provider.Hashes, also for no platforms. Reports may come beside an error.
func (j *job) hashes(ctx context.Context, on []addrs.Platform, o provider.HashOptions) (reports, error) {
	if len(on) == 0 {
		return nil, nil
	}
	return provider.Hashes(ctx, j.source, j.s.Provider, j.s.Version, on, o)
}

// describeAll returns the packages of the platforms that are to be hashed. If the source
// does not describe one, provider.Hashes asks again and reports the error.
func (j *job) describeAll(ctx context.Context) []*provider.Package {
	packages := make([]*provider.Package, len(j.s.Unlocked))
	var wg sync.WaitGroup
	for i, platform := range j.s.Unlocked {
		wg.Go(func() { packages[i], _ = j.describe(ctx, platform) })
	}
	wg.Wait()
	return slices.DeleteFunc(packages, func(pkg *provider.Package) bool { return pkg == nil })
}

// partition divides the platforms that are to be hashed. The source states a locked hash
// for those that are locked: the lock file decides about them. Those that are added need
// what the policy of the caller wants.
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
