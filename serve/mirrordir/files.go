package mirrordir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
)

// files lists the files in the directories of a provider.
type files struct {
	packages map[addrs.Version]map[addrs.Platform]packageFile
	versions map[addrs.Version]bool     // versions with an archive, a record or a document
	archives map[addrs.Version][]string // names of all archives; a package may have several
	records  map[addrs.Version][]string
	sizes    map[string]int64 // sizes of all files by name
	ignored  []ignoredFile
	fresh    bool // whether an archive has a fresh name
	count    int  // number of names
}

// packageFile is the archive or the directory of a package.
type packageFile struct {
	name string // name in the store
	dir  bool   // whether the package is unpacked
}

// ignoredFile has a name that looks like the name of an archive but is invalid.
type ignoredFile struct {
	name    string
	problem *addrs.ParseError
}

// listFiles lists the files of p in directories. Of several archives of one package it prefers the canonical name,
// then the first.
func (m *Mirror) listFiles(ctx context.Context, p addrs.Provider, dirs ...string) (*files, error) {
	f := &files{
		packages: map[addrs.Version]map[addrs.Platform]packageFile{}, versions: map[addrs.Version]bool{},
		archives: map[addrs.Version][]string{}, records: map[addrs.Version][]string{}, sizes: map[string]int64{},
	}
	for _, dir := range dirs {
		entries, err := m.Store.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		f.count += len(entries)
		slices.SortFunc(entries, func(a, b storage.Entry) int { return cmp.Compare(a.Name, b.Name) })
		for _, e := range entries {
			if ctx.Err() != nil {
				return nil, fault.Ended(ctx)
			}
			if !e.IsDir {
				f.addFile(p, path.Join(dir, e.Name), e.Size)
			}
		}
	}
	return f, nil
}

// addFile adds a file by its name.
func (f *files) addFile(p addrs.Provider, name string, size int64) {
	f.sizes[name] = size
	base := path.Base(name)
	if archive, ok := recordedArchive(base); ok {
		if v, _, err := provider.ParseArchiveName(p, archive); err == nil {
			f.records[v] = append(f.records[v], name)
			f.versions[v] = true
		}
		return
	}
	if text, ok := strings.CutSuffix(base, ".json"); ok {
		if v, err := addrs.ParseVersion(text); err == nil && text == v.String() {
			f.versions[v] = true
		}
		return
	}
	v, platform, err := provider.ParseArchiveName(p, base)
	if e, ok := errors.AsType[*addrs.ParseError](err); ok {
		f.ignored = append(f.ignored, ignoredFile{name, e})
	}
	if err != nil {
		return
	}
	f.versions[v] = true
	f.archives[v] = append(f.archives[v], name)
	if isFresh(name) {
		f.fresh = true // only the document knows whether it is a package
	} else {
		f.put(v, platform, packageFile{name: name}, name == address{p, v, platform}.archive())
	}
}

// has reports whether there is a file of this name.
func (f *files) has(name string) bool {
	_, ok := f.sizes[name]
	return ok
}

// addListed replaces the packages of each version whose archives have fresh names by the entries of its document.
func (m *Mirror) addListed(ctx context.Context, p addrs.Provider, f *files) error {
	if stored.HasLocks(m.Store) && !f.fresh {
		return nil
	}
	versions := slices.Collect(maps.Keys(f.versions))
	docs := make([]*document, len(versions))
	err := stored.Each(ctx, stored.Parallel, len(versions), func(ctx context.Context, i int) (err error) {
		if f.has(documentName(p, versions[i])) {
			docs[i], err = m.readDocument(ctx, providerDir(p), versions[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, v := range versions {
		if doc := docs[i]; doc != nil && doc.listsFresh() {
			delete(f.packages, v)
			for platform, l := range doc.platforms() {
				if name := resolve(providerDir(p), l.URL); isArchiveOf(p, v, name) {
					f.put(v, platform, packageFile{name: name}, true)
				}
			}
		}
	}
	return nil
}

// put adds a package, or replaces it if preferred is set.
func (f *files) put(v addrs.Version, platform addrs.Platform, one packageFile, preferred bool) {
	if f.packages[v] == nil {
		f.packages[v] = map[addrs.Platform]packageFile{}
	}
	if _, ok := f.packages[v][platform]; !ok || preferred {
		f.packages[v][platform] = one
	}
}

// maxWarnings is the maximum number of warnings for one provider.
const maxWarnings = 100

// available returns the versions, newest first, with their platforms, sorted.
func (f *files) available(p addrs.Provider) *provider.Versions {
	list := &provider.Versions{Provider: p}
	for _, i := range f.ignored[:min(len(f.ignored), maxWarnings)] {
		list.Warnings = append(list.Warnings, "ignored "+i.problem.Error())
	}
	for v, on := range f.packages {
		list.Versions = append(list.Versions, provider.Release{Version: v, Platforms: slices.SortedFunc(maps.Keys(on), addrs.Platform.Compare)})
		if v == v0 {
			list.Warnings = append(list.Warnings, `no constraint selects the listed version 0.0.0: the CLI interprets it as "no version"`)
		}
	}
	slices.SortFunc(list.Versions, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list
}

// v0 also stands for any version.
var v0 = addrs.MustParseVersion("0.0.0")

// packagesOf lists the packages of a provider, and returns an error if it finds none. Like the CLI, it
// accepts any valid spelling of the host, the namespace and the type in a local directory, and unpacked
// packages. Unlike the CLI, the version in a name is case-sensitive.
func (m *Mirror) packagesOf(ctx context.Context, p addrs.Provider) (*files, error) {
	if p.IsZero() {
		return nil, errors.New("the provider is missing")
	}
	homes := []string{providerDir(p)}
	if m.IsLocal() {
		var err error
		if homes, err = m.directories(ctx, func(depth int, _ string, e storage.Entry) bool { return e.IsDir && matchesProvider(p, depth, e.Name) }); err != nil {
			return nil, err
		}
		if i := slices.Index(homes, providerDir(p)); i > 0 {
			homes[0], homes[i] = homes[i], homes[0]
		}
	}
	all, err := m.listFiles(ctx, p, homes...)
	if err == nil {
		err = m.addListed(ctx, p, all)
	}
	if err != nil {
		return nil, err
	}
	if m.IsLocal() {
		for _, home := range homes {
			if err := m.addUnpacked(ctx, all, home); err != nil {
				return nil, err
			}
		}
	}
	if !m.IsLocal() && all.count > 0 && len(all.packages) == 0 {
		if err := m.addUnpacked(ctx, all, homes[0]); err != nil {
			return nil, err
		}
		if len(all.packages) > 0 {
			return nil, fmt.Errorf("%w: the store does not say where its files are; if it wraps a directory, it needs a method Unwrap", provider.ErrUnpacked)
		}
	}
	if all.count == 0 {
		return nil, fmt.Errorf("the mirror has no files of the provider: %w", failure.ErrNotFound)
	}
	return all, nil
}

// addUnpacked adds the packages VERSION/OS_ARCH that have no archive. It prefers the canonical spelling
// of the version.
func (m *Mirror) addUnpacked(ctx context.Context, all *files, home string) error {
	versions, err := m.Store.List(ctx, home)
	if err != nil {
		return err
	}
	for _, e := range versions {
		version, err := addrs.ParseVersion(e.Name)
		if err != nil || !e.IsDir {
			continue
		}
		dir := path.Join(home, e.Name)
		entries, err := m.Store.List(ctx, dir)
		if err != nil {
			return err
		}
		for _, inner := range entries {
			if platform, err := addrs.ParsePlatform(inner.Name); err == nil && inner.IsDir {
				preferred := e.Name == version.String() && all.packages[version][platform].dir
				all.put(version, platform, packageFile{name: path.Join(dir, inner.Name), dir: true}, preferred)
			}
		}
	}
	return nil
}

// matchesProvider reports whether name is a spelling of the host, namespace or type of p, by depth.
func matchesProvider(p addrs.Provider, depth int, name string) bool {
	if depth == 0 {
		host, err := svchost.Parse(name)
		return err == nil && host == p.Host()
	}
	parts := []string{1: p.Namespace(), 2: p.Type()}
	parts[depth] = name
	q, err := addrs.NewProvider(p.Host(), parts[1], parts[2])
	return err == nil && q == p
}

// directories returns the directories of providers, HOST/NAMESPACE/TYPE, for which may is true at each
// depth; depth is 0 for hosts.
func (m *Mirror) directories(ctx context.Context, may func(depth int, name string, e storage.Entry) bool) (found []string, err error) {
	const last = 2
	err = stored.Walk(ctx, m.Store, ".", last+1, func(depth int, name string, e storage.Entry) bool {
		is := may(depth, name, e)
		if is && depth == last {
			found = append(found, name)
		}
		return is
	})
	return found, err
}

// providers returns the providers with a canonical directory, sorted. It calls ignore with other files
// and directories.
func (m *Mirror) providers(ctx context.Context, ignore func(name, reason string)) ([]addrs.Provider, error) {
	names, err := m.directories(ctx, func(_ int, name string, e storage.Entry) bool {
		if !e.IsDir {
			ignore(name, "not a directory of a provider")
		}
		return e.IsDir
	})
	if err != nil {
		return nil, err
	}
	var found []addrs.Provider
	for _, name := range names {
		parts := strings.Split(name, "/")
		var p addrs.Provider
		host, err := svchost.FromWire(parts[0])
		if err == nil {
			p, err = addrs.NewProvider(host, parts[1], parts[2])
		}
		if err == nil {
			err = checkAddress(p)
		}
		switch {
		case err != nil:
			ignore(name, oneLine(err))
		case name != providerDir(p):
			ignore(name, "clients ask for "+providerDir(p))
		default:
			found = append(found, p)
		}
	}
	slices.SortFunc(found, addrs.Provider.Compare)
	return found, nil
}

// All yields each version that has archives, with its platforms, sorted by provider and version. If it cannot list a
// provider, it yields a [*failure.Error] and continues.
func (m *Mirror) All(ctx context.Context) iter.Seq2[Want, error] {
	return func(yield func(Want, error) bool) {
		providers, err := m.providers(ctx, func(string, string) {})
		if err != nil {
			yield(Want{}, failure.Wrap("list", "the mirror", err))
			return
		}
		for _, p := range providers {
			f, err := m.listFiles(ctx, p, providerDir(p))
			if err == nil {
				err = m.addListed(ctx, p, f)
			}
			if err != nil {
				if !yield(Want{}, failure.Wrap("list", p.String(), err)) || ctx.Err() != nil {
					return
				}
				continue
			}
			for _, r := range slices.Backward(f.available(p).Versions) { // oldest first
				if !yield(Want{Provider: p, Version: r.Version, Platforms: r.Platforms}, nil) {
					return
				}
			}
		}
	}
}

// findPackage returns the file or directory of a package and the document of its version.
func (m *Mirror) findPackage(ctx context.Context, pkg *provider.Package) (packageFile, *document, error) {
	doc, unread := m.readDocument(ctx, providerDir(pkg.Provider), pkg.Version)
	listed := resolve(providerDir(pkg.Provider), doc.Archives[pkg.Platform.String()].URL)
	switch {
	case doc.listsFresh() && isArchiveOf(pkg.Provider, pkg.Version, listed):
		return packageFile{name: listed}, doc, nil
	case doc.listsFresh(), m.IsLocal() && (runtime.GOOS == "windows" || runtime.GOOS == "darwin"):
		// Only a listing shows what else there is, or the case of a name.
	default:
		// If this fails, the listing reports the error.
		name := addressOf(pkg).archive()
		if size, err := m.fileSize(ctx, name); err == nil && size >= 0 {
			return packageFile{name: name}, doc, unread
		}
	}
	f, err := m.packagesOf(ctx, pkg.Provider)
	if err != nil {
		return packageFile{}, nil, err
	}
	one, ok := f.packages[pkg.Version][pkg.Platform]
	if !ok {
		return packageFile{}, nil, f.available(pkg.Provider).Unavailable(pkg.Version, pkg.Platform)
	}
	if home := path.Dir(one.name); home != providerDir(pkg.Provider) && !one.dir {
		doc, unread = m.readDocument(ctx, home, pkg.Version)
	}
	return one, doc, unread
}
