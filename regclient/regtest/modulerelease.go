package regtest

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A ModuleRelease is a version of a module as the registry serves it. What its
// methods return is built when it is first asked for.
type ModuleRelease struct {
	m       Module // as it was added, with defaults filled in
	address addrs.Module
	dir     string // among the releases of the module
	pack    func() *archive
}

func newModuleRelease(r *Registry, m Module) *ModuleRelease {
	address, err := addrs.ParseModuleIn(r.host, m.Address)
	if err != nil {
		panic(fmt.Sprintf("regtest: AddModule: %v", err))
	}
	if m.Version == "" {
		m.Version = "1.0.0"
	}
	if m.UseRegistryCredentials != nil {
		m.UseRegistryCredentials = new(*m.UseRegistryCredentials)
	}
	m.Files, m.Properties = maps.Clone(m.Files), maps.Clone(m.Properties)
	rel := &ModuleRelease{m: m, address: address}
	if m.Files == nil {
		rel.m.Files = rel.defaultFiles()
	}
	if err := rel.m.check(); err != nil {
		panic(fmt.Sprintf("regtest: AddModule: %v", err))
	}
	rel.pack = sync.OnceValue(rel.build)
	return rel
}

// find returns the release that is served under dir, or nil.
func find(list []*ModuleRelease, dir string) *ModuleRelease {
	for _, rel := range list {
		if rel.dir == dir {
			return rel
		}
	}
	return nil
}

// defaultFiles are files that the real clients accept as a module.
func (rel *ModuleRelease) defaultFiles() map[string]string {
	text := fmt.Sprintf("# %q, made by regtest\n", rel.address.String()+" "+rel.m.Version)
	files := map[string]string{"main.tf": text}
	if sub := strings.Trim(strings.ReplaceAll(rel.m.Subdir, "*", "any"), "/"); sub != "" {
		files[sub+"/main.tf"] = text
	}
	return files
}

// Filename returns the name of the package, as "network-1.0.0.tar.gz".
func (rel *ModuleRelease) Filename() string {
	return fmt.Sprintf("%s-%s.%s", fileName(rel.address.Name()), fileName(rel.m.Version), rel.m.Format)
}

// Path returns the path of the package's URL in the form Absolute, with escapes,
// for locations that a test makes itself.
func (rel *ModuleRelease) Path() string { return rel.path(rel.Filename()) }

// Package returns the package. Several can be read at once.
func (rel *ModuleRelease) Package() *io.SectionReader {
	a := rel.pack()
	return io.NewSectionReader(a.content, 0, a.size)
}

// Checksum returns the checksum of the package as locations state it, as
// "sha256:" and 64 hexadecimal digits.
func (rel *ModuleRelease) Checksum() string { return fmt.Sprintf("sha256:%x", rel.pack().sum()) }

// H1 returns the hash of the files in the package, or the zero Hash for bytes
// that were given in [Module].Package.
func (rel *ModuleRelease) H1() checksum.Hash { return rel.pack().h1() }
