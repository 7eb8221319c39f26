package install_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// BenchmarkEnsure installs 20 providers of 1 MB: into an empty directory, from a cache, and with
// all installed.
func BenchmarkEnsure(b *testing.B) {
	const n, size = 20, 1e6
	reg := regtest.New("registry.example.com")
	want := requirements{}
	for i := range n {
		reg.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i), Platforms: []string{"linux_amd64"}, Size: size}).Sums()
		want[numbered(i)] = addrs.ProviderConstraint{}
	}
	dir := func() *install.Dir { return &install.Dir{Path: filepath.Join(b.TempDir(), "providers")} }
	in := install.Installer{Source: &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}, Platform: linux, Cache: dir(), Dir: dir()}
	first, err := in.Ensure(b.Context(), want, nil)
	must(b, err)
	for _, bench := range []struct {
		name       string
		dir, cache func() *install.Dir
		lock       *lockfile.File
	}{
		{"cold", dir, func() *install.Dir { return nil }, nil},
		{"cached", dir, func() *install.Dir { return in.Cache }, first.Lock},
		{"there", func() *install.Dir { return in.Dir }, func() *install.Dir { return nil }, first.Lock},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(n * size)
			b.ReportAllocs()
			for b.Loop() {
				next := in
				next.Dir, next.Cache = bench.dir(), bench.cache()
				if _, err := next.Ensure(b.Context(), want, bench.lock); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
