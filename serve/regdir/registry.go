package regdir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/jsondoc"
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
	// and modules of one host. The host of modules needs a dot, so localhost has providers only.
	Host svchost.Hostname

	// TempDir is for temporary files. If empty, [os.TempDir] is used.
	TempDir string
}

var _ provider.Source = (*Registry)(nil)
var _ module.Source = (*Registry)(nil)

// ErrExists means that the store has the version with other content, published or unfinished.
var ErrExists = errors.New("the store has the version with other content")

func (r *Registry) host() svchost.Hostname { return cmp.Or(r.Host, addrs.DefaultHost()) }

// url returns the URL of a file at the registry's host.
func (r *Registry) url(name string) string {
	return (&url.URL{Scheme: "https", Host: r.host().String(), Path: "/" + name}).String()
}

const (
	// The kinds of items, as in paths.
	providers = "providers"
	modules   = "modules"

	// The names of files beside the archives of a provider.
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig"
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
	Size     int64           `json:"size,omitzero"`     // of a provider
	Hashes   []checksum.Hash `json:"hashes"`            // sorted; with the zh
}

// zhOf returns the zh in hashes of an archive.
func zhOf(hashes []checksum.Hash) checksum.Hash {
	return checksum.WithScheme(hashes, checksum.SchemeZH)[0]
}

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

// names returns the names of all files of the version.
func (rec *record) names(i item) (names []string) {
	if i.kind == providers {
		names = []string{rec.file(i, sumsName), rec.file(i, signatureName)}
	}
	for _, a := range rec.Archives {
		names = append(names, rec.archive(i, a.Platform))
	}
	return names
}

// check returns an error unless rec describes a version that can be published.
func (rec *record) check(i item) error {
	isProvider := i.kind == providers
	isInvalid := func(a packed) bool {
		return (a.Size > 0) != isProvider || a.Platform.IsZero() == isProvider || !checksum.HasScheme(a.Hashes, checksum.SchemeZH)
	}
	_, err := addrs.ParseSubdir(rec.Subdir)
	if rec.Release != i.String() || len(rec.Archives) == 0 || slices.ContainsFunc(rec.Archives, isInvalid) ||
		isProvider && !isDigest(rec.Dir) || !isProvider && rec.Dir != "" || rec.H1.IsZero() != isProvider || rec.Subdir != "" && err != nil {
		return damaged("it does not describe %s", i)
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

// pkg returns a package of a provider. url returns the URL of a file.
func (rec *record) pkg(i item, a packed, url func(file string) string) *provider.Package {
	pkg := i.pkg(a.Platform)
	pkg.Protocols, pkg.Keys, pkg.MustBeSigned = rec.Protocols, rec.Keys, true
	pkg.Filename, pkg.Size, pkg.SHA256 = pkg.ArchiveName(), a.Size, zhOf(a.Hashes)
	pkg.Hashes = map[addrs.Platform][]checksum.Hash{a.Platform: a.Hashes}
	pkg.URL = url(rec.archive(i, a.Platform))
	pkg.SumsURL, pkg.SignatureURL = url(rec.file(i, sumsName)), url(rec.file(i, signatureName))
	return pkg
}

// documents returns the documents of the version by name.
func (rec *record) documents(i item) map[string]any {
	docs := map[string]any{}
	for _, a := range rec.Archives {
		name := i.document(a.Platform)
		relative := func(file string) string {
			return strings.Repeat("../", strings.Count(name, "/")) + (&url.URL{Path: file}).EscapedPath()
		}
		if i.kind == providers {
			docs[name] = regwire.Describe(rec.pkg(i, a, relative))
			continue
		}
		location := relative(rec.archive(i, a.Platform))
		if rec.Subdir != "" {
			location += "//" + (&url.URL{Path: rec.Subdir}).EscapedPath()
		}
		docs[name] = map[string]string{"location": location}
	}
	return docs
}

// versionList has the entries in the list of versions of a provider or a module.
type versionList map[addrs.Version]listed

// listed is an entry, also of other programs.
type listed struct {
	raw       any                // what the document has
	Version   string             `json:"version"`
	Protocols []string           `json:"protocols,omitempty"`
	Platforms []regwire.Platform `json:"platforms,omitempty"` // of a provider
}

// entry returns the entry for a version.
func (rec *record) entry(i item) (e listed) {
	e.Version, e.Protocols = i.version.String(), rec.Protocols
	for _, a := range rec.Archives {
		if i.kind == providers {
			e.Platforms = append(e.Platforms, regwire.Platform{OS: a.Platform.OS(), Arch: a.Platform.Arch()})
		}
	}
	e.raw = e
	return e
}

// readList reads the list of versions. The error wraps failure.ErrNotFound if there is none; the list is then empty.
func (r *Registry) readList(ctx context.Context, i item) (stored.Document, versionList, error) {
	doc, err := stored.Read(ctx, r.Store, i.list())
	if err == nil && doc.Revision == "" {
		return doc, versionList{}, fmt.Errorf("%s is missing: %w", i.list(), failure.ErrNotFound)
	}
	var list versionList
	if err == nil {
		if list, err = parseList(i, doc.Data); err != nil {
			err = fmt.Errorf("%s: %w", i.list(), err)
		}
	}
	return doc, list, err
}

// maxVersions is the maximum number of versions in a list, as in clients.
const maxVersions = 100_000

func parseList(i item, data []byte) (versionList, error) {
	type versions struct{ Versions []json.RawMessage }
	var doc *struct {
		versions
		Modules []versions
	}
	err := jsondoc.CheckList(data, "versions", maxVersions)
	if err != nil {
		return nil, damaged("%w", err)
	}
	if err := stored.Decode(data, &doc); err != nil {
		return nil, err
	}
	entries, parse := doc.Versions, addrs.ParseVersion
	if len(doc.Modules) > 0 {
		entries, parse = doc.Modules[0].Versions, addrs.ParseModuleVersion
	}
	list := versionList{}
	for _, raw := range entries {
		var e *listed
		if err := stored.Decode(raw, &e); err != nil {
			return nil, err
		}
		v, err := parse(e.Version)
		if err != nil {
			return nil, damaged("%w", err)
		}
		if list[v].raw != nil {
			return nil, damaged("version %s is listed twice", v)
		}
		e.raw = raw
		list[v] = *e
	}
	return list, nil
}

// versions returns the versions, newest first.
func (l versionList) versions() []addrs.Version {
	return slices.SortedFunc(maps.Keys(l), func(a, b addrs.Version) int { return b.Compare(a) })
}

// document returns the document, or nil without entries.
func (l versionList) document(i item) any {
	if len(l) == 0 {
		return nil
	}
	var entries []any
	for _, v := range l.versions() {
		entries = append(entries, l[v].raw)
	}
	doc := map[string]any{"versions": entries}
	if i.kind == modules {
		return map[string]any{"modules": []any{doc}}
	}
	return doc
}

// isMissing reports whether err means that there is no such file, or that no file can have the name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
}
