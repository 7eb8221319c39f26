package regdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
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

// errHost means that an address has another host than the registry.
var errHost = errors.New("the address has another host than the registry")

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
	switch {
	case p.IsZero() || p.IsBuiltIn() || p.IsLegacy():
		return item{}, fmt.Errorf("no registry can have the provider %q", p)
	case p.Host() != r.host():
		return item{}, fmt.Errorf("%w, %s", errHost, r.host().Display())
	}
	return item{providers, p.Namespace() + "/" + p.Type(), v}, nil
}

func (r *Registry) moduleItem(m addrs.Module, v addrs.Version) (item, error) {
	switch {
	case m.IsZero():
		return item{}, errors.New("the module is missing")
	case m.Host() != r.host():
		return item{}, fmt.Errorf("%w, %s", errHost, r.host().Display())
	}
	return item{modules, m.Namespace() + "/" + m.Name() + "/" + m.System(), v}, nil
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
	if rec.Release != i.String() {
		return damaged("it is of %.200q", rec.Release)
	}
	if len(rec.Archives) == 0 {
		return damaged("it has no archives")
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
	if i.kind == providers {
		if len(rec.Dir) != digestLen || strings.Trim(rec.Dir, "0123456789abcdef") != "" {
			return damaged("the directory is %.200q", rec.Dir)
		}
		return nil
	}
	if rec.Subdir != "" {
		if _, err := addrs.ParseSubdir(rec.Subdir); err != nil {
			return damaged("%w", err)
		}
	}
	if len(rec.Archives) != 1 || rec.H1.IsZero() {
		return damaged("it has several archives, or no h1")
	}
	return nil
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

// The documents of the protocols.
type (
	platformEntry struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
	versionEntry struct {
		Version   string          `json:"version"`
		Protocols []string        `json:"protocols,omitempty"`
		Platforms []platformEntry `json:"platforms,omitempty"` // of a provider

		parsed addrs.Version // of Version
	}
	packageDocument struct {
		Protocols    []string                `json:"protocols,omitempty"`
		OS           string                  `json:"os"`
		Arch         string                  `json:"arch"`
		Filename     string                  `json:"filename"`
		DownloadURL  string                  `json:"download_url"`
		Shasum       string                  `json:"shasum"`
		SumsURL      string                  `json:"shasums_url"`
		SignatureURL string                  `json:"shasums_signature_url"`
		SigningKeys  map[string][]signingKey `json:"signing_keys"`
		Packages     map[string]hashes       `json:"packages"`
	}
	signingKey struct {
		ID             string `json:"key_id"`
		Armor          string `json:"ascii_armor"`
		TrustSignature string `json:"trust_signature"`
		Source         string `json:"source"`
		SourceURL      string `json:"source_url"`
	}
	hashes struct {
		Hashes []checksum.Hash `json:"hashes"`
		Size   int64           `json:"package_size"`
	}
)

// entry returns the entry for the version in the list of versions.
func (rec *record) entry(i item) versionEntry {
	e := versionEntry{Version: i.version.String(), Protocols: rec.Protocols}
	if i.kind == providers {
		for _, a := range rec.Archives {
			e.Platforms = append(e.Platforms, platformEntry{a.Platform.OS(), a.Platform.Arch()})
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
	var keys []signingKey
	for _, key := range rec.Keys {
		keys = append(keys, signingKey{key.ID, key.Armor, key.TrustSignature, key.Source, key.SourceURL})
	}
	for _, a := range rec.Archives {
		name := i.document(a.Platform)
		err := add(name, packageDocument{
			Protocols: rec.Protocols, OS: a.Platform.OS(), Arch: a.Platform.Arch(),
			Filename: a.Name, Shasum: a.ZH.Value(),
			DownloadURL:  relative(name, rec.file(i, a.Name)),
			SumsURL:      relative(name, rec.file(i, sumsName)),
			SignatureURL: relative(name, rec.file(i, signatureName)),
			SigningKeys:  map[string][]signingKey{"gpg_public_keys": keys},
			Packages:     map[string]hashes{a.Platform.String(): {a.hashes(), a.Size}},
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

// versionList has the entries in the list of versions of a provider or a module. Entries that other
// programs have written stay as they are.
type versionList map[addrs.Version]json.RawMessage

// parseList parses the list of versions. The result is never nil.
func parseList(i item, data []byte) (versionList, error) {
	list := versionList{}
	if data == nil {
		return list, nil
	}
	var doc *struct {
		Versions []json.RawMessage
		Modules  []struct{ Versions []json.RawMessage }
	}
	err := stored.Decode(data, &doc)
	if err == nil && i.kind == modules && len(doc.Modules) > 0 {
		doc.Versions = doc.Modules[0].Versions
	}
	if err == nil {
		err = list.add(i, doc.Versions)
	}
	if err != nil {
		return list, fmt.Errorf("%s: %w", i.list(), err)
	}
	return list, nil
}

func (l versionList) add(i item, entries []json.RawMessage) error {
	parse := addrs.ParseVersion
	if i.kind == modules {
		parse = addrs.ParseModuleVersion
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
		if l[v] != nil {
			return damaged("version %s is listed twice", v)
		}
		l[v] = raw
	}
	return nil
}

// render returns the document, or nil without entries.
func (l versionList) render(i item) ([]byte, error) {
	if len(l) == 0 {
		return nil, nil
	}
	var versions []addrs.Version
	for v := range l {
		versions = append(versions, v)
	}
	slices.SortFunc(versions, func(a, b addrs.Version) int { return b.Compare(a) })
	var entries []json.RawMessage
	for _, v := range versions {
		entries = append(entries, l[v])
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
