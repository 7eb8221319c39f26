package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// clientVersion is the version of all providers that the real clients install.
const clientVersion = "1.2.0-beta1+meta"

// served is a listening registry and a plugin directory filled from it.
type served struct {
	reg    *regtest.Registry
	server *regtest.Server
	dir    *install.Dir
	lock   *lockfile.File
	wants  map[string]string // versions by address
}

func newServed(t *testing.T) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: no directory can have the name of a host with a port")
	}
	s := &served{reg: regtest.New("registry.example.com"), dir: newDir(t), lock: new(lockfile.File), wants: map[string]string{}}
	for _, name := range []string{"alpha", "beta"} {
		s.reg.AddProvider(regtest.Provider{
			Address: "acme/" + name, Version: clientVersion, Platforms: []string{addrs.CurrentPlatform().String(), "plan9_mips"},
			Files: map[string]string{"docs/a.txt": "text", "docs/": ""}, Deflate: true,
		})
	}
	var err error
	if s.server, err = s.reg.ServeTLS(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.server.Close)
	for _, name := range []string{"alpha", "beta"} {
		p := addrs.MustParseProvider(s.server.Addr + "/acme/" + name)
		s.wants[p.String()] = clientVersion
		must(t, s.install(t, p, clientVersion))
	}
	s.reg.Reset()
	return s
}

// install installs a package, and locks it if clients require it.
func (s *served) install(t *testing.T, p addrs.Provider, version string) error {
	src := &regclient.Client{Transport: &transport.Client{HTTP: s.server.Client()}}
	pkg, err := src.ProviderPackage(t.Context(), p, addrs.MustParseVersion(version), addrs.CurrentPlatform())
	if err != nil {
		return err
	}
	done, err := s.dir.Install(t.Context(), src, pkg, install.Options{})
	if err != nil || version != clientVersion {
		return err
	}
	return s.lock.Merge(p, done.Version, addrs.MustParseProviderConstraint(version), done.Report.Recordable())
}

// project returns a project that requires and locks the packages in the directory.
func (s *served) project(t *testing.T, program, config string) *terraformtest.Project {
	t.Helper()
	p := terraformtest.New(t, program)
	p.Require(t, s.wants)
	p.Configure(t, config)
	p.Trust(t, s.server.CertPEM)
	p.Write(t, lockfile.Name, string(s.lock.Bytes()))
	return p
}

// wantInstalled checks that a client has linked to the directory and kept the lock file.
func (s *served) wantInstalled(t *testing.T, p *terraformtest.Project) {
	t.Helper()
	for source := range s.wants {
		name := filepath.Join(source, clientVersion, addrs.CurrentPlatform().String())
		target, err := os.Readlink(filepath.Join(p.Dir, ".terraform", "providers", name))
		if err != nil || target != filepath.Join(s.dir.Path, name) {
			t.Errorf("%s: %q, %v", source, target, err)
		}
	}
	// Lookup accepts the package that the client installed.
	project := &install.Dir{Path: filepath.Join(p.Dir, ".terraform", "providers")}
	for pkg, err := range project.All() {
		must(t, err)
		found, err := project.Lookup(t.Context(), pkg.Provider, pkg.Version, pkg.Platform, s.lock.Accept(pkg.Provider, pkg.Version))
		if err != nil || found.Link == "" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if got, want := p.Read(t, lockfile.Name), string(s.lock.Bytes()); got != want {
		t.Errorf("the lock file was\n%s\nand is\n%s", want, got)
	}
}

func (s *served) mirror() string {
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", s.dir.Path)
}

// TestPluginCache: the real clients use a directory as their cache and download nothing.
func TestPluginCache(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.project(t, program, fmt.Sprintf("plugin_cache_dir = %q\n", s.dir.Path))
		out := p.Init(t, "-lockfile=readonly")
		if !strings.Contains(out, "alpha v"+clientVersion) {
			t.Error(out)
		}
		s.wantInstalled(t, p)
		if n := s.reg.Count(regtest.Archive); n != 0 {
			t.Errorf("%d downloads", n)
		}
	})
}

// TestFilesystemMirror: the real clients install from a directory as from a mirror, with and
// without a lock file.
func TestFilesystemMirror(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.project(t, program, s.mirror())
		p.Init(t, "-lockfile=readonly")
		s.wantInstalled(t, p)
		must(t, os.Remove(filepath.Join(p.Dir, lockfile.Name)))
		p.Init(t)
		if n := len(s.reg.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// scan runs init, and again if the client failed because a name disappeared.
func scan(t *testing.T, p *terraformtest.Project) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(p.Dir, ".terraform")))
	out, err := p.Try(t, "init", "-no-color", "-input=false", "-lockfile=readonly")
	if err == nil {
		return
	}
	if !strings.Contains(out, "cannot search") || !strings.Contains(out, "lstat") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Init(t, "-lockfile=readonly")
}

// TestScan: the real clients scan the directory while packages are installed in it.
func TestScan(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	gamma := addrs.MustParseProvider(s.server.Addr + "/acme/gamma")
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.project(t, program, s.mirror())
		for round := range 3 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 2 {
					version := fmt.Sprintf("%d.%d.0-%s", round, i, filepath.Base(program))
					s.reg.AddProvider(regtest.Provider{
						Address: "acme/gamma", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, Size: 1 << 20,
					})
					if err := s.install(t, gamma, version); err != nil {
						t.Error(err)
					}
				}
			}()
			scan(t, p)
			s.wantInstalled(t, p)
			<-done
		}
	})
}
