package regdir

import (
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

// The kinds of items, as in paths.
const (
	providers = "providers"
	modules   = "modules"
)

// item is a version of a provider or of a module.
type item struct {
	kind    string // providers or modules
	path    string // NAMESPACE/TYPE or NAMESPACE/NAME/SYSTEM
	version addrs.Version
}

func (r *Registry) providerItem(p addrs.Provider, v addrs.Version) (item, error) {
	if p.IsZero() || p.IsBuiltIn() || p.IsLegacy() {
		return item{}, fault.Narrow(fmt.Sprintf("no registry can have the provider %q", p), failure.ErrNotFound)
	}
	return r.item(p.Host(), item{providers, p.Namespace() + "/" + p.Type(), v})
}

func (r *Registry) moduleItem(m addrs.Module, v addrs.Version) (item, error) {
	return r.item(m.Host(), item{modules, m.Namespace() + "/" + m.Name() + "/" + m.System(), v})
}

// item returns an item of the host of the registry.
func (r *Registry) item(host svchost.Hostname, i item) (item, error) {
	switch host {
	case svchost.Hostname{}:
		return item{}, fmt.Errorf("the %s is missing", strings.TrimSuffix(i.kind, "s"))
	case r.host():
		return i, nil
	}
	return item{}, fault.Narrow("the address has another host than the registry, "+r.host().Display(), failure.ErrNotFound)
}

// String returns the release as in records.
func (i item) String() string { return i.path + " " + i.version.String() }

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
	Dir       string       `json:"dir,omitempty"` // directory of the files; a digest of SHA256SUMS and its signature
	Protocols []string     `json:"protocols,omitempty"`
	Keys      []verify.Key `json:"keys,omitempty"`

	// For modules:
	Subdir string        `json:"subdir,omitempty"`
	H1     checksum.Hash `json:"h1,omitzero"` // as H1 of module.Report

	Archives []packed `json:"archives,omitempty"` // one for each platform of a provider, sorted
}

// packed is an archive.
type packed struct {
	Name     string         `json:"name"`
	Platform addrs.Platform `json:"platform,omitzero"`
	Size     int64          `json:"size"`
	ZH       checksum.Hash  `json:"zh"`
	H1       checksum.Hash  `json:"h1,omitzero"`      // of a provider
	Tree     checksum.Hash  `json:"tree_h1,omitzero"` // of a provider, if it differs
}

// The names of files beside the archives.
const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.sig"
)

// packageName is the name of the archive of a module. Rules of web servers can tell it from the path of a
// document, unless the module is in a directory of the package.
func (rec *record) packageName() string {
	if rec.Subdir != "" {
		return "tree.tar.gz"
	}
	return "package.tar.gz"
}

// parseRecord parses the record of an item. It returns nil if the record is missing.
func parseRecord(i item, data []byte) (*record, error) {
	if data == nil {
		return nil, nil
	}
	var rec *record
	err := stored.Decode(data, &rec)
	if err == nil && (rec.Removed == "" || len(rec.Archives) > 0) {
		err = rec.check(i)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.record(), err)
	}
	return rec, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{stored.ErrDamaged}, args...)...)
}

// check returns an error unless rec describes a version that can be published.
func (rec *record) check(i item) error {
	switch {
	case rec.Release != i.String():
		return damaged("it is of %.200q", rec.Release)
	case len(rec.Archives) == 0:
		return damaged("it has no archives")
	case i.kind == providers && !isDigest(rec.Dir):
		return damaged("the directory is %.200q", rec.Dir)
	case i.kind == modules && (len(rec.Archives) != 1 || rec.H1.IsZero()):
		return damaged("it has several archives, or no h1")
	case rec.Subdir != "":
		if _, err := addrs.ParseSubdir(rec.Subdir); err != nil {
			return damaged("%w", err)
		}
	}
	seen := map[addrs.Platform]bool{}
	for _, a := range rec.Archives {
		switch {
		case a.Size <= 0 || a.ZH.Scheme() != checksum.SchemeZH:
			return damaged("the archive %.200q has no size or no zh", a.Name)
		case seen[a.Platform]:
			return damaged("the platform %q has two archives", a.Platform)
		case i.kind == modules && a.Name != rec.packageName():
			return damaged("the archive is %.200q", a.Name)
		case i.kind == providers && !isArchiveOf(i, a):
			return damaged("%.200q is not an archive for %q", a.Name, a.Platform)
		}
		seen[a.Platform] = true
	}
	return nil
}

// isDigest reports whether a directory of files has the name of one.
func isDigest(dir string) bool {
	return len(dir) == digestLen && strings.Trim(dir, "0123456789abcdef") == ""
}

// isArchiveOf reports whether a has the name of an archive of a provider.
func isArchiveOf(i item, a packed) bool {
	p, err := addrs.ParseNamespacedProviderIn(svchost.Hostname{}, i.path)
	if err != nil || storage.CheckName(a.Name) != nil {
		return false
	}
	v, platform, problem := provider.ParseArchiveName(p, a.Name)
	return problem == "" && v == i.version && platform == a.Platform && !platform.IsZero()
}

// file returns the name of a file of the version.
func (rec *record) file(i item, name string) string { return path.Join(i.files(), rec.Dir, name) }

// versionEntry is an entry in a list of versions.
type versionEntry struct {
	Version   string             `json:"version"`
	Protocols []string           `json:"protocols,omitempty"`
	Platforms []regwire.Platform `json:"platforms,omitempty"` // of a provider
}

// entry returns the entry for the version in the list of versions.
func (rec *record) entry(i item) versionEntry {
	e := versionEntry{Version: i.version.String(), Protocols: rec.Protocols}
	if i.kind == providers {
		for _, a := range rec.Archives {
			e.Platforms = append(e.Platforms, regwire.Platform{OS: a.Platform.OS(), Arch: a.Platform.Arch()})
		}
	}
	return e
}

// render returns the documents of the version by name.
func (rec *record) render(i item) (map[string][]byte, error) {
	docs := map[string][]byte{}
	add := func(name string, doc any) (err error) {
		docs[name], err = stored.Encode(doc)
		return err
	}
	if i.kind == modules {
		name := i.document(addrs.Platform{})
		location := relative(name, rec.file(i, rec.packageName()))
		if rec.Subdir != "" {
			location += "//" + (&url.URL{Path: rec.Subdir}).EscapedPath()
		}
		return docs, add(name, map[string]string{"location": location})
	}
	var keys []regwire.Key
	for _, key := range rec.Keys {
		keys = append(keys, regwire.Key{ID: key.ID, Armor: key.Armor, TrustSignature: key.TrustSignature, Source: key.Source, SourceURL: key.SourceURL})
	}
	for _, a := range rec.Archives {
		name := i.document(a.Platform)
		err := add(name, regwire.Package{
			Protocols: rec.Protocols, OS: a.Platform.OS(), Arch: a.Platform.Arch(),
			Filename: a.Name, Shasum: a.ZH.Value(),
			DownloadURL:  relative(name, rec.file(i, a.Name)),
			SumsURL:      relative(name, rec.file(i, sumsName)),
			SignatureURL: relative(name, rec.file(i, signatureName)),
			SigningKeys:  map[string][]regwire.Key{"gpg_public_keys": keys},
			Packages:     map[string]regwire.Hashes{a.Platform.String(): {Hashes: a.hashes(), Size: a.Size}},
		})
		if err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// hashes returns all hashes of the archive.
func (a packed) hashes() []checksum.Hash { return checksum.Sorted([]checksum.Hash{a.ZH, a.H1, a.Tree}) }

// relative returns the URL of a file relative to a document.
func relative(document, file string) string {
	return strings.Repeat("../", strings.Count(document, "/")) + (&url.URL{Path: file}).EscapedPath()
}

// versionList has the entries in the list of versions of a provider or a module.
type versionList map[addrs.Version]listed

// listed is an entry, also of other programs: raw stays as it is.
type listed struct {
	raw json.RawMessage
	versionEntry
}

// parseList parses the list of versions. The result is never nil.
func parseList(i item, data []byte) (versionList, error) {
	list := versionList{}
	if data == nil {
		return list, nil
	}
	if err := list.parse(i, data); err != nil {
		return list, fmt.Errorf("%s: %w", i.list(), err)
	}
	return list, nil
}

func (l versionList) parse(i item, data []byte) error {
	var doc *struct {
		Versions []json.RawMessage
		Modules  []struct{ Versions []json.RawMessage }
	}
	if err := stored.Decode(data, &doc); err != nil {
		return err
	}
	entries, parse := doc.Versions, addrs.ParseVersion
	if i.kind == modules {
		entries, parse = nil, addrs.ParseModuleVersion
		if len(doc.Modules) > 0 {
			entries = doc.Modules[0].Versions
		}
	}
	for _, raw := range entries {
		var e *versionEntry
		if err := stored.Decode(raw, &e); err != nil {
			return err
		}
		v, err := parse(e.Version)
		if err != nil {
			return damaged("%w", err)
		}
		if l[v].raw != nil {
			return damaged("version %s is listed twice", v)
		}
		l[v] = listed{raw, *e}
	}
	return nil
}

// versions returns the versions, newest first.
func (l versionList) versions() []addrs.Version {
	return slices.SortedFunc(maps.Keys(l), func(a, b addrs.Version) int { return b.Compare(a) })
}

// render returns the document, or nil without entries.
func (l versionList) render(i item) ([]byte, error) {
	if len(l) == 0 {
		return nil, nil
	}
	var entries []json.RawMessage
	for _, v := range l.versions() {
		entries = append(entries, l[v].raw)
	}
	doc := map[string]any{"versions": entries}
	if i.kind == modules {
		doc = map[string]any{"modules": []any{doc}}
	}
	return stored.Encode(doc)
}

// isMissing reports whether err means that there is no such file, or that no file can have the name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
}
