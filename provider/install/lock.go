package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// lockedPolicy returns the caller's policy, with the locked hashes of the version as Accept.
func (j *job) lockedPolicy() verify.Policy {
	policy := j.policy
	if j.locked {
		policy.Accept = j.lock.Accept(j.s.Provider, j.s.Version)
	}
	return policy
}

// reports are the reports on the packages of a version.
type reports = map[addrs.Platform]*verify.Report

// lockOnly hashes the packages for all platforms, without installing one.
func (j *job) lockOnly(ctx context.Context) (err error) {
	if len(j.others) == 0 {
		if j.others, err = j.listedPlatforms(ctx); err != nil {
			return err
		}
	}
	if j.locked {
		j.s.Reports, err = j.hashLocked(ctx, j.others, nil, j.others)
	} else {
		j.s.Reports, err = j.hashNew(ctx, j.others)
	}
	return err
}

func (j *job) listedPlatforms(ctx context.Context) ([]addrs.Platform, error) {
	if j.source == nil {
		return nil, j.failure("lock", failure.ErrOffline)
	}
	if err := j.requests.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer j.requests.Release(1)
	versions, err := j.source.ProviderVersions(ctx, j.s.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(j.s.Version)
	switch {
	case !ok:
		return nil, versions.Unavailable(j.s.Version, addrs.Platform{})
	case len(release.Platforms) == 0:
		return nil, j.failure("lock", errors.New("the source does not list the platforms of this version; set LockPlatforms"))
	}
	return release.Platforms, nil
}

// installNew installs a package whose version is not locked. Concurrently it hashes the packages of
// all other platforms.
func (j *job) installNew(ctx context.Context, f *found) error {
	j.s.Unlocked = slices.Clone(j.others)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var hashed reports
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() { hashed, hashErr = j.hashNew(ctx, j.others) })
	err := j.install(ctx, f)
	if err != nil {
		stop() // a version that cannot be installed must not be locked
	}
	wg.Wait()
	if err != nil {
		return err
	}
	if errors.Is(hashErr, checksum.ErrMismatch) { // what else the source states is not recorded
		j.s.Reports[j.platform].Stated = nil
	}
	maps.Copy(j.s.Reports, hashed)
	return hashErr
}

// installLocked installs a package with a locked hash, and hashes those for other platforms if the lock
// file may lack them.
func (j *job) installLocked(ctx context.Context, f *found) error {
	if err := j.install(ctx, f); err != nil {
		return err
	}
	local := j.s.Reports[j.platform].Local
	if j.s.Unlocked = j.unlocked(ctx, local); len(j.s.Unlocked) == 0 {
		return nil
	}
	hashed, err := j.hashLocked(ctx, j.s.Unlocked, local, []addrs.Platform{j.platform})
	maps.Copy(j.s.Reports, hashed)
	return err
}

// The rules for a lock file are hashNew, hashLocked and record.

// hashNew hashes packages of a version that is not locked. The caller's policy decides.
func (j *job) hashNew(ctx context.Context, on []addrs.Platform) (reports, error) {
	return j.hash(ctx, on, provider.HashOptions{Policy: j.policy, Stated: j.in.Stated})
}

// hashLocked hashes packages of a locked version; see [provider.HashOptions].Locked. local are hashes of a
// package that was accepted by a locked hash. If neither they nor the lock file tell the zh of an archive, the
// archives for the platforms in tell are tried: those with a locked hash do.
func (j *job) hashLocked(ctx context.Context, on []addrs.Platform, local []checksum.Hash, tell []addrs.Platform) (reports, error) {
	accept := j.lock.Accept(j.s.Provider, j.s.Version).Hashes()
	if len(accept) == 0 {
		return nil, j.failure("lock", fmt.Errorf("%w; repair the lock file", lockfile.ErrUnreadable))
	}
	known := slices.Concat(accept, local)
	told := reports{}
	if !hashlist.Has(known, checksum.SchemeZH) {
		var err error
		told, err = j.hash(ctx, tell, provider.HashOptions{Policy: j.lockedPolicy()})
		switch {
		case len(told) > 0: // the other platforms are tried again
		case errors.Is(err, verify.ErrNotAccepted):
			return nil, j.failure("lock more platforms of", fmt.Errorf("the lock file has only h1 hashes, and none for %s; name a locked platform too: %w", tell, err))
		default:
			return nil, err
		}
		for _, report := range told {
			known = append(known, report.Local...)
		}
	}
	on = slices.DeleteFunc(slices.Clone(on), func(p addrs.Platform) bool { return told[p] != nil })
	hashed, err := j.hash(ctx, on, provider.HashOptions{Policy: j.policy, Locked: checksum.NewSet(known...)})
	if errors.Is(err, verify.ErrOtherRelease) {
		err = j.failure("lock more platforms of", fmt.Errorf("the source has replaced the locked packages; "+
			"to accept the new ones, delete the provider's entry from the lock file: %w", err))
	}
	maps.Copy(told, hashed)
	return told, err
}

// record merges the hashes of the selection into lock, also if a platform has failed. A locked version
// gains computed hashes only.
func (j *job) record(lock *lockfile.File) error {
	s := j.s
	planned := j.task == planning && s.Err == nil && !s.Version.IsZero()
	if !planned && len(s.Reports) == 0 {
		return nil // the old entry stays
	}
	var hashes []checksum.Hash
	for _, report := range s.Reports {
		if j.locked {
			hashes = append(hashes, report.Local...)
		} else {
			hashes = append(hashes, report.Recordable()...)
		}
	}
	return lock.Merge(s.Provider, s.Version, s.Constraint, hashes)
}

// hash calls [provider.Hashes] unless on is empty. It may return reports beside an error.
func (j *job) hash(ctx context.Context, on []addrs.Platform, o provider.HashOptions) (reports, error) {
	if len(on) == 0 {
		return nil, nil
	}
	if j.source == nil {
		return nil, j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", failure.ErrOffline, j.s.Unlocked))
	}
	o.Store, o.Limiter, o.TempDir, o.Progress = j.in.Store, j.packages, j.in.TempDir, j.report
	got, err := provider.Hashes(ctx, j.source, j.s.Provider, j.s.Version, on, o)
	j.s.Failed = nil // those of an earlier attempt
	if failed, ok := errors.AsType[*provider.HashesError](err); ok {
		j.s.Failed = failed.Platforms
	}
	return got, err
}

// unlocked returns the other platforms if the lock file may lack hashes of them; see
// [Installer].LockPlatforms. own are the hashes of the package for this platform.
//
// It counts the archives that have an h1. Installer.Store tells which h1 belong to the same archive:
// one with entries for directories has two. Any other h1 counts as one archive.
func (j *job) unlocked(ctx context.Context, own []checksum.Hash) []addrs.Platform {
	if !j.locked || len(j.others) == 0 {
		return slices.Clone(j.others)
	}
	hashes := hashlist.Sorted(j.lock.Accept(j.s.Provider, j.s.Version).Hashes(), own)
	archives, rest := 0, checksum.WithScheme(hashes, checksum.SchemeH1)
	for _, zh := range checksum.WithScheme(hashes, checksum.SchemeZH) {
		if j.in.Store == nil {
			break
		}
		stored, err := j.in.Store.Hashes(ctx, zh)
		if err != nil {
			j.storeFailed(ctx, err)
			break // report one failure only
		}
		h1 := checksum.WithScheme(stored, checksum.SchemeH1)
		if hashlist.Overlap(h1, hashes) {
			archives++
		}
		rest = slices.DeleteFunc(rest, func(h checksum.Hash) bool { return slices.Contains(h1, h) })
	}
	if archives+len(rest) > len(j.others) {
		return nil
	}
	return slices.Clone(j.others)
}

// storeFailed reports the error of Installer.Store, which only costs time.
func (j *job) storeFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		j.event(progress.StoreFailed, err)
	}
}
