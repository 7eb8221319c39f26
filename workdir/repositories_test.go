package workdir

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
)

var repositoriesDir = flag.String("workdir.repositories", "", "compare with the clients in all directories of the bare git repositories OWNER/NAME.git in this `directory`")

var fixtures = flag.String("workdir.fixtures", "", "compare with tofu in all directories of its own fixtures in this `directory`")

// An internet has the repositories of GitHub, a registry over their tags, and a mirror with any provider.
type internet struct {
	*httptest.Server
	config, git string // files with the configurations of the CLI and of git
}

func newInternet(t *testing.T, repositories string) *internet {
	t.Helper()
	core := must.Get(exec.Command("git", "--exec-path").Output())(t)
	dir := t.TempDir()
	n := &internet{config: filepath.Join(dir, "cli.tfrc"), git: filepath.Join(dir, "gitconfig")}
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"), Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + n.git},
	})
	mux.HandleFunc("GET /modules/{owner}/{name}/{system}/versions", func(w http.ResponseWriter, r *http.Request) {
		versions := []map[string]string{}
		for tag := range tags(repositories, r) {
			versions = append(versions, map[string]string{"version": tag})
		}
		if len(versions) == 0 {
			http.NotFound(w, r)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": versions}}})
	})
	mux.HandleFunc("GET /modules/{owner}/{name}/{system}/{version}/download", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", fmt.Sprintf("git::https://github.com/%s/terraform-%s-%s?ref=%s",
			r.PathValue("owner"), r.PathValue("system"), r.PathValue("name"), tags(repositories, r)[r.PathValue("version")]))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /mirror/", func(w http.ResponseWriter, r *http.Request) { anyProvider(w, r) })
	n.Server = httptest.NewUnstartedServer(mux)
	n.Config.ErrorLog = log.New(io.Discard, "", 0)
	n.StartTLS()
	t.Cleanup(n.Close)
	ca := filepath.Join(dir, "ca.pem")
	services := fmt.Sprintf("{\n  services = { \"modules.v1\" = %q }\n}\n", n.URL+"/modules/")
	for file, text := range map[string]string{
		ca:       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.Certificate().Raw})),
		n.git:    fmt.Sprintf("[safe]\n\tdirectory = *\n[http]\n\tsslCAInfo = %s\n[url \"%s/git/\"]\n\tinsteadOf = https://github.com/\n", ca, n.URL),
		n.config: fmt.Sprintf("host \"registry.terraform.io\" %[1]shost \"registry.opentofu.org\" %[1]sprovider_installation {\n  network_mirror {\n    url = %[2]q\n  }\n}\n", services, n.URL+"/mirror/"),
	} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return n
}

// tags returns the tags of the repository of a module by version.
func tags(repositories string, r *http.Request) map[string]string {
	name := fmt.Sprintf("terraform-%s-%s.git", r.PathValue("system"), r.PathValue("name"))
	out, _ := exec.Command("git", "--git-dir", filepath.Join(repositories, filepath.Base(r.PathValue("owner")), filepath.Base(name)), "tag").Output()
	found := map[string]string{}
	for tag := range strings.FieldsSeq(string(out)) {
		if v, err := addrs.ParseVersion(strings.TrimPrefix(tag, "v")); err == nil {
			found[v.String()] = tag
		}
	}
	return found
}

// anyProvider serves a mirror that has each provider in many versions.
func anyProvider(w http.ResponseWriter, r *http.Request) {
	dir, file := path.Split(strings.TrimPrefix(r.URL.Path, "/mirror/"))
	typ := path.Base(dir)
	if strings.HasSuffix(file, ".json") {
		w.Header().Set("Content-Type", "application/json")
	}
	switch stem, ext := strings.TrimSuffix(file, path.Ext(file)), path.Ext(file); {
	case file == "index.json":
		versions := map[string]any{}
		for major := range 8 {
			for minor := range 120 {
				versions[fmt.Sprintf("%d.%d.0", major, minor)] = struct{}{}
				versions[fmt.Sprintf("%d.%d.%d", major, minor, 1+minor%3)] = struct{}{}
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"versions": versions})
	case ext == ".json":
		sum := sha256.Sum256(archiveOf(typ, stem))
		json.NewEncoder(w).Encode(map[string]any{"archives": map[string]any{addrs.CurrentPlatform().String(): map[string]any{
			"url": stem + ".zip", "hashes": []string{"zh:" + hex.EncodeToString(sum[:])},
		}}})
	case ext == ".zip":
		w.Write(archiveOf(typ, stem))
	default:
		http.NotFound(w, r)
	}
}

func archiveOf(typ, version string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, _ := z.Create(fmt.Sprintf("terraform-provider-%s_v%s", typ, version))
	fmt.Fprint(f, typ, version)
	z.Close()
	return b.Bytes()
}

// TestRepositories compares with the clients in real directories: exit, manifest, lock file, names and modes of modules.
func TestRepositories(t *testing.T) {
	if *repositoriesDir == "" {
		return
	}
	n := newInternet(t, *repositoriesDir)
	repositories, err := filepath.Glob(filepath.Join(*repositoriesDir, "*", "*.git"))
	if err != nil || len(repositories) == 0 {
		t.Fatalf("no repositories: %v", err)
	}
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) {
			found, err := exec.LookPath(program)
			if err != nil {
				t.Skipf("skipped: %s is not installed", program)
			}
			var all counts
			for _, repository := range repositories {
				root := t.TempDir()
				tar := fmt.Sprintf("git --git-dir '%s' archive HEAD | tar -x -C '%s'", repository, root)
				if out, err := exec.Command("sh", "-c", tar).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				n.compare(t, found, root, strings.TrimPrefix(repository, *repositoriesDir), &all)
				os.RemoveAll(root)
			}
			t.Logf("%s: %+v", program, all)
		})
	}
}

// counts are the numbers of directories: all, those that the client prepares, and those with the same result.
type counts struct{ total, prepared, same int }

// compare compares with the client in all directories below root.
func (n *internet) compare(t *testing.T, program, root, name string, all *counts) {
	t.Helper()
	for _, dir := range directories(t, root) {
		all.total++
		want := n.run(t, program, dir)
		got := n.prepare(t, strings.TrimSuffix(filepath.Base(program), ".exe"), dir)
		where := name + filepath.ToSlash(strings.TrimPrefix(dir, root))
		if want.err == nil {
			all.prepared++
		} else {
			t.Logf("%s: refused by the client: %v; by Prepare: %v", where, want.err, got.err)
		}
		different := differences(got, want)
		reason := exceptions[where]
		switch {
		case len(different) == 0 && reason == "":
			all.same++
		case len(different) == 0:
			t.Errorf("%s: the result is the same, but is listed as an exception", where)
		case reason != "":
			t.Logf("%s: not the same: %s", where, reason)
		case want.err != nil && name == "":
			t.Logf("%s: Prepare accepts it", where) // of fixtures, only what the client accepts matters
		default:
			t.Errorf("%s: %.1500s", where, strings.Join(different, "\n"))
		}
	}
}

// exceptions are fixtures of OpenTofu for which Prepare leaves something else than the client, and why.
var exceptions = map[string]string{
	"/internal/command/testdata/providers/state":            "init installs the providers of terraform.tfstate too; a Dir does not read state",
	"/internal/command/testdata/show-json-identity/destroy": "init installs the providers of terraform.tfstate too; a Dir does not read state",
}

// TestFixtures compares with the client in the fixtures of OpenTofu: its own internal/configs, internal/initwd and
// internal/command, in a copy.
func TestFixtures(t *testing.T) {
	if *fixtures == "" {
		return
	}
	program, err := exec.LookPath("tofu")
	if err != nil {
		t.Skip("skipped: tofu is not installed")
	}
	root := t.TempDir()
	must.Do(t, os.CopyFS(root, os.DirFS(*fixtures)))
	var all counts
	newInternet(t, t.TempDir()).compare(t, program, root, "", &all)
	if t.Logf("%+v", all); all.prepared == 0 {
		t.Errorf("the client prepares none of %d directories in %s", all.total, *fixtures)
	}
}

// directories returns the directories with a configuration.
func directories(t *testing.T, root string) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".terraform" {
			return filepath.SkipDir
		}
		if name := strings.TrimSuffix(p, ".json"); err == nil && !d.IsDir() && (strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tofu")) && !slices.Contains(dirs, filepath.Dir(p)) {
			dirs = append(dirs, filepath.Dir(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// clean removes what init has left.
func clean(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{".terraform", ".terraform.lock.hcl"} {
		must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
	}
}

// run prepares a directory with the client.
func (n *internet) run(t *testing.T, program, dir string) state {
	t.Helper()
	clean(t, dir)
	p := &terraformtest.Project{Program: program, Dir: dir}
	cmd := p.Command(t, "init", "-no-color", "-input=false", "-backend=false")
	os.Remove(filepath.Join(dir, "cli.tfrc"))
	cmd.Env = append(cmd.Env, "HOME="+filepath.Dir(n.config), "TF_CLI_CONFIG_FILE="+n.config, "GIT_CONFIG_GLOBAL="+n.git, "SSL_CERT_FILE="+filepath.Join(filepath.Dir(n.config), "ca.pem"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %.700s", err, strings.Join(strings.Fields(string(out[bytes.Index(out, []byte("Error"))+1:])), " "))
	}
	return stateOf(t, dir, err)
}

// prepare prepares a directory with a Dir.
func (n *internet) prepare(t *testing.T, program, dir string) state {
	t.Helper()
	clean(t, dir)
	defer clean(t, dir)
	config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: dir, Terraform: program == "terraform", Environ: []string{"TF_CLI_CONFIG_FILE=" + n.config}}))(t)
	config.HTTP = n.Client()
	d := New(config, dir)
	d.Version = addrs.MustParseVersion(map[string]string{"tofu": "1.12.6", "terraform": "1.11.4"}[program])
	d.Modules.Git = &module.Git{Env: []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + n.git}}
	return stateOf(t, dir, prepare(t.Context(), d))
}
