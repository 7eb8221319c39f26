package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// A state is what init leaves in a directory.
type state struct {
	err            error
	manifest, lock string
	files          map[string]string // below .terraform/modules: mode, and the content or the target of a link
}

// stateOf reads what is in a directory.
func stateOf(t testing.TB, dir string, err error) state {
	t.Helper()
	s := state{err: err, files: map[string]string{}}
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(data)
	}
	s.manifest, s.lock = text(modulesJSON), text(".terraform.lock.hcl")
	modules := filepath.Join(dir, filepath.FromSlash(modulesPath))
	err = filepath.WalkDir(modules, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(modules, file)
		info, err := d.Info()
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err != nil {
			return err
		}
		s.files[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			s.files[name] += " " + text(path.Join(modulesPath, filepath.ToSlash(name)))
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			s.files[name] = "link to " + target
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return s
}

// differences compares what a Dir leaves with what the client leaves. A copy of a package of the client has no names
// with a leading dot.
func differences(ours, theirs state) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if (ours.err == nil) != (theirs.err == nil) {
		add("error %v, want that of the client: %v", ours.err, theirs.err)
	}
	if ours.err != nil || theirs.err != nil {
		return all // the client leaves some of the modules
	}
	if ours.manifest != theirs.manifest {
		add("manifest\n%s\nwant\n%s", ours.manifest, theirs.manifest)
	}
	if ours.lock != theirs.lock {
		add("lock file\n%s\nwant\n%s", ours.lock, theirs.lock)
	}
	for name, mode := range ours.files {
		if want, ok := theirs.files[name]; want != mode && (ok || !strings.Contains(string(filepath.Separator)+name, string(filepath.Separator)+".")) {
			add("%s is %q, want %q", name, mode, want)
		}
	}
	for name, mode := range theirs.files {
		if _, ok := ours.files[name]; !ok {
			add("%s is missing, want %q", name, mode)
		}
	}
	return all
}

// A tree is a configuration of a test: HOST in files stands for the registry and REPO for a git repository.
type tree struct {
	files map[string]string
	links map[string]string
	dir   string // working directory in the tree
	// environ are variables of the environment of both.
	environ []string
	// refused is text in the error if the tree is refused, by the clients too unless only is set.
	refused string
	only    string // the tree is for one client only
}

// same prepares the tree with a Dir and with each client, and compares.
func same(t *testing.T, w *world, c tree) {
	t.Helper()
	terraformtest.Each(t, func(t *testing.T, program string) {
		theirs := terraformtest.New(t, program)
		if c.only != "" && c.only != theirs.Name() {
			return
		}
		theirs.Trust(t, w.server.CertPEM)
		root := theirs.Dir
		theirs.Env = append(append(theirs.Env, "TF_CLI_CONFIG_FILE="+filepath.Join(root, "cli.tfrc")), c.environ...)
		c.write(t, w, root)
		theirs.Dir = filepath.Join(root, filepath.FromSlash(c.dir))
		theirs.Configure(t, "")
		out, failed := theirs.Try(t, "init", "-no-color", "-input=false", "-backend=false")
		if failed != nil {
			failed = fmt.Errorf("%w: %s", failed, out)
		}
		want := stateOf(t, theirs.Dir, failed)

		ours := filepath.Join(t.TempDir(), "x")
		c.write(t, w, ours)
		ours = filepath.Join(ours, filepath.FromSlash(c.dir))
		d := w.dir(t, ours, theirs.Name() == "terraform")
		d.Version, d.Environ = versionOf(t, theirs), c.environ
		err := prepare(t.Context(), d)
		got := stateOf(t, ours, err)
		for _, difference := range differences(got, want) {
			t.Errorf("Prepare: %s", strings.ReplaceAll(difference, filepath.Dir(ours), root))
		}
		if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("Prepare: error %v, want one with %q", err, c.refused)
		}
		if err == nil {
			again := w.offline(t, ours, d.Terraform)
			again.Version, again.Environ = d.Version, d.Environ
			if err := prepare(t.Context(), again); err != nil {
				t.Errorf("a second Prepare without a network: %v", err)
			}
			if after := stateOf(t, ours, nil); len(differences(after, got)) > 0 {
				t.Errorf("a second Prepare: %q", differences(after, got))
			}
		}
	})
}

// versionOf returns the version of a client.
func versionOf(t *testing.T, p *terraformtest.Project) addrs.Version {
	t.Helper()
	match := regexp.MustCompile(`(?:Terraform|OpenTofu) v(\S+)`).FindStringSubmatch(p.Run(t, "version"))
	if match == nil {
		t.Fatalf("%s has no version", p.Name())
	}
	return addrs.MustParseVersion(match[1])
}

func (c tree) write(t *testing.T, w *world, root string) {
	t.Helper()
	files := map[string]string{}
	for name, text := range c.files {
		files[name] = strings.ReplaceAll(text, "HOST", w.host)
	}
	write(t, root, files)
	for name, target := range c.links {
		path := filepath.Join(root, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(filepath.FromSlash(target), path)))
	}
}

// TestLocalModules: the user's own modules may be anywhere, also by way of links.
func TestLocalModules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]tree{
		"above":               {dir: "examples/x", files: map[string]string{"main.tf": `module "inner" { source = "./modules/inner" }`, "modules/inner/main.tf": "", "examples/x/main.tf": `module "above" { source = "../.." }`}},
		"beside":              {dir: "a", files: map[string]string{"a/main.tf": `module "b" { source = "../b" }`, "b/main.tf": `module "c" { source = "../c" }`, "c/main.tf": "module \"registry\" {\n  source = \"HOST/acme/network/aws\"\n}"}},
		"a link out":          {dir: "a", files: map[string]string{"a/main.tf": `module "b" { source = "./link" }`, "b/c/main.tf": `module "d" { source = "../d" }`, "b/d/main.tf": ""}, links: map[string]string{"a/link": "../b/c"}},
		"a link in a path":    {dir: "a", files: map[string]string{"a/main.tf": `module "b" { source = "./link/../e" }`, "b/c/main.tf": "", "a/e/main.tf": "# lexical", "b/e/main.tf": "# real"}, links: map[string]string{"a/link": "../b/c"}},
		"a file by a link":    {dir: "a", files: map[string]string{"common.tf": `module "b" { source = "../b" }`, "b/main.tf": "", "a/x.tf": ""}, links: map[string]string{"a/common.tf": "../common.tf"}},
		"no files":            {files: map[string]string{"main.tf": `module "m" { source = "./m" }`, "m/README": ""}},
		"no directory":        {files: map[string]string{"main.tf": `module "m" { source = "./m" }`}, refused: `main.tf:1: module "m"`},
		"a version":           {files: map[string]string{"main.tf": "module \"m\" {\n  source  = \"./m\"\n  version = \"1.0.0\"\n}\n", "m/main.tf": ""}, refused: `main.tf:1: module "m"`},
		"a directory by link": {dir: "link", files: map[string]string{"real/x/main.tf": `module "m" { source = "../m" }`, "real/m/main.tf": ""}, links: map[string]string{"link": "real/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, w, c)
		})
	}
}
