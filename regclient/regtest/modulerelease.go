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

// A ModuleRelease is a version of a module in a [Registry]. Its package is built on demand.
type ModuleRelease struct {
	m       Module // with defaults
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

// findModule returns the release that is served in dir, or nil.
func findModule(list []*ModuleRelease, dir string) *ModuleRelease {
	for _, rel := range list {
		if rel.dir == dir {
			return rel
		}
	}
	return nil
}

// defaultFiles returns files that tofu and terraform accept as a module.
func (rel *ModuleRelease) defaultFiles() map[string]string {
	text := fmt.Sprintf("# %q, made by regtest\n", rel.address.String()+" "+rel.m.Version)
	files := map[string]string{"main.tf": text}
	if sub := strings.Trim(strings.ReplaceAll(rel.m.Subdir, "*", "any"), "/"); sub != "" {
		files[sub+"/main.tf"] = text
	}
	return files
}

// Filename returns, for example, "network-1.0.0.tar.gz".
func (rel *ModuleRelease) Filename() string {
	return fmt.Sprintf("%s-%s.%s", fileName(rel.address.Name()), fileName(rel.m.Version), rel.m.Format)
}

// Path returns the escaped path of the URL of the package in the form [Absolute].
func (rel *ModuleRelease) Path() string { return rel.path(rel.Filename()) }

// Package returns a new reader of the package.
func (rel *ModuleRelease) Package() *io.SectionReader {
	a := rel.pack()
	return io.NewSectionReader(a.content, 0, a.size)
}

// Checksum returns "sha256:" and 64 hex digits.
func (rel *ModuleRelease) Checksum() string { return fmt.Sprintf("sha256:%x", rel.pack().sum()) }

// H1 returns the h1 of the files, or the zero Hash if [Module].Package is set.
func (rel *ModuleRelease) H1() checksum.Hash { return rel.pack().h1() }
