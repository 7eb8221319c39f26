package install_test

import (
	"fmt"
	"path/filepath"
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
