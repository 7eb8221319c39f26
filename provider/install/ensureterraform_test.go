package install_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// cli is a project in which one of the CLIs works beside an Installer.
type cli struct {
	dir, program string
	env          []string
	in           *install.Installer
	want         requirements
	lock         *lockfile.File
}

// forCLIs runs test with each CLI that is installed.
func forCLIs(t *testing.T, test func(t *testing.T, c *cli)) {
	t.Parallel()
	for program, header := range map[string]string{"terraform": lockfile.HeaderTerraform, "tofu": lockfile.HeaderOpenTofu} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("skipped: %s is not installed", program)
			}
			c := newCLI(t, program)
			c.lock = &lockfile.File{Header: header}
			test(t, c)
		})
	}
}

func newCLI(t *testing.T, program string) *cli {
	t.Helper()
	reg := regtest.New("registry.example.com")
	server, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c := &cli{dir: t.TempDir(), program: program, want: requirements{}}
	c.in = &install.Installer{
		Source: &regclient.Client{HTTP: server.Client()},
		Dir:    &install.Dir{Path: filepath.Join(c.dir, ".terraform", "providers")},
	}
	platforms := []string{addrs.CurrentPlatform().String(), "plan9_mips", "darwin_arm64", "windows_amd64"}
	required := ""
	for name, constraint := range map[string]string{"alpha": "~> 1.2", "beta": "2.0.0-rc.1+meta", "gamma": ""} {
		for _, version := range []string{"1.2.3", "1.2.4", "2.0.0-rc.1+meta"} {
			reg.AddProvider(regtest.Provider{Address: "acme/" + name, Version: version, Platforms: platforms, Files: map[string]string{"LICENSE": "none"}})
		}
		p := addrs.MustParseProvider(server.Addr + "/acme/" + name)
		c.want[p] = constraintOf(constraint)
		required += fmt.Sprintf("    %s = {\n      source = %q\n      version = %q\n    }\n", name, p, constraint)
	}
	c.write(t, "main.tf", strings.ReplaceAll("terraform {\n  required_providers {\n"+required+"  }\n}\n", "      version = \"\"\n", ""))
	c.env = []string{
		"HOME=" + c.dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1",
		"SSL_CERT_FILE=" + c.write(t, "ca.pem", string(server.CertPEM)),
		"TF_CLI_CONFIG_FILE=" + c.write(t, "config.tfrc", ""),
	}
	return c
}

func (c *cli) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *cli) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", c.program, args, err, out)
	}
	return string(out)
}

// ensure installs into the project and returns the new lock file.
func (c *cli) ensure(t *testing.T) string {
	t.Helper()
	result, err := c.in.Ensure(t.Context(), c.want, c.lock)
	if err != nil {
		t.Fatal(err)
	}
	return string(result.Lock.Bytes())
}

func (c *cli) readLock(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, lockfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCLIAgrees: the CLI takes the lock file and the packages as they are, and downloads
// nothing.
func TestCLIAgrees(t *testing.T) {
	forCLIs(t, func(t *testing.T, c *cli) {
		c.in.LockPlatforms = []addrs.Platform{addrs.MustParsePlatform("darwin_arm64")}
		locked := c.ensure(t)
		c.write(t, lockfile.Name, locked)
		for _, args := range [][]string{{"init", "-no-color", "-input=false", "-lockfile=readonly"}, {"init", "-no-color", "-input=false"}} {
			out := c.run(t, args...)
			if got := c.readLock(t); got != locked || strings.Count(out, "Using previously-installed") != len(c.want) {
				t.Errorf("%q made of\n%s\nthis\n%s\n%s", args, locked, got, out)
			}
		}
	})
}

// TestSameLockAsCLI: for the same platforms the CLI writes the same bytes, and what it has
// written is all that Ensure needs, which leaves it as it is.
func TestSameLockAsCLI(t *testing.T) {
	forCLIs(t, func(t *testing.T, c *cli) {
		c.in.LockPlatforms = []addrs.Platform{addrs.MustParsePlatform("windows_amd64"), addrs.MustParsePlatform("darwin_arm64")}
		locked := c.ensure(t)
		c.run(t, "providers", "lock", "-no-color", "-platform=windows_amd64", "-platform=darwin_arm64", "-platform="+addrs.CurrentPlatform().String())
		if got := c.readLock(t); got != locked {
			t.Errorf("here\n%s\nthere\n%s", locked, got)
		}
		lock, err := lockfile.Load(filepath.Join(c.dir, lockfile.Name))
		if err != nil {
			t.Fatal(err)
		}
		c.lock, c.in.Source = lock, nil
		if got := c.ensure(t); got != locked {
			t.Errorf("Ensure made of\n%s\nthis\n%s", locked, got)
		}
	})
}

// TestAfterCLI: what the CLI has installed and locked is used as it is.
func TestAfterCLI(t *testing.T) {
	forCLIs(t, func(t *testing.T, c *cli) {
		c.run(t, "init", "-no-color", "-input=false")
		locked := c.readLock(t)
		lock, err := lockfile.Parse([]byte(locked), lockfile.Name)
		if err != nil {
			t.Fatal(err)
		}
		c.lock, c.in.Source = lock, nil
		if got := c.ensure(t); got != locked {
			t.Errorf("Ensure made of\n%s\nthis\n%s", locked, got)
		}
	})
}
