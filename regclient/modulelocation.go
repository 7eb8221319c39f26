package regclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
)

type moduleKey struct {
	module  addrs.Module
	version addrs.Version
}

// ModuleLocation returns the location of the package of m at v; see "Download Source Code for a
// Specific Module Version" in the protocol. It downloads nothing.
//
// The registry sends the location in the property location or in the header X-Terraform-Get.
// A location that starts with "/", "./" or "../" is relative to the requested URL. If the
// property use_registry_credentials is true or false, the registry serves the package itself,
// and [module.Location.Direct] is set; see [module.DirectLocation]. The names of both properties
// may have letters of any case. A null is the same as a missing property.
//
// If the registry refuses, one request for the versions finds out whether the module or the
// version is missing. A location on this machine is [module.ErrLocal].
func (c *Client) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	loc, err := c.findModule(ctx, moduleKey{m, v})
	return loc, source.Failed("find", moduleSubject(m, v), err)
}

func (c *Client) findModule(ctx context.Context, key moduleKey) (*module.Location, error) {
	if key.version.IsZero() {
		// Some registries would answer with their newest version.
		return nil, errors.New("the version is missing")
	}
	return source.Ask(key.version,
		func(text string) (*module.Location, error) { return c.askModule(ctx, key, text) },
		func(refused *failure.RequestError) (string, error) { return c.moduleUnavailable(ctx, refused, key) })
}

// askModule asks for a version by its text.
func (c *Client) askModule(ctx context.Context, key moduleKey, version string) (*module.Location, error) {
	r, err := c.moduleRequest(ctx, key.module, version, "download")
	if err != nil {
		return nil, err
	}
	loc, err := c.moduleLocations.Get(ctx, c.http, r, cloneLocation, func(_ context.Context, resp *httpx.Response) (*module.Location, error) {
		return decodeLocation(resp, r.URL)
	})
	if err == nil {
		loc.Module, loc.Version = key.module, key.version
	}
	return loc, err
}

func cloneLocation(l *module.Location) *module.Location {
	c := *l
	return &c
}

// moduleUnavailable is unavailable for modules.
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

// moduleSubject names a package in errors.
func moduleSubject(m addrs.Module, v addrs.Version) string {
	if v.IsZero() {
		return m.String()
	}
	return m.String() + " " + v.String()
}
