package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// clientVersion is the version of all providers that the real clients install from a directory.
const clientVersion = "1.2.0-beta1+meta"

// listening is a registry on a port, an Installer that uses it, and what a project requires.
type listening struct {
	reg    *regtest.Registry
	server *regtest.Server
	in     *install.Installer
	wants  map[string]string // constraints by source address
	want   requirements      // the same
	lock   *lockfile.File
}

func listen(t *testing.T, reg *regtest.Registry) *listening {
	t.Helper()
	server := must.Get(reg.ServeTLS())(t)
	t.Cleanup(server.Close)
	in := &install.Installer{Source: &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}, Dir: newDir(t)}
	return &listening{reg: reg, server: server, in: in, wants: map[string]string{}, want: requirements{}}
}

// require adds a provider to what the project requires.
func (l *listening) require(source, constraint string) {
	l.wants[source] = constraint
	l.want[addrs.MustParseProvider(source)] = constraintOf(constraint)
}

// ensure installs the providers and returns the new lock file.
func (l *listening) ensure(t *testing.T) *lockfile.File {
	t.Helper()
	return must.Get(l.in.Ensure(t.Context(), l.want, l.lock))(t).Lock
}

// project returns a project that requires the providers.
func (l *listening) project(t *testing.T, program string) *terraformtest.Project {
	t.Helper()
	p := terraformtest.New(t, program)
	p.Trust(t, l.server.CertPEM)
	p.Require(t, l.wants)
	return p
}

// served is a registry and a plugin directory filled from it.
type served struct{ *listening }

func newServed(t *testing.T) *served {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: no directory can have the name of a host with a port")
	}
	s := &served{listen(t, regtest.New("registry.example.com"))}
	for _, name := range []string{"alpha", "beta"} {
		s.reg.AddProvider(regtest.Provider{
			Address: "acme/" + name, Version: clientVersion, Platforms: []string{addrs.CurrentPlatform().String(), "plan9_mips"},
			Files: map[string]string{"docs/a.txt": "text", "docs/": ""}, Deflate: true,
		})
		s.require(s.server.Addr+"/acme/"+name, clientVersion)
	}
	s.lock = s.ensure(t)
	s.reg.Reset()
	return s
}

// locked returns a project that requires and locks the packages in the directory.
func (s *served) locked(t *testing.T, program, config string) *terraformtest.Project {
	t.Helper()
	p := s.project(t, program)
	p.Configure(t, config)
	p.Write(t, lockfile.Name, string(s.lock.Bytes()))
	return p
}

// wantInstalled checks that a client has linked to the directory and kept the lock file.
func (s *served) wantInstalled(t *testing.T, p *terraformtest.Project) {
	t.Helper()
	for source := range s.wants {
		name := filepath.Join(source, clientVersion, addrs.CurrentPlatform().String())
		target, err := os.Readlink(filepath.Join(p.Dir, ".terraform", "providers", name))
		if err != nil || target != filepath.Join(s.in.Dir.Path, name) {
			t.Errorf("%s: %q, %v", source, target, err)
		}
	}
	// Lookup accepts the package that the client installed.
	project := &install.Dir{Path: filepath.Join(p.Dir, ".terraform", "providers")}
	for pkg, err := range project.All() {
		must.Do(t, err)
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
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", s.in.Dir.Path)
}

// TestPluginCache: the real clients use a directory as their cache and download nothing.
func TestPluginCache(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := s.locked(t, program, fmt.Sprintf("plugin_cache_dir = %q\n", s.in.Dir.Path))
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
		p := s.locked(t, program, s.mirror())
		p.Init(t, "-lockfile=readonly")
		s.wantInstalled(t, p)
		must.Do(t, os.Remove(filepath.Join(p.Dir, lockfile.Name)))
		p.Init(t)
		if n := len(s.reg.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// scan runs init, and again if the client failed because a name disappeared.
func scan(t *testing.T, p *terraformtest.Project) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(p.Dir, ".terraform")))
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
		p := s.locked(t, program, s.mirror())
		for round := range 3 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 2 {
					version := fmt.Sprintf("%d.%d.0-%s", round, i, filepath.Base(program))
					s.reg.AddProvider(regtest.Provider{
						Address: "acme/gamma", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, Size: 1 << 20,
					})
					pkg, err := s.in.Source.ProviderPackage(t.Context(), gamma, addrs.MustParseVersion(version), addrs.CurrentPlatform())
					if err == nil {
						_, err = s.in.Dir.Install(t.Context(), s.in.Source, pkg, install.Options{})
					}
					if err != nil {
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
	*listening
	*terraformtest.Project
}

// share returns a project in whose directory the Installer installs.
func (l *listening) share(t *testing.T, program string) *shared {
	t.Helper()
	s := &shared{l, l.project(t, program)}
	s.in.Dir = &install.Dir{Path: filepath.Join(s.Dir, ".terraform", "providers")}
	s.lock = &lockfile.File{Header: lockfile.HeaderTerraform}
	if s.Name() == "tofu" {
		s.lock.Header = lockfile.HeaderOpenTofu
	}
	return s
}

// withCLI runs test with each installed CLI.
func withCLI(t *testing.T, test func(t *testing.T, s *shared)) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		l := listen(t, regtest.New("registry.example.com"))
		platforms := []string{addrs.CurrentPlatform().String(), "plan9_mips", "darwin_arm64", "windows_amd64"}
		for name, constraint := range map[string]string{"alpha": "~> 1.2", "beta": "2.0.0-rc.1+meta", "gamma": ">= 1.0, != 1.2.4"} {
			for _, version := range []string{"1.2.3", "1.2.4", "2.0.0-rc.1+meta"} {
				l.reg.AddProvider(regtest.Provider{Address: "acme/" + name, Version: version, Platforms: platforms, Files: map[string]string{"LICENSE": "none"}})
			}
			l.require(l.server.Addr+"/acme/"+name, constraint)
		}
		test(t, l.share(t, program))
	})
}

// ensureOffline checks that the project is complete and that its lock file stays.
func (s *shared) ensureOffline(t *testing.T) {
	t.Helper()
	text := s.Read(t, lockfile.Name)
	s.lock, s.in.Source = must.Get(lockfile.Parse([]byte(text), lockfile.Name))(t), nil
	if got := string(s.ensure(t).Bytes()); got != text {
		t.Errorf("Ensure made of\n%s\nthis\n%s", text, got)
	}
}

// TestCLIAgrees: the CLI uses the lock file and the packages, or the lock file alone, and downloads
// nothing else.
func TestCLIAgrees(t *testing.T) {
	withCLI(t, func(t *testing.T, s *shared) {
		s.in.LockPlatforms = []addrs.Platform{addrs.MustParsePlatform("darwin_arm64")}
		locked := string(s.ensure(t).Bytes())
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
		locked := string(s.ensure(t).Bytes())
		s.Run(t, "providers", "lock", "-no-color", "-platform=windows_amd64", "-platform=darwin_arm64", "-platform="+addrs.CurrentPlatform().String())
		if got := s.Read(t, lockfile.Name); got != locked {
			t.Errorf("here\n%s\nthere\n%s", locked, got)
		}
		platforms := append(slices.Clone(s.in.LockPlatforms), addrs.CurrentPlatform())
		if got := must.Get((&install.Installer{Source: s.in.Source, LockPlatforms: platforms}).Lock(t.Context(), s.want, s.lock))(t); string(got.Lock.Bytes()) != locked {
			t.Errorf("Lock returned\n%s\nwant\n%s", got.Lock.Bytes(), locked)
		}
		s.ensureOffline(t)
		s.in.Store = &hashMemory{}
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
				l := listen(t, reg)
				l.require(official.String(), ">= 1.0")
				p := l.share(t, program)
				if enforced {
					p.Env = append(p.Env, "OPENTOFU_ENFORCE_GPG_VALIDATION=true")
				}
				p.Configure(t, fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = %q\n  }\n}\n", official.Host(), l.server.URL+"/v1/providers/"))
				p.Init(t)
				p.in.Dir, p.in.Policy = newDir(t), policyOf(verify.Policy{DropStated: enforced || p.Name() == "terraform"})
				want, got := p.Read(t, lockfile.Name), string(p.ensure(t).Bytes())
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
