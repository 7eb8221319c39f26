package regtest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Provider describes one version of a provider. Only Address is required.
type Provider struct {
	// Address is the provider, as "acme/alpha". With a host in front, as in
	// "registry.opentofu.org/acme/alpha", it belongs to that registry, which
	// the [Registry] then answers for as well.
	Address string

	// Version is the version, as the registry lists it and wants to be asked
	// for it. It can be any text. Empty means "1.0.0".
	Version string

	// Platforms are the platforms that have a package, as "linux_amd64". Nil
	// means amd64 and arm64 of darwin and linux, and windows_amd64.
	Platforms []string

	// Protocols are the plugin protocols that the package speaks. Nil means
	// "5.0"; an empty list is served as such.
	Protocols []string

	// Warnings are added to the list of the provider's versions.
	Warnings []string

	// Size is the size of the executable in the archive, up to 4 GiB less one
	// megabyte. Its bytes cannot be compressed, are never all in memory, and
	// differ between platforms. SHA256SUMS needs the digests of all platforms:
	// name one in Platforms if Size is large. Zero means a few lines of text.
	Size int64

	// Files are further files of the archive by their names. A name that ends
	// in a slash is a directory entry.
	Files map[string]string

	// Deflate compresses the archive. It is then built in memory, and its
	// digest may change with the version of Go.
	Deflate bool

	// Zip is the archive for all platforms, valid or not. The fields Size, Files
	// and Deflate have no effect with it.
	Zip []byte

	// Zips has archives for single platforms, by names as in Platforms. A
	// platform that is not in it has Zip or, if that is nil, an archive made of
	// the fields above.
	Zips map[string][]byte

	// PackageHashes states the size and the hashes of all platforms in the
	// metadata: the "packages" property that OpenTofu added to the protocol.
	PackageHashes bool

	// NoSums is a version without SHA256SUMS and signature. The metadata gives
	// an empty URL for each.
	NoSums bool

	// EditSums, if not nil, returns the SHA256SUMS document to serve and sign
	// in place of the right one.
	EditSums func(sums []byte) []byte

	// Keys are the keys that the metadata lists. Nil means the key of the
	// registry.
	Keys []*Key

	// SignedBy is the key that signs. Nil means the first of Keys, or else the
	// key of the registry.
	SignedBy *Key

	// Origin is where archive, sums and signature are served, if not by the
	// registry itself: a scheme and a host, as "https://files.example.com" or
	// "http://registry.example.com:8080".
	Origin string

	// URLs is the form in which the metadata refers to them. Usual means
	// Absolute.
	URLs URLForm
}

// A Release is a version of a provider as the registry serves it. What its
// methods return is built when it is first asked for. Methods that take a
// platform panic if the version has none of that name.
type Release struct {
	p         Provider // as it was added, with defaults filled in
	provider  addrs.Provider
	name      string // TYPE_VERSION as file names have it
	dir       string // among the releases of the provider
	archives  map[string]func() *archive
	key       func() *Key
	sums      func() []byte
	signature func() []byte
}

func newRelease(r *Registry, p Provider) *Release {
	address, err := addrs.ParseProviderIn(r.host, p.Address)
	if err != nil {
		panic(fmt.Sprintf("regtest: AddProvider: %v", err))
	}
	if p.Version == "" {
		p.Version = "1.0.0"
	}
	if p.Platforms == nil {
		p.Platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"}
	}
	if p.Protocols == nil {
		p.Protocols = []string{"5.0"}
	}
	if err := p.check(); err != nil {
		panic(fmt.Sprintf("regtest: AddProvider: %v", err))
	}
	p.Platforms, p.Protocols = slices.Clone(p.Platforms), slices.Clone(p.Protocols)
	p.Warnings, p.Keys, p.Files = slices.Clone(p.Warnings), slices.Clone(p.Keys), maps.Clone(p.Files)
	rel := &Release{p: p, provider: address, archives: map[string]func() *archive{}}
	rel.name = address.Type() + "_" + fileName(canonical(p.Version))
	rel.buildArchives()
	rel.sums = sync.OnceValue(rel.makeSums)
	rel.key = func() *Key { return signer(r, p) }
	rel.signature = sync.OnceValue(func() []byte { return rel.key().Sign(rel.sums()) })
	return rel
}

// check returns what cannot be served.
func (p *Provider) check() error {
	if err := checkSizes(p.Size, p.Files); err != nil {
		return err
	}
	for _, platform := range p.Platforms {
		if !strings.Contains(platform, "_") {
			return fmt.Errorf("platform %q is not in the form OS_ARCH", platform)
		}
	}
	for platform := range p.Zips {
		if !slices.Contains(p.Platforms, platform) {
			return fmt.Errorf("platform %q of Zips is not in Platforms", platform)
		}
	}
	return checkLink(p.Origin, p.URLs)
}

// checkSizes returns what no zip can hold.
func checkSizes(size int64, files map[string]string) error {
	const maxSize = 1<<32 - 1<<20 // of an entry that needs no zip64, with room for the rest
	if size < 0 || size > maxSize {
		return fmt.Errorf("a size of %d is not between 0 and %d", size, int64(maxSize))
	}
	for name := range files {
		if len(name) > 1<<16-1 {
			return fmt.Errorf("the name of a file has %d bytes, more than zip can hold", len(name))
		}
	}
	return nil
}

// Filename returns the name of the archive for a platform.
func (rel *Release) Filename(platform string) string {
	return "terraform-provider-" + rel.name + "_" + platform + ".zip"
}

// Archive returns the archive for a platform. Several can be read at once.
func (rel *Release) Archive(platform string) *io.SectionReader {
	a := rel.archive(platform)
	return io.NewSectionReader(a.content, 0, a.size)
}

// ZH returns the hash of the archive for a platform.
func (rel *Release) ZH(platform string) checksum.Hash {
	return checksum.ZHSum(rel.archive(platform).sum())
}

// H1 returns the hash of the content of the archive for a platform, with every
// entry counted, or the zero Hash if the archive cannot be read.
func (rel *Release) H1(platform string) checksum.Hash { return rel.archive(platform).h1() }

// Sums returns the SHA256SUMS document, which lists the archives of all
// platforms.
func (rel *Release) Sums() []byte { return slices.Clone(rel.sums()) }

// Signature returns the signature over the SHA256SUMS document.
func (rel *Release) Signature() []byte { return slices.Clone(rel.signature()) }

// Key returns the key that has made the signature.
func (rel *Release) Key() *Key { return rel.key() }

func (rel *Release) has(platform string) bool { return rel.archives[platform] != nil }

func (rel *Release) archive(platform string) *archive {
	build := rel.archives[platform]
	if build == nil {
		panic(fmt.Sprintf("regtest: %s %q has no platform %q", rel.provider, rel.p.Version, platform))
	}
	return build()
}

// signer returns the key that signs p.
func signer(r *Registry, p Provider) *Key {
	switch {
	case p.SignedBy != nil:
		return p.SignedBy
	case len(p.Keys) > 0:
		return p.Keys[0]
	}
	return r.Key()
}

func (rel *Release) makeSums() []byte {
	var lines []string
	for platform := range rel.archives {
		sum := rel.archive(platform).sum()
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, rel.Filename(platform)))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	doc := []byte(strings.Join(lines, ""))
	if rel.p.EditSums != nil {
		doc = rel.p.EditSums(doc)
	}
	return doc
}

// canonical returns the version in its canonical spelling, or as it is if it
// is no version.
func canonical(version string) string {
	v, err := addrs.ParseVersion(version)
	if err != nil {
		return version
	}
	return v.String()
}

// fileName makes of any text a name for a file or entry.
func fileName(s string) string {
	s = s[:min(len(s), 100)]
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '+':
			return c
		}
		return '_'
	}, s)
}
