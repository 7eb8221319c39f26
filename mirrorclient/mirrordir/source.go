package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ProviderVersions lists the versions of p that have packages, newest first. Files with invalid names
// are reported in Warnings. The error wraps [provider.ErrNotFound] if the mirror has no files of p.
func (m *Mirror) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	f, err := m.packagesOf(ctx, p)
	if err != nil {
		return nil, failed("list versions of", p.String(), err)
	}
	return f.available(p), nil
}

// packagesOf lists the packages of a provider, and returns an error if there are none.
func (m *Mirror) packagesOf(ctx context.Context, p addrs.Provider) (*files, error) {
	if p.IsZero() {
		return nil, errors.New("the provider is missing")
	}
	f, err := m.listPackages(ctx, p)
	if err != nil {
		return nil, err
	}
	if f.count == 0 && len(f.packages) == 0 {
		return nil, fmt.Errorf("the mirror has no files of the provider: %w", provider.ErrNotFound)
	}
	return f, nil
}

// available returns the versions and platforms.
func (f *files) available(p addrs.Provider) *provider.Versions {
	warnings := slices.Clone(f.warnings)
	for v := range f.packages {
		if v.String() == "0.0.0" {
			warnings = append(warnings, `no constraint selects the listed version 0.0.0: the CLI interprets it as "no version"`)
		}
	}
	return &provider.Versions{Provider: p, List: f.releases(), Warnings: warnings}
}

// ProviderPackage returns the package of p in version v for a platform, with the recorded data and the
// hashes for all platforms in the document of the version. If the package is only unpacked, Dir is set
// and there are no hashes.
//
// URL is a file URL if Storage is [Local], and otherwise a name in the Storage. The error wraps
// [provider.ErrNotFound] or a [*provider.UnavailableError].
func (m *Mirror) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg := address{p, v, platform}.pkg()
	one, err := m.findPackage(ctx, pkg)
	if err == nil {
		err = m.describe(ctx, pkg, one)
	}
	if err != nil {
		return nil, failed("find", pkg.String(), err)
	}
	return pkg, nil
}

// describe sets the fields of pkg from the files of the mirror.
func (m *Mirror) describe(ctx context.Context, pkg *provider.Package, one packageFile) error {
	if one.dir { // the storage is local
		var err error
		pkg.Dir, err = m.Storage.(Local).LocalPath(one.name)
		return err
	}
	pkg.Filename, pkg.URL = pkg.ArchiveName(), m.fileURL(one.name)
	var err error
	if pkg.Hashes, err = m.statedHashes(ctx, pkg, one.name); err != nil {
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

// ArchiveURL returns the URL of an archive with the canonical name, whether or not it exists.
func (m *Mirror) ArchiveURL(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return m.fileURL(address{p, v, platform}.archive())
}

// fileURL returns the URL of a file: a file URL or its name.
func (m *Mirror) fileURL(name string) string {
	l, ok := m.Storage.(Local)
	if !ok {
		return (&url.URL{Path: name}).String()
	}
	path, err := l.LocalPath(name)
	if err != nil {
		return (&url.URL{Path: name}).String() // the file cannot exist
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter on Windows
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// describe sets the recorded data. If the archive has another size, it was changed or damaged: then
// its reader compares it with Size.
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

// statedHashes returns the hashes in the document of the version. It skips an entry for another file
// than the archive.
func (m *Mirror) statedHashes(ctx context.Context, pkg *provider.Package, archive string) (map[addrs.Platform][]checksum.Hash, error) {
	home := path.Dir(archive)
	list, err := m.readEntries(ctx, home, pkg.Version)
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

var errNoPackage = errors.New("the package is missing")

// Evidence returns the hashes in pkg and the recorded evidence.
func (m *Mirror) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if pkg == nil {
		return verify.Evidence{}, failed("read the evidence about", "", errNoPackage)
	}
	ev := pkg.Evidence()
	if pkg.SumsURL == "" {
		return ev, nil
	}
	name, err := m.archiveName(ctx, pkg)
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

// archiveName returns the name of the archive of pkg. It does not use the URL of pkg, since the caller
// may have read pkg from a file.
func (m *Mirror) archiveName(ctx context.Context, pkg *provider.Package) (string, error) {
	switch {
	case pkg == nil:
		return "", errNoPackage
	case pkg.Dir != "":
		return "", provider.ErrUnpacked
	}
	one, err := m.findPackage(ctx, pkg)
	if err == nil && one.dir {
		err = provider.ErrUnpacked
	}
	return one.name, err
}

// Open opens the archive of pkg. The error wraps [provider.ErrUnpacked] for an unpacked package.
func (m *Mirror) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	name, err := m.archiveName(ctx, pkg)
	var o *Object
	if err == nil {
		o, err = m.Storage.Open(ctx, name)
	}
	if err != nil {
		return nil, failed("open", pkg.String(), err)
	}
	return &provider.Body{ReadCloser: o.ReadCloser, Size: o.Size}, nil
}

// readEntries reads the entries of a document, nil if the document is missing.
func (m *Mirror) readEntries(ctx context.Context, dir string, v addrs.Version) (map[addrs.Platform]listed, error) {
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
