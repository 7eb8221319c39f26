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
//	// An archive at a store with presigned URLs.
//	reg.AddModule(regtest.Module{
//		Address: "acme/network/aws",
//		Origin:  "http://files.example.com", URLs: regtest.Opaque,
//		Query:   "archive=tar.gz&signature=5eed",
//	})
type Module struct {
	// Address is, for example, "acme/network/aws". With a host before it, the [Registry] also
	// answers for that host.
	Address string

	Version    string         // any text; if empty, "1.0.0"
	Properties map[string]any // further properties in the list, such as "deprecated"

	// Files are contents by name. A name that ends with a slash is a directory. If nil, there
	// is a main.tf, also in Subdir.
	Files map[string]string

	// Size, if not zero, is the size of a further file "large.bin" in bytes, at most 4 GiB
	// less 1 MiB. Its bytes do not compress and are not held in memory. It excludes Deflate.
	Size int64

	Format  Format // of the package
	Deflate bool   // compress TarGzip or Zip
	Package []byte // instead of Files, Size and Deflate; required for TarBzip2

	Answer LocationAnswer // with the location

	// UseRegistryCredentials, if not nil, is a property of the answer. With it, [InHeader]
	// means [InBody].
	UseRegistryCredentials *bool

	Location string // if not empty, the location; the fields below are then ignored

	Origin   string  // scheme and host of package and pages; if empty, the registry
	URLs     URLForm // of the location; Usual means Absolute, and so do all with an Origin
	Subdir   string  // directory after two slashes, such as "modules/subnet" or "*/subnet"
	Query    string  // of the URL of the package; if empty, the form Opaque has "archive=FORMAT"
	Checksum bool    // add "checksum=sha256:…" to the query
	Pages    int     // number of pages before the package; if negative, endless
	MetaTag  bool    // pages have <meta name="terraform-get"> instead of the header X-Terraform-Get
}

// A Format is a format of module packages.
type Format int

// The formats of module packages.
const (
	TarGzip  Format = iota // .tar.gz
	Zip                    // .zip
	TarXz                  // .tar.xz
	TarBzip2               // .tar.bz2
)

// String returns, for example, "tar.gz".
func (f Format) String() string {
	if names := [...]string{"tar.gz", "zip", "tar.xz", "tar.bz2"}; f >= 0 && int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("Format(%d)", int(f))
}

// A LocationAnswer is the way in which a registry answers with a location.
type LocationAnswer int

// The ways to answer with a location.
const (
	InHeader    LocationAnswer = iota // 204 and the header X-Terraform-Get
	InBody                            // 200 and {"location": …}
	InBoth                            // 200, the header, and {"location": …}
	BesideJSON                        // 200, the header, and {}
	BesideEmpty                       // 200, the header, and an empty body
	Nowhere                           // 204 and nothing
)

// AddModule adds a version of a module. If a version is added twice, it is listed twice, and
// the first is served. AddModule panics if m is invalid.
func (r *Registry) AddModule(m Module) *ModuleRelease {
	rel := newModuleRelease(r, m)
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.modules[rel.address]
	rel.dir = freeDir(rel.m.Version, func(dir string) bool { return findModule(same, dir) != nil })
	r.modules[rel.address] = append(same, rel)
	r.hosts[rel.address.Host().String()] = rel.address.Host()
	return rel
}

// AddEmptyModule adds a module without versions. It panics if the address is invalid.
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

// check returns why m cannot be served.
func (m *Module) check() error {
	switch {
	case m.Format < TarGzip || m.Format > TarBzip2:
		return fmt.Errorf("invalid format %d", m.Format)
	case m.Answer < InHeader || m.Answer > Nowhere:
		return fmt.Errorf("invalid answer %d", m.Answer)
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
