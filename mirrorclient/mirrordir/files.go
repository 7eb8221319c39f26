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

// files lists the files in the directories of a provider.
type files struct {
	packages  map[addrs.Version]map[addrs.Platform]packageFile
	versions  map[addrs.Version]bool     // versions with an archive, a record or a document
	archives  map[addrs.Version][]string // names of all archives; a package may have several
	records   map[addrs.Version][]string
	documents map[addrs.Version]bool // whether the document may have entries
	sizes     map[string]int64       // sizes of all files by name
	ignored   []string               // names that look like archives but are invalid
	warnings  []string
	count     int // number of names
}

// packageFile is the archive or the directory of a package.
type packageFile struct {
	name string // name in the storage
	size int64  // size of an archive in bytes
	dir  bool   // whether the package is unpacked
}

// maxWarnings is the maximum number of warnings for one provider.
const maxWarnings = 100

func newFiles() *files {
	return &files{
		packages: map[addrs.Version]map[addrs.Platform]packageFile{}, versions: map[addrs.Version]bool{}, sizes: map[string]int64{},
		archives: map[addrs.Version][]string{}, records: map[addrs.Version][]string{}, documents: map[addrs.Version]bool{},
	}
}

// listFiles lists the files of p in one of its directories.
func (m *Mirror) listFiles(ctx context.Context, p addrs.Provider, dir string) (*files, error) {
	entries, err := m.Storage.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	f := newFiles()
	f.count = len(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if !e.Dir {
			f.addFile(p, dir, e)
		}
	}
	return f, nil
}

// addFile adds a file. Of several archives of one package it prefers the canonical name, then the
// first.
func (f *files) addFile(p addrs.Provider, dir string, e Entry) {
	name := path.Join(dir, e.Name)
	f.sizes[name] = e.Size
	if stem, ok := strings.CutSuffix(e.Name, recordSuffix); ok {
		if !strings.EqualFold(path.Ext(stem), archiveSuffix) {
			stem += archiveSuffix // otherwise such as .ZIP
		}
		if v, _, _ := provider.ParseArchiveName(p, stem); !v.IsZero() {
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
		f.ignored = append(f.ignored, name)
		if len(f.warnings) < maxWarnings {
			f.warnings = append(f.warnings, fmt.Sprintf("ignored %.200q: the name %s", e.Name, problem))
		}
	}
	if v.IsZero() {
		return
	}
	f.versions[v] = true
	f.archives[v] = append(f.archives[v], name)
	f.addPackage(v, platform, packageFile{name: name, size: e.Size}, e.Name == provider.ArchiveName(p, v, platform))
}

// addPackage adds a package, or replaces it if preferred is set.
func (f *files) addPackage(v addrs.Version, platform addrs.Platform, one packageFile, preferred bool) {
	on := f.packages[v]
	if on == nil {
		on = map[addrs.Platform]packageFile{}
		f.packages[v] = on
	}
	if _, ok := on[platform]; !ok || preferred {
		on[platform] = one
	}
}

// releases returns the versions, newest first, with their platforms, sorted.
func (f *files) releases() []provider.Release {
	var list []provider.Release
	for v, on := range f.packages {
		list = append(list, provider.Release{Version: v, Platforms: slices.SortedFunc(maps.Keys(on), addrs.Platform.Compare)})
	}
	slices.SortFunc(list, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list
}
