package workdir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// noGit fails if it is run.
var noGit = &module.Git{Path: "/does/not/exist"}

// cached returns a Dir with a cache of modules.
func (w *world) cached(t *testing.T, dir, cache string, g *module.Git) *Dir {
	d := w.dir(t, dir, false)
	d.Modules.Git, d.Modules.Cache = g, &module.Cache{Path: cache}
	return d
}

// TestModuleCache: 20 git modules at commits take no git and no request in a second directory, and the clients run with
// them.
func TestModuleCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": ""}})
	var text strings.Builder
	for i := range 20 {
		write(t, repository, map[string]string{"main.tf": fmt.Sprintf("output \"n\" {\n  value = %d\n}\n", i)})
		commit(t, repository, "status")
		fmt.Fprintf(&text, "module \"m%d\" {\n  source = \"git::file://%s?ref=%s\"\n}\n", i, filepath.ToSlash(repository), head(t, repository))
	}
	files, cache := map[string]string{"main.tf": text.String()}, filepath.Join(t.TempDir(), "cache")
	first := t.TempDir()
	write(t, first, files)
	must.Do(t, prepare(t.Context(), w.cached(t, first, cache, &module.Git{})))
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		write(t, p.Dir, files)
		requests := len(w.registry.Requests())
		result := must.Get(w.cached(t, p.Dir, cache, noGit).Prepare(t.Context()))(t)
		if n := len(w.registry.Requests()); n != requests || len(result.Modules) != 21 {
			t.Errorf("%d requests for %d modules, want none for 21 with the root", n-requests, len(result.Modules))
		}
		for _, m := range result.Modules[1:] {
			if m.Report == nil || !m.Report.Cached || m.Report.Commit == "" {
				t.Errorf("%s: %+v, want a copy of a commit", m.Key, m.Report)
			}
		}
		p.Env = append(p.Env, "PATH=") // without git
		p.Run(t, "init", "-no-color", "-input=false")
		p.Run(t, "validate", "-no-color")
		if different := differences(stateOf(t, p.Dir, nil), stateOf(t, first, nil)); len(different) > 0 {
			for _, name := range different {
				if strings.Contains(name, ".tf") && !strings.Contains(name, "cli.tfrc") {
					t.Errorf("%s differs from the first directory", name)
				}
			}
		}
	})
}

// head returns the commit of a repository.
func head(t *testing.T, dir string) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output())(t)))
}

// TestModuleCacheOfLock: what a lock file of modules names comes from the cache, also by a tag, and the lock file keeps its
// commits. If the lock file names other content, the error is that without a cache.
func TestModuleCacheOfLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	repository := repositoryOf(t, tree{files: map[string]string{"main.tf": ""}})
	first, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	config := tree{files: map[string]string{"main.tf": "module \"git\" {\n  source = \"git::file://REPO?ref=v1\"\n}\nmodule \"branch\" {\n  source = \"git::file://REPO\"\n}\nmodule \"network\" {\n  source  = \"HOST/acme/network/aws\"\n}\n"}}.with(repository)
	config.write(t, w, first)
	d := w.cached(t, first, cache, &module.Git{})
	d.LockModules = true
	must.Do(t, prepare(t.Context(), d))
	lock := read(t, first, modulelock.Name)
	if n := strings.Count(lock, `"commit":"`); n != 2 {
		t.Fatalf("the lock file %s has %d commits, want 2", lock, n)
	}
	write(t, repository, map[string]string{"main.tf": "# other"})
	commit(t, repository, "status") // moves the tag
	for range 2 {
		second := t.TempDir()
		config.write(t, w, second)
		write(t, second, map[string]string{modulelock.Name: lock})
		d := w.cached(t, second, cache, noGit)
		d.LockModules = true
		packages := w.registry.Count(regtest.ModulePackage)
		result := must.Get(d.Prepare(t.Context()))(t)
		for _, m := range result.Modules[1:] {
			if m.Report != nil && !m.Report.Cached {
				t.Errorf("%s: %+v, want a copy", m.Key, m.Report)
			}
		}
		if got := read(t, second, modulelock.Name); got != lock || w.registry.Count(regtest.ModulePackage) != packages {
			t.Errorf("the lock file is %s, want %s", got, lock)
		}
		must.Do(t, d.VerifyModules(t.Context()))
	}
	file := must.Get(modulelock.Parse([]byte(lock), modulelock.Name))(t)
	for e := range file.All() {
		if e.Commit != "" {
			e.Hash = must.Get(checksum.ParseHash("h1:" + strings.Repeat("A", 43) + "="))(t)
			must.Do(t, file.Set(e))
		}
	}
	must.Do(t, os.RemoveAll(filepath.Join(first, ".terraform")))
	write(t, first, map[string]string{modulelock.Name: string(file.Bytes())})
	err := prepare(t.Context(), d)
	if changed, ok := errors.AsType[*modulelock.ChangedError](err); !ok || changed.Found.Commit == "" {
		t.Errorf("Prepare with another hash in the lock file: %v, want a ChangedError with a commit", err)
	}
}
