package provider_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/verify"
)

// TestReportsShareSums: all reports share one SHA256SUMS document in memory.
func TestReportsShareSums(t *testing.T) {
	t.Parallel()
	_, _, client := serveDemo(statingRelease())
	for name, o := range map[string]provider.HashOptions{"computed": {}, "stated": believing(verify.Policy{})} {
		reports := hashes(t, client, five, o)
		first := reports[five[0]].Sums
		for _, platform := range five {
			if sums := reports[platform].Sums; sums == nil || len(maps.Collect(sums.All())) < len(five) || sums != first {
				t.Errorf("%s: Sums of %s is %p, want the document of all, %p", name, platform, sums, first)
			}
		}
	}
}

// padded is a source whose SHA256SUMS documents have the given sizes.
type padded struct {
	provider.Source
	sizes []int
	asked atomic.Int32
}

func (s *padded) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.SumsURL += "?" + on.String()
	}
	return pkg, err
}

func (s *padded) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	n := int(s.asked.Add(1)) - 1
	ev := pkg.Evidence()
	ev.Sums = fmt.Appendf(nil, "%s  %s\n", pkg.SHA256.Value(), pkg.Filename)
	const head = 64 + 2 + 1
	for i := 0; len(ev.Sums) < s.sizes[n]; i++ {
		size := min(4000, s.sizes[n]-len(ev.Sums))
		if rest := s.sizes[n] - len(ev.Sums) - size; rest > 0 && rest < 100 {
			size -= 100
		}
		name := fmt.Sprintf("%d-%d-", n, i)
		ev.Sums = fmt.Appendf(ev.Sums, "%064x  %s%s\n", i, name, strings.Repeat("x", size-head-len(name)))
	}
	return ev, nil
}

// serveSystems returns a client of a registry with a release for n platforms.
func serveSystems(n int) *regclient.Client {
	r := demoRelease()
	r.Platforms = nil
	for _, platform := range systems(n) {
		r.Platforms = append(r.Platforms, platform.String())
	}
	_, _, client := serveDemo(r)
	return client
}

// TestSumsTogether: the total size of different documents is bounded.
func TestSumsTogether(t *testing.T) {
	t.Parallel()
	const n, each = 17, 1 << 20
	for _, more := range []int{0, 1} {
		client := serveSystems(n)
		pkg := must(client.ProviderPackage(t.Context(), demo, v123, systems(n)[0]))(t)
		limit := 16<<20 - len(pkg.Keys[0].Armor) // of all platforms, kept once
		src := &padded{Source: client, sizes: append(slices.Repeat([]int{each}, n-2), limit-(n-2)*each-1000, 1000+more)}
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}}
		reports, err := provider.Hashes(t.Context(), src, demo, v123, systems(n), o)
		if more == 0 && (err != nil || len(reports) != n) {
			t.Errorf("%d bytes together: %d reports, %v, want %d", limit, len(reports), err, n)
		}
		if more == 1 && (!errors.Is(err, failure.ErrTooLarge) || len(reports) != 0) {
			t.Errorf("%d bytes together: %d reports, %v, want none and ErrTooLarge", limit+more, len(reports), err)
		}
	}
}

// keyed is a source that lists another key for each platform.
type keyed struct{ provider.Source }

func (s keyed) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.Keys = append(pkg.Keys, verify.Key{Armor: on.String() + strings.Repeat(" ", 1<<20-len(on.String()))})
	}
	return pkg, err
}

// TestKeysTogether: the total size of different keys is bounded in all calls that share a limiter, and
// the rest of a call stops.
func TestKeysTogether(t *testing.T) {
	t.Parallel()
	client := serveSystems(16)
	for _, n := range []int{15, 16} { // with the key of all platforms, 16 are too large
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}, Limiter: new(provider.Limiter)}
		if _, err := provider.Hashes(t.Context(), keyed{client}, demo, v123, systems(8), o); errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("8 keys: %v", err)
		}
		reports, err := provider.Hashes(t.Context(), keyed{client}, demo, v123, systems(16)[8:n], o)
		if n == 15 && errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%d keys: %v", n, err)
		}
		if n == 16 && (!errors.Is(err, failure.ErrTooLarge) || len(reports) != 0) {
			t.Errorf("%d keys: %d reports, %v, want ErrTooLarge", n, len(reports), err)
		}
	}
}
