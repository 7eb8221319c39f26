package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// padded is a source with a SHA256SUMS document of a given size in bytes for each platform.
type padded struct {
	provider.Source
	sizes map[addrs.Platform]int
}

func (s padded) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := s.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg.SumsURL += "?" + on.String()
	}
	return pkg, err
}

func (s padded) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	const head, longest = 64 + 2 + 1, 4000
	ev := pkg.Evidence()
	ev.Sums = fmt.Appendf(nil, "%s  %s\n", pkg.SHA256.Value(), pkg.Filename)
	for i := 0; len(ev.Sums) < s.sizes[pkg.Platform]; i++ {
		size := min(longest, s.sizes[pkg.Platform]-len(ev.Sums))
		if rest := s.sizes[pkg.Platform] - len(ev.Sums) - size; rest > 0 && rest < 100 {
			size -= 100
		}
		name := fmt.Sprintf("%s-%d-", pkg.Platform, i)
		ev.Sums = fmt.Appendf(ev.Sums, "%064x  %s%s\n", i, name, strings.Repeat("x", size-head-len(name)))
	}
	return ev, nil
}

// TestSumsTogether: the different SHA256SUMS documents of one version are limited together.
func TestSumsTogether(t *testing.T) {
	t.Parallel()
	const each, limit = 1 << 20, 16 << 20
	for _, more := range []int{0, 1} {
		sizes := map[addrs.Platform]int{}
		for i := range limit/each - 1 {
			sizes[addrs.MustParsePlatform(fmt.Sprintf("linux_a%d", i))] = each
		}
		sizes[addrs.MustParsePlatform("linux_arm64")] = each - 1000
		sizes[addrs.MustParsePlatform("linux_386")] = 1000 + more
		platforms := slices.Collect(maps.Keys(sizes))
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: names(platforms)})
		m, _ := newMirror(t)
		o := mirrordir.AddOptions{Policy: policyOf(verify.Policy{AllowUnsigned: true})}
		added, err := m.Add(t.Context(), padded{client(reg), sizes}, wants(platforms, v1), o)
		if more == 0 && (err != nil || len(added) != 17) {
			t.Errorf("Add with %d bytes of documents: %d packages, %v, want 17", limit, len(added), err)
		}
		if more == 1 && (!errors.Is(err, failure.ErrTooLarge) || len(added) != 16) {
			t.Errorf("Add with %d bytes of documents: %d packages, %v, want 16 and ErrTooLarge", limit+more, len(added), err)
		}
	}
}
