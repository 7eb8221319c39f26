package regdir

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Limits of documents. A list may have 16 MiB.
const (
	maxPlatforms = 1_000   // of a version
	maxFew       = 100     // hashes of an archive, keys, protocols
	maxRecord    = 4 << 20 // bytes of a record
)

// record is the truth about a version. The documents for clients follow from it.
type record struct {
	State   stored.State `json:"tofureg"`
	Release string       `json:"release"`           // as String of item
	Content string       `json:"content,omitempty"` // digest of what is published, see content

	// For providers:
	Protocols []string     `json:"protocols,omitempty"`
	Keys      []verify.Key `json:"keys,omitempty"`

	// For modules:
	Subdir string        `json:"subdir,omitempty"`
	H1     checksum.Hash `json:"h1,omitzero"` // as H1 of module.Report

	Archives []packed `json:"archives,omitempty"` // sorted by platform
}

// packed is an archive.
type packed struct {
	Platform addrs.Platform  `json:"platform,omitzero"` // zero for a module
	File     string          `json:"file,omitempty"`    // name below the files of the version
	Size     int64           `json:"size,omitempty"`    // in bytes
	Hashes   []checksum.Hash `json:"hashes,omitempty"`  // sorted; with the zh, or none if the archive was removed
}

// zhOf returns the zh in hashes of an archive.
func zhOf(hashes []checksum.Hash) checksum.Hash {
	return checksum.WithScheme(hashes, checksum.SchemeZH)[0]
}

// published returns the archives that were not removed.
func (rec *record) published() (list []packed) {
	if rec != nil {
		list = slices.DeleteFunc(slices.Clone(rec.Archives), func(a packed) bool { return len(a.Hashes) == 0 })
	}
	return list
}

// removed returns the record without archives.
func (rec *record) removed() *record {
	next := &record{State: rec.State, Release: rec.Release}
	for _, a := range rec.Archives {
		next.Archives = append(next.Archives, packed{Platform: a.Platform})
	}
	return next
}

// set replaces the archive of a platform.
func (rec *record) set(a packed) {
	n, ok := slices.BinarySearchFunc(rec.Archives, a, func(x, y packed) int { return x.Platform.Compare(y.Platform) })
	if !ok {
		rec.Archives = slices.Insert(rec.Archives, n, a)
	}
	rec.Archives[n] = a
}

// content describes what all publications of a version must have in common.
func (rec *record) content() string {
	if rec.H1.IsZero() {
		return fmt.Sprintf("SHA256SUMS, signature and keys %s, protocols %v", rec.Content, rec.Protocols)
	}
	return fmt.Sprintf("%s in directory %s, with modes and empty directories %s", rec.H1, cmp.Or(rec.Subdir, "."), rec.Content)
}

// names returns the names of the files of an archive, itself first.
func (a packed) names(i item) []string {
	name := i.files() + "/" + a.File
	if i.kind == modules {
		return []string{name}
	}
	return []string{name, path.Dir(name) + "/" + sumsName, path.Dir(name) + "/" + signatureName}
}

// names returns the names of all files of the version.
func (rec *record) names(i item) map[string]bool {
	all := map[string]bool{}
	for _, a := range rec.published() {
		for _, name := range a.names(i) {
			all[name] = true
		}
	}
	return all
}

// check returns an error unless rec describes a version within the limits.
func (rec *record) check(i item) error {
	isProvider := i.kind == providers
	isInvalid := func(a packed) bool {
		return a.Platform.IsZero() == isProvider || len(a.Hashes) > 0 && (a.Size <= 0 || !hashlist.Has(a.Hashes, checksum.SchemeZH) || !i.isArchive(a.File, a.Platform))
	}
	_, err := addrs.ParseSubdir(rec.Subdir)
	isOut := len(rec.published()) == 0
	if rec.State.Layout == 0 || rec.Release != i.String() || slices.ContainsFunc(rec.Archives, isInvalid) || !isOut && rec.H1.IsZero() != isProvider || rec.Subdir != "" && err != nil {
		return damaged("it does not describe %s", i)
	}
	if err := rec.limits(); err != nil {
		return damaged("%w", err)
	}
	return nil
}

// limits returns an error if a list has more elements than its limit.
func (rec *record) limits() error {
	few := max(len(rec.Keys), len(rec.Protocols))
	for _, a := range rec.Archives {
		few = max(few, len(a.Hashes))
	}
	if few > maxFew || len(rec.Archives) > maxPlatforms {
		return fmt.Errorf("more than %d keys, protocols or hashes, or %d platforms: %w", maxFew, maxPlatforms, failure.ErrTooLarge)
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{stored.ErrDamaged}, args...)...)
}

// pkg returns a package of a provider. url returns the URL of a file.
func (rec *record) pkg(i item, a packed, url func(file string) string) *provider.Package {
	pkg := i.pkg(a.Platform)
	pkg.Protocols, pkg.Keys, pkg.MustBeSigned = rec.Protocols, rec.Keys, true
	pkg.Filename, pkg.Size, pkg.SHA256 = pkg.ArchiveName(), a.Size, zhOf(a.Hashes)
	pkg.Hashes = map[addrs.Platform][]checksum.Hash{a.Platform: a.Hashes}
	names := a.names(i)
	pkg.URL, pkg.SumsURL, pkg.SignatureURL = url(names[0]), url(names[1]), url(names[2])
	return pkg
}

// document is what a client reads about an archive. The document of a removed one has only the serial.
type document struct {
	*regwire.Package        // of a provider
	Location         string `json:"location,omitempty"` // of a module
	State            struct {
		Serial string `json:"serial"` // of the record
	} `json:"tofureg"`
}

// documents returns the documents of the archives of a version by name.
func (rec *record) documents(i item) map[string]any {
	docs := map[string]any{}
	for _, a := range rec.Archives {
		name := i.document(a.Platform)
		relative := func(file string) string {
			return strings.Repeat("../", strings.Count(name, "/")) + (&url.URL{Path: file}).EscapedPath()
		}
		d := &document{}
		d.State.Serial = rec.State.Serial
		switch {
		case len(a.Hashes) == 0:
		case i.kind == providers:
			wire := regwire.Describe(rec.pkg(i, a, relative))
			d.Package = &wire
		default:
			if d.Location = relative(a.names(i)[0]); rec.Subdir != "" {
				d.Location += "//" + (&url.URL{Path: rec.Subdir}).EscapedPath()
			}
		}
		docs[name] = d
	}
	return docs
}

// readRecord reads the record of a version, nil if it is missing. The error wraps stored.ErrDamaged if it is invalid.
func (r *Registry) readRecord(ctx context.Context, i item) (stored.Document, *record, error) {
	var rec *record
	doc, err := stored.Load(ctx, r.Store, i.record(), maxRecord, &rec)
	switch {
	case err != nil || rec == nil:
		return doc, nil, err
	case rec.Release != i.String() && strings.EqualFold(rec.Release, i.String()):
		return doc, nil, fmt.Errorf("%w: its name is %q", ErrExists, rec.Release) // the store does not tell them apart
	}
	if err := rec.check(i); err != nil {
		return doc, nil, fmt.Errorf("%s: %w", i.record(), err)
	}
	return doc, rec, nil
}

// versionList is the list of the versions of a provider or a module.
type versionList struct {
	state   stored.State // zero if another program has written it
	entries map[addrs.Version]listed
}

// listed is an entry, also of other programs.
type listed struct {
	raw       any                // what the document has
	Version   string             `json:"version"`
	Protocols []string           `json:"protocols,omitempty"`
	Platforms []regwire.Platform `json:"platforms,omitempty"` // of a provider
}

// platforms returns the platforms, of a module the zero one. Their names were checked.
func (l listed) platforms(kind string) (list []addrs.Platform) {
	if kind == modules {
		return []addrs.Platform{{}}
	}
	for _, on := range l.Platforms {
		platform, _ := addrs.NewPlatform(on.OS, on.Arch)
		list = append(list, platform)
	}
	return list
}

// entry returns the entry for a version.
func (rec *record) entry(i item) (e listed) {
	e.Version, e.Protocols = i.version.String(), rec.Protocols
	for _, a := range rec.published() {
		if i.kind == providers {
			e.Platforms = append(e.Platforms, regwire.Platform{OS: a.Platform.OS(), Arch: a.Platform.Arch()})
		}
	}
	e.raw = e
	return e
}

func (l listed) equal(o listed) bool {
	return l.Version == o.Version && slices.Equal(l.Protocols, o.Protocols) && slices.Equal(l.Platforms, o.Platforms)
}

// readList reads the list of versions. The list of a missing document is empty.
func (r *Registry) readList(ctx context.Context, i item) (doc stored.Document, list *versionList, err error) {
	type versions struct{ Versions []json.RawMessage }
	wire := &struct {
		versions
		Modules []versions
		Tofureg stored.State
	}{}
	list = &versionList{entries: map[addrs.Version]listed{}}
	if doc, err = stored.Load(ctx, r.Store, i.list(), stored.MaxDocument, &wire); err != nil {
		return doc, list, err
	}
	list.state = wire.Tofureg
	entries, parse := wire.Versions, addrs.ParseVersion
	if len(wire.Modules) > 0 {
		entries, parse = wire.Modules[0].Versions, addrs.ParseModuleVersion
	}
	for _, raw := range entries {
		e := listed{}
		err := json.Unmarshal(raw, &e)
		v, invalid := parse(e.Version)
		err = cmp.Or(err, invalid)
		for _, on := range e.Platforms {
			_, invalid := addrs.NewPlatform(on.OS, on.Arch)
			err = cmp.Or(err, invalid)
		}
		switch {
		case err != nil:
		case list.entries[v].raw != nil:
			err = fmt.Errorf("version %s is listed twice", v)
		case len(e.Platforms) > maxPlatforms || len(e.Protocols) > maxFew:
			err = fmt.Errorf("version %s has more than %d platforms or %d protocols: %w", v, maxPlatforms, maxFew, failure.ErrTooLarge)
		}
		if err != nil {
			return doc, list, fmt.Errorf("%s: %w: %w", i.list(), stored.ErrDamaged, err)
		}
		e.raw = raw
		list.entries[v] = e
	}
	return doc, list, nil
}

// versions returns the versions, newest first.
func (l *versionList) versions() []addrs.Version {
	return slices.SortedFunc(maps.Keys(l.entries), func(a, b addrs.Version) int { return b.Compare(a) })
}

// render returns the document.
func (l *versionList) render(i item) ([]byte, error) {
	if len(l.entries) > stored.MaxList {
		return nil, fmt.Errorf("%s would have more than %d versions: %w", i.list(), stored.MaxList, failure.ErrTooLarge)
	}
	entries := []any{}
	for _, v := range l.versions() {
		entries = append(entries, l.entries[v].raw)
	}
	doc := map[string]any{"versions": entries}
	if i.kind == modules {
		doc = map[string]any{"modules": []any{doc}}
	}
	doc["tofureg"] = l.state
	data, err := stored.Encode(doc)
	if err == nil && len(data) > stored.MaxDocument {
		err = fmt.Errorf("%s would have more than %d bytes: %w", i.list(), stored.MaxDocument, failure.ErrTooLarge)
	}
	return data, err
}
