package regdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// ProviderVersions implements [provider.Lister].
func (r *Registry) ProviderVersions(ctx context.Context, p addrs.Provider) (_ *provider.Versions, err error) {
	defer func() { err = failure.Wrap("list versions of", p.String(), err) }()
	i, err := r.providerItem(p, addrs.Version{})
	if err != nil {
		return nil, err
	}
	_, list, err := r.readList(ctx, i)
	if err == nil && len(list.entries) == 0 {
		err = fmt.Errorf("%s is missing or empty: %w", i.list(), failure.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	versions := &provider.Versions{Provider: p}
	for _, v := range list.versions() {
		e := list.entries[v]
		versions.Versions = append(versions.Versions, provider.Release{Version: v, Protocols: e.Protocols, Platforms: e.platforms(providers)})
	}
	return versions, nil
}

// published returns the record of a version and its archive for a platform. The error wraps fs.ErrNotExist if it is missing.
func (r *Registry) published(ctx context.Context, i item, on addrs.Platform) (*record, packed, error) {
	_, rec, err := r.readRecord(ctx, i)
	if err != nil && !errors.Is(err, ErrExists) {
		return nil, packed{}, err
	}
	for _, a := range rec.published() {
		if a.Platform == on {
			return rec, a, nil
		}
	}
	return nil, packed{}, &fs.PathError{Op: "open", Path: i.record(), Err: fs.ErrNotExist}
}

// ProviderPackage implements [provider.Lister], with URLs at the host of the registry.
func (r *Registry) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (_ *provider.Package, err error) {
	asked := item{provider: p, version: v}.pkg(platform)
	defer func() { err = failure.Wrap("find", asked.String(), err) }()
	i, err := r.providerItem(p, v)
	if err != nil {
		return nil, err
	}
	rec, a, err := r.published(ctx, i, platform)
	if isMissing(err) {
		var versions *provider.Versions
		if versions, err = r.ProviderVersions(ctx, p); err == nil {
			err = versions.Unavailable(v, platform)
		}
	}
	if err != nil {
		return nil, err
	}
	return rec.pkg(i, a, r.url), nil
}

// Evidence implements [provider.Opener] for packages of ProviderPackage.
func (r *Registry) Evidence(ctx context.Context, pkg *provider.Package) (_ verify.Evidence, err error) {
	defer func() { err = failure.Wrap("read the evidence about", pkg.String(), err) }()
	archive, err := r.archiveOf(pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := pkg.Evidence()
	for i, data := range []*[]byte{&ev.Sums, &ev.Signature} {
		name := path.Join(path.Dir(archive), [...]string{sumsName, signatureName}[i])
		doc, err := stored.Read(ctx, r.Store, name)
		if err == nil && doc.Revision == "" {
			err = fmt.Errorf("%w: %s", provider.ErrNoFile, name)
		}
		if err != nil {
			return verify.Evidence{}, err
		}
		*data = doc.Data
	}
	return ev, nil
}

// Open implements [provider.Opener] for packages of ProviderPackage.
func (r *Registry) Open(ctx context.Context, pkg *provider.Package) (_ *provider.Body, err error) {
	defer func() { err = failure.Wrap("open", pkg.String(), err) }()
	archive, err := r.archiveOf(pkg)
	if err != nil {
		return nil, err
	}
	f, err := stored.Open(ctx, r.Store, archive)
	if isMissing(err) {
		err = fmt.Errorf("%w: %s: %w", provider.ErrNoFile, archive, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
}

// archiveOf returns the name of the archive that a package names.
func (r *Registry) archiveOf(pkg *provider.Package) (string, error) {
	if pkg == nil {
		return "", errors.New("the package is missing")
	}
	i, err := r.providerItem(pkg.Provider, pkg.Version)
	if err != nil {
		return "", err
	}
	return r.archiveAt(i, pkg.URL, pkg.Platform)
}

// ModuleVersions implements [module.Lister].
func (r *Registry) ModuleVersions(ctx context.Context, m addrs.Module) (_ *module.Versions, err error) {
	defer func() { err = failure.Wrap("list versions of", m.String(), err) }()
	i, err := r.moduleItem(m, addrs.Version{})
	if err != nil {
		return nil, err
	}
	_, list, err := r.readList(ctx, i)
	if err == nil && len(list.entries) == 0 {
		err = fmt.Errorf("%s is missing or empty: %w", i.list(), failure.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	versions := &module.Versions{Module: m}
	for _, v := range list.versions() {
		versions.Versions = append(versions.Versions, module.Release{Version: v})
	}
	return versions, nil
}

// ModuleLocation implements [module.Lister]. The location is at the host of the registry, and has a checksum.
func (r *Registry) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (_ *module.Location, err error) {
	defer func() { err = failure.Wrap("find", m.String()+" "+v.String(), err) }()
	i, err := r.moduleItem(m, v)
	if err != nil {
		return nil, err
	}
	rec, a, err := r.published(ctx, i, addrs.Platform{})
	if isMissing(err) {
		var versions *module.Versions
		if versions, err = r.ModuleVersions(ctx, m); err == nil {
			err = versions.Unavailable(v)
		}
	}
	if err != nil {
		return nil, err
	}
	return &module.Location{
		Module: m, Version: v, Kind: module.KindHTTP, URL: r.url(a.names(i)[0]), Subdir: rec.Subdir,
		Archive: "tar.gz", Checksum: "sha256:" + zhOf(a.Hashes).Value(),
	}, nil
}

// OpenModule implements [module.Opener] for locations of ModuleLocation.
func (r *Registry) OpenModule(ctx context.Context, loc *module.Location) (_ *module.Body, err error) {
	if loc == nil {
		return nil, failure.Wrap("open", "", errors.New("the location is missing"))
	}
	defer func() { err = failure.Wrap("open", loc.String(), err) }()
	i, err := r.moduleItem(loc.Module, loc.Version)
	if err != nil {
		return nil, err
	}
	archive, err := r.archiveAt(i, loc.URL, addrs.Platform{})
	if err != nil {
		return nil, err
	}
	f, err := stored.Open(ctx, r.Store, archive)
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", failure.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
}
