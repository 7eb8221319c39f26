package mirrordir

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// inventory is what the names in one directory of a provider tell.
type inventory struct {
	sizes    map[string]int64 // of all files, by their names in the storage
	versions map[addrs.Version]bool
	archives map[addrs.Version][]string
	records  map[addrs.Version][]string
	others   []string // what looks like an archive and is none
}

// inventory lists a directory of documents, and archives if it is the one for them.
func (m *Mirror) inventory(ctx context.Context, p addrs.Provider, dir string) (*inventory, error) {
	entries, err := m.Storage.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	return inventoryOf(p, dir, entries), nil
}

// inventoryOf sorts the entries of a directory by what they are.
func inventoryOf(p addrs.Provider, dir string, entries []Entry) *inventory {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	f := &inventory{
		sizes:    map[string]int64{},
		versions: map[addrs.Version]bool{},
		archives: map[addrs.Version][]string{},
		records:  map[addrs.Version][]string{},
	}
	for _, e := range entries {
		if !e.Dir {
			f.add(p, dir, e)
		}
	}
	return f
}

func (f *inventory) add(p addrs.Provider, dir string, e Entry) {
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
		}
		return
	}
	k, problem := parseArchive(p, e.Name)
	switch {
	case k != packageKey{}:
		f.archives[k.version] = append(f.archives[k.version], name)
		f.versions[k.version] = true
	case problem != "":
		f.others = append(f.others, name)
	}
}
