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

// installAndLock installs the package and computes the hashes of other platforms that the
// lock file lacks.
func (j *job) installAndLock(ctx context.Context, here *local) error {
	var hashes map[addrs.Platform]*verify.Report
	var err, hashErr error
	described := make(chan *provider.Package, 1)
	if j.locked {
		// Whether the lock file lacks some is known when the package is, and most often
		// it is here and nothing is lacking.
		if err = j.install(ctx, here, described); err == nil {
			j.s.Unlocked = j.unlocked(ctx, j.s.Reports[j.platform].Local)
			hashes, hashErr = j.hash(ctx, described)
		}
	} else {
		j.s.Unlocked = slices.Clone(j.others)
		hashing, stop := context.WithCancel(ctx)
		defer stop()
		var wg sync.WaitGroup
		wg.Go(func() { hashes, hashErr = j.hash(hashing, described) })
		if err = j.install(ctx, here, described); err != nil {
			stop() // who cannot install the version does not want it locked
		}
		wg.Wait()
	}
	if err != nil {
		return err
	}
	maps.Copy(j.s.Reports, hashes)
	if hashErr != nil {
		return hashErr
	}
	j.tell(provider.EventInstalled, nil)
	return nil
}

// hash computes what the lock file lacks of the other platforms. A result may come beside
// an error.
func (j *job) hash(ctx context.Context, described <-chan *provider.Package) (map[addrs.Platform]*verify.Report, error) {
	switch {
	case len(j.s.Unlocked) == 0:
		return nil, nil
	case j.source == nil:
		return nil, j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", provider.ErrOffline, j.s.Unlocked))
	}
	o := provider.HashOptions{
		Options: provider.Options{Policy: j.policy, Progress: j.report},
		Store:   j.Hashes,
		Gate:    j.packages,
		TempDir: j.TempDir,
	}
	if j.policy.RecordStated {
		// One description may state the hashes for all platforms, so it is worth a wait.
		pkg := <-described
		if pkg == nil {
			pkg, _ = j.describe(ctx, j.s.Unlocked[0]) // provider.Hashes tells the error
		}
		if pkg != nil {
			o.Packages = append(o.Packages, pkg)
		}
	}
	if !j.locked {
		return j.hashes(ctx, j.s.Unlocked, o)
	}
	o.Packages = append(o.Packages, j.describeAll(ctx, o.Packages)...)
	accepted, others := j.partition(o.Packages)
	reports, err := j.hashes(ctx, others, o)
	o.Policy = j.accepting()
	more, moreErr := j.hashes(ctx, accepted, o)
	if reports == nil {
		return more, errors.Join(err, moreErr)
	}
	maps.Copy(reports, more)
	return reports, errors.Join(err, moreErr)
}

func (j *job) hashes(ctx context.Context, on []addrs.Platform, o provider.HashOptions) (map[addrs.Platform]*verify.Report, error) {
	if len(on) == 0 {
		return nil, nil
	}
	return provider.Hashes(ctx, j.source, j.s.Provider, j.s.Version, on, o)
}

// describeAll returns the packages for the platforms that are to be hashed, but for those
// of which known states all. What the source does not tell here it will not tell
// provider.Hashes either, which then says so.
func (j *job) describeAll(ctx context.Context, known []*provider.Package) []*provider.Package {
	packages := make([]*provider.Package, len(j.s.Unlocked))
	var wg sync.WaitGroup
	for i, platform := range j.s.Unlocked {
		if !slices.ContainsFunc(known, func(pkg *provider.Package) bool { return pkg.Platform == platform || len(pkg.Hashes[platform]) > 0 }) {
			wg.Go(func() { packages[i], _ = j.describe(ctx, platform) })
		}
	}
	wg.Wait()
	return slices.DeleteFunc(packages, func(pkg *provider.Package) bool { return pkg == nil })
}

// partition tells for which of the platforms to be hashed the packages state a hash that
// the lock file has: there that decides, and no signature is wanted.
func (j *job) partition(packages []*provider.Package) (accepted, others []addrs.Platform) {
	accept := j.lock.Accept(j.s.Provider, j.s.Version)
	for _, platform := range j.s.Unlocked {
		known := slices.ContainsFunc(packages, func(pkg *provider.Package) bool {
			stated := pkg.Hashes[platform]
			if pkg.Platform == platform {
				stated = pkg.Evidence().Hashes
			}
			return slices.ContainsFunc(stated, func(h checksum.Hash) bool { return slices.Contains(accept, h) })
		})
		if known {
			accepted = append(accepted, platform)
		} else {
			others = append(others, platform)
		}
	}
	return accepted, others
}
