package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ProviderVersions implements [provider.Lister] with the versions that have packages, whatever the index lists, with
// platforms but no protocols, newest first. Files with invalid names cause Warnings.
func (m *Mirror) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	f, err := m.packagesOf(ctx, p)
	if err != nil {
		return nil, failure.Wrap("list versions of", p.String(), err)
	}
	return f.available(p), nil
}

// ProviderPackage implements [provider.Lister]. A package has its recorded data, and the hashes for all platforms in
// the document. If it is only unpacked, Dir is set and there are no hashes. URL is a file URL in a local directory,
// otherwise a name in Store, relative for example to the URL of a bucket.
func (m *Mirror) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	one, doc, err := m.findPackage(ctx, pkg)
	if err == nil {
		err = m.describe(ctx, pkg, one, doc)
	}
	if err != nil {
		return nil, failure.Wrap("find", pkg.String(), err)
	}
	return pkg, nil
}

// describe sets the fields of pkg from its document and its record.
func (m *Mirror) describe(ctx context.Context, pkg *provider.Package, one packageFile, doc *document) (err error) {
	if one.dir {
		pather, _ := m.pather() // findPackage has found no directory without one
		pkg.Dir, err = pather.FilePath(one.name)
		return err
	}
	m.state(pkg, one, doc)
	_, rec, err := m.readRecord(ctx, recordOf(one.name, doc.Archives[pkg.Platform.String()]))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		rec.describe(pkg)
	}
	return err
}

// state sets the fields of pkg that the document states.
func (m *Mirror) state(pkg *provider.Package, one packageFile, doc *document) {
	pkg.Filename, pkg.URL = pkg.ArchiveName(), m.fileURL(one.name)
	pkg.Hashes = map[addrs.Platform][]checksum.Hash{}
	for platform, l := range doc.platforms() {
		// Skip an entry for another file than the archive.
		if len(l.Hashes) > 0 && (platform != pkg.Platform || resolve(path.Dir(one.name), l.URL) == one.name) {
			pkg.Hashes[platform] = l.Hashes
		}
	}
}

var errNoPackage = errors.New("the package is missing")

// Evidence returns the hashes in pkg and the recorded evidence.
func (m *Mirror) Evidence(ctx context.Context, pkg *provider.Package) (_ verify.Evidence, err error) {
	defer func() { err = failure.Wrap("read the evidence about", pkg.String(), err) }()
	if pkg != nil && pkg.SumsURL == "" {
		return pkg.Evidence(), nil
	}
	name, err := m.archiveName(pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	_, rec, err := m.readRecord(ctx, recordName(name))
	if rec == nil || rec.Evidence == nil || rec.Evidence.Sums == "" { // the document may name another record
		var doc *document
		if doc, err = m.readDocument(ctx, path.Dir(name), pkg.Version); err == nil {
			_, rec, err = m.readRecord(ctx, recordOf(name, doc.Archives[pkg.Platform.String()]))
		}
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && rec.Evidence == nil {
		err = fmt.Errorf("%w: the record of %s: %w", provider.ErrNoFile, name, fs.ErrNotExist)
	}
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := pkg.Evidence()
	ev.Filename, ev.Keys = rec.Evidence.Filename, rec.Evidence.Keys
	ev.Sums, ev.Signature = []byte(rec.Evidence.Sums), rec.Evidence.Signature
	return ev, nil
}

// ListedVersions implements [provider.Catalogue] with the versions in the index or, if it is missing, those with
// archives. Listed versions may have none.
func (m *Mirror) ListedVersions(ctx context.Context, p addrs.Provider) (_ []addrs.Version, err error) {
	defer func() { err = failure.Wrap("list versions of", p.String(), err) }()
	index, err := m.readIndex(ctx, p)
	if index.was != "" || err != nil {
		return slices.Collect(maps.Keys(index.list())), err
	}
	f, err := m.packagesOf(ctx, p)
	if err != nil {
		return nil, err
	}
	versions := make([]addrs.Version, 0, len(f.packages))
	for v, on := range f.packages {
		if slices.ContainsFunc(slices.Collect(maps.Values(on)), func(one packageFile) bool { return !one.dir }) {
			versions = append(versions, v)
		}
	}
	return versions, nil
}

// ListedArchives implements [provider.Catalogue] with the archives in the mirror that the document lists or, if it is
// missing, all archives without hashes. Listed archives may be missing.
func (m *Mirror) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (_ map[addrs.Platform][]checksum.Hash, err error) {
	defer func() { err = failure.Wrap("find", Want{Provider: p, Version: v}.String(), err) }()
	doc, err := m.readDocument(ctx, providerDir(p), v)
	if err != nil {
		return nil, err
	}
	hashes := map[addrs.Platform][]checksum.Hash{}
	for platform, l := range doc.platforms() {
		name := resolve(providerDir(p), l.URL)
		if _, of, _ := provider.ParseArchiveName(p, path.Base(name)); of == platform && isArchiveOf(p, v, name) {
			hashes[platform] = l.Hashes
		}
	}
	if len(hashes) > 0 {
		return hashes, nil
	}
	f, err := m.packagesOf(ctx, p)
	if err != nil {
		return nil, err
	}
	for platform, one := range f.packages[v] {
		if !one.dir && doc.was == "" {
			hashes[platform] = nil
		}
	}
	if len(hashes) == 0 {
		return nil, f.available(p).Unavailable(v, addrs.Platform{})
	}
	return hashes, nil
}

// linkLifetime is the time for which the URLs of [Mirror.ArchiveLink] are valid.
const linkLifetime = time.Hour

// ArchiveLink returns a URL of the archive of pkg in Store, valid for an hour, for the field Archive of handlers. If
// pkg is not from this mirror, or Store is no [storage.Linker], it returns "".
func (m *Mirror) ArchiveLink(ctx context.Context, pkg *provider.Package) (string, error) {
	linker, ok := storage.As[storage.Linker](m.Store)
	if pkg == nil || !ok || m.nameOf(pkg) == "" {
		return "", nil
	}
	link, err := linker.URL(ctx, m.nameOf(pkg), linkLifetime)
	return link, failure.Wrap("link to", pkg.String(), err)
}
