package mirrordir

import (
	"context"
	"iter"
	"slices"
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
			f, err := m.listFiles(ctx, p, providerDir(p))
			if err != nil {
				if !yield(Want{}, failed("list", p.String(), err)) || ctx.Err() != nil {
					return
				}
				continue
			}
			for _, r := range slices.Backward(f.releases()) { // oldest first
				if !yield(Want{Provider: p, Version: r.Version, Platforms: r.Platforms}, nil) {
					return
				}
			}
		}
	}
}
