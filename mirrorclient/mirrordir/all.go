package mirrordir

import (
	"context"
	"iter"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// All yields each version of each provider that has archives, with their platforms, sorted. It reads
// only names. If it cannot list a provider, it yields a [*provider.Error] and continues.
func (m *Mirror) All(ctx context.Context) iter.Seq2[Want, error] {
	return func(yield func(Want, error) bool) {
		providers, err := m.providers(ctx, &reporter{})
		if err != nil {
			yield(Want{}, failed("list", "the mirror", err))
			return
		}
		for _, p := range providers {
			if !m.yieldVersions(ctx, p, yield) {
				return
			}
		}
	}
}

// yieldVersions yields the versions of one provider, oldest first.
func (m *Mirror) yieldVersions(ctx context.Context, p addrs.Provider, yield func(Want, error) bool) bool {
	f, err := m.listFiles(ctx, p, providerDir(p))
	if err != nil {
		return yield(Want{}, failed("list", p.String(), err)) && ctx.Err() == nil
	}
	for _, r := range slices.Backward(f.releases()) {
		if !yield(Want{Provider: p, Version: r.Version, Platforms: r.Platforms}, nil) {
			return false
		}
	}
	return true
}
