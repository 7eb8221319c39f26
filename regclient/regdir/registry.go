package regdir

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Registry is a registry in a [storage.Store], and a [provider.Source] and a [module.Source]. Set the
// fields before the first call. After it a Registry is safe for concurrent use.
type Registry struct {
	// Store contains the files. It must not be nil.
	Store storage.Store

	// Host is the host of all addresses. If zero, [addrs.DefaultHost] is used. A store has the providers
	// and modules of one host.
	Host svchost.Hostname

	// TempDir is for temporary files. If empty, [os.TempDir] is used.
	TempDir string
}

var (
	_ provider.Source = (*Registry)(nil)
	_ module.Source   = (*Registry)(nil)
)

// ErrExists means that the version is already published with other content.
var ErrExists = errors.New("the version is already published with other content")

func (r *Registry) host() svchost.Hostname {
	if r.Host.IsZero() {
		return addrs.DefaultHost()
	}
	return r.Host
}

// url returns the URL of a file at the registry's host.
func (r *Registry) url(name string) string {
	return (&url.URL{Scheme: "https", Host: r.host().String(), Path: "/" + name}).String()
}

// The kinds of items, as in paths.
const (
	providers = "providers"
	modules   = "modules"
)

// item is a provider or a module, and one of its versions where it is needed.
type item struct {
	kind     string         // providers or modules
	path     string         // NAMESPACE/TYPE or NAMESPACE/NAME/SYSTEM
	provider addrs.Provider // zero for a module
	version  addrs.Version
}

func (r *Registry) providerItem(p addrs.Provider, v addrs.Version) (item, error) {
	if p.IsZero() || p.IsBuiltIn() || p.IsLegacy() {
		return item{}, fault.Narrow(fmt.Sprintf("no registry can have the provider %q", p), failure.ErrNotFound)
	}
	return r.item(p.Host(), item{providers, p.Namespace() + "/" + p.Type(), p, v})
}

func (r *Registry) moduleItem(m addrs.Module, v addrs.Version) (item, error) {
	if m.IsZero() {
		return item{}, errors.New("the module is missing")
	}
	return r.item(m.Host(), item{modules, m.Namespace() + "/" + m.Name() + "/" + m.System(), addrs.Provider{}, v})
}

// item returns an item of the host of the registry.
func (r *Registry) item(host svchost.Hostname, i item) (item, error) {
	if host != r.host() {
		return item{}, fault.Narrow("the address has another host than the registry, "+r.host().Display(), failure.ErrNotFound)
	}
	return i, nil
}

// String returns the release as in records.
func (i item) String() string { return i.path + " " + i.version.String() }

// pkg returns a package of a provider with only its address.
func (i item) pkg(on addrs.Platform) *provider.Package {
	return &provider.Package{Provider: i.provider, Version: i.version, Platform: on}
}

// list returns the name of the document that lists the versions.
func (i item) list() string { return path.Join("v1", i.kind, i.path, "versions") }

// documents returns the directory of the documents of the version.
func (i item) documents() string { return path.Join("v1", i.kind, i.path, i.version.String()) }

// document returns the name of the document of an archive, for a module without a platform.
func (i item) document(on addrs.Platform) string {
	return path.Join(i.documents(), "download", on.OS(), on.Arch())
}

// files returns the directory of the files of the version.
func (i item) files() string { return path.Join("files", i.kind, i.path, i.version.String()) }

// record returns the name of the record. It lies beside the files, since clients need no record.
func (i item) record() string { return i.files() + "/record.json" }

// record is the content of the file that decides what is published of a version.
type record struct {
	// Removed, if not empty, makes the record a tombstone: the version is being removed. The other fields
	// describe what documents may still name. Each tombstone has another text.
	Removed string `json:"removed,omitempty"`

	Release string `json:"release"` // as String of item

	// For providers:
	Dir       string       `json:"dir,omitempty"` // directory of the files; a digest of SHA256SUMS, its signature and Keys
	Protocols []string     `json:"protocols,omitempty"`
	Keys      []verify.Key `json:"keys,omitempty"`

	// For modules:
	Subdir string        `json:"subdir,omitempty"`
	H1     checksum.Hash `json:"h1,omitzero"` // as H1 of module.Report

	Archives []packed `json:"archives,omitempty"` // one for each platform of a provider, sorted
}

// packed is an archive.
type packed struct {
	Platform addrs.Platform  `json:"platform,omitzero"` // zero for a module
	Size     int64           `json:"size"`
	Hashes   []checksum.Hash `json:"hashes"` // sorted; with the zh
}

// zhOf returns the zh in hashes of an archive.
func zhOf(hashes []checksum.Hash) checksum.Hash {
	return checksum.WithScheme(hashes, checksum.SchemeZH)[0]
}

// sortArchives sorts archives by platform. Of two for one platform it keeps the first.
func sortArchives(list []packed) []packed {
	slices.SortStableFunc(list, func(a, b packed) int { return a.Platform.Compare(b.Platform) })
	return slices.CompactFunc(list, func(a, b packed) bool { return a.Platform == b.Platform })
}

// The names of files beside the archives of a provider.
const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig"
)

// file returns the name of a file of the version.
func (rec *record) file(i item, name string) string { return path.Join(i.files(), rec.Dir, name) }

// archive returns the name of an archive of the version.
func (rec *record) archive(i item, on addrs.Platform) string {
	switch {
	case i.kind == providers:
		return rec.file(i, i.pkg(on).ArchiveName())
	case rec.Subdir != "":
		return rec.file(i, "tree.tar.gz")
	}
	return rec.file(i, "package.tar.gz") // rules of web servers can tell it from the path of the document
}

// check returns an error unless rec describes a version that can be published.
func (rec *record) check(i item) error {
	if rec.Release != i.String() {
		return damaged("it is of %.200q", rec.Release)
	}
	isProvider, seen := i.kind == providers, map[addrs.Platform]bool{}
	for _, a := range rec.Archives {
		if a.Size <= 0 || !checksum.HasScheme(a.Hashes, checksum.SchemeZH) || a.Platform.IsZero() == isProvider || seen[a.Platform] {
			return damaged("the archive for the platform %q is invalid", a.Platform)
		}
		seen[a.Platform] = true
	}
	_, invalid := addrs.ParseSubdir(rec.Subdir)
	switch {
	case len(seen) == 0:
		return damaged("it has no archives")
	case isProvider && !isDigest(rec.Dir), !isProvider && rec.Dir != "":
		return damaged("the directory is %.200q", rec.Dir)
	case !isProvider && rec.H1.IsZero():
		return damaged("it has no h1")
	case rec.Subdir != "" && invalid != nil:
		return damaged("%w", invalid)
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{stored.ErrDamaged}, args...)...)
}

// isDigest reports whether a directory of files has the name of one.
func isDigest(dir string) bool {
	return len(dir) == digestLen && strings.Trim(dir, "0123456789abcdef") == ""
}

// render returns the documents of the version by name.
func (rec *record) render(i item) (map[string][]byte, error) {
	docs := map[string][]byte{}
	var keys []regwire.Key
	for _, key := range rec.Keys {
		keys = append(keys, regwire.Key{ID: key.ID, Armor: key.Armor, TrustSignature: key.TrustSignature, Source: key.Source, SourceURL: key.SourceURL})
	}
	for _, a := range rec.Archives {
		name, archive := i.document(a.Platform), rec.archive(i, a.Platform)
		location := relative(name, archive)
		if rec.Subdir != "" {
			location += "//" + (&url.URL{Path: rec.Subdir}).EscapedPath()
		}
		var doc any = map[string]string{"location": location}
		if i.kind == providers {
			doc = regwire.Package{
				Protocols: rec.Protocols, OS: a.Platform.OS(), Arch: a.Platform.Arch(),
				Filename: path.Base(archive), Shasum: zhOf(a.Hashes).Value(),
				DownloadURL:  location,
				SumsURL:      relative(name, rec.file(i, sumsName)),
				SignatureURL: relative(name, rec.file(i, signatureName)),
				SigningKeys:  map[string][]regwire.Key{"gpg_public_keys": keys},
				Packages:     map[string]regwire.Hashes{a.Platform.String(): {Hashes: a.Hashes, Size: a.Size}},
			}
		}
		var err error
		if docs[name], err = stored.Encode(doc); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// relative returns the URL of a file relative to a document.
func relative(document, file string) string {
	return strings.Repeat("../", strings.Count(document, "/")) + (&url.URL{Path: file}).EscapedPath()
}

// isMissing reports whether err means that there is no such file, or that no file can have the name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
}
