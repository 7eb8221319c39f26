package regclient

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// ProviderVersions lists the versions of p, newest first; see "List Available Versions" in the
// protocol. Invalid versions and duplicates are ignored, with a warning. The error wraps
// [provider.ErrNotFound] if the registry does not know p.
func (c *Client) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	const op = "list versions of"
	r, err := c.providerRequest(ctx, p, "versions")
	if err != nil {
		return nil, source.Failed(op, p.String(), err)
	}
	versions, err := c.versions.Get(ctx, c.http, r, (*provider.Versions).Clone, func(_ context.Context, resp *httpx.Response) (*provider.Versions, error) {
		list, err := decodeVersions(resp)
		if err != nil {
			return nil, err
		}
		return &provider.Versions{List: list.releases, Warnings: list.warnings}, nil
	})
	if err != nil {
		return nil, source.Failed(op, p.String(), source.PerhapsUnknown(err, "provider"))
	}
	versions.Provider = p
	return versions, nil
}
