package regclient

import (
	"context"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

type packageKey struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

// ProviderPackage returns the package of p at v for a platform; see "Find a Provider Package" in
// the protocol. If the registry refuses, one request for the versions finds out whether the
// provider, the version or the platform is missing. If the registry lists the version in
// another form, such as "v1.2", it is then asked for in this form.
//
// ProviderPackage does not check the plugin protocols; [provider.Package.Fits] does.
func (c *Client) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	key := packageKey{p, v, platform}
	pkg, err := c.packages.Do(ctx, key, (*provider.Package).Clone, func(ctx context.Context) (*provider.Package, error) {
		return c.findPackage(ctx, key)
	})
	return pkg, source.Failed("find", source.Subject(p, v, platform), err)
}

func (c *Client) findPackage(ctx context.Context, key packageKey) (*provider.Package, error) {
	return source.Ask(key.version,
		func(text string) (*provider.Package, error) { return c.askPackage(ctx, key, text) },
		func(refused *failure.RequestError) (string, error) { return c.unavailable(ctx, refused, key) })
}

// get fetches the document about p at a path.
func (c *Client) get(ctx context.Context, p addrs.Provider, parts ...string) (*httpx.Response, error) {
	if p.IsBuiltIn() {
		return nil, fmt.Errorf("the provider is part of OpenTofu itself: %w", fault.ErrNotFound)
	}
	r, err := c.documentRequest(ctx, p.Host(), disco.ProvidersV1, parts...)
	if err != nil {
		return nil, err
	}
	return c.http.Get(ctx, r)
}

func (c *Client) askPackage(ctx context.Context, key packageKey, version string) (*provider.Package, error) {
	resp, err := c.get(ctx, key.provider, key.provider.Namespace(), key.provider.Type(),
		version, "download", key.platform.OS(), key.platform.Arch())
	if err != nil {
		return nil, err
	}
	pkg, err := c.decodePackage(resp, key)
	if err != nil {
		return nil, resp.Unusable(err)
	}
	return pkg, nil
}
