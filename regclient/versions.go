package regclient

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// ProviderVersions lists the versions of p, newest first; see "List Available Versions" in the
// protocol. Invalid versions and duplicates are ignored, with a warning. The error wraps
// [provider.ErrNotFound] if the registry does not know p.
func (c *Client) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := c.versions.Do(ctx, p, (*provider.Versions).Clone, func(ctx context.Context) (*provider.Versions, error) {
		resp, err := c.get(ctx, p, p.Namespace(), p.Type(), "versions")
		if e, ok := err.(*failure.RequestError); ok {
			return nil, source.PerhapsUnknown(e, "provider")
		}
		if err != nil {
			return nil, err
		}
		list, err := decodeVersions(resp)
		if err != nil {
			return nil, resp.Unusable(err)
		}
		return &provider.Versions{Provider: p, List: list.releases, Warnings: list.warnings}, nil
	})
	return versions, source.Failed("list versions of", p.String(), err)
}
