package workdir

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// The paths of a directory without TF_DATA_DIR.
const (
	modulesPath   = ".terraform/modules"
	modulesJSON   = modulesPath + "/modules.json"
	providersPath = ".terraform/providers"
)

// prepare prepares a directory.
func prepare(ctx context.Context, d *Dir) error {
	_, err := d.Prepare(ctx)
	return err
}

// A world is a registry on this machine and a configuration that uses it.
type world struct {
	registry *regtest.Registry
	server   *regtest.Server
	host     string // with a dot, which module addresses require
}

func newWorld(t *testing.T) *world {
	t.Helper()
	reg := regtest.New("registry.example.com")
	server := must.Get(reg.ServeTLS())(t)
	t.Cleanup(server.Close)
	w := &world{reg, server, strings.Replace(server.Addr, "localhost", "127.0.0.1", 1)}
	here := addrs.CurrentPlatform().String()
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{here, "solaris_amd64"}, Zips: map[string][]byte{here: providerZip(t, "alpha", version)}})
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: version, Files: map[string]string{
			"main.tf":                `module "inner" { source = "./modules/subnet" }`,
			"unused.tf.json":         `{"terraform": {"required_providers": {"alpha": {"source": "` + w.host + `/acme/alpha", "version": "< 2.0"}}}}`,
			"modules/subnet/main.tf": `output "x" { value = 1 }`,
		}})
	}
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "3.0.0", Platforms: []string{here}, Zips: map[string][]byte{here: providerZip(t, "beta", "3.0.0")}})
	return w
}

// wantPorts skips tests that install providers of a test's server.
func wantPorts(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: providers of a host with a port have no directory on windows")
	}
}

// everyKind is a configuration with every kind of module.
func everyKind(t *testing.T, repository string) tree {
	t.Helper()
	return trees(t, "every")["every/kind"].with(repository)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t))
}

// repository returns the path of a git repository with a module in the directory sub.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{"sub/main.tf": "# from git\n"})
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// dir returns a Dir whose clients trust the server.
func (w *world) dir(t *testing.T, dir string, terraform bool) *Dir {
	t.Helper()
	config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: dir, Terraform: terraform}))(t)
	config.HTTP = w.server.Client()
	return New(config, dir)
}

// What init leaves is what the client leaves, the client validates it without an init of
// its own, and a second run asks no server.
func TestSameAsClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	w := newWorld(t)
	c := everyKind(t, repository(t))
	terraformtest.Each(t, func(t *testing.T, program string) {
		theirs := terraformtest.New(t, program)
		theirs.Trust(t, w.server.CertPEM)
		c.write(t, w, theirs.Dir)
		theirs.Init(t)

		ours := terraformtest.New(t, program)
		ours.Trust(t, w.server.CertPEM)
		c.write(t, w, ours.Dir)
		in := w.dir(t, ours.Dir, theirs.Name() == "terraform")
		must.Do(t, prepare(t.Context(), in))
		for _, name := range []string{modulesJSON, ".terraform.lock.hcl"} {
			if got, want := read(t, ours.Dir, name), read(t, theirs.Dir, name); got != want {
				t.Errorf("%s is\n%s\nwant that of %s\n%s", name, got, theirs.Name(), want)
			}
		}
		ours.Run(t, "validate", "-no-color")

		again := w.offline(t, ours.Dir, in.Terraform)
		if err := prepare(t.Context(), again); err != nil {
			t.Errorf("the second run: %v", err)
		}
	})
}

// offline returns a Dir whose requests fail.
func (w *world) offline(t *testing.T, dir string, terraform bool) *Dir {
	t.Helper()
	config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: dir, Terraform: terraform}))(t)
	config.HTTP = &http.Client{Transport: offline{}}
	return New(config, dir)
}

// offline is a transport that fails.
type offline struct{}

func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("a request for %s", r.URL)
}

// A module of a package must not name a place on this machine, one outside of its package,
// or itself.
func TestPackageStaysInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := t.TempDir()
	write(t, secret, map[string]string{"main.tf": "# secret"})
	for name, source := range map[string]string{"file": "file:///" + strings.TrimPrefix(filepath.ToSlash(secret), "/"), "path": filepath.ToSlash(secret), "up": "../../../../x", "loop": w.host + "/acme/loop/aws"} {
		w.registry.AddModule(regtest.Module{Address: "acme/" + name + "/aws", Files: map[string]string{"main.tf": fmt.Sprintf("module \"m\" { source = %q }", source)}})
		dir := t.TempDir()
		write(t, dir, map[string]string{"main.tf": fmt.Sprintf("module \"m\" { source = %q }", w.host+"/acme/"+name+"/aws")})
		err := prepare(t.Context(), w.dir(t, dir, false))
		_, outside := errors.AsType[*ConfigError](err)
		itself := err != nil && strings.Contains(err.Error(), "calls itself")
		if !errors.Is(err, module.ErrLocal) && !outside && !itself {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

// OpenTofu reads a.tofu instead of a.tf, and Terraform reads no .tofu at all.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.tf": "", "a.tofu": "", "b.tf.json": "{}", "b.tofu.json": "{}", "c.tf": "", "c.tf.json": "{}", "override.tf": "", "x_override.tofu": "",
		".hidden.tf": "", "#d.tf#": "", "e.tf~": "", "d.tf/x": "",
	})
	for terraform, want := range map[bool][]string{
		false: {"a.tofu", "b.tofu.json", "c.tf", "c.tf.json", "|", "override.tf", "x_override.tofu"},
		true:  {"a.tf", "b.tf.json", "c.tf", "c.tf.json", "|", "override.tf"},
	} {
		primary, overrides, _, _, err := files{dir: dir}.names(terraform, false, &budget{ctx: t.Context(), guard: newGuard(Limits{})})
		if got := slices.Concat(primary, []string{"|"}, overrides); err != nil || !slices.Equal(got, want) {
			t.Errorf("names for terraform %t: %q, %v; want %q", terraform, got, err, want)
		}
	}
}

// What is kept of an earlier run must still be what the blocks want.
func TestManifest(t *testing.T) {
	t.Parallel()
	wantPorts(t)
	w := newWorld(t)
	dir := t.TempDir()
	call := func(version string) map[string]string {
		return map[string]string{"main.tf": fmt.Sprintf("module \"m\" {\n source = %q\n version = %q\n}", w.host+"/acme/network/aws", version)}
	}
	for _, c := range []struct{ constraint, want string }{{"1.0.0", "1.0.0"}, {">= 1.0", "1.0.0"}, {"~> 1.1", "1.1.0"}, {"2.0.0", "2.0.0"}} {
		write(t, dir, call(c.constraint))
		must.Do(t, prepare(t.Context(), w.dir(t, dir, false)))
		if manifest := read(t, dir, modulesJSON); !strings.Contains(manifest, `"Version":"`+c.want+`"`) {
			t.Errorf("constraint %s: %s, want version %s", c.constraint, manifest, c.want)
		}
	}
	write(t, dir, map[string]string{modulesJSON: "{"})
	err := prepare(t.Context(), w.dir(t, dir, false))
	if _, ok := errors.AsType[*ConfigError](err); !ok {
		t.Errorf("a damaged manifest: %v, want a ConfigError", err)
	}
}
