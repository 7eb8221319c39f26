// Filter hides the prereleases of any source.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/layout/testdata/readers/internal/sources"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/verify/checksum"
)

// stable has no Unwrap: it changes which versions there are (provider.As).
type stable struct{ provider.Source }

func (s stable) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	list, err := s.Source.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	list = list.Clone()
	list.Versions = slices.DeleteFunc(list.Versions, func(r provider.Release) bool { return r.Version.IsPrerelease() })
	list.Held = slices.DeleteFunc(list.Held, func(h provider.Held) bool { return h.Release.Version.IsPrerelease() })
	return list, nil
}

func (s stable) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if !v.IsPrerelease() {
		return s.Source.ProviderPackage(ctx, p, v, on)
	}
	list, err := s.ProviderVersions(ctx, p)
	if err == nil {
		err = failure.Wrap("package", p.String(), list.Unavailable(v, on))
	}
	return nil, err
}

// stableVerified has, filtered too, what a mirror or a cache tells a server.
type stableVerified struct {
	stable
	provider.Verified
}

func (s stableVerified) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	list, err := s.Verified.ListedVersions(ctx, p)
	return slices.DeleteFunc(slices.Clone(list), addrs.Version.IsPrerelease), err
}

func (s stableVerified) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	if v.IsPrerelease() {
		return nil, failure.ErrNotFound
	}
	return s.Verified.ListedArchives(ctx, p, v)
}

func filter(src provider.Source) provider.Source {
	if v, ok := provider.As[provider.Verified](src); ok {
		return stableVerified{stable{src}, v}
	}
	return stable{src}
}

func main() {
	ctx, dir := context.Background(), sources.Must(os.MkdirTemp("", "filter"))
	defer os.RemoveAll(dir)
	for i, src := range sources.All(dir, "1.0.0", "1.1.0-beta1") {
		s := filter(src)
		in := &install.Installer{Source: s, Dir: &install.Dir{Path: fmt.Sprint(dir, "/plugins", i)}, Platform: sources.Here, Policy: sources.Policy(src)}
		result := sources.Must(in.Ensure(ctx, install.Requirements{sources.Alpha: addrs.MustParseProviderConstraint(">= 1.0.0")}, nil))
		_, err := provider.Find(ctx, s, sources.Alpha, addrs.MustParseProviderConstraint("1.1.0-beta1"), provider.Need{})
		h := &mirrorserve.Handler{Source: s, Platforms: []addrs.Platform{sources.Here}, Policy: in.Policy}
		fmt.Printf("%T %s %t", src, result.Selections[0].Version, err != nil)
		fmt.Println("", sources.Get(h, "index.json"), sources.Get(h, "1.0.0.json"), sources.Get(h, "1.1.0-beta1.json"))
	}
}

// Output:
// *regclient.Client 1.0.0 true 200 200 404
// *mirrordir.Mirror 1.0.0 true 200 200 404
// *mirrorclient.Client 1.0.0 true 200 200 404
// *provider.Multi 1.0.0 true 200 200 404
