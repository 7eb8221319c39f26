package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ProviderVersions lists the versions of p that the mirror has packages of, newest first,
// with the platforms of each. Warnings tells of files that look like packages and whose
// names make no sense. The error is a [*provider.Error] and wraps
// [provider.ErrNotFound] if there is nothing of p.
func (m *Mirror) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	f, err := m.holds(ctx, p)
	if err != nil {
		return nil, failed("list versions of", p.String(), err)
	}
	return f.list(p), nil
}

// holds looks for the packages of a provider that must be there.
func (m *Mirror) holds(ctx context.Context, p addrs.Provider) (*files, error) {
	if p.IsZero() {
		return nil, errors.New("no provider is given")
	}
	f, err := m.scan(ctx, p)
	if err != nil {
		return nil, err
	}
	if f.entries == 0 && len(f.packages) == 0 {
		return nil, fmt.Errorf("the mirror has nothing of it: %w", provider.ErrNotFound)
	}
	return f, nil
}

// list returns the versions for the caller of a Source.
func (f *files) list(p addrs.Provider) *provider.Versions {
	return &provider.Versions{Provider: p, List: f.releases(), Warnings: f.warnings}
}

// ProviderPackage finds the package of p in version v for a platform. An archive comes
// with the hashes that the document of its version states, for other platforms too, and
// with what else is on record about it; a package that is unpacked has Dir set and
// nothing stated about it. Of an archive and a directory of the same package the
// archive is returned.
//
// URL is that of a file if the mirror is a local directory, and otherwise the name in the
// [Storage]. SumsURL and SignatureURL tell that a SHA256SUMS document and a signature have
// been kept.
//
// The error is a [*provider.Error] with [provider.ErrNotFound], or with an
// [*provider.UnavailableError].
func (m *Mirror) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	one, err := m.find(ctx, pkg)
	if err == nil {
		err = m.describe(ctx, pkg, one)
	}
	if err != nil {
		return nil, failed("find", pkg.String(), err)
	}
	return pkg, nil
}

// describe fills in what the mirror has of a package.
func (m *Mirror) describe(ctx context.Context, pkg *provider.Package, one held) error {
	if one.dir { // which only a local storage has
		var err error
		pkg.Dir, err = m.Storage.(Local).LocalPath(one.name)
		return err
	}
	pkg.Filename, pkg.URL = pkg.ArchiveName(), m.url(one.name)
	var err error
	if pkg.Hashes, err = m.hashes(ctx, pkg, one.name); err != nil {
		return err
	}
	rec, err := m.readRecord(ctx, one.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		rec.describe(pkg)
	}
	return err
}

// ArchiveURL returns the URL that [Mirror.ProviderPackage] gives to an archive with the canonical
// name, whether or not there is one.
func (m *Mirror) ArchiveURL(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return m.url(address{p, v, platform}.archive())
}

// url returns the URL of a file of the mirror: its name, or that of a file on this machine.
func (m *Mirror) url(name string) string {
	l, ok := m.Storage.(Local)
	if !ok {
		return (&url.URL{Path: name}).String()
	}
	path, err := l.LocalPath(name)
	if err != nil {
		return (&url.URL{Path: name}).String() // nothing can have it
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive of Windows
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// describe adds what is on record. If the archive has another size, it is not the one that
// was recorded, or damaged: Size then tells everybody who reads it.
func (rec *record) describe(pkg *provider.Package) {
	pkg.Size, pkg.Protocols = rec.Size, rec.Protocols
	if len(rec.Hashes) > 0 {
		if pkg.Hashes == nil {
			pkg.Hashes = map[addrs.Platform][]checksum.Hash{}
		}
		pkg.Hashes[pkg.Platform] = rec.Hashes
	}
	for _, h := range rec.Hashes {
		if h.Scheme() == checksum.SchemeZH {
			pkg.SHA256 = h
		}
	}
	saved := rec.Evidence
	if saved == nil || saved.Sums == "" {
		return
	}
	pkg.Filename, pkg.Keys = saved.Filename, saved.Keys
	pkg.SumsURL = recordName(pkg.URL) + "#sums"
	if len(saved.Signature) > 0 {
		pkg.SignatureURL = recordName(pkg.URL) + "#signature"
	}
}

// hashes returns those that the document of the version states, as far as they are about
// the archives beside it.
func (m *Mirror) hashes(ctx context.Context, pkg *provider.Package, archive string) (map[addrs.Platform][]checksum.Hash, error) {
	home := archive[:strings.LastIndexByte(archive, '/')]
	list, err := m.entries(ctx, home, pkg.Version)
	if err != nil {
		return nil, err
	}
	hashes := map[addrs.Platform][]checksum.Hash{}
	for platform, l := range list {
		if len(l.Hashes) == 0 || platform == pkg.Platform && resolve(home, l.URL) != archive {
			continue
		}
		hashes[platform] = l.Hashes
	}
	return hashes, nil
}

// Evidence returns what pkg states and, if they have been kept beside the archive, the
// SHA256SUMS document, the signature and the keys of the source that the archive came
// from. The signature so proves the same as it did there.
func (m *Mirror) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ev := pkg.Evidence()
	if pkg.SumsURL == "" {
		return ev, nil
	}
	name, err := m.archive(ctx, pkg)
	var rec *record
	if err == nil {
		rec, err = m.readRecord(ctx, name)
	}
	if err == nil && rec.Evidence == nil {
		err = fmt.Errorf("%s: %w", recordName(name), fs.ErrNotExist)
	}
	if err != nil {
		return verify.Evidence{}, failed("read the evidence about", pkg.String(), err)
	}
	ev.Filename, ev.Keys = rec.Evidence.Filename, rec.Evidence.Keys
	ev.Sums, ev.Signature = []byte(rec.Evidence.Sums), rec.Evidence.Signature
	return ev, nil
}

// archive returns the name of the archive of pkg. It is found by the address and not by
// the URL, which may come from anywhere.
func (m *Mirror) archive(ctx context.Context, pkg *provider.Package) (string, error) {
	if pkg.Dir != "" {
		return "", provider.ErrUnpacked
	}
	one, err := m.find(ctx, pkg)
	if err == nil && one.dir {
		err = provider.ErrUnpacked
	}
	return one.name, err
}

// Open opens the archive of pkg. The error wraps [provider.ErrUnpacked] if pkg is a
// directory.
func (m *Mirror) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	name, err := m.archive(ctx, pkg)
	var o *Object
	if err == nil {
		o, err = m.Storage.Open(ctx, name)
	}
	if err != nil {
		return nil, failed("open", pkg.String(), err)
	}
	return &provider.Body{ReadCloser: o.ReadCloser, Size: o.Size}, nil
}

// entries returns what the document of a version in a directory lists. The map is nil if there
// is no document.
func (m *Mirror) entries(ctx context.Context, dir string, v addrs.Version) (map[addrs.Platform]listed, error) {
	name := path.Join(dir, documentName(v))
	doc, err := m.read(ctx, name)
	if err != nil {
		return nil, err
	}
	list, err := parseEntries(doc.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}
