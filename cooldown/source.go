package cooldown

import (
	"context"
	"slices"

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
	return c.Filter(ctx, versions)
}

// Filter returns a list whose versions that are not old enough are in Held, newest first.
func (c *Providers) Filter(ctx context.Context, versions *provider.Versions) (*provider.Versions, error) {
	p := versions.Provider
	if c.Age <= 0 || !selects(c.Include, c.Exclude, p) {
		return versions, nil
	}
	list := make([]Version, len(versions.List))
	for i, r := range versions.List {
		list[i] = Version{r.Version, r.Discovered}
	}
	verdicts, err := c.judge(ctx, Subject{Provider: p}, list, func(v addrs.Version) bool { return c.Permit != nil && c.Permit(p, v) })
	if err != nil {
		return nil, failure.Wrap("list versions of", p.String(), err)
	}
	filtered := *versions
	filtered.List, filtered.Held = make([]provider.Release, 0, len(list)), slices.Clone(versions.Held)
	for i, r := range versions.List {
		r.Discovered = verdicts[i].seen
		if verdicts[i].held {
			filtered.Held = append(filtered.Held, provider.Held{Release: r, Until: verdicts[i].until})
		} else {
			filtered.List = append(filtered.List, r)
		}
	}
	slices.SortFunc(filtered.Held, func(a, b provider.Held) int { return b.Release.Version.Compare(a.Release.Version) })
	return &filtered, nil
}

// Modules is a [module.Source] that lists only the versions of another source that are old enough.
// Locations are those of the other source, of all versions. It is safe for concurrent use if the other
// source is.
type Modules struct {
	// Source has the modules. It must not be nil, except for Filter.
	module.Source

	Rule // for modules that match a pattern of Include, if any, and none of Exclude

	// Include and Exclude limit the Rule. All versions of other modules are listed.
	Include, Exclude []module.Pattern

	// Permit, if not nil, reports whether a version is listed whatever its age. It may be called concurrently.
	Permit func(addrs.Module, addrs.Version) bool
}

// ModuleVersions lists the versions of Source as Filter returns them.
func (c *Modules) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	versions, err := c.Source.ModuleVersions(ctx, m)
	if err != nil || versions == nil {
		return nil, err
	}
	return c.Filter(ctx, versions)
}

// Filter returns a list whose versions that are not old enough are in Held, newest first.
func (c *Modules) Filter(ctx context.Context, versions *module.Versions) (*module.Versions, error) {
	m := versions.Module
	if c.Age <= 0 || !selects(c.Include, c.Exclude, m) {
		return versions, nil
	}
	list := make([]Version, len(versions.List))
	for i, r := range versions.List {
		list[i] = Version{r.Version, r.Discovered}
	}
	verdicts, err := c.judge(ctx, Subject{Module: m}, list, func(v addrs.Version) bool { return c.Permit != nil && c.Permit(m, v) })
	if err != nil {
		return nil, failure.Wrap("list versions of", m.String(), err)
	}
	filtered := *versions
	filtered.List, filtered.Held = make([]module.Release, 0, len(list)), slices.Clone(versions.Held)
	for i, r := range versions.List {
		r.Discovered = verdicts[i].seen
		if verdicts[i].held {
			filtered.Held = append(filtered.Held, module.Held{Release: r, Until: verdicts[i].until})
		} else {
			filtered.List = append(filtered.List, r)
		}
	}
	slices.SortFunc(filtered.Held, func(a, b module.Held) int { return b.Release.Version.Compare(a.Release.Version) })
	return &filtered, nil
}
