package mirrordir

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// versionAdder adds the packages of one version.
type versionAdder struct {
	*adder
	job    *job
	source provider.Source // checks the answers, and asks once for what packages have in common
	names  []string        // of the archives that there may be
}

// version does one job.
func (a *adder) version(ctx context.Context, j *job) ([]Added, []failure) {
	whole := func(err error) []failure {
		return []failure{{j.String(), failed("mirror", j.String(), err)}}
	}
	if ctx.Err() != nil {
		return nil, whole(context.Cause(ctx))
	}
	unlock, err := a.lockVersion(ctx, j.Provider, j.Version)
	if err != nil {
		return nil, whole(err)
	}
	defer unlock()
	v := &versionAdder{adder: a, job: j, source: provider.ShareEvidence(a.src)}
	files, fresh, err := a.shelves[j.Provider].list(ctx, a.Mirror, j.Provider)
	if err != nil {
		return nil, whole(err)
	}
	platforms := j.Platforms
	if len(platforms) == 0 {
		if platforms, err = v.allPlatforms(ctx); err != nil {
			return nil, whole(err)
		}
	}
	v.expect(files, platforms)
	added, failures := v.packages(ctx, platforms)
	// Even if ctx has ended: what has arrived is to be found.
	if err := v.publish(context.WithoutCancel(ctx)); err != nil {
		return nil, append(failures, whole(err)...)
	}
	if _, locked := a.Storage.(Locker); !fresh || !locked {
		a.late(v)
	}
	return added, failures
}

// expect notes which archives publish is to look at: those of a listing, and those for these
// platforms.
func (v *versionAdder) expect(files *inventory, platforms []addrs.Platform) {
	v.names = slices.Clone(files.archives[v.job.Version])
	for _, platform := range platforms {
		v.names = append(v.names, v.nameOf(platform))
	}
}

// nameOf returns the name that an archive of the version has in the storage.
func (v *versionAdder) nameOf(platform addrs.Platform) string {
	return archivePath(v.job.Provider, packageKey{v.job.Version, platform})
}

// lockVersion keeps others from working on a version, where the storage can do that.
func (m *Mirror) lockVersion(ctx context.Context, p addrs.Provider, v addrs.Version) (unlock func(), err error) {
	l, ok := m.Storage.(Locker)
	if !ok {
		return func() {}, nil
	}
	free, err := l.Lock(ctx, homeOf(p)+"/"+documentName(v))
	if err != nil {
		return nil, err
	}
	return func() { _ = free() }, nil
}

// scanHome looks for archives in the directory where they are added.
func (m *Mirror) scanHome(ctx context.Context, p addrs.Provider) (*holding, error) {
	h := &holding{packages: map[packageKey]held{}}
	return h, m.scanArchives(ctx, h, p, homeOf(p))
}

// allPlatforms asks the source.
func (v *versionAdder) allPlatforms(ctx context.Context) ([]addrs.Platform, error) {
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
func (v *versionAdder) packages(ctx context.Context, platforms []addrs.Platform) (added []Added, failures []failure) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, platform := range platforms {
		wg.Go(func() {
			done, err := v.onePackage(ctx, platform)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				pkg := provider.Package{Provider: v.job.Provider, Version: v.job.Version, Platform: platform}
				failures = append(failures, failure{pkg.String(), failed("mirror", pkg.String(), err)})
				return
			}
			added = append(added, done)
		})
	}
	wg.Wait()
	return added, failures
}

// publish has the documents list all archives of the version that are on record: those
// that were added, and those that somebody added who then died.
func (v *versionAdder) publish(ctx context.Context) error {
	p, version := v.job.Provider, v.job.Version
	entries, err := v.look(ctx, v.names)
	if err != nil {
		return err
	}
	h := holdingOf(p, entries)
	changes := listing{}
	for _, platform := range h.platforms(version) {
		one := h.packages[packageKey{version, platform}]
		rec, err := v.readRecord(ctx, one.name)
		if err != nil && !errors.Is(err, errDocument) {
			return err
		}
		if rec != nil && rec.Size == one.size {
			changes[platform] = &recorded{rec, one.name}
		}
	}
	lists, err := v.list(ctx, p, version, changes)
	if err != nil || !lists {
		return err
	}
	return v.index.add(p, version, func(list []addrs.Version) error { return v.listVersions(ctx, p, list) })
}
