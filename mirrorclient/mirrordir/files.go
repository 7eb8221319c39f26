package mirrordir

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// files is what the names in the directories of a provider tell.
type files struct {
	packages  map[addrs.Version]map[addrs.Platform]held
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
		packages: map[addrs.Version]map[addrs.Platform]held{}, versions: map[addrs.Version]bool{}, sizes: map[string]int64{},
		archives: map[addrs.Version][]string{}, records: map[addrs.Version][]string{}, documents: map[addrs.Version]bool{},
	}
}

// list looks for the files of p in one of its directories.
func (m *Mirror) list(ctx context.Context, p addrs.Provider, dir string) (*files, error) {
	entries, err := m.Storage.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	f := newFiles()
	f.entries = len(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if !e.Dir {
			f.add(p, dir, e)
		}
	}
	return f, nil
}

// add takes a file. Of several archives of one package that with the canonical name counts,
// otherwise the first.
func (f *files) add(p addrs.Provider, dir string, e Entry) {
	name := path.Join(dir, e.Name)
	f.sizes[name] = e.Size
	if stem, ok := strings.CutSuffix(e.Name, recordSuffix); ok {
		if v, _, _ := provider.ParseArchiveName(p, stem+archiveSuffix); !v.IsZero() {
			f.records[v] = append(f.records[v], name)
			f.versions[v] = true
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
	v, platform, problem := provider.ParseArchiveName(p, e.Name)
	if problem != "" {
		f.strange = append(f.strange, name)
		if len(f.warnings) < maxWarnings {
			f.warnings = append(f.warnings, fmt.Sprintf("left out %.200q: the name %s", e.Name, problem))
		}
	}
	if v.IsZero() {
		return
	}
	f.versions[v] = true
	f.archives[v] = append(f.archives[v], name)
	f.hold(v, platform, held{name: name, size: e.Size}, e.Name == provider.ArchiveName(p, v, platform))
}

// hold notes a package, unless there is another one that is not less preferred.
func (f *files) hold(v addrs.Version, platform addrs.Platform, one held, preferred bool) {
	on := f.packages[v]
	if on == nil {
		on = map[addrs.Platform]held{}
		f.packages[v] = on
	}
	if _, ok := on[platform]; !ok || preferred {
		on[platform] = one
	}
}

// releases returns the versions, the newest first, and the platforms of each, in order.
func (f *files) releases() []provider.Release {
	var list []provider.Release
	for v, on := range f.packages {
		list = append(list, provider.Release{Version: v, Platforms: slices.SortedFunc(maps.Keys(on), addrs.Platform.Compare)})
	}
	slices.SortFunc(list, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list
}
