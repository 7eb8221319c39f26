package regclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
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
// led. With the property use_registry_credentials, whatever its value, the registry
// says that it serves the package itself: the location is then a URL and
// [module.Location.Direct] is set, as [module.DirectLocation] describes it.
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
	return loc, failed("find", moduleSubject(m, v), err)
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
	// A registry wants the spelling that it lists, or the canonical one, which is
	// all that the CLI ever asks for.
	texts := []string{c.moduleSpellings.Of(key.module, key.version), key.version.String()}
	loc, refused, err := c.askModules(ctx, key, slices.Compact(texts))
	if refused == nil {
		return loc, err
	}
	reason := c.moduleUnavailable(ctx, refused, key)
	// By now the list has been seen, and with it how the version is written there.
	if listed := c.moduleSpellings.Of(key.module, key.version); !slices.Contains(texts, listed) {
		loc, again, err := c.askModules(ctx, key, []string{listed})
		if again == nil {
			return loc, err
		}
	}
	return nil, refused.Because(reason)
}

// askModules asks for a version in each of its spellings until the registry does not
// refuse it. Refused is its first refusal if all are, see refusal.
func (c *Client) askModules(ctx context.Context, key moduleKey, texts []string) (loc *module.Location, refused *httpx.Error, err error) {
	for _, text := range texts {
		loc, err = c.askModule(ctx, key, text)
		r := httpx.Refusal(err)
		if r == nil {
			return loc, nil, err
		}
		if refused == nil {
			refused = r
		}
	}
	return nil, refused, refused
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
func (c *Client) moduleUnavailable(ctx context.Context, refused *httpx.Error, key moduleKey) error {
	versions, err := c.ModuleVersions(ctx, key.module)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fault.ErrNotFound):
		return fault.ErrNotFound
	case err != nil:
		return perhapsUnknown(refused).Err
	}
	_, listed := versions.Find(key.version)
	switch {
	case !listed:
		return versions.Unavailable(key.version)
	case errors.Is(refused.Err, fault.ErrNotFound):
		return fmt.Errorf("the version is listed, but has no location: %w", module.ErrNoVersion)
	}
	return refused.Err
}

// moduleSubject names a package for people.
func moduleSubject(m addrs.Module, v addrs.Version) string {
	if v.IsZero() {
		return m.String()
	}
	return m.String() + " " + v.String()
}
