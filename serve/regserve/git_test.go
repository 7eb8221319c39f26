package regserve_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// gitModule returns a Handler for a registry with a module in a git repository with the tag v1, and the server of the
// repository.
func gitModule(t *testing.T) (*regserve.Handler, *httptest.Server) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("skipped: git is not installed")
	}
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	must.Do(t, os.MkdirAll(filepath.Join(dir, "x", "modules", "subnet"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "x", "main.tf"), []byte("module \"s\" {\n  source = \"./modules/subnet\"\n}\n"), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(dir, "x", "modules", "subnet", "run.sh"), []byte("#!/bin/sh\n"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "x", "modules", "subnet", "main.tf"), []byte("# of git\n"), 0o644))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"}, {"tag", "v1"}} {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = filepath.Join(dir, "x"), env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	server := httptest.NewServer(&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}, Stderr: io.Discard})
	t.Cleanup(server.Close)
	reg := regtest.New(originHost)
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Location: "git::" + server.URL + "/x/.git?ref=v1"})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.1.0", Location: "git::" + server.URL + "/x/.git//modules/subnet?ref=v1"})
	reg.AddModule(regtest.Module{Address: "acme/local/aws", Location: "git::file://" + filepath.ToSlash(filepath.Join(dir, "x"))})
	reg.AddModule(regtest.Module{Address: "acme/gone/aws", Location: "git::" + server.URL + "/y/.git"})
	reg.AddModule(regtest.Module{Address: "acme/bucket/aws", Location: "s3::https://s3.amazonaws.com/bucket/x.zip"})
	source := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	return &regserve.Handler{
		Modules: source, Host: svchost.MustParse(originHost), StreamModules: true, TempDir: t.TempDir(),
		ModuleOptions: &module.Options{
			Git: &module.Git{Env: env, AllowHTTP: true}, AllowLocal: true, Cache: &module.Cache{Path: filepath.Join(t.TempDir(), "cache"), MaxAge: time.Hour},
		},
	}, server
}

// TestGitModules: both clients install modules of git through a Handler.
func TestGitModules(t *testing.T) {
	t.Parallel()
	h, _ := gitModule(t)
	server := serve(t, h)
	init := func(t *testing.T, program string) {
		project := terraformtest.New(t, program)
		project.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		host := strings.TrimPrefix(server.URL, "https://")
		project.Write(t, "main.tf", fmt.Sprintf(`
module "whole" {
  source  = "%[1]s/acme/network/aws"
  version = "1.0.0"
}
module "part" {
  source  = "%[1]s/acme/network/aws//modules/subnet"
  version = "1.0.0"
}
module "subdir" {
  source  = "%[1]s/acme/network/aws"
  version = "1.1.0"
}
`, host))
		project.Init(t)
		modules := project.Read(t, ".terraform/modules/modules.json")
		for _, dir := range []string{"whole", "whole/modules/subnet", "part/modules/subnet", "subdir/modules/subnet"} {
			if !strings.Contains(modules, `"Dir":".terraform/modules/`+dir+`"`) {
				t.Errorf("the module %s is not installed: %s", dir, modules)
			}
		}
		if text := project.Read(t, ".terraform/modules/subdir/modules/subnet/main.tf"); text != "# of git\n" {
			t.Errorf("the file of the module is %q", text)
		}
		info, err := os.Stat(filepath.Join(project.Dir, ".terraform/modules/part/modules/subnet/run.sh"))
		if err != nil || info.Mode()&0o111 == 0 && runtime.GOOS != "windows" {
			t.Errorf("run.sh: %v, %v; want that it can be executed", info, err)
		}
	}
	terraformtest.Each(t, init)
}

// TestGitModuleFiles: what a Handler serves of git is an archive, also without git if it is in the cache. A registry
// must not name a repository on the machine of the Handler.
func TestGitModuleFiles(t *testing.T) {
	t.Parallel()
	h, repositories := gitModule(t)
	server := serve(t, h)
	location := func(of string) string {
		_, body := get(t, server, "/v1/modules/acme/"+of+"/download")
		return member(t, body, "location")
	}
	part := location("network/aws/1.1.0")
	if want := server.URL + "/v1/modules/acme/network/aws/1.1.0/package//modules/subnet?archive=tar.gz"; part != want {
		t.Errorf("location %q, want %q", part, want)
	}
	if other := location("bucket/aws/1.0.0"); !strings.HasPrefix(other, "s3::") {
		t.Errorf("location %q of a kind without an option, want that of the registry", other)
	}
	for range 2 {
		resp, body := get(t, server, "/v1/modules/acme/network/aws/1.1.0/package?archive=tar.gz", "Range", "bytes=0-1")
		if resp.StatusCode != 200 || !strings.HasPrefix(body, "\x1f\x8b") || resp.ContentLength != int64(len(body)) {
			t.Errorf("the package has status %d, %d bytes of %d", resp.StatusCode, len(body), resp.ContentLength)
		}
		repositories.Close()
	}
	for name, path := range map[string]string{
		"a local repository": "local/aws/1.0.0/package", "no repository": "gone/aws/1.0.0/package",
	} {
		if resp, body := get(t, server, "/v1/modules/acme/"+path); resp.StatusCode != 502 || strings.Contains(body, "git::") {
			t.Errorf("%s: status %d, %s; want 502", name, resp.StatusCode, body)
		}
	}
	if resp, _ := get(t, server, "/v1/modules/acme/bucket/aws/1.0.0/package"); resp.StatusCode != 404 {
		t.Errorf("a bucket: status %d, want 404", resp.StatusCode)
	}
	if left := must.Get(os.ReadDir(h.TempDir))(t); len(left) > 0 {
		t.Errorf("the Handler has left %v", left)
	}
}

// TestGitModuleSigned: with Authorize, the URL of a package of git needs no token, but its signature.
func TestGitModuleSigned(t *testing.T) {
	t.Parallel()
	h, _ := gitModule(t)
	h.Authorize = bearer
	server := serve(t, h)
	_, body := get(t, server, "/v1/modules/acme/network/aws/1.1.0/download", "Authorization", "Bearer secret")
	at := must.Get(url.Parse(strings.Replace(member(t, body, "location"), "//modules/subnet", "", 1)))(t)
	for query, want := range map[string]int{at.RawQuery: 200, "archive=tar.gz": 401} {
		if resp, _ := get(t, server, at.Path+"?"+query); resp.StatusCode != want {
			t.Errorf("GET %s?%s: status %d, want %d", at.Path, query, resp.StatusCode, want)
		}
	}
}
