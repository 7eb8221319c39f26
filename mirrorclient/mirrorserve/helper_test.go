package mirrorserve_test

import (
	"errors"
	"io/fs"

	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/mirrortest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// What the tests of mirrordir and mirrorserve share.
var (
	alpha, v1, v2              = mirrortest.Alpha, mirrortest.V1, mirrortest.V2
	linux, darwin, windows     = mirrortest.Linux, mirrortest.Darwin, mirrortest.Windows
	three                      = mirrortest.Three
	newRegistry, client, names = mirrortest.NewRegistry, mirrortest.Client, mirrortest.Names
	wants, manyVersions        = mirrortest.Wants, mirrortest.ManyVersions
	newMirror, open, filled    = mirrortest.NewMirror, mirrortest.Open, mirrortest.Filled
	mustAdd, mustCheck         = mirrortest.MustAdd, mirrortest.MustCheck
	write, read                = mirrortest.Write, mirrortest.Read
	files, wantFiles           = mirrortest.Files, mirrortest.WantFiles
	archive, recordOf          = mirrortest.Archive, mirrortest.RecordOf
)

const home = mirrortest.Home

type (
	document = mirrortest.Document
	index    = mirrortest.Index
	bucket   = mirrortest.Bucket
)

// growing is a registry whose version 2.0.0 is much larger than 1.0.0.
func growing() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: names(three)})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0", Platforms: names(three), Size: 1 << 20})
	return reg
}

// wantOnly checks that the mirror has exactly version 1.0.0, no problems and no unfinished files.
func wantOnly(t *testing.T, m *mirrordir.Mirror, dir string) {
	t.Helper()
	list, err := m.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.List) != 1 || list.List[0].Version != v1 {
		t.Errorf("versions %+v, %v; want 1.0.0", list, err)
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
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

// all returns the elements of Mirror.All as text.
func all(t *testing.T, m *mirrordir.Mirror) (list []string) {
	t.Helper()
	for w, err := range m.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w.String()+" "+strings.Join(names(w.Platforms), " "))
	}
	return list
}

// mistaken is a source that answers each call for another version, or with nil.
type mistaken struct {
	provider.Source
	as addrs.Version // zero to return nil
}

func (m mistaken) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderVersions(ctx, p)
}

func (m mistaken) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderPackage(ctx, p, m.as, on)
}
