package mirrordir

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// holding is what a mirror has of one provider, as its file names tell.
type holding struct {
	packages map[packageKey]held
	entries  int // names seen, whatever they are
	warnings []string
}

// held is one package: an archive, or a directory.
type held struct {
	name string // of the archive in the storage; "" for a directory
	size int64  // of the archive in bytes
	dir  string // the directory, as a path of this system
}

// maxWarnings bounds those about the names of one provider.
const maxWarnings = 100

func (h *holding) warn(name, problem string) {
	if len(h.warnings) < maxWarnings {
		h.warnings = append(h.warnings, fmt.Sprintf("left out %.200q: the name %s", name, problem))
	}
}

// add takes a package unless there is one already. Archives come before directories,
// and canonical names before others.
func (h *holding) add(k packageKey, one held) {
	if _, ok := h.packages[k]; !ok {
		h.packages[k] = one
	}
}

// releases returns the versions, the newest first, and the platforms of each, in order.
func (h *holding) releases() []provider.Release {
	platforms := map[addrs.Version][]addrs.Platform{}
	for k := range h.packages {
		platforms[k.version] = append(platforms[k.version], k.platform)
	}
	var list []provider.Release
	for v, on := range platforms {
		slices.SortFunc(on, addrs.Platform.Compare)
		list = append(list, provider.Release{Version: v, Platforms: on})
	}
	slices.SortFunc(list, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list
}

// platforms returns those of a version, in order.
func (h *holding) platforms(v addrs.Version) []addrs.Platform {
	var list []addrs.Platform
	for k := range h.packages {
		if k.version == v {
			list = append(list, k.platform)
		}
	}
	slices.SortFunc(list, addrs.Platform.Compare)
	return list
}

// local is a storage that has more ways to name a provider and to hold a package than
// the one in which archives are added.
type local interface {
	homes(ctx context.Context, p addrs.Provider) ([]string, error)
	unpacked(ctx context.Context, home string) (map[packageKey]string, error)
}

// scan looks for the packages of p.
func (m *Mirror) scan(ctx context.Context, p addrs.Provider) (*holding, error) {
	homes := []string{homeOf(p)}
	here, isLocal := m.Storage.(local)
	if isLocal {
		var err error
		if homes, err = here.homes(ctx, p); err != nil {
			return nil, err
		}
	}
	h := &holding{packages: map[packageKey]held{}}
	for _, home := range homes {
		if err := m.scanArchives(ctx, h, p, home); err != nil {
			return nil, err
		}
	}
	if !isLocal {
		return h, nil
	}
	for _, home := range homes {
		dirs, err := here.unpacked(ctx, home)
		if err != nil {
			return nil, err
		}
		for k, dir := range dirs {
			h.add(k, held{dir: dir})
		}
	}
	return h, nil
}

func (m *Mirror) scanArchives(ctx context.Context, h *holding, p addrs.Provider, home string) error {
	entries, err := m.Storage.List(ctx, home)
	if err != nil {
		return err
	}
	h.take(p, home, entries)
	return nil
}

// holdingOf returns what the entries of the directory where archives are added tell.
func holdingOf(p addrs.Provider, entries []Entry) *holding {
	h := &holding{packages: map[packageKey]held{}}
	h.take(p, homeOf(p), entries)
	return h
}

// take adds the archives among the entries of a directory.
func (h *holding) take(p addrs.Provider, home string, entries []Entry) {
	h.entries += len(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	var others []Entry
	for _, e := range entries {
		if e.Dir {
			continue
		}
		k, problem := parseArchive(p, e.Name)
		switch {
		case problem != "":
			h.warn(e.Name, problem)
		case k == packageKey{}:
		case e.Name == archiveName(p, k):
			h.add(k, held{name: path.Join(home, e.Name), size: e.Size})
		default:
			others = append(others, e)
		}
	}
	for _, e := range others {
		k, _ := parseArchive(p, e.Name)
		h.add(k, held{name: path.Join(home, e.Name), size: e.Size})
	}
}
