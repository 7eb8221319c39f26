package install_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The package that most tests install.
var (
	alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")
	v1    = addrs.MustParseVersion("1.2.0")
	linux = addrs.MustParsePlatform("linux_amd64")

	otherH1 = checksum.MustParseHash("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=") // of no package
)

// home is the path of alpha in a plugin directory.
const home = "registry.example.com/acme/alpha/1.2.0/linux_amd64"

// program is the name of alpha's program in regtest.
const program = "terraform-provider-alpha_v1.2.0"

// offer is a registry with one package.
type offer struct {
	reg *regtest.Registry
	src *regclient.Client
	pkg *provider.Package
}

// newOffer returns a registry with a provider, by default alpha.
func newOffer(t testing.TB, p regtest.Provider) *offer {
	t.Helper()
	if p.Address == "" {
		p.Address = alpha.String()
	}
	if p.Version == "" {
		p.Version = v1.String()
	}
	if p.Platforms == nil {
		p.Platforms = []string{linux.String()}
	}
	reg := regtest.New("registry.example.com")
	reg.AddProvider(p)
	o := &offer{reg: reg, src: &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}}
	o.pkg = o.find(t, addrs.MustParseProvider(p.Address), addrs.MustParseVersion(p.Version), addrs.MustParsePlatform(p.Platforms[0]))
	return o
}

func (o *offer) find(t testing.TB, p addrs.Provider, v addrs.Version, on addrs.Platform) *provider.Package {
	t.Helper()
	return must.Get(o.src.ProviderPackage(t.Context(), p, v, on))(t)
}

// install installs the package and checks the result.
func (o *offer) install(t testing.TB, d *install.Dir, options install.Options) *install.Installed {
	t.Helper()
	done := must.Get(d.Install(t.Context(), o.src, o.pkg, options))(t)
	checkInstalled(t, done)
	return done
}

// checkInstalled compares a result with the files on disk.
func checkInstalled(t testing.TB, done *install.Installed) {
	t.Helper()
	h1 := h1Of(t, done.Dir)
	if done.Report == nil || !slices.Contains(done.Report.Local, h1) {
		t.Errorf("the directory has %v, the report is %+v", h1, done.Report)
	}
	if done.Fetched > 0 && len(schemes(done.Report.Local)) != 2 {
		t.Errorf("hashes of what was downloaded: %v", done.Report.Local)
	}
	if _, err := done.Executable(); err != nil {
		t.Error(err)
	}
}

// h1Of returns the h1 of a directory.
func h1Of(t testing.TB, dir string) checksum.Hash {
	t.Helper()
	return must.Get(checksum.H1Dir(t.Context(), os.DirFS(dir)))(t)
}

func schemes(list []checksum.Hash) map[string]bool {
	set := map[string]bool{}
	for _, h := range list {
		set[h.Scheme()] = true
	}
	return set
}

// newDir returns a plugin directory that does not exist yet.
func newDir(t testing.TB) *install.Dir {
	t.Helper()
	return &install.Dir{Path: filepath.Join(t.TempDir(), "plugins")}
}

// write writes a file below dir and creates its parent directories.
func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// names returns the names below dir, and the targets of links, except lock files, notes, and the
// directories above packages.
func names(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		deep := strings.Count(rel, "/")
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case strings.HasSuffix(rel, ".lock"), strings.HasPrefix(rel, ".tofureg/notes/"), rel == ".tofureg/notes", d.IsDir() && deep < 4 && (deep == 0 || !strings.HasPrefix(rel, ".tofureg/")):
			return nil
		case d.IsDir():
			rel += "/"
		case d.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(path)
			rel += " -> " + target
		}
		list = append(list, rel)
		return nil
	})
	must.Do(t, err)
	return list
}

// wantNames compares the names below dir with want, which needs no parent directories.
func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	got := names(t, dir)
	got = slices.DeleteFunc(got, func(name string) bool {
		return strings.HasSuffix(name, "/") && slices.ContainsFunc(got, func(other string) bool {
			return other != name && strings.HasPrefix(other, name)
		})
	})
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the directory holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// endsWhen is a context that ends when a function returns true.
type endsWhen struct {
	context.Context
	ended func() bool
}

// Err implements context.Context.
func (e endsWhen) Err() error {
	if e.ended() {
		return context.Canceled
	}
	return e.Context.Err()
}
