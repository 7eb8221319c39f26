package mirrordir

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// files is what the names in the directories of a provider tell.
type files struct {
	packages  map[packageKey]held
	versions  map[addrs.Version]bool     // that there is an archive, a record or a document of
	archives  map[addrs.Version][]string // all, of a package there may be several
	records   map[addrs.Version][]string
	documents map[addrs.Version]bool // those that may list something
	sizes     map[string]int64       // of all files, by their names in the storage
	strange   []string               // what looks like an archive of p and is none
	warnings  []string
	entries   int // names seen, whatever they are
}

// held is one package: an archive, or a directory.
type held struct {
	name string // in the storage
	size int64  // of the archive in bytes
	dir  bool
}

// maxWarnings bounds those about the names of one provider.
const maxWarnings = 100

func newFiles() *files {
	return &files{
		packages: map[packageKey]held{}, versions: map[addrs.Version]bool{}, sizes: map[string]int64{},
		archives: map[addrs.Version][]string{}, records: map[addrs.Version][]string{}, documents: map[addrs.Version]bool{},
	}
}

// list looks for the files of p in one of its directories.
func (m *Mirror) list(ctx context.Context, p addrs.Provider, dir string) (*files, error) {
	f := newFiles()
	return f, m.listInto(ctx, f, p, dir)
}

func (m *Mirror) listInto(ctx context.Context, f *files, p addrs.Provider, dir string) error {
	entries, err := m.Storage.List(ctx, dir)
	if err != nil {
		return err
	}
	f.entries += len(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if !e.Dir {
			f.add(p, dir, e)
		}
	}
	return nil
}

// add takes a file. Of several archives of one package that with the canonical name counts,
// otherwise the first.
func (f *files) add(p addrs.Provider, dir string, e Entry) {
	name := path.Join(dir, e.Name)
	f.sizes[name] = e.Size
	if stem, ok := strings.CutSuffix(e.Name, recordSuffix); ok {
		if k, _ := parseArchive(p, stem+archiveSuffix); k != (packageKey{}) {
			f.records[k.version] = append(f.records[k.version], name)
			f.versions[k.version] = true
		}
		return
	}
	if text, ok := strings.CutSuffix(e.Name, ".json"); ok {
		if v, err := addrs.ParseVersion(text); err == nil && text == v.String() {
			f.versions[v] = true
			f.documents[v] = e.Size > int64(len(emptyDocument))
		}
		return
	}
	k, problem := parseArchive(p, e.Name)
	if problem != "" {
		f.strange = append(f.strange, name)
		if len(f.warnings) < maxWarnings {
			f.warnings = append(f.warnings, fmt.Sprintf("left out %.200q: the name %s", e.Name, problem))
		}
	}
	if k == (packageKey{}) {
		return
	}
	f.versions[k.version] = true
	f.archives[k.version] = append(f.archives[k.version], name)
	if _, ok := f.packages[k]; !ok || e.Name == provider.ArchiveName(p, k.version, k.platform) {
		f.packages[k] = held{name: name, size: e.Size}
	}
}

// platforms returns those of a version, in order.
func (f *files) platforms(v addrs.Version) []addrs.Platform {
	var list []addrs.Platform
	for k := range f.packages {
		if k.version == v {
			list = append(list, k.platform)
		}
	}
	slices.SortFunc(list, addrs.Platform.Compare)
	return list
}

// byVersion returns the platforms of each version, in no order.
func (f *files) byVersion() map[addrs.Version][]addrs.Platform {
	list := map[addrs.Version][]addrs.Platform{}
	for k := range f.packages {
		list[k.version] = append(list[k.version], k.platform)
	}
	return list
}

// releases returns the versions, the newest first, and the platforms of each, in order.
func (f *files) releases() []provider.Release {
	var list []provider.Release
	for v, on := range f.byVersion() {
		slices.SortFunc(on, addrs.Platform.Compare)
		list = append(list, provider.Release{Version: v, Platforms: on})
	}
	slices.SortFunc(list, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list
}
