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
	"io/fs"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

var repositoriesDir = flag.String("workdir.repositories", "", "compare with the clients in all directories of the bare git repositories OWNER/NAME.git in this `directory`")

var fixtures = flag.String("workdir.fixtures", "", "compare with tofu and terraform in all directories of their own sources, tofu and terraform in this `directory`")

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
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) {
			found, err := exec.LookPath(program)
			if err != nil {
				t.Skipf("skipped: %s is not installed", program)
			}
			var all counts
			eachRepository(t, func(name, root string) { n.compare(t, found, root, name, &all) })
			t.Logf("%s: %+v", program, all)
		})
	}
}

// eachRepository calls do with the name of each repository, such as "/OWNER/NAME.git", and a directory with its files.
func eachRepository(t *testing.T, do func(name, root string)) {
	t.Helper()
	repositories, err := filepath.Glob(filepath.Join(*repositoriesDir, "*", "*.git"))
	if err != nil || len(repositories) == 0 {
		t.Fatalf("no repositories: %v", err)
	}
	for _, repository := range repositories {
		root := t.TempDir()
		tar := fmt.Sprintf("git --git-dir '%s' archive HEAD | tar -x -C '%s'", repository, root)
		if out, err := exec.Command("sh", "-c", tar).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		do(strings.TrimPrefix(repository, *repositoriesDir), root)
		must.Do(t, os.RemoveAll(root))
	}
}

// counts are the numbers of directories: all, those that the client prepares, those with the same result, and those
// that only Prepare accepts, by reason.
type counts struct {
	total, prepared, same int
	laxer                 map[string]int
}

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
		lax := ""
		if want.err != nil && got.err == nil {
			lax = laxer(want.err.Error())
		}
		switch {
		case len(different) == 0 && reason == "":
			all.same++
		case len(different) == 0:
			t.Errorf("%s: the result is the same, but is listed as an exception", where)
		case reason != "":
			t.Logf("%s: not the same: %s", where, reason)
		case lax != "":
			if all.laxer == nil {
				all.laxer = map[string]int{}
			}
			all.laxer[lax]++
		default:
			t.Errorf("%s: %.1500s", where, strings.Join(different, "\n"))
		}
	}
}

// exceptions are fixtures for which Prepare leaves something else than the client, and why.
var exceptions = map[string]string{
	"tofu/internal/command/testdata/providers/state":            readsState,
	"tofu/internal/command/testdata/show-json-identity/destroy": readsState,
	"terraform/internal/command/testdata/providers/state":       readsState,
}

const readsState = "init installs the providers of terraform.tfstate too; a Dir does not read state"

// laxer returns why Prepare accepts what the client refuses with an error, or nothing if it should refuse it too.
func laxer(err string) string {
	for _, class := range []struct{ reason, texts string }{
		{"what installs nothing is not checked", `Unsupported (block type|argument)|Missing required argument|Invalid (.deprecated. value|reference from destroy|variable validation|run block name|configuration block|provider local name|(outputs|values) attribute)|Incompatible plan options|Unsuitable value type|(Function calls|Variables) not allowed|Duplicate (variable|import|"run"|backend|cloud|HCP)|Both a (backend|cloud)|Missing base variable`},
		{"variables that no source needs are not checked", `Invalid (default value for variable|quoted type)|Failed to read variables file`},
		{"the providers of module blocks are not checked", `Provider type mismatch|Cannot override provider|Missing required provider|Module is incompatible with|Invalid (resource )?provider configuration|Invalid import configuration`},
		{"experiments are not checked", "Module uses experimental"},
		{"state is not read", "Invalid legacy provider address|Error refreshing state"},
	} {
		if regexp.MustCompile(class.texts).MatchString(err) {
			return class.reason
		}
	}
	return ""
}

// collection is a directory with 1,618 files, which the clients refuse too: templates with the same names.
const collection = "/Donngi/terraform-aws-provider-description.git/terraform-template"

// TestGuard: no limit refuses a file of a real repository that hcl can parse.
func TestGuard(t *testing.T) {
	if *repositoriesDir == "" {
		return
	}
	kinds, number := regexp.MustCompile(`\.(tf|tofu|tfvars|tftest|tofutest|tftest\.hcl|tofutest\.hcl)(\.json)?$`), 0
	eachRepository(t, func(name, root string) {
		modules := map[string]*configuration{}
		must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !kinds.MatchString(path) {
				return err
			}
			dir := filepath.Dir(path)
			if modules[dir] == nil {
				limits := Limits{}.orDefault()
				modules[dir] = &configuration{dir: &Dir{Limits: limits}, budget: &budget{ctx: t.Context(), guard: newGuard(limits), paths: &paths{}}}
			}
			number++
			if _, refused := modules[dir].open(files{dir: dir}, d.Name(), d.Type()&fs.ModeSymlink != 0); refused != nil {
				text, err := os.ReadFile(path)
				if _, diags := (file{name: path, text: text}).parse(); err != nil || !diags.HasErrors() {
					where := name + filepath.ToSlash(strings.TrimPrefix(path, root))
					if !modules[dir].full || !strings.HasPrefix(where, collection) {
						t.Errorf("%s: %v", where, refused)
					}
				}
			}
			return nil
		}))
	})
	t.Logf("%d files", number)
}

// TestReadTrees: no error stops ReadTree in a real directory.
func TestReadTrees(t *testing.T) {
	if *repositoriesDir == "" {
		return
	}
	all, problems := 0, 0
	eachRepository(t, func(name, root string) {
		for _, dir := range directories(t, root) {
			result, err := (&Dir{Path: dir}).ReadTree(t.Context())
			if all++; result == nil {
				t.Errorf("%s%s: %v, want a result", name, strings.TrimPrefix(dir, root), err)
			} else if err != nil {
				problems++
			}
		}
	})
	t.Logf("%d directories, %d with problems", all, problems)
}

// TestFixtures compares with the clients in the fixtures of their own sources: internal/configs, internal/initwd and
// internal/command, in a copy.
func TestFixtures(t *testing.T) {
	if *fixtures == "" {
		return
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		root, name := t.TempDir(), path.Base(t.Name())
		must.Do(t, os.CopyFS(root, os.DirFS(filepath.Join(*fixtures, name))))
		var all counts
		newInternet(t, t.TempDir()).compare(t, program, root, name, &all)
		if t.Logf("%+v", all); all.prepared == 0 {
			t.Errorf("the client prepares none of %d directories in %s", all.total, *fixtures)
		}
	})
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
