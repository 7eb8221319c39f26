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

// findPackage returns the file or directory of a package.
func (m *Mirror) findPackage(ctx context.Context, pkg *provider.Package) (packageFile, error) {
	if m.prefersCanonicalDir(ctx, pkg.Provider) {
		// Avoid a listing. If this fails, the listing reports the error.
		name := addressOf(pkg).archive()
		if size, err := m.fileSize(ctx, name); err == nil && size >= 0 {
			return packageFile{name: name, size: size}, nil
		}
	}
	f, err := m.packagesOf(ctx, pkg.Provider)
	if err != nil {
		return packageFile{}, err
	}
	one, ok := f.packages[pkg.Version][pkg.Platform]
	if !ok {
		return packageFile{}, f.available(pkg.Provider).Unavailable(pkg.Version, pkg.Platform)
	}
	return one, nil
}

// prefersCanonicalDir reports whether listPackages would list the canonical directory first, and a file
// with a canonical name in it before others.
func (m *Mirror) prefersCanonicalDir(ctx context.Context, p addrs.Provider) bool {
	if p.IsZero() {
		return false
	}
	if _, ok := m.Storage.(Local); !ok {
		return true
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return false // only a listing shows the case of a name
	}
	homes, err := m.providerDirs(ctx, p)
	return err == nil && slices.Index(homes, providerDir(p)) == 0
}

// listPackages lists the packages of p. Like the CLI, it accepts any valid spelling of the host, the
// namespace and the type in a local directory, and unpacked packages. Unlike the CLI, the version in a
// name is case-sensitive.
func (m *Mirror) listPackages(ctx context.Context, p addrs.Provider) (*files, error) {
	if _, ok := m.Storage.(Local); !ok {
		return m.listFiles(ctx, p, providerDir(p))
	}
	homes, err := m.providerDirs(ctx, p)
	if err != nil {
		return nil, err
	}
	all := newFiles()
	for _, list := range []func(context.Context, addrs.Provider, string) (*files, error){m.listFiles, m.listUnpacked} {
		for _, home := range homes {
			f, err := list(ctx, p, home)
			if err != nil {
				return nil, err
			}
			all.merge(f)
		}
	}
	return all, nil
}

// merge adds the packages of another directory that are missing.
func (f *files) merge(other *files) {
	for v, on := range other.packages {
		for platform, one := range on {
			f.addPackage(v, platform, one, false)
		}
	}
	f.count += other.count
	f.warnings = append(f.warnings, other.warnings...)
	f.warnings = f.warnings[:min(len(f.warnings), maxWarnings)]
}

// providerDirs returns the directories of p in a local mirror, the canonical one first.
func (m *Mirror) providerDirs(ctx context.Context, p addrs.Provider) ([]string, error) {
	found, err := m.directories(ctx, func(depth int, _ string, e Entry) bool { return e.Dir && matchesProvider(p, depth, e.Name) })
	if err != nil {
		return nil, err
	}
	canonical := providerDir(p)
	if i := slices.Index(found, canonical); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, canonical)
	}
	return found, nil
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

// listUnpacked lists the unpacked packages, VERSION/OS_ARCH.
func (m *Mirror) listUnpacked(ctx context.Context, _ addrs.Provider, home string) (*files, error) {
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
				// Prefer the canonical spelling of the version.
				found.addPackage(version, platform, packageFile{name: path.Join(dir, inner.Name), dir: true}, e.Name == version.String())
			}
		}
	}
	return found, nil
}
