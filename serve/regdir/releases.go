package regdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Found is a release that [Registry.Releases] has found.
type Found struct {
	Release          // without Keys
	Missing []string // missing files, sorted: the signature, and listed archives and manifest
}

// Releases finds the releases of a namespace in a directory such as dist of goreleaser: each document
// terraform-provider-TYPE_VERSION_SHA256SUMS, with its manifest. They are sorted by provider and version. The caller
// sets Keys, and AllowMissing to publish a part.
func (r *Registry) Releases(ctx context.Context, dir, namespace string) ([]Found, error) {
	found, err := r.releases(ctx, dir, namespace)
	return found, failure.Wrap("find releases in", dir, err)
}

func (r *Registry) releases(ctx context.Context, dir, namespace string) (list []Found, err error) {
	root, err := fsx.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	regular := map[string]bool{}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		if info, err := root.Stat(e.Name()); err == nil { // of a link, its target
			regular[e.Name()] = info.Mode().IsRegular()
		}
	}
	for _, e := range entries {
		base, isProvider := strings.CutPrefix(e.Name(), "terraform-provider-")
		base, isSums := strings.CutSuffix(base, "_SHA256SUMS")
		if !isProvider || !isSums {
			continue
		}
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		rel, missing, err := r.releaseIn(dir, namespace, base, e.Name(), regular)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		list = append(list, Found{rel, missing})
	}
	slices.SortFunc(list, func(a, b Found) int {
		if c := a.Provider.Compare(b.Provider); c != 0 {
			return c
		}
		return a.Version.Compare(b.Version)
	})
	return list, nil
}

// releaseIn reads the SHA256SUMS document of a release TYPE_VERSION.
func (r *Registry) releaseIn(dir, namespace, base, name string, regular map[string]bool) (rel Release, missing []string, err error) {
	typ, version, ok := strings.Cut(base, "_")
	if !ok {
		return rel, nil, errors.New("the name has no version")
	}
	if rel.Provider, err = addrs.NewProvider(r.host(), namespace, typ); err != nil {
		return rel, nil, err
	}
	if rel.Version, err = addrs.ParseVersion(version); err != nil {
		return rel, nil, err
	}
	rel.Sums = filepath.Join(dir, name)
	data, err := fsx.ReadRegular(rel.Sums, scheme.MaxSums)
	if err != nil {
		return rel, nil, err
	}
	sums, err := verify.ParseSums(data)
	if err != nil {
		return rel, nil, err
	}
	need := []string{name + ".sig"}
	manifest := "terraform-provider-" + base + "_manifest.json"
	for listed := range sums.All() {
		if v, _, _ := provider.ParseArchiveName(rel.Provider, listed); v == rel.Version || listed == manifest {
			need = append(need, listed)
		}
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(need))) {
		if !regular[n] {
			missing = append(missing, n)
		}
	}
	if regular[manifest] {
		rel.Manifest = filepath.Join(dir, manifest)
	}
	return rel, missing, nil
}
