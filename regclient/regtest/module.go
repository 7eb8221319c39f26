package regtest

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/addrs"
)

// A Module describes one version of a module. Only Address is required.
//
//	// An archive without a name in its URL, at a store with presigned URLs.
//	reg.AddModule(regtest.Module{
//		Address: "acme/network/aws",
//		Origin:  "http://files.example.com", URLs: regtest.Opaque,
//		Query:   "archive=tar.gz&signature=5eed",
//	})
//
//	// A git repository.
//	reg.AddModule(regtest.Module{
//		Address:  "acme/network/aws",
//		Location: "git::https://git.example.com/network.git?ref=v1.0.0",
//	})
type Module struct {
	// Address is the module, as "acme/network/aws". With a host in front, as in
	// "registry.opentofu.org/acme/network/aws", it belongs to that registry,
	// which the [Registry] then answers for as well.
	Address string

	// Version is the version, as the registry lists it and wants to be asked
	// for it. It can be any text. Empty means "1.0.0".
	Version string

	// Properties are further properties of the version in the list of versions,
	// such as "deprecated", "readme" or "root". They must be what JSON can
	// express.
	Properties map[string]any

	// Files are the files of the package by their names. A name that ends in a
	// slash is a directory entry. Nil means a main.tf, and another one in Subdir.
	Files map[string]string

	// Size is the size of one more file, "large.bin", up to 4 GiB less one
	// megabyte. Its bytes cannot be compressed and are never all in memory. It
	// does not go together with Deflate. Zero means that there is no such file.
	Size int64

	// Format is how the files are packed.
	Format Format

	// Deflate compresses a TarGzip or Zip, whose bytes may then change with the
	// version of Go. Without it they are stored.
	Deflate bool

	// Package is the package, valid or not. If nil, the package is made of the
	// fields Files, Size, Format and Deflate. Otherwise Format only gives it its
	// name. The format TarBzip2 needs it, since no package here writes bzip2.
	Package []byte

	// Answer is how the registry tells the location of the package.
	Answer LocationAnswer

	// UseRegistryCredentials is the property use_registry_credentials of the
	// answer, which says that the registry serves the package itself, and
	// whether it wants its token for it. Nil leaves it out. It stands in the
	// JSON object of the answer, so that with it InHeader means InBody.
	UseRegistryCredentials *bool

	// Location is the location as it stands, such as a git repository, "s3::…"
	// or what no registry should send. Empty means where the registry serves
	// the package, as the fields below describe it; none of them has an effect
	// otherwise.
	Location string

	// Origin is where the package and the pages before it are served, if not by
	// the registry itself: a scheme and a host, as "https://files.example.com"
	// or "http://registry.example.com:8080".
	Origin string

	// URLs is the form of the location. Usual means Absolute. With an Origin all
	// forms are absolute.
	URLs URLForm

	// Subdir is the directory in the package that the location names behind two
	// slashes, as "modules/subnet" or "*/subnet".
	Subdir string

	// Query is the query of the package's URL, as "archive=zip" or a signature.
	// Empty means "archive=FORMAT" in the form Opaque, which nothing else would
	// tell to be an archive, and none in the others.
	Query string

	// Checksum adds the right checksum to the query, as "checksum=sha256:…".
	Checksum bool

	// Pages is how many pages stand between the location and the package. Each
	// gives the absolute URL of the next, as clients ask for it with the query
	// terraform-get=1. Less than zero means that there is no end to them.
	Pages int

	// MetaTag makes the pages say it in a tag of HTML, <meta
	// name="terraform-get">. Without it they do so in the header
	// X-Terraform-Get.
	MetaTag bool
}

// A Format is a way to pack files.
type Format int

// The formats of module packages. Archives are the same in every run.
const (
	TarGzip  Format = iota // .tar.gz
	Zip                    // .zip
	TarXz                  // .tar.xz
	TarBzip2               // .tar.bz2
)

// String returns the format as the query of a location names it, as "tar.gz".
func (f Format) String() string {
	if names := [...]string{"tar.gz", "zip", "tar.xz", "tar.bz2"}; f >= 0 && int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("Format(%d)", int(f))
}

// A LocationAnswer is a way for a registry to tell the location of a package.
type LocationAnswer int

// The ways to tell a location. To have a header and a body contradict each
// other, let a [Fault] change one of them.
const (
	InHeader    LocationAnswer = iota // 204 and the header X-Terraform-Get
	InBody                            // 200 and {"location": …}
	InBoth                            // 200, the header, and {"location": …}
	BesideJSON                        // 200, the header, and {}
	BesideEmpty                       // 200, the header, and an empty body
	Nowhere                           // 204 and nothing
)

// AddModule adds one version of a module and returns it as it will be served.
// Its package is not built before it is asked for.
//
// A version added twice is listed twice, and answered from the first.
//
// AddModule panics if m cannot be served: if the address is not one of a module,
// or the fields contradict one another.
func (r *Registry) AddModule(m Module) *ModuleRelease {
	rel := newModuleRelease(r, m)
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.modules[rel.address]
	rel.dir = freeDir(rel.m.Version, func(dir string) bool { return find(same, dir) != nil })
	r.modules[rel.address] = append(same, rel)
	r.hosts[rel.address.Host().String()] = rel.address.Host()
	return rel
}

// AddEmptyModule makes the registry know a module without versions, as
// "acme/network/aws". [Registry.AddModule] can add versions later. AddEmptyModule
// panics if the address is not one of a module.
func (r *Registry) AddEmptyModule(address string) {
	m, err := addrs.ParseModuleIn(r.host, address)
	if err != nil {
		panic(fmt.Sprintf("regtest: AddEmptyModule: %v", err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.modules[m] == nil {
		r.modules[m] = []*ModuleRelease{}
	}
	r.hosts[m.Host().String()] = m.Host()
}

// check returns what cannot be served.
func (m *Module) check() error {
	switch {
	case m.Format < TarGzip || m.Format > TarBzip2:
		return fmt.Errorf("there is no format %d", m.Format)
	case m.Answer < InHeader || m.Answer > Nowhere:
		return fmt.Errorf("there is no answer %d", m.Answer)
	case m.Format == TarBzip2 && m.Package == nil:
		return errors.New("the format TarBzip2 needs the field Package")
	case m.Size > 0 && m.Package == nil && m.Deflate:
		return fmt.Errorf("a file of %d bytes cannot be compressed", m.Size)
	}
	if err := checkSizes(m.Size, m.Files); err != nil {
		return err
	}
	for name, text := range m.Files {
		if err := tar.NewWriter(io.Discard).WriteHeader(tarHeader(name, len(text))); err != nil && m.Format != Zip {
			return fmt.Errorf("the name of a file: %w", err)
		}
	}
	if _, err := json.Marshal(m.Properties); err != nil {
		return fmt.Errorf("the properties cannot be JSON: %w", err)
	}
	return checkLink(m.Origin, m.URLs)
}
