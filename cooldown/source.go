package cooldown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Providers is a [provider.Source] of the versions of Source that are old enough. It is safe for concurrent use
// if Source is.
type Providers struct {
	Source provider.Source // if nil, there are no providers; Filter does not need it

	Rule
	provider.Patterns // selects providers for the Rule

	// Permit, if not nil, reports whether a version is listed whatever its age, without a mark in a [Ledger], such
	// as [github.com/tofureg/tofureg/provider/lockfile.File.Locks]. It may be called concurrently.
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

// ProviderPackage calls Source.
func (c *Providers) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return provider.CheckAnswers(c.Source).ProviderPackage(ctx, p, v, platform)
}

// Evidence calls Source.
func (c *Providers) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return provider.CheckAnswers(c.Source).Evidence(ctx, pkg)
}

// Open calls Source.
func (c *Providers) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return provider.CheckAnswers(c.Source).Open(ctx, pkg)
}

// Filter returns a copy of the list of p with the versions that are too young in Held. It holds none back if c is
// nil or the Rule does not apply to p. The list must be complete or [provider.Versions.Partial]. For nil,
// it returns nil.
func (c *Providers) Filter(ctx context.Context, p addrs.Provider, versions *provider.Versions) (*provider.Versions, error) {
	versions = versions.Clone()
	if versions == nil || c == nil || c.Age <= 0 || !c.Selects(p) {
		return versions, nil
	}
	keep, held, err := filter(ctx, &c.Rule, Subject{Provider: p}, versions.Versions, versions.Partial,
		func(r *provider.Release) (addrs.Version, *time.Time) { return r.Version, &r.Discovered },
		func(v addrs.Version) bool { return c.Permit != nil && c.Permit(p, v) },
		func(r provider.Release, until time.Time) provider.Held {
			return provider.Held{Release: r, Until: until}
		})
	if err != nil {
		return nil, failure.Wrap("list versions of", p.String(), err)
	}
	versions.Versions, versions.Held = keep, append(versions.Held, held...)
	return versions, nil
}

// Modules is a [module.Source] that is like [Providers].
type Modules struct {
	Source module.Source // must not be nil

	Rule // for modules that match Include, if not empty, but not Exclude

	// Include ignores the case of names, as many registries do.
	Include, Exclude []module.Pattern

	Permit func(addrs.Module, addrs.Version) bool // as in [Providers]
}

// ModuleVersions lists the versions of Source, too young ones in Held.
func (c *Modules) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	if c.Source == nil {
		return nil, errNoSource
	}
	versions, err := c.Source.ModuleVersions(ctx, m)
	if err != nil || versions == nil {
		return nil, err
	}
	includes := func(p module.Pattern) bool { return matchesAnyCase(p, m) }
	excludes := func(p module.Pattern) bool { return p.Matches(m) }
	if c.Age <= 0 || len(c.Include) > 0 && !slices.ContainsFunc(c.Include, includes) || slices.ContainsFunc(c.Exclude, excludes) {
		return versions, nil
	}
	keep, held, err := filter(ctx, &c.Rule, Subject{Module: m}, versions.Versions, versions.Partial,
		func(r *module.Release) (addrs.Version, *time.Time) { return r.Version, &r.Discovered },
		func(v addrs.Version) bool { return c.Permit != nil && c.Permit(m, v) },
		func(r module.Release, until time.Time) module.Held { return module.Held{Release: r, Until: until} })
	if err != nil {
		return nil, failure.Wrap("list versions of", m.String(), err)
	}
	filtered := *versions
	filtered.Versions, filtered.Held = keep, append(slices.Clip(versions.Held), held...)
	return &filtered, nil
}

// ModuleLocation calls Source.
func (c *Modules) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	if c.Source == nil {
		return nil, errNoSource
	}
	return c.Source.ModuleLocation(ctx, m, v)
}

// OpenModule calls Source.
func (c *Modules) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	if c.Source == nil {
		return nil, errNoSource
	}
	return c.Source.OpenModule(ctx, loc)
}

var errNoSource = errors.New("cooldown.Modules: Source is nil")

// matchesAnyCase reports whether p matches m if the case of names does not count.
func matchesAnyCase(p module.Pattern, m addrs.Module) bool {
	lower, err := module.ParsePattern(strings.ToLower(p.String()))
	of, err2 := addrs.ParseModule(strings.ToLower(m.String()))
	return err == nil && err2 == nil && lower.Matches(of) || p.Matches(m)
}

// filter judges the releases of a list and returns those that are listed and those that are held back.
func filter[R, H any](ctx context.Context, rule *Rule, of Subject, list []R, partial bool, read func(*R) (addrs.Version, *time.Time), permit func(addrs.Version) bool, hold func(R, time.Time) H) (keep []R, held []H, err error) {
	versions := make([]Version, len(list))
	for i := range list {
		v, discovered := read(&list[i])
		versions[i] = Version{v, *discovered}
	}
	verdicts, err := rule.judge(ctx, of, versions, partial, permit)
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
