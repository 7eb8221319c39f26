package regclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
)

type moduleKey struct {
	module  addrs.Module
	version addrs.Version
}

// ModuleLocation finds out where the package of m in version v is: "Download Source
// Code for a Specific Module Version" of the protocol, which downloads nothing yet.
//
// What counts is the property location of the answer, and after it the header
// X-Terraform-Get, which most registries send alone. A location that starts with
// "/", "./" or "../" is relative to the URL that was asked, not to where redirects
// led. If the property use_registry_credentials is true or false, the registry serves the
// package itself: the location is then a URL and [module.Location.Direct] is set, as
// [module.DirectLocation] describes it. Null means that the property is missing, as it
// does for the CLI.
//
// The error is a *module.Error, see the package comment. If the registry refuses, one
// request for the list of versions finds out whether it is the module or the version
// that it does not have. An answer that names another module of a registry, or a
// place on this machine, is refused; for the latter the error is ErrLocal.
func (c *Client) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	key := moduleKey{m, v}
	loc, err := c.moduleLocations.Do(ctx, key, cloneLocation, func(ctx context.Context) (*module.Location, error) {
		return c.findModule(ctx, key)
	})
	return loc, source.Failed("find", moduleSubject(m, v), err)
}

func cloneLocation(l *module.Location) *module.Location {
	c := *l
	return &c
}

func (c *Client) findModule(ctx context.Context, key moduleKey) (*module.Location, error) {
	if key.version.IsZero() {
		// Some registries would answer with their newest version.
		return nil, errors.New("no version is given")
	}
	return source.Ask(key.version,
		func(text string) (*module.Location, error) { return c.askModule(ctx, key, text) },
		func(refused *failure.RequestError) (string, error) { return c.moduleUnavailable(ctx, refused, key) })
}

func (c *Client) askModule(ctx context.Context, key moduleKey, version string) (*module.Location, error) {
	r, err := c.moduleRequest(ctx, key.module, version, "download")
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Get(ctx, r)
	if err != nil {
		return nil, err
	}
	loc, err := decodeLocation(resp, r.URL)
	if err != nil {
		return nil, resp.Unusable(err)
	}
	loc.Module, loc.Version = key.module, key.version
	return loc, nil
}

// moduleUnavailable turns the registry's refusal of one version into the reason for
// it, as unavailable does for providers.
func (c *Client) moduleUnavailable(ctx context.Context, refused *failure.RequestError, key moduleKey) (listed string, reason error) {
	versions, err := c.ModuleVersions(ctx, key.module)
	if err != nil {
		return "", noList(ctx, refused, "module", err)
	}
	release, ok := versions.Find(key.version)
	switch {
	case !ok:
		return "", versions.Unavailable(key.version)
	case errors.Is(refused.Err, fault.ErrNotFound):
		return release.Listed, fmt.Errorf("the version is listed, but has no location: %w", module.ErrNoVersion)
	}
	return release.Listed, refused.Err
}

// moduleSubject names a package for people.
func moduleSubject(m addrs.Module, v addrs.Version) string {
	if v.IsZero() {
		return m.String()
	}
	return m.String() + " " + v.String()
}
