package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// kept is a package of a plugin cache.
type kept struct{ dir, program, mark string }

// newAged puts a package into a cache, with the times of its three marks, as ages. An age of zero is no mark.
func newAged(t *testing.T, d *install.Dir, name string, installed, used, read time.Duration) *kept {
	t.Helper()
	p := addrs.MustParseProvider("registry.example.com/acme/" + name)
	c := &kept{dir: d.PathOf(p, v1, linux)}
	c.program = write(t, c.dir, "terraform-provider-"+name+"_v1.2.0", "program")
	now := time.Now()
	c.mark = filepath.Join(d.Path, install.UsedName(p, v1, linux))
	if used > 0 {
		write(t, filepath.Dir(c.mark), filepath.Base(c.mark), "")
		must.Do(t, os.Chtimes(c.mark, now, now.Add(-used)))
	}
	must.Do(t, os.Chtimes(c.program, now.Add(-read), now.Add(-installed)))
	must.Do(t, os.Chtimes(c.dir, now, now.Add(-installed)))
	return c
}

// TestPruneUnused: a package goes if the newest of its three marks is old, and the result says which it was.
func TestPruneUnused(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	d := newDir(t)
	want := map[string]install.Mark{}
	for name, c := range map[string]struct {
		installed, used, read time.Duration
		by                    install.Mark // or "" if it stays
	}{
		"old":      {40 * day, 0, 40 * day, install.MarkInstalled},
		"used":     {40 * day, 31 * day, 40 * day, install.MarkUsed},
		"read":     {40 * day, 35 * day, 31 * day, install.MarkRead},
		"new":      {29 * day, 0, 29 * day, ""},
		"used-now": {40 * day, 29 * day, 40 * day, ""},
		"read-now": {40 * day, 0, 29 * day, ""},
		"newer":    {31 * day, 0, 50 * day, install.MarkInstalled},
	} {
		newAged(t, d, name, c.installed, c.used, c.read)
		if c.by != "" {
			want[name] = c.by
		}
	}
	o := install.PruneOptions{Unused: 30 * day, DryRun: true}
	for _, o.DryRun = range []bool{true, false} {
		list, err := d.PruneUnusedWith(t.Context(), o, true)
		if err != nil || len(list) != len(want) {
			t.Fatalf("PruneUnused, dry %t: %+v, %v; want %v", o.DryRun, list, err, want)
		}
		for _, p := range list {
			if p.By != want[p.Provider.Type()] || time.Since(p.Used) < o.Unused {
				t.Errorf("PruneUnused: %s by %q at %s, want %q", p.Provider, p.By, p.Used, want[p.Provider.Type()])
			}
			if _, err := os.Lstat(p.Dir); (err == nil) != o.DryRun {
				t.Errorf("PruneUnused, dry %t: %s: %v", o.DryRun, p.Dir, err)
			}
		}
	}
	left := 0
	for _, err := range d.All() {
		must.Do(t, err)
		left++
	}
	if left != 3 {
		t.Errorf("PruneUnused left %d packages, want 3", left)
	}
}

// TestPruneUnusedRefuses: what would remove packages in use is an error.
func TestPruneUnusedRefuses(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	newAged(t, d, "old", 9000*time.Hour, 0, 9000*time.Hour)
	if list, err := d.PruneUnused(t.Context(), install.PruneOptions{Unused: 48*time.Hour - 1}); err == nil || list != nil {
		t.Errorf("PruneUnused of under 48 hours: %v, %v; want an error", list, err)
	}
	o := install.PruneOptions{Unused: 48 * time.Hour, DryRun: true}
	if list, err := d.PruneUnusedWith(t.Context(), o, false); !errors.Is(err, install.ErrAccessTimes) || list != nil {
		t.Errorf("PruneUnused without access times: %v, %v; want %v", list, err, install.ErrAccessTimes)
	}
	o.AllowNoAccessTimes = true
	if list, err := d.PruneUnusedWith(t.Context(), o, false); err != nil || len(list) != 1 {
		t.Errorf("PruneUnused with AllowNoAccessTimes: %v, %v; want one package", list, err)
	}
	if list, err := newDir(t).PruneUnused(t.Context(), o); err != nil || list != nil {
		t.Errorf("PruneUnused of a missing directory: %v, %v", list, err)
	}
	// A link in the cache is another directory's package.
	target := filepath.Join(t.TempDir(), "package")
	must.Do(t, os.Rename(d.PathOf(addrs.MustParseProvider("registry.example.com/acme/old"), v1, linux), target))
	link(t, target, d.PathOf(addrs.MustParseProvider("registry.example.com/acme/old"), v1, linux))
	if list, err := d.PruneUnused(t.Context(), o); err != nil || list != nil {
		t.Errorf("PruneUnused of a link: %v, %v; want it to stay", list, err)
	}
}

// TestPruneUnusedLooksAgain: a package that was used before it was locked stays.
func TestPruneUnusedLooksAgain(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	c := newAged(t, d, "alpha", 9000*time.Hour, 0, 9000*time.Hour)
	pkg, before := must.Get(d.Get(alpha, v1, linux))(t), time.Now().Add(-100*time.Hour)
	must.Do(t, os.Chtimes(c.program, time.Now(), time.Now()))
	if p, err := d.RemoveUnused(t.Context(), pkg, before); p != nil || err != nil {
		t.Errorf("a package in use: removed %v, %v", p, err)
	}
	must.Do(t, os.Chtimes(c.program, before.Add(-time.Hour), before.Add(-time.Hour)))
	if p, err := d.RemoveUnused(t.Context(), pkg, before); p == nil || p.By != install.MarkRead || err != nil {
		t.Errorf("an unused package: %+v, %v; want it removed", p, err)
	}
	if p, err := d.RemoveUnused(t.Context(), pkg, before); p != nil || err != nil {
		t.Errorf("a package that is gone: %v, %v", p, err)
	}
}

// TestAccessTimes: the probe and the marks agree with what the file system does.
func TestAccessTimes(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	c := newAged(t, d, "alpha", 9000*time.Hour, 0, 9000*time.Hour)
	keeps, err := d.KeepsAccessTimes()
	if err != nil {
		t.Fatal(err)
	}
	must.Get(os.ReadFile(c.program))(t)
	list, err := d.PruneUnused(t.Context(), install.PruneOptions{Unused: 48 * time.Hour, AllowNoAccessTimes: !keeps})
	if err != nil || (len(list) == 0) != keeps {
		t.Errorf("PruneUnused after a read, access times kept: %t: %+v, %v", keeps, list, err)
	}
}

// TestUseOfCache: Ensure marks what it takes from its Cache, also if Dir has the link already, at most once in 24 hours.
func TestUseOfCache(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.Cache = newDir(t)
	result := must.Get(s.in.Ensure(t.Context(), s.want, nil))(t)
	selected := result.Selections[0]
	mark := filepath.Join(s.in.Cache.Path, install.UsedName(selected.Provider, selected.Version, selected.Platform))
	for _, age := range []time.Duration{0, 23 * time.Hour, 25 * time.Hour} {
		then := time.Now().Add(-age)
		must.Do(t, os.Chtimes(mark, then, then))
		must.Get(s.in.Ensure(t.Context(), s.want, result.Lock))(t)
		if is := must.Get(os.Stat(mark))(t).ModTime(); age > 24*time.Hour == is.Equal(then) {
			t.Errorf("Ensure with a mark of %s: it is of %s now", age, is)
		}
	}
}

// TestPrunedLink: a directory that links to a removed package needs init with the same cache, as documented. One with copies
// needs nothing.
func TestPrunedLink(t *testing.T) {
	withCLI(t, func(t *testing.T, s *shared) {
		s.in.Cache = newDir(t)
		s.Write(t, lockfile.Name, string(s.ensure(t).Bytes()))
		links := s.in.Dir
		s.in.Dir, s.in.Copy = newDir(t), true
		s.ensure(t)
		for pkg, err := range s.in.Cache.All() {
			must.Do(t, err)
			old := time.Now().Add(-9000 * time.Hour)
			program := must.Get(pkg.Executable())(t)
			must.Do(t, errors.Join(os.Chtimes(program, old, old), os.Chtimes(pkg.Dir, old, old),
				os.Chtimes(filepath.Join(s.in.Cache.Path, install.UsedName(pkg.Provider, pkg.Version, pkg.Platform)), old, old)))
		}
		if list, err := s.in.Cache.PruneUnusedWith(t.Context(), install.PruneOptions{Unused: 48 * time.Hour}, true); err != nil || len(list) != len(s.want) {
			t.Fatalf("PruneUnused: %v, %v; want %d packages", list, err, len(s.want))
		}
		for pkg, err := range s.in.Dir.All() {
			must.Do(t, err)
			must.Get(pkg.Executable())(t)
		}
		s.in.Dir = links
		if out, err := s.Try(t, "init", "-no-color", "-input=false"); err == nil {
			t.Errorf("init without the cache succeeds at a dangling link:\n%s", out)
		}
		s.Configure(t, fmt.Sprintf("plugin_cache_dir = %q\n", s.in.Cache.Path))
		s.Run(t, "init", "-no-color", "-input=false")
	})
}
