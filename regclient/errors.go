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

// unavailable turns the registry's refusal of one package into the reason for it.
// Registries answer 404 for all of an unknown provider, version and platform, and
// some answer 400 or 500; the list of versions tells them apart. Refused is what
// remains if it does not.
func (c *Client) unavailable(ctx context.Context, refused *failure.RequestError, key packageKey) (listed string, reason error) {
	versions, err := c.ProviderVersions(ctx, key.provider)
	if err != nil {
		return "", noList(ctx, refused, "provider", err)
	}
	release, ok := versions.Find(key.version)
	// A list without platforms rules none out.
	offered := ok && (len(release.Platforms) == 0 || slices.Contains(release.Platforms, key.platform))
	if offered && !errors.Is(refused.Err, fault.ErrNotFound) {
		return release.Listed, refused.Err
	}
	return release.Listed, versions.Unavailable(key.version, key.platform)
}

// noList returns the reason for a refusal if there is no list of versions, because of err.
func noList(ctx context.Context, refused *failure.RequestError, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("the registry does not have the %s: %w", what, fault.ErrNotFound)
	}
	return source.PerhapsUnknown(refused, what).Err
}
