package regdir

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
)

// Registry is a registry in a [storage.Store]. Set the fields before use. A Registry is safe for concurrent use.
type Registry struct {
	Store storage.Store // contains the files; required

	// Host is the host of all addresses in Store. If zero, [addrs.DefaultHost] is used. Modules need a host with a dot,
	// so localhost has only providers.
	Host svchost.Hostname

	TempDir string // for temporary files; if empty, [os.TempDir]

	nonce func() string // for tests; otherwise rand.Text
}

var _ provider.Source = (*Registry)(nil)
var _ module.Source = (*Registry)(nil)

// ErrExists means that the store has the version with other content, or a name that differs in case only.
var ErrExists = errors.New("the store has the version with other content")

func (r *Registry) host() svchost.Hostname { return cmp.Or(r.Host, addrs.DefaultHost()) }

// text returns a text that no other process has.
func (r *Registry) text() string {
	if r.nonce != nil {
		return r.nonce()
	}
	return rand.Text()
}

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
	module   addrs.Module   // zero for a provider
	version  addrs.Version
}

func (r *Registry) providerItem(p addrs.Provider, v addrs.Version) (item, error) {
	if p.IsZero() || p.IsBuiltIn() || p.IsLegacy() {
		return item{}, fault.Narrow(fmt.Sprintf("no registry can have the provider %q", p), failure.ErrNotFound)
	}
	return r.item(p.Host(), item{providers, p.Namespace() + "/" + p.Type(), p, addrs.Module{}, v})
}

func (r *Registry) moduleItem(m addrs.Module, v addrs.Version) (item, error) {
	if m.IsZero() {
		return item{}, errors.New("the module is missing")
	}
	return r.item(m.Host(), item{modules, m.Namespace() + "/" + m.Name() + "/" + m.System(), addrs.Provider{}, m, v})
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

// downloads returns the directory of the documents about archives, for a module the name of its one document.
func (i item) downloads() string {
	return path.Join("v1", i.kind, i.path, i.version.String(), "download")
}

// document returns the name of the document of an archive, for a module without a platform.
func (i item) document(on addrs.Platform) string {
	return path.Join(i.downloads(), on.OS(), on.Arch())
}

// files returns the directory of the files of the version.
func (i item) files() string { return path.Join("files", i.kind, i.path, i.version.String()) }

// record returns the name of the record. It lies beside the files, since clients need no record.
func (i item) record() string { return i.files() + "/record.json" }

// archive returns the name of an archive in its directory. Rules of web servers can tell the last one from the path of the
// document.
func (i item) archive(on addrs.Platform, subdir string) string {
	switch {
	case i.kind == providers:
		return i.pkg(on).ArchiveName()
	case subdir != "":
		return "tree.tar.gz"
	}
	return "package.tar.gz"
}

// isArchive reports whether file can be the name of an archive below the files of the version.
func (i item) isArchive(file string, on addrs.Platform) bool {
	dir, name := path.Split(file)
	return (dir == "" || strings.Count(dir, "/") == 1 && isDir(dir[:len(dir)-1])) && (name == i.archive(on, "") || i.kind == modules && name == i.archive(on, "x"))
}

// isDir reports whether a directory of files has the name of one, a digest or a random text.
func isDir(dir string) bool {
	return len(dir) >= 26 && len(dir) <= digestLen && strings.Trim(dir, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// archiveAt returns the name of the archive of a version that has a URL of this registry. The caller may have read the
// URL from a file.
func (r *Registry) archiveAt(i item, url string, on addrs.Platform) (string, error) {
	file, ok := strings.CutPrefix(url, r.url(i.files())+"/")
	if !ok || !i.isArchive(file, on) {
		return "", errors.New("its URL is not in the registry")
	}
	return i.files() + "/" + file, nil
}

// isMissing reports whether err means that there is no such file, or that no file can have the name.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)
}

// items returns the providers or modules, sorted, that have a directory below top.
func (r *Registry) items(ctx context.Context, top, kind string) (found []item, err error) {
	levels := 2
	if kind == modules {
		levels = 3
	}
	top = path.Join(top, kind)
	err = stored.Walk(ctx, r.Store, top, levels, func(level int, name string, e storage.Entry) bool {
		rest := strings.TrimPrefix(name, top+"/")
		if !e.IsDir || level < levels-1 {
			return e.IsDir
		}
		p, notProvider := addrs.ParseProviderIn(r.host(), rest)
		m, notModule := addrs.ParseModuleIn(r.host(), rest)
		var i item
		switch {
		case kind == providers && notProvider == nil:
			i, err = r.providerItem(p, addrs.Version{})
		case kind == modules && notModule == nil:
			i, err = r.moduleItem(m, addrs.Version{})
		}
		if err == nil && i.path == rest {
			found = append(found, i)
		}
		return false
	})
	slices.SortFunc(found, func(a, b item) int { return strings.Compare(a.path, b.path) })
	return found, err
}

// Listed is a version of a provider or a module.
type Listed struct {
	Provider  addrs.Provider   // zero for a module
	Module    addrs.Module     // zero for a provider
	Version   addrs.Version    // never zero
	Platforms []addrs.Platform // of a provider
}

// All yields each listed version: first of providers, then of modules, sorted by name and version. If it cannot read a
// list, it yields a [*failure.Error] and continues.
func (r *Registry) All(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for _, kind := range []string{providers, modules} {
			items, err := r.items(ctx, "v1", kind)
			if err != nil && !yield(Listed{}, failure.Wrap("list", "the registry", err)) {
				return
			}
			for _, i := range items {
				_, list, err := r.readList(ctx, i)
				if err != nil {
					if !yield(Listed{}, failure.Wrap("list", i.path, err)) || ctx.Err() != nil {
						return
					}
					continue
				}
				for _, v := range slices.Backward(list.versions()) { // oldest first
					l := Listed{Provider: i.provider, Module: i.module, Version: v}
					if kind == providers {
						l.Platforms = list.entries[v].platforms(kind)
					}
					if !yield(l, nil) {
						return
					}
				}
			}
		}
	}
}
