package cooldown

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

// Providers is a [provider.Source] that lists only the versions of another source that are old enough.
// Packages are those of the other source, of all versions. It is safe for concurrent use if the other
// source is.
type Providers struct {
	// Source has the providers. It must not be nil, except for Filter.
	provider.Source

	Rule // for providers that match a pattern of Include, if any, and none of Exclude

	// Include and Exclude limit the Rule. All versions of other providers are listed.
	Include, Exclude []provider.Pattern

	// Permit, if not nil, reports whether a version is listed whatever its age, for example [lockfile.File.Covers]
	// of a lock file. It may be called concurrently.
	//
	// [lockfile.File.Covers]: https://pkg.go.dev/github.com/tofureg/tofureg/provider/lockfile#File.Covers
	Permit func(addrs.Provider, addrs.Version) bool
}

// ProviderVersions lists the versions of Source as Filter returns them.
func (c *Providers) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := provider.CheckAnswers(c.Source).ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.Filter(ctx, p, versions)
}

// Filter returns the list of p with the versions that are not old enough in Held.
func (c *Providers) Filter(ctx context.Context, p addrs.Provider, versions *provider.Versions) (*provider.Versions, error) {
	if c.Age <= 0 || !selects(c.Include, c.Exclude, p) {
		return versions, nil
	}
	keep, held, err := filter(ctx, &c.Rule, Subject{Provider: p}, versions.List,
		func(r *provider.Release) (addrs.Version, *time.Time) { return r.Version, &r.Discovered },
		func(v addrs.Version) bool { return c.Permit != nil && c.Permit(p, v) },
		func(r provider.Release, until time.Time) provider.Held {
			return provider.Held{Release: r, Until: until}
		})
	if err != nil {
		return nil, failure.Wrap("list versions of", p.String(), err)
	}
	filtered := *versions
	filtered.List, filtered.Held = keep, append(slices.Clip(versions.Held), held...)
	return &filtered, nil
}

// Modules is a [module.Source] that lists only the versions of another source that are old enough.
// Locations are those of the other source, of all versions. It is safe for concurrent use if the other
// source is.
type Modules struct {
	// Source has the modules. It must not be nil.
	module.Source

	Rule // for modules that match a pattern of Include, if any, and none of Exclude

	// Include and Exclude limit the Rule. All versions of other modules are listed.
	Include, Exclude []module.Pattern

	// Permit, if not nil, reports whether a version is listed whatever its age. It may be called concurrently.
	Permit func(addrs.Module, addrs.Version) bool
}

// ModuleVersions lists the versions of Source. Those that are not old enough are in Held.
func (c *Modules) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	versions, err := c.Source.ModuleVersions(ctx, m)
	if err != nil || versions == nil {
		return nil, err
	}
	if c.Age <= 0 || !selects(c.Include, c.Exclude, m) {
		return versions, nil
	}
	keep, held, err := filter(ctx, &c.Rule, Subject{Module: m}, versions.List,
		func(r *module.Release) (addrs.Version, *time.Time) { return r.Version, &r.Discovered },
		func(v addrs.Version) bool { return c.Permit != nil && c.Permit(m, v) },
		func(r module.Release, until time.Time) module.Held { return module.Held{Release: r, Until: until} })
	if err != nil {
		return nil, failure.Wrap("list versions of", m.String(), err)
	}
	filtered := *versions
	filtered.List, filtered.Held = keep, append(slices.Clip(versions.Held), held...)
	return &filtered, nil
}

// filter judges the releases of a list and returns those that are listed and those that are held back.
func filter[R, H any](ctx context.Context, rule *Rule, of Subject, list []R, read func(*R) (addrs.Version, *time.Time), permit func(addrs.Version) bool, hold func(R, time.Time) H) (keep []R, held []H, err error) {
	versions := make([]Version, len(list))
	for i := range list {
		v, discovered := read(&list[i])
		versions[i] = Version{v, *discovered}
	}
	verdicts, err := rule.judge(ctx, of, versions, permit)
	if err != nil {
		return nil, nil, fmt.Errorf("when versions were first seen: %w", err)
	}
	all := slices.Clone(list)
	keep = all[:0]
	for i, v := range verdicts {
		_, discovered := read(&all[i])
		*discovered = v.seen
		if v.held {
			held = append(held, hold(all[i], rule.until(v.seen)))
		} else {
			keep = append(keep, all[i])
		}
	}
	return keep, held, nil
}
