package oci_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

func tofu(t *testing.T) *project {
	t.Helper()
	program, err := exec.LookPath("tofu")
	if err != nil {
		t.Skip("skipped: tofu is not installed")
	}
	return &project{program: program, Dir: t.TempDir()}
}

// project is a directory with a configuration for tofu, which the user's own settings do not affect.
type project struct{ program, Dir string }

func (p *project) Write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600))
}

// Trust makes tofu trust only this certificate authority.
func (p *project) Trust(t *testing.T, authority []byte) {
	t.Helper()
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		t.Skip("skipped: SSL_CERT_FILE has no effect on " + runtime.GOOS)
	}
	p.Write(t, "ca.pem", string(authority))
}

func (p *project) Run(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir = p.Dir
	cmd.Env = []string{
		"HOME=" + p.Dir, "APPDATA=" + p.Dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(p.Dir, "cli.tfrc"), "SSL_CERT_FILE=" + filepath.Join(p.Dir, "ca.pem"),
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tofu %q: %v\n%s", args, err, out)
	}
}

// config returns a configuration with a mirror and credentials for basic authentication.
func (f *fakeRegistry) config() string {
	f.Before = wantBasic("user", "pass word", f.Before)
	return fmt.Sprintf(`
oci_default_credentials {
  discover_ambient_credentials = false
}
oci_credentials "%[1]s" {
  username = "user"
  password = "wrong"
}
oci_credentials "%[1]s/acme" {
  username = "user"
  password = "pass word"
}
provider_installation {
  oci_mirror {
    repository_template = "%[1]s/acme/${namespace}/${type}"
    include             = ["example.com/*/*"]
  }
}
`, f.host)
}

// load parses a CLI configuration.
func load(t *testing.T, f *fakeRegistry, text string) (*cliconfig.Config, *oci.Client) {
	t.Helper()
	cfg := must.Get(cliconfig.Parse(cliconfig.System{Home: t.TempDir()}, "x.tfrc", []byte(text)))(t)
	cfg.HTTP = f.server.Client()
	return cfg, oci.Configure(cfg)
}

// TestTofuInit compares tofu init with Installer.Ensure for the same configuration.
func TestTofuInit(t *testing.T) {
	t.Parallel()
	p := tofu(t)
	f := newRegistry(t)
	here := addrs.CurrentPlatform().String()
	f.provider("acme/team/alpha", "1.2.0", here, "plan9_arm")
	f.provider("acme/team/alpha", "1.3.0-beta1", here)
	f.provider("acme/team/alpha", "1.1.0_build.1", here)
	f.provider("acme/team/alpha", "latest", here)
	config := f.config()
	p.Trust(t, f.authority())
	p.Write(t, "cli.tfrc", config)
	p.Write(t, "main.tf", "terraform {\n  required_providers {\n    alpha = {\n      source  = \"example.com/team/alpha\"\n      version = \">= 1.0.0\"\n    }\n  }\n}\n")
	p.Run(t, "init", "-no-color", "-input=false")

	cfg, _ := load(t, f, config)
	dir := filepath.Join(t.TempDir(), "providers")
	required := install.Requirements{
		addrs.MustParseProvider("example.com/team/alpha"): addrs.MustParseProviderConstraint(">= 1.0.0"),
	}
	result, err := cfg.Installer(dir).Ensure(t.Context(), required, nil)
	if err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	if got, want := string(result.Lock.Bytes()), string(must.Get(os.ReadFile(filepath.Join(p.Dir, lockfile.Name)))(t)); got != want {
		t.Errorf("lock file\n%s\ntofu writes\n%s", got, want)
	}
	compareTrees(t, dir, filepath.Join(p.Dir, ".terraform", "providers"))
}

// TestTofuGet compares tofu get with Download for the same configuration.
func TestTofuGet(t *testing.T) {
	t.Parallel()
	p := tofu(t)
	f := newRegistry(t)
	f.module("acme/vpc", "latest", map[string]string{"main.tf": "# latest\n", "modules/a/main.tf": "# a\n"})
	f.module("acme/vpc", "1.0.0", map[string]string{"main.tf": "# 1.0.0\n"})
	pinned := f.module("acme/vpc", "2.0.0", map[string]string{"main.tf": "# 2.0.0\n", "sub/x.tf": ""})
	config := f.config()
	p.Trust(t, f.authority())
	p.Write(t, "cli.tfrc", config)
	sources := map[string]string{
		"latest": "oci://" + f.host + "/acme/vpc",
		"tag":    "oci://" + f.host + "/acme/vpc?tag=1.0.0",
		"digest": "oci://" + f.host + "/acme/vpc?digest=" + pinned.Digest.String(),
		"subdir": "oci://" + f.host + "/acme/vpc//modules/a?tag=latest",
	}
	var b strings.Builder
	for name, source := range sources {
		fmt.Fprintf(&b, "module %q {\n  source = %q\n}\n", name, source)
	}
	p.Write(t, "main.tf", b.String())
	p.Run(t, "get", "-no-color")

	_, client := load(t, f, config)
	for name, source := range sources {
		loc := must.Get(module.ParseLocation(source))(t)
		dir := filepath.Join(t.TempDir(), name)
		if _, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir}, module.Options{Fetcher: client}); err != nil {
			t.Errorf("Download(%s): %v", source, err)
			continue
		}
		compareTrees(t, dir, filepath.Join(p.Dir, ".terraform", "modules", name))
	}
}

// TestTofuDocker uses the credential in a Docker configuration in the home directory.
func TestTofuDocker(t *testing.T) {
	t.Parallel()
	p := tofu(t)
	f := newRegistry(t)
	f.module("acme/vpc", "latest", map[string]string{"main.tf": "# latest\n"})
	f.Before = wantBasic("user", "right", nil)
	pair := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	must.Do(t, os.Mkdir(filepath.Join(p.Dir, ".docker"), 0o755))
	p.Write(t, ".docker/config.json", fmt.Sprintf(`{"auths": {%q: {"auth": %q}, %q: {"auth": %q}}}`,
		f.host, pair("user:wrong"), f.host+"/acme", pair("user:right")))
	source := "oci://" + f.host + "/acme/vpc"
	p.Write(t, "main.tf", fmt.Sprintf("module \"m\" {\n  source = %q\n}\n", source))
	p.Trust(t, f.authority())
	p.Write(t, "cli.tfrc", "")
	p.Run(t, "get", "-no-color")

	cfg := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: p.Dir}))(t)
	cfg.HTTP = f.server.Client()
	dir, err := get(t, oci.Configure(cfg), source)
	if err != nil {
		t.Fatalf("Download: %v", err)
	}
	compareTrees(t, dir, filepath.Join(p.Dir, ".terraform", "modules", "m"))
}

// compareTrees compares names, contents and execute permissions of the files in two
// directories.
func compareTrees(t *testing.T, got, want string) {
	t.Helper()
	g, w := tree(t, got), tree(t, want)
	if len(w) == 0 || fmt.Sprint(g) != fmt.Sprint(w) {
		t.Errorf("files in %s:\n got %v\nwant %v", filepath.Base(got), g, w)
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.Name() == ".tofureg" {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = fmt.Sprintf("%v %q", info.Mode()&0o111 != 0, data)
		return err
	})
	must.Do(t, err)
	return files
}
