package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// installAndLock installs the package and, meanwhile, hashes those of other platforms.
func (j *job) installAndLock(ctx context.Context, here *local) error {
	hashing, stop := context.WithCancel(ctx)
	defer stop()
	described := make(chan *provider.Package, 1)
	var hashes map[addrs.Platform]*verify.Report
	var hashErr error
	var wg sync.WaitGroup
	wg.Go(func() { hashes, hashErr = j.hash(hashing, described) })
	err := j.install(ctx, here, described)
	if err != nil {
		stop() // who cannot install the version does not want it locked
	}
	wg.Wait()
	if err != nil {
		return err
	}
	if here == nil && len(j.s.Unlocked) == 0 && j.locked && j.Hashes == nil {
		// Only now are the hashes of the package itself known, and how many it has.
		j.s.Unlocked = j.short(j.s.Reports[j.platform].Local)
		hashes, hashErr = j.hash(ctx, described)
	}
	maps.Copy(j.s.Reports, hashes)
	j.remember(ctx)
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
		return nil, j.failure("hash the packages of", fmt.Errorf("%w: the lock file may lack hashes for %s", ErrOffline, j.s.Unlocked))
	}
	o := provider.HashOptions{
		Options: provider.Options{Policy: j.policy, Progress: j.report},
		Store:   j.Hashes,
		Gate:    j.packages,
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
			return slices.ContainsFunc(stated, func(h verify.Hash) bool { return slices.Contains(accept, h) })
		})
		if known {
			accepted = append(accepted, platform)
		} else {
			others = append(others, platform)
		}
	}
	return accepted, others
}

// unlocked returns those of the other platforms whose hashes the lock file is not known to
// have, by the rule of [Result.Lock].
func (j *job) unlocked(ctx context.Context, here *local) []addrs.Platform {
	switch {
	case !j.locked || len(j.others) == 0:
		return slices.Clone(j.others)
	case j.Hashes != nil:
		return j.unremembered(ctx)
	case here == nil:
		return j.short(nil)
	}
	return j.short(append(j.packed(here), here.Report.Local...))
}

// short returns all other platforms if the lock file has too few hashes for them beside
// those of the installed package, which are own. Where the archive has entries for
// directories, its own h1 is not that of the directory, and each platform has two.
func (j *job) short(own []verify.Hash) []addrs.Platform {
	left := j.lockedH1()
	all, each := map[verify.Hash]bool{}, 0
	for _, h := range own {
		if h.Scheme() == verify.SchemeH1 {
			all[h] = true
		}
		if left[h] {
			delete(left, h)
			each++
		}
	}
	if each == 0 {
		each = max(len(all), 1)
	}
	if len(left) >= each*len(j.others) {
		return nil
	}
	return slices.Clone(j.others)
}

// lockedH1 returns the hashes of scheme h1 that the lock file has for the version.
func (j *job) lockedH1() map[verify.Hash]bool {
	hashes := map[verify.Hash]bool{}
	for _, h := range j.lock.Accept(j.s.Provider, j.s.Version) {
		if h.Scheme() == verify.SchemeH1 {
			hashes[h] = true
		}
	}
	return hashes
}

// packed returns the h1 of the archive that the package was unpacked from, if whoever did
// so has left a note. It is for counting only, so that it need not be proven.
func (j *job) packed(here *local) (hashes []verify.Hash) {
	for _, dir := range []*Dir{j.Dir, j.Cache} {
		if dir == nil {
			continue
		}
		opened, err := dir.open()
		if err != nil {
			continue
		}
		s, err := opened.spot(here.Provider, here.Version, here.Platform)
		if err == nil {
			if n := s.news(nil); n != nil && slices.Contains(here.Report.Local, n.Tree) && n.Packed != n.Tree {
				hashes = append(hashes, n.Packed)
			}
		}
		opened.close()
	}
	return slices.Compact(hashes)
}

// unremembered returns those of the other platforms of which no hash that is remembered is
// among those locked.
func (j *job) unremembered(ctx context.Context) (platforms []addrs.Platform) {
	locked := j.lockedH1()
	for _, platform := range j.others {
		hashes, err := j.Hashes.Hashes(ctx, j.memory(platform))
		if err != nil {
			j.tell(provider.EventStoreFailed, err)
		}
		if !slices.ContainsFunc(hashes, func(h verify.Hash) bool { return locked[h] }) {
			platforms = append(platforms, platform)
		}
	}
	return platforms
}

// remember stores which hashes are those of which platform.
func (j *job) remember(ctx context.Context) {
	if j.Hashes == nil {
		return
	}
	for platform, report := range j.s.Reports {
		var h1 []verify.Hash
		for _, h := range report.Recordable() {
			if h.Scheme() == verify.SchemeH1 {
				h1 = append(h1, h)
			}
		}
		if len(h1) == 0 {
			continue
		}
		if err := j.Hashes.StoreHashes(ctx, j.memory(platform), h1); err != nil {
			j.tell(provider.EventStoreFailed, err)
		}
	}
}

// memory is the key under which the hashes of a package are remembered by its name. It has
// the form of a zh, but is that of no archive.
func (j *job) memory(platform addrs.Platform) verify.Hash {
	pkg := provider.Package{Provider: j.s.Provider, Version: j.s.Version, Platform: platform}
	return verify.ZHSum(sha256.Sum256([]byte("package " + pkg.String())))
}
