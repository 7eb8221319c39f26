package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
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
			if sums := reports[platform].Sums; sums == nil || sums.Len() < len(five) || sums != first {
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

// TestSumsTogether: the total size of different documents is bounded.
func TestSumsTogether(t *testing.T) {
	t.Parallel()
	const each = 1 << 20
	for _, more := range []int{0, 1} {
		_, _, client := serveDemo(demoRelease())
		pkg := must(client.ProviderPackage(t.Context(), demo, v123, five[0]))(t)
		limit := 4<<20 - len(pkg.Keys[0].Armor) // of all platforms, kept once
		src := &padded{Source: client, sizes: []int{each, each, each, limit - 3*each - 1000, 1000 + more}}
		o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}}
		reports, err := provider.Hashes(t.Context(), src, demo, v123, five, o)
		if more == 0 && (err != nil || len(reports) != 5) {
			t.Errorf("%d bytes together: %d reports, %v, want 5", limit, len(reports), err)
		}
		if more == 1 && (!errors.Is(err, provider.ErrTooLarge) || len(reports) != 0) {
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

// TestKeysTogether: the total size of different keys is bounded, and the rest stops.
func TestKeysTogether(t *testing.T) {
	t.Parallel()
	_, _, client := serveDemo(demoRelease())
	o := provider.HashOptions{Policy: verify.Policy{AllowUnsigned: true}}
	for _, n := range []int{3, 4} { // with the key of all platforms, four are too large
		reports, err := provider.Hashes(t.Context(), keyed{client}, demo, v123, five[:n], o)
		if n == 3 && errors.Is(err, provider.ErrTooLarge) {
			t.Errorf("%d keys: %v", n, err)
		}
		if n == 4 && (!errors.Is(err, provider.ErrTooLarge) || len(reports) != 0) {
			t.Errorf("%d keys: %d reports, %v, want ErrTooLarge", n, len(reports), err)
		}
	}
}
