package provider_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// project is a directory with a configuration that wants the demo release from a registry
// on this machine.
type project struct {
	dir, program string
	env          []string
	source       addrs.Provider
	client       *regclient.Client
}

func newProject(t *testing.T, program string, r regtest.Provider) *project {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("skipped: %s is not installed", program)
	}
	reg, _, _ := serveDemo(r)
	server, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	p := &project{
		dir: t.TempDir(), program: program,
		source: addrs.MustParseProvider(server.Addr + "/acme/demo"),
		client: &regclient.Client{HTTP: server.Client()},
	}
	p.write(t, "main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    demo = {\n      source = %q\n      version = \"~> 1.2\"\n    }\n  }\n}\n", p.source))
	p.env = []string{
		"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1",
		"SSL_CERT_FILE=" + p.write(t, "ca.pem", string(server.CertPEM)),
		"TF_CLI_CONFIG_FILE=" + p.write(t, "config.tfrc", ""),
	}
	return p
}

func (p *project) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs the program in the project and returns the lock file that is there afterwards.
func (p *project) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", p.program, args, err, out)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, lockfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// lock returns the lock file that Hashes and Merge make.
func (p *project) lock(t *testing.T, header string, on ...addrs.Platform) *lockfile.File {
	t.Helper()
	lock, constraint := &lockfile.File{Header: header}, addrs.MustParseProviderConstraint("~> 1.2")
	versions, err := p.client.ProviderVersions(t.Context(), p.source)
	if err != nil {
		t.Fatal(err)
	}
	v, err := versions.Newest(constraint)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := provider.Hashes(t.Context(), p.client, p.source, v, on, provider.HashOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range on {
		if err := lock.Merge(p.source, v, constraint, reports[platform]); err != nil {
			t.Fatal(err)
		}
	}
	return lock
}

var clients = map[string]string{"terraform": lockfile.HeaderTerraform, "tofu": lockfile.HeaderOpenTofu}

// TestSameAsProvidersLock has the clients write a lock file for several platforms. From
// here comes the same, byte for byte.
func TestSameAsProvidersLock(t *testing.T) {
	t.Parallel()
	for program, header := range clients {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			r := demoRelease()
			r.Files = map[string]string{"docs/README": "Read me.\n"} // and no entry for a directory, of which the client has no hash
			p := newProject(t, program, r)
			on := platforms("darwin_arm64", "linux_amd64", "windows_amd64")
			args := []string{"providers", "lock", "-no-color"}
			for _, platform := range on {
				args = append(args, "-platform="+platform.String())
			}
			want := p.run(t, args...)
			if got := string(p.lock(t, header, on...).Bytes()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestClientsAcceptLock has the clients install by a lock file from here, which they leave
// as it is, although it may have one more hash than they know.
func TestClientsAcceptLock(t *testing.T) {
	t.Parallel()
	for program, header := range clients {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			r := demoRelease()
			if here := addrs.CurrentPlatform().String(); !slices.Contains(r.Platforms, here) {
				r.Platforms = append(r.Platforms, here)
			}
			p := newProject(t, program, r)
			lock := p.lock(t, header, addrs.CurrentPlatform(), addrs.MustParsePlatform("windows_amd64"))
			if err := lock.Save(filepath.Join(p.dir, lockfile.Name)); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(lock.Bytes()), "h1:"); n < 2 {
				t.Errorf("%d hashes of content\n%s", n, lock.Bytes())
			}
			for _, args := range [][]string{{"init", "-no-color", "-input=false", "-lockfile=readonly"}, {"init", "-no-color", "-input=false"}} {
				if got := p.run(t, args...); got != string(lock.Bytes()) {
					t.Errorf("%q changed\n%s\ninto\n%s", args, lock.Bytes(), got)
				}
			}
		})
	}
}
