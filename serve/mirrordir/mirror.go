package mirrordir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
)

// Mirror is a mirror in a [storage.Store], and a [provider.Source]. [Open] makes one for a directory. Set the
// fields before the first call. After it a Mirror is safe for concurrent use.
type Mirror struct {
	// Store contains the files. It must not be nil.
	Store storage.Store

	// TempDir is for temporary copies if Store is not a [storage.Stager]. If empty, [os.TempDir] is used.
	TempDir string

	nonce func() string // for tests; otherwise rand.Text
}

var _ provider.Source = (*Mirror)(nil)

// Open returns the mirror in a local directory. If it does not exist, the error wraps [fs.ErrNotExist].
//
// Store is a [storage.Dir] that lists symbolic links to unpacked packages.
func Open(dir string) (*Mirror, error) {
	if dir == "" {
		return nil, errors.New("open mirror: the directory is missing")
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: full, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	return &Mirror{Store: &storage.Dir{Path: full, Links: unpackedLinks}}, nil
}

// unpackedLinks permits links in place of an unpacked package, HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
func unpackedLinks(dir string) bool { return strings.Count(dir, "/") == 3 }

// pather returns the paths of files if the Store is in the file system. Packages then have file URLs and may be
// unpacked.
func (m *Mirror) pather() (storage.Pather, bool) { return storage.As[storage.Pather](m.Store) }

// IsLocal reports whether the files are in the file system: whether Store is a [storage.Pather]. Packages then have
// file URLs and may be unpacked.
func (m *Mirror) IsLocal() bool {
	_, ok := m.pather()
	return ok
}

// address identifies a package. In a finding the version and the platform may be zero.
type address struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

func addressOf(pkg *provider.Package) address {
	return address{pkg.Provider, pkg.Version, pkg.Platform}
}

// pkg returns a package with only the address.
func (a address) pkg() *provider.Package {
	return &provider.Package{Provider: a.provider, Version: a.version, Platform: a.platform}
}

// archive returns the canonical name of the archive.
func (a address) archive() string {
	return providerDir(a.provider) + "/" + a.pkg().ArchiveName()
}

// event returns an event about an archive of this size.
func (a address) event(kind provider.EventKind, size int64) provider.Event {
	return provider.Event{Kind: kind, Provider: a.provider, Version: a.version, Platform: a.platform, Bytes: size, Total: size}
}

// finding returns a finding about the file of this name.
func (a address) finding(kind FindingKind, name, format string, args ...any) Finding {
	return Finding{
		Kind: kind, Name: name, Provider: a.provider, Version: a.version, Platform: a.platform,
		Detail: fmt.Sprintf(format, args...),
	}
}

// providerDir returns the directory of a provider, with the host in Unicode like the CLI.
func providerDir(p addrs.Provider) string {
	return path.Join(p.Host().Display(), p.Namespace(), p.Type())
}

func indexName(p addrs.Provider) string { return providerDir(p) + "/index.json" }

// documentName returns the name of the document of a version.
func documentName(p addrs.Provider, v addrs.Version) string {
	return providerDir(p) + "/" + v.String() + ".json"
}

// documentNames returns the names of the documents of versions.
func documentNames(p addrs.Provider, versions []addrs.Version) (names []string) {
	for _, v := range versions {
		names = append(names, documentName(p, v))
	}
	return names
}

// resolve returns the name of the file for a URL in a document in the directory from, or "" if the URL
// leads out of the mirror.
func resolve(from, ref string) string {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "" || u.Opaque != "" || u.Host != "" || u.RawQuery != "" || u.Path == "" || u.Path[0] == '/' {
		return ""
	}
	name := path.Join(from, u.Path)
	if storage.CheckName(name) != nil || strings.HasPrefix(name, "../") || strings.HasSuffix(u.Path, "/") {
		return ""
	}
	return name
}

// isFresh reports whether the name of an archive or a record is one that belongs to one upload only, and not the
// usual one.
func isFresh(name string) bool {
	return strings.Count(strings.TrimPrefix(path.Base(name), recordPrefix), "_") == 4
}

// freshName returns a new name for an archive, which no other upload has.
func (m *Mirror) freshName(a address) string {
	return strings.TrimSuffix(a.archive(), ".zip") + "_" + strings.ToLower(m.text()) + ".zip"
}

// text returns a random text, for names and serials.
func (m *Mirror) text() string {
	if m.nonce != nil {
		return m.nonce()
	}
	return rand.Text()
}
