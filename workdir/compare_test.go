package workdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
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

	cli       string // rules: a client and its version
	problem   string // text in the error of Read
	providers string // as Read finds them, with commas; "none" for none, empty for any
	contents  []string
}

// trees returns the cases of files in testdata/trees. The beginning of local.txt explains them.
func trees(t *testing.T, names ...string) map[string]tree {
	t.Helper()
	all := map[string]tree{}
	for _, file := range names {
		for _, text := range strings.Split(strings.ReplaceAll(read(t, ".", "testdata/trees/"+file+".txt"), "BYTE", "\xff"), "\n== ")[1:] {
			c, at := tree{files: map[string]string{}, links: map[string]string{}}, ""
			name, text, _ := strings.Cut(text, "\n")
			for line := range strings.Lines(text) {
				if head, ok := strings.CutPrefix(line, "-- "); ok {
					at = strings.TrimSuffix(strings.TrimSpace(head), " --")
					line = ""
				}
				if at != "" {
					c.files[at] += line
				} else if field, value, _ := strings.Cut(strings.TrimSpace(line), ": "); field == "environ" {
					c.environ = append(c.environ, value)
				} else if field == "contents" {
					c.contents = append(c.contents, value)
				} else if link, target, _ := strings.Cut(value, " "); field == "link" {
					c.links[link] = target
				} else if to := (map[string]*string{"only": &c.only, "dir": &c.dir, "refused": &c.refused, "cli": &c.cli, "problem": &c.problem, "providers": &c.providers})[field]; to != nil {
					*to = value
				} else {
					t.Fatalf("testdata/trees/%s.txt: %s: unknown field %q", file, name, field)
				}
			}
			if name = file + "/" + name; all[name].files != nil {
				t.Fatalf("testdata/trees: %s is there twice", name)
			}
			all[name] = c
		}
	}
	return all
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
		if want := c.refused + c.problem; want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Prepare: error %v, want one with %q", err, want)
		}
		if _, err := d.Read(t.Context()); c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("Read: error %v, want one with %q", err, c.problem)
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

// TestTrees: Prepare does in each tree what init of the clients does.
func TestTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range trees(t, "local", "providers", "evaluated", "read") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, w, c)
		})
	}
}

// TestRules: Read and InstallModules follow the version of the CLI, and refuse a tree without writing a manifest.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range trees(t, "rules", "refused", "contents") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, version, _ := strings.Cut(c.cli, " ")
			d := w.dir(t, t.TempDir(), program == "terraform")
			if version != "" {
				d.Version = addrs.MustParseVersion(version)
			}
			c.write(t, w, d.Path)
			got, m, err := facts(t, d)
			if text := cmp.Or(strings.Join(got, ", "), "none"); c.providers != "" && text != c.providers {
				t.Errorf("Read: providers %q, want %q", text, c.providers)
			}
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("Read: error %v, want one with %q", err, c.problem)
			}
			if got := listed(t, m); strings.HasPrefix(name, "contents/") && !slices.Equal(got, c.contents) {
				t.Errorf("Read: contents\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.contents, "\n"))
			}
			want := c.problem + c.refused
			if _, err = d.InstallModules(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(want, "HOST", w.host)) {
				t.Errorf("InstallModules: error %v, want one with %q", err, want)
			}
			if _, ok := errors.AsType[*ConfigError](err); err != nil && !ok && !errors.Is(err, failure.ErrNoVersion) {
				t.Errorf("InstallModules: error %T, want a *ConfigError", err)
			}
			if _, failed := os.Stat(filepath.Join(d.Path, filepath.FromSlash(modulesJSON))); err != nil && !errors.Is(failed, fs.ErrNotExist) {
				t.Errorf("InstallModules has written a manifest after a failure: %v", failed)
			}
		})
	}
}
