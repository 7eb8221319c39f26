package regdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// url returns the URL of a file at the registry's host.
func (r *Registry) url(name string) string {
	return (&url.URL{Scheme: "https", Host: r.host().String(), Path: "/" + name}).String()
}

// list reads the list of versions of an item. The error wraps failure.ErrNotFound if there is none.
func (r *Registry) list(ctx context.Context, i item) (versionList, error) {
	doc, err := stored.Read(ctx, r.Store, i.list())
	if err == nil && doc.Revision == "" {
		err = fmt.Errorf("%s is missing: %w", i.list(), failure.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return parseList(i, doc.Data)
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

// ProviderVersions implements [provider.Lister].
func (r *Registry) ProviderVersions(ctx context.Context, p addrs.Provider) (_ *provider.Versions, err error) {
	defer func() { err = failure.Wrap("list versions of", p.String(), err) }()
	i, err := r.providerItem(p, addrs.Version{})
	if err != nil {
		return nil, err
	}
	list, err := r.list(ctx, i)
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

// ProviderPackage implements [provider.Lister]. The URLs are those at the host of the registry.
func (r *Registry) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform}
	i, rec, a, err := r.find(ctx, pkg)
	if err != nil {
		return nil, failure.Wrap("find", pkg.String(), err)
	}
	pkg.Protocols, pkg.Keys, pkg.MustBeSigned = rec.Protocols, rec.Keys, true
	pkg.Filename, pkg.Size, pkg.SHA256 = a.Name, a.Size, a.ZH
	pkg.Hashes = map[addrs.Platform][]checksum.Hash{platform: a.hashes()}
	pkg.URL = r.url(rec.file(i, a.Name))
	pkg.SumsURL, pkg.SignatureURL = r.url(rec.file(i, sumsName)), r.url(rec.file(i, signatureName))
	return pkg, nil
}

// find returns the record and the archive of a package.
func (r *Registry) find(ctx context.Context, pkg *provider.Package) (i item, rec *record, a packed, err error) {
	if pkg == nil {
		return i, nil, a, errors.New("the package is missing")
	}
	if i, err = r.providerItem(pkg.Provider, pkg.Version); err != nil {
		return i, nil, a, err
	}
	if rec, a, err = r.published(ctx, i, pkg.Platform); !isMissing(err) {
		return i, rec, a, err
	}
	versions, err := r.ProviderVersions(ctx, pkg.Provider)
	if err != nil {
		return i, nil, a, err
	}
	return i, nil, a, versions.Unavailable(pkg.Version, pkg.Platform)
}

// named returns the directory of the files of a package by the URLs that [Registry.ProviderPackage] has
// stated, without a request. The caller may have read pkg from a file, so only names of files that the version
// can have are taken. It returns false for another package.
func (r *Registry) named(pkg *provider.Package) (dir string, ok bool) {
	if pkg == nil || len(pkg.Keys) == 0 || pkg.Size <= 0 || pkg.SHA256.IsZero() {
		return "", false
	}
	i, err := r.providerItem(pkg.Provider, pkg.Version)
	u, wrong := url.Parse(pkg.URL)
	if err != nil || wrong != nil {
		return "", false
	}
	rec := &record{Dir: path.Base(path.Dir(u.Path))}
	return path.Join(i.files(), rec.Dir), isDigest(rec.Dir) && isArchiveOf(i, packed{Name: pkg.Filename, Platform: pkg.Platform}) &&
		pkg.URL == r.url(rec.file(i, pkg.Filename)) && pkg.SumsURL == r.url(rec.file(i, sumsName)) && pkg.SignatureURL == r.url(rec.file(i, signatureName))
}

// look returns the directory of the files of a package, and the package as it is published.
func (r *Registry) look(ctx context.Context, pkg *provider.Package) (string, *provider.Package, error) {
	if dir, ok := r.named(pkg); ok {
		return dir, pkg, nil
	}
	i, rec, a, err := r.find(ctx, pkg)
	if err != nil {
		return "", nil, err
	}
	now := *pkg
	now.Filename, now.Size, now.Keys = a.Name, a.Size, rec.Keys
	return path.Join(i.files(), rec.Dir), &now, nil
}

// Evidence implements [provider.Opener].
func (r *Registry) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	dir, now, err := r.look(ctx, pkg)
	if err != nil {
		return verify.Evidence{}, failure.Wrap("read the evidence about", pkg.String(), err)
	}
	ev := pkg.Evidence()
	ev.Keys = now.Keys
	if ev.Sums, err = r.small(ctx, dir+"/"+sumsName, verify.MaxSums); err == nil {
		ev.Signature, err = r.small(ctx, dir+"/"+signatureName, verify.MaxSignature)
	}
	return ev, failure.Wrap("read the evidence about", pkg.String(), err)
}

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

// Open implements [provider.Opener].
func (r *Registry) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	dir, now, err := r.look(ctx, pkg)
	var f *storage.File
	if err == nil {
		f, err = r.open(ctx, dir+"/"+now.Filename, now.Size)
	}
	if err != nil {
		return nil, failure.Wrap("open", pkg.String(), err)
	}
	return &provider.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
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
	list, err := r.list(ctx, i)
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
		Module: m, Version: v, Kind: module.KindHTTP, URL: r.url(rec.file(i, a.Name)), Subdir: rec.Subdir,
		Archive: "tar.gz", Checksum: "sha256:" + a.ZH.Value(),
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
	case loc.URL != r.url(rec.file(i, a.Name)):
		return nil, errors.New("the location is not in the registry")
	}
	f, err := r.open(ctx, rec.file(i, a.Name), a.Size)
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: f.ReadCloser, Size: f.Size}, nil
}
