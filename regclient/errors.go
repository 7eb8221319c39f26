package regclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// unavailable turns the registry's refusal of one package into the reason for it.
// Registries answer 404 for all of an unknown provider, version and platform, and
// some answer 400 or 500; the list of versions tells them apart. Refused is what
// remains if it does not.
func (c *Client) unavailable(ctx context.Context, refused *failure.RequestError, p addrs.Provider, v addrs.Version, platform addrs.Platform) error {
	versions, err := c.ProviderVersions(ctx, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("the registry does not have the provider: %w", fault.ErrNotFound)
	case err != nil:
		return source.PerhapsUnknown(refused, "provider").Err
	}
	if !errors.Is(refused.Err, fault.ErrNotFound) && listed(versions, v, platform) {
		return refused.Err
	}
	return versions.Unavailable(v, platform)
}

// listed tells whether the registry means to have the package.
func listed(versions *provider.Versions, v addrs.Version, platform addrs.Platform) bool {
	r, ok := versions.Find(v)
	// A list without platforms rules none out.
	return ok && (len(r.Platforms) == 0 || slices.Contains(r.Platforms, platform))
}
