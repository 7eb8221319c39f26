package mirrortest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// Growing is a registry whose version 2.0.0 is much larger than 1.0.0.
func Growing() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: Names(Three)})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0", Platforms: Names(Three), Size: 1 << 20})
	return reg
}

// WantOnly checks that the mirror has exactly version 1.0.0, no problems and no unfinished files.
func WantOnly(t testing.TB, m *mirrordir.Mirror, dir string) {
	t.Helper()
	list, err := m.ProviderVersions(t.Context(), Alpha)
	if err != nil || len(list.Versions) != 1 || list.Versions[0].Version != V1 {
		t.Errorf("versions %+v, %v; want 1.0.0", list, err)
	}
	if report := MustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("problems: %v", report.Problems)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".tofureg"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// Mistaken is a source that answers each call for another version, or with nil.
type Mistaken struct {
	provider.Source
	As addrs.Version // zero to return nil
}

func (m Mistaken) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if m.As.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderVersions(ctx, p)
}

func (m Mistaken) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if m.As.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderPackage(ctx, p, m.As, on)
}

// Failing is a source that fails for each call.
type Failing struct{ Err error }

func (f Failing) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, f.Err
}
func (f Failing) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return nil, f.Err
}
func (f Failing) Evidence(context.Context, *provider.Package) (verify.Evidence, error) {
	return verify.Evidence{}, f.Err
}
func (f Failing) Open(context.Context, *provider.Package) (*provider.Body, error) { return nil, f.Err }
