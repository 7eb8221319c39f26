package mirrordir

import (
	"context"
	"iter"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// All yields what the mirror holds: each version of each provider that there are archives
// of, with their platforms, sorted. It goes by the names and does not look at the content,
// nor at the documents; [Mirror.Check] does. Unpacked packages are not among it, since
// [Mirror.Add] has no use for them; all else that it yields, Add takes:
//
//	for held, err := range mirror.All(ctx) { … }
//
// A provider that cannot be looked at is yielded as an error, a [*provider.Error], and the
// rest follows; if ctx ends, or the mirror as a whole cannot be looked at, that error is the
// last. What is added or removed meanwhile may be missing or not.
func (m *Mirror) All(ctx context.Context) iter.Seq2[Want, error] {
	return func(yield func(Want, error) bool) {
		providers, err := m.providers(ctx, &reporter{})
		if err != nil {
			yield(Want{}, failed("list", "the mirror", err))
			return
		}
		for _, p := range providers {
			if !m.held(ctx, p, yield) {
				return
			}
		}
	}
}

// held yields the versions of one provider, the oldest first.
func (m *Mirror) held(ctx context.Context, p addrs.Provider, yield func(Want, error) bool) bool {
	f, err := m.list(ctx, p, homeOf(p))
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
