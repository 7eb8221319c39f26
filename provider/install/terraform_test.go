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
	"github.com/tofureg/tofureg/verify"
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

// shared is a project that a CLI and an Installer use.
type shared struct {
	*terraformtest.Project
	in   *install.Installer
	want requirements
	lock *lockfile.File
}

// withCLI runs test with each installed CLI.
func withCLI(t *testing.T, test func(t *testing.T, s *shared)) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		header := lockfile.HeaderTerraform
		if strings.Contains(filepath.Base(program), "tofu") {
			header = lockfile.HeaderOpenTofu
		}
		s := newShared(t, program)
		s.lock = &lockfile.File{Header: header}
		test(t, s)
	})
}

func newShared(t *testing.T, program string) *shared {
	t.Helper()
	reg := regtest.New("registry.example.com")
	server, err := reg.ServeTLS()
	must(t, err)
	t.Cleanup(server.Close)
	s := &shared{Project: terraformtest.New(t, program), want: requirements{}}
	s.Trust(t, server.CertPEM)
	s.in = &install.Installer{
		Source: &regclient.Client{Transport: &transport.Client{HTTP: server.Client()}},
		Dir:    &install.Dir{Path: filepath.Join(s.Dir, ".terraform", "providers")},
	}
	platforms := []string{addrs.CurrentPlatform().String(), "plan9_mips", "darwin_arm64", "windows_amd64"}
	versions := map[string]string{}
	for name, constraint := range map[string]string{"alpha": "~> 1.2", "beta": "2.0.0-rc.1+meta", "gamma": ">= 1.0, != 1.2.4"} {
		for _, version := range []string{"1.2.3", "1.2.4", "2.0.0-rc.1+meta"} {
			reg.AddProvider(regtest.Provider{Address: "acme/" + name, Version: version, Platforms: platforms, Files: map[string]string{"LICENSE": "none"}})
		}
		source := server.Addr + "/acme/" + name
		versions[source] = constraint
		s.want[addrs.MustParseProvider(source)] = constraintOf(constraint)
	}
	s.Require(t, versions)
	return s
}

// ensure installs the providers of the project and returns the new lock file.
func (s *shared) ensure(t *testing.T) string {
	t.Helper()
	result, err := s.in.Ensure(t.Context(), s.want, s.lock)
	must(t, err)
	return string(result.Lock.Bytes())
}

// ensureOffline checks that the project is complete and that its lock file stays.
func (s *shared) ensureOffline(t *testing.T) {
	t.Helper()
	text := s.Read(t, lockfile.Name)
	lock, err := lockfile.Parse([]byte(text), lockfile.Name)
	must(t, err)
	s.lock, s.in.Source = lock, nil
	if got := s.ensure(t); got != text {
		t.Errorf("Ensure made of\n%s\nthis\n%s", text, got)
	}
}

// TestCLIAgrees: the CLI uses the lock file and the packages, or the lock file alone, and downloads
// nothing else.
func TestCLIAgrees(t *testing.T) {
	withCLI(t, func(t *testing.T, s *shared) {
		s.in.LockPlatforms = []addrs.Platform{addrs.MustParsePlatform("darwin_arm64")}
		locked := s.ensure(t)
		s.Write(t, lockfile.Name, locked)
		out := s.Run(t, "init", "-no-color", "-input=false", "-lockfile=readonly")
		if n := strings.Count(out, "Using previously-installed"); n != len(s.want) {
			t.Errorf("%d packages were used:\n%s", n, out)
		}
		s.Init(t, "-lockfile=readonly")
		s.Init(t)
		if got := s.Read(t, lockfile.Name); got != locked {
			t.Errorf("the CLI made of\n%s\nthis\n%s", locked, got)
		}
	})
}

// TestSameLockAsCLI: the CLI writes the same lock file for the same platforms, and Ensure needs
// nothing else.
func TestSameLockAsCLI(t *testing.T) {
	withCLI(t, func(t *testing.T, s *shared) {
		s.in.LockPlatforms = []addrs.Platform{addrs.MustParsePlatform("windows_amd64"), addrs.MustParsePlatform("darwin_arm64")}
		locked := s.ensure(t)
		s.Run(t, "providers", "lock", "-no-color", "-platform=windows_amd64", "-platform=darwin_arm64", "-platform="+addrs.CurrentPlatform().String())
		if got := s.Read(t, lockfile.Name); got != locked {
			t.Errorf("here\n%s\nthere\n%s", locked, got)
		}
		s.ensureOffline(t)
		s.in.Hashes = &hashMemory{}
		s.ensureOffline(t)
	})
}

// TestAfterCLI: packages that the CLI installed and locked are used.
func TestAfterCLI(t *testing.T) {
	withCLI(t, func(t *testing.T, s *shared) {
		s.Init(t)
		s.ensureOffline(t)
	})
}

// TestNewLockOfStatingRegistry: of the registry that states the hashes of all platforms, a new lock file
// is the one of the CLI, byte for byte, and the CLI does not rewrite it. OpenTofu records what the
// registry states, unless it demands signatures; Terraform does not.
func TestNewLockOfStatingRegistry(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for _, enforced := range []bool{false, true} {
			t.Run(map[bool]string{false: "default", true: "signatures demanded"}[enforced], func(t *testing.T) {
				t.Parallel()
				reg := regtest.New("registry.opentofu.org")
				reg.AddProvider(regtest.Provider{
					Address: "acme/p0", PackageHashes: true, Platforms: []string{addrs.CurrentPlatform().String(), "plan9_mips", "darwin_arm64", "windows_amd64"},
				})
				server, err := reg.ServeTLS()
				must(t, err)
				t.Cleanup(server.Close)
				p := terraformtest.New(t, program)
				p.Trust(t, server.CertPEM)
				if enforced {
					p.Env = append(p.Env, "OPENTOFU_ENFORCE_GPG_VALIDATION=true")
				}
				p.Require(t, map[string]string{official.String(): ">= 1.0"})
				p.Configure(t, fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = %q\n  }\n}\n", official.Host(), server.URL+"/v1/providers/"))
				p.Init(t)
				want, lock := p.Read(t, lockfile.Name), &lockfile.File{Header: lockfile.HeaderTerraform}
				if p.Name() == "tofu" {
					lock.Header = lockfile.HeaderOpenTofu
				}
				in := &install.Installer{
					Source: &regclient.Client{Transport: &transport.Client{HTTP: server.Client()}},
					Dir:    &install.Dir{Path: filepath.Join(t.TempDir(), "providers")},
					Policy: policyOf(verify.Policy{DropStated: enforced || p.Name() == "terraform"}),
				}
				result, err := in.Ensure(t.Context(), requirements{official: constraintOf(">= 1.0")}, lock)
				must(t, err)
				got := string(result.Lock.Bytes())
				if got != want {
					t.Errorf("Ensure locked\n%s\nthe CLI\n%s", got, want)
				}
				p.Write(t, lockfile.Name, got)
				p.Init(t)
				p.Init(t, "-upgrade")
				if after := p.Read(t, lockfile.Name); after != got {
					t.Errorf("the CLI made of\n%s\nthis\n%s", got, after)
				}
			})
		}
	})
}
