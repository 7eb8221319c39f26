package regdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ProviderVersions implements [provider.Lister].
func (r *Registry) ProviderVersions(ctx context.Context, p addrs.Provider) (_ *provider.Versions, err error) {
	defer func() { err = failure.Wrap("list versions of", p.String(), err) }()
	i, err := r.providerItem(p, addrs.Version{})
	if err != nil {
		return nil, err
	}
	list, err := r.listed(ctx, i)
	if err != nil {
		return nil, err
	}
	versions := &provider.Versions{Provider: p}
	for _, v := range list.versions() {
		rel := provider.Release{Version: v, Protocols: list[v].Protocols}
		for _, on := range list[v].Platforms {
			platform, err := addrs.NewPlatform(on.OS, on.Arch)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", i.list(), damaged("%w", err))
			}
			rel.Platforms = append(rel.Platforms, platform)
		}
		versions.List = append(versions.List, rel)
	}
	return versions, nil
}

// listed returns the list of versions. The error wraps failure.ErrNotFound if there is none.
func (r *Registry) listed(ctx context.Context, i item) (versionList, error) {
	doc, list, err := r.readList(ctx, i)
	if err == nil && doc.Revision == "" {
		err = fmt.Errorf("%s is missing: %w", i.list(), failure.ErrNotFound)
	}
	return list, err
}

// published returns the record of a version and its archive for a platform. The error wraps fs.ErrNotExist
// unless there is a document for clients.
func (r *Registry) published(ctx context.Context, i item, on addrs.Platform) (*record, packed, error) {
	if _, err := r.Store.Stat(ctx, i.document(on)); err != nil {
		return nil, packed{}, err
	}
	_, rec, err := r.read(ctx, i)
	if err != nil {
		return nil, packed{}, err
	}
	if rec != nil {
		if n := slices.IndexFunc(rec.Archives, func(a packed) bool { return a.Platform == on }); n >= 0 {
			return rec, rec.Archives[n], nil
		}
	}
	return nil, packed{}, &fs.PathError{Op: "open", Path: i.record(), Err: fs.ErrNotExist}
}

// ProviderPackage implements [provider.Lister]. The URLs are those at the host of the registry.
func (r *Registry) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (_ *provider.Package, err error) {
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform}
	defer func() { err = failure.Wrap("find", pkg.String(), err) }()
	i, err := r.providerItem(p, v)
	if err != nil {
		return nil, err
	}
	rec, a, err := r.published(ctx, i, platform)
	if isMissing(err) {
		versions, err := r.ProviderVersions(ctx, p)
		if err != nil {
			return nil, err
		}
		return nil, versions.Unavailable(v, platform)
	}
	if err != nil {
		return nil, err
	}
	pkg.Protocols, pkg.Keys, pkg.MustBeSigned = rec.Protocols, rec.Keys, true
	pkg.Filename, pkg.Size, pkg.SHA256 = pkg.ArchiveName(), a.Size, zhOf(a.Hashes)
	pkg.Hashes = map[addrs.Platform][]checksum.Hash{platform: a.Hashes}
	pkg.URL = r.url(rec.archive(i, platform))
	pkg.SumsURL, pkg.SignatureURL = r.url(rec.file(i, sumsName)), r.url(rec.file(i, signatureName))
	return pkg, nil
}

// Evidence implements [provider.Opener] for packages of ProviderPackage.
func (r *Registry) Evidence(ctx context.Context, pkg *provider.Package) (_ verify.Evidence, err error) {
	defer func() { err = failure.Wrap("read the evidence about", pkg.String(), err) }()
	archive, err := r.archiveOf(pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	ev, dir := pkg.Evidence(), path.Dir(archive)
	if ev.Sums, err = r.small(ctx, dir+"/"+sumsName, verify.MaxSums); err == nil {
		ev.Signature, err = r.small(ctx, dir+"/"+signatureName, verify.MaxSignature)
	}
	return ev, err
}

// Open implements [provider.Opener] for packages of ProviderPackage.
func (r *Registry) Open(ctx context.Context, pkg *provider.Package) (_ *provider.Body, err error) {
	defer func() { err = failure.Wrap("open", pkg.String(), err) }()
	archive, err := r.archiveOf(pkg)
	if err != nil {
		return nil, err
	}
	f, err := r.open(ctx, archive, pkg.Size)
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
}

// archiveOf returns the name of the archive that a package names. The caller may have read the package from a file, so
// the name must be one that an archive of the version can have.
func (r *Registry) archiveOf(pkg *provider.Package) (string, error) {
	if pkg == nil {
		return "", errors.New("the package is missing")
	}
	i, err := r.providerItem(pkg.Provider, pkg.Version)
	if err != nil {
		return "", err
	}
	rest, _ := strings.CutPrefix(pkg.URL, r.url(i.files())+"/")
	dir, name := path.Split(rest)
	rec := &record{Dir: path.Clean(dir)}
	if archive := rec.archive(i, pkg.Platform); isDigest(rec.Dir) && name == path.Base(archive) {
		return archive, nil
	}
	return "", errElsewhere
}

var errElsewhere = errors.New("its URL is not in the registry")

// small reads a file of at most max bytes.
func (r *Registry) small(ctx context.Context, name string, max int) ([]byte, error) {
	doc, err := stored.Read(ctx, r.Store, name)
	switch {
	case err != nil:
		return nil, err
	case doc.Revision == "":
		return nil, fmt.Errorf("%w: %s", provider.ErrNoFile, name)
	case len(doc.Data) > max:
		return nil, fmt.Errorf("%s %w: more than %d bytes", name, failure.ErrTooLarge, max)
	}
	return doc.Data, nil
}

// open opens an archive of this size.
func (r *Registry) open(ctx context.Context, name string, size int64) (*storage.File, error) {
	f, err := r.Store.Open(ctx, name)
	if isMissing(err) {
		return nil, fmt.Errorf("%w: %s: %w", provider.ErrNoFile, name, fs.ErrNotExist)
	}
	if err == nil && f.Size != size {
		f.Close()
		return nil, fmt.Errorf("%s: %w: %d bytes, want %d", name, stored.ErrDamaged, f.Size, size)
	}
	return f, err
}

// ModuleVersions implements [module.Lister].
func (r *Registry) ModuleVersions(ctx context.Context, m addrs.Module) (_ *module.Versions, err error) {
	defer func() { err = failure.Wrap("list versions of", m.String(), err) }()
	i, err := r.moduleItem(m, addrs.Version{})
	if err != nil {
		return nil, err
	}
	list, err := r.listed(ctx, i)
	if err != nil {
		return nil, err
	}
	versions := &module.Versions{Module: m}
	for _, v := range list.versions() {
		versions.List = append(versions.List, module.Release{Version: v})
	}
	return versions, nil
}

// ModuleLocation implements [module.Lister]. The location is at the host of the registry, and has a checksum.
// OpenModule opens it.
func (r *Registry) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (_ *module.Location, err error) {
	defer func() { err = failure.Wrap("find", m.String()+" "+v.String(), err) }()
	i, err := r.moduleItem(m, v)
	if err != nil {
		return nil, err
	}
	rec, a, err := r.published(ctx, i, addrs.Platform{})
	if isMissing(err) {
		versions, err := r.ModuleVersions(ctx, m)
		if err != nil {
			return nil, err
		}
		return nil, versions.Unavailable(v)
	}
	if err != nil {
		return nil, err
	}
	return &module.Location{
		Module: m, Version: v, Kind: module.KindHTTP, URL: r.url(rec.archive(i, a.Platform)), Subdir: rec.Subdir,
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
	rec, a, err := r.published(ctx, i, addrs.Platform{})
	switch {
	case isMissing(err):
		return nil, fmt.Errorf("%w: %w", module.ErrNotFound, err)
	case err != nil:
		return nil, err
	case loc.URL != r.url(rec.archive(i, a.Platform)):
		return nil, errElsewhere
	}
	f, err := r.open(ctx, rec.archive(i, a.Platform), a.Size)
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
}
