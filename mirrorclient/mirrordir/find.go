package mirrordir

import (
	"context"
	"path"
	"runtime"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
)

// find returns what the mirror has of a package.
func (m *Mirror) find(ctx context.Context, pkg *provider.Package) (held, error) {
	if m.hasCanonicalHome(ctx, pkg.Provider) {
		// It would come before all others that a scan finds. What is wrong, the scan says.
		name := addressOf(pkg).archive()
		if size, err := m.size(ctx, name); err == nil && size >= 0 {
			return held{name: name, size: size}, nil
		}
	}
	f, err := m.holds(ctx, pkg.Provider)
	if err != nil {
		return held{}, err
	}
	one, ok := f.packages[pkg.Version][pkg.Platform]
	if !ok {
		return held{}, f.list(pkg.Provider).Unavailable(pkg.Version, pkg.Platform)
	}
	return one, nil
}

// hasCanonicalHome reports whether a scan would look first into the directory where archives
// are added, and find a file there under the name by which it is asked for.
func (m *Mirror) hasCanonicalHome(ctx context.Context, p addrs.Provider) bool {
	if p.IsZero() {
		return false
	}
	if _, ok := m.Storage.(Local); !ok {
		return true
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return false // only a listing tells which letters of a name are capitals
	}
	homes, err := m.homes(ctx, p)
	return err == nil && slices.Index(homes, homeOf(p)) == 0
}

// scan looks for the packages of p. In a local directory these may be unpacked, and have any
// valid spelling of the host, the namespace and the type.
func (m *Mirror) scan(ctx context.Context, p addrs.Provider) (*files, error) {
	if _, ok := m.Storage.(Local); !ok {
		return m.list(ctx, p, homeOf(p))
	}
	homes, err := m.homes(ctx, p)
	if err != nil {
		return nil, err
	}
	all := newFiles()
	for _, list := range []func(context.Context, addrs.Provider, string) (*files, error){m.list, m.unpacked} {
		for _, home := range homes {
			f, err := list(ctx, p, home)
			if err != nil {
				return nil, err
			}
			all.join(f)
		}
	}
	return all, nil
}

// join adds the packages of another directory that are not there yet.
func (f *files) join(other *files) {
	for v, on := range other.packages {
		for platform, one := range on {
			f.hold(v, platform, one, false)
		}
	}
	f.entries += other.entries
	f.warnings = append(f.warnings, other.warnings...)
	f.warnings = f.warnings[:min(len(f.warnings), maxWarnings)]
}

// homes returns the directories of p in a local mirror: each that the CLI would find, the
// canonical one first.
func (m *Mirror) homes(ctx context.Context, p addrs.Provider) ([]string, error) {
	found, err := m.directories(ctx, func(depth int, _ string, e Entry) bool { return e.Dir && spells(p, depth, e.Name) })
	if err != nil {
		return nil, err
	}
	canonical := homeOf(p)
	if i := slices.Index(found, canonical); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, canonical)
	}
	return found, nil
}

// spells reports whether name stands for p's host, namespace or type, by depth.
func spells(p addrs.Provider, depth int, name string) bool {
	if depth == 0 {
		host, err := svchost.Parse(name)
		return err == nil && host == p.Host()
	}
	parts := []string{1: p.Namespace(), 2: p.Type()}
	parts[depth] = name
	q, err := addrs.NewProvider(p.Host(), parts[1], parts[2])
	return err == nil && q == p
}

// unpacked returns the packages in home that are directories, VERSION/OS_ARCH.
func (m *Mirror) unpacked(ctx context.Context, _ addrs.Provider, home string) (*files, error) {
	versions, err := m.Storage.List(ctx, home)
	if err != nil {
		return nil, err
	}
	found := newFiles()
	for _, e := range versions {
		version, err := addrs.ParseVersion(e.Name)
		if err != nil || !e.Dir {
			continue
		}
		dir := path.Join(home, e.Name)
		entries, err := m.Storage.List(ctx, dir)
		if err != nil {
			return nil, err
		}
		for _, inner := range entries {
			platform, err := addrs.ParsePlatform(inner.Name)
			if err == nil && inner.Dir {
				// Of several spellings of a version the canonical one counts.
				found.hold(version, platform, held{name: path.Join(dir, inner.Name), dir: true}, e.Name == version.String())
			}
		}
	}
	return found, nil
}
