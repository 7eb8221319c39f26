package regclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/source"
)

// unavailable returns the reason why the registry refused a package, and the listed text of its
// version. Registries answer 404 for an unknown provider, version or platform, and some
// answer 400 or 500. The list of versions shows which one is missing.
func (c *Client) unavailable(ctx context.Context, refused *failure.RequestError, key packageKey) (listed string, reason error) {
	versions, err := c.ProviderVersions(ctx, key.provider)
	if err != nil {
		return "", noList(ctx, refused, "provider", err)
	}
	release, ok := versions.Find(key.version)
	// Without a list of platforms, all may exist.
	offered := ok && (len(release.Platforms) == 0 || slices.Contains(release.Platforms, key.platform))
	if offered && !errors.Is(refused.Err, fault.ErrNotFound) {
		return release.Listed, refused.Err
	}
	return release.Listed, versions.Unavailable(key.version, key.platform)
}

// noList returns the reason for a refusal if listing the versions has failed with err.
func noList(ctx context.Context, refused *failure.RequestError, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("the registry does not have the %s: %w", what, fault.ErrNotFound)
	}
	return source.Cause(refused, what)
}
