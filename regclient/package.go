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
	pkg, err := source.Ask(v,
		func(text string) (*provider.Package, error) { return c.askPackage(ctx, key, text) },
		func(refused *failure.RequestError) (string, error) { return c.unavailable(ctx, refused, key) })
	return pkg, source.Failed("find", source.Subject(p, v, platform), err)
}

// askPackage asks for a version by its text.
func (c *Client) askPackage(ctx context.Context, key packageKey, version string) (*provider.Package, error) {
	r, err := c.providerRequest(ctx, key.provider, version, "download", key.platform.OS(), key.platform.Arch())
	if err != nil {
		return nil, err
	}
	r.Limit = maxPackage
	pkg, err := c.packages.Get(ctx, c.http, r, (*provider.Package).Clone, func(_ context.Context, resp *httpx.Response) (*provider.Package, error) {
		return c.decodePackage(resp, key)
	})
	if err == nil {
		pkg.Provider = key.provider // an alias of its host shares the request
	}
	return pkg, err
}

// providerRequest returns the request for a document about p.
func (c *Client) providerRequest(ctx context.Context, p addrs.Provider, parts ...string) (httpx.Request, error) {
	if p.IsBuiltIn() {
		return httpx.Request{}, fmt.Errorf("the provider is part of OpenTofu itself: %w", fault.ErrNotFound)
	}
	return c.documentRequest(ctx, p.Host(), disco.ProvidersV1, append([]string{p.Namespace(), p.Type()}, parts...)...)
}
