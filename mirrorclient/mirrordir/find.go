package mirrordir

import (
	"context"
	"runtime"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// find returns what the mirror has of a package.
func (m *Mirror) find(ctx context.Context, pkg *provider.Package) (held, error) {
	k := packageKey{pkg.Version, pkg.Platform}
	if m.hasCanonicalHome(ctx, pkg.Provider) {
		// It would come before all others that a scan finds. What is wrong, the scan says.
		name := canonicalName(pkg)
		if size, err := m.size(ctx, name); err == nil && size >= 0 {
			return held{name: name, size: size}, nil
		}
	}
	h, err := m.holds(ctx, pkg.Provider)
	if err != nil {
		return held{}, err
	}
	one, ok := h.packages[k]
	if !ok {
		return held{}, h.list(pkg.Provider).Unavailable(pkg.Version, pkg.Platform)
	}
	return one, nil
}

// canonicalName returns the name under which an archive is added.
func canonicalName(pkg *provider.Package) string {
	return archivePath(pkg.Provider, packageKey{pkg.Version, pkg.Platform})
}

// openCanonical opens the archive that find would find first. It returns nil, or an error, if
// that takes a closer look.
func (m *Mirror) openCanonical(ctx context.Context, pkg *provider.Package) (*Object, error) {
	if pkg.Dir != "" || !m.hasCanonicalHome(ctx, pkg.Provider) {
		return nil, nil
	}
	return m.Storage.Open(ctx, canonicalName(pkg))
}

// hasCanonicalHome reports whether a scan would look first into the directory where archives
// are added, and find a file there under the name by which it is asked for.
func (m *Mirror) hasCanonicalHome(ctx context.Context, p addrs.Provider) bool {
	if p.IsZero() {
		return false
	}
	d, ok := m.Storage.(local)
	if !ok {
		return true
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return false // only a listing tells which letters of a name are capitals
	}
	homes, err := d.homes(ctx, p)
	return err == nil && slices.Index(homes, homeOf(p)) == 0
}

// canonicalHashes returns what archiveHashes would if there is a document and all that it
// lists is there under canonical names, and nil if not.
func (m *Mirror) canonicalHashes(ctx context.Context, p addrs.Provider, v addrs.Version) map[addrs.Platform][]checksum.Hash {
	if _, ok := m.Storage.(local); !ok || !m.hasCanonicalHome(ctx, p) {
		return nil // elsewhere a listing may be less than a request for each archive
	}
	list, err := m.readListed(ctx, homeOf(p), v)
	if err != nil || len(list) == 0 {
		return nil
	}
	hashes := make(map[addrs.Platform][]checksum.Hash, len(list))
	for platform, l := range list {
		name := archivePath(p, packageKey{v, platform})
		size, err := m.size(ctx, name)
		if err != nil || size < 0 || resolve(homeOf(p), l.URL) != name {
			return nil
		}
		hashes[platform] = l.Hashes
	}
	return hashes
}
