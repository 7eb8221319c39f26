package module_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/module"
)

// place puts the package at dir.
func place(t testing.TB, content []byte, dir string) (*fake, error) {
	src := serve(map[string][]byte{archiveURL: content})
	_, err := module.DownloadLocation(t.Context(), src, at(t, archiveURL), dir, module.Options{})
	return src, err
}

// TestFullDisk: a package with a file that there is no room for leaves the target as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	room := int64(len(example["README.md"]))
	disktest.Full(t, room, func(t *testing.T, parent string) {
		for name, content := range packed(t, example.entries()) {
			dir := filepath.Join(parent, name, "module")
			if _, err := place(t, content, dir); err != nil {
				t.Errorf("%s of %d bytes: %v, want room for it", name, room, err)
			}
			wantTree(t, dir, example)
		}
		larger := files{"main.tf": "x", "README.md": example["README.md"] + "x"}
		for name, content := range packed(t, larger.entries()) {
			dir := filepath.Join(parent, "larger", name, "module")
			_, err := place(t, content, dir)
			if _, ok := errors.AsType[*module.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %v, want a *module.Error with the system's reason", name, err)
			}
			absent(t, dir)
			write(t, dir, earlier)
			src := serve(map[string][]byte{archiveURL: content})
			_, err = module.DownloadLocation(t.Context(), src, at(t, archiveURL), dir, module.Options{Replace: true})
			if _, ok := errors.AsType[*module.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s, replacing: %v, want a *module.Error with the system's reason", name, err)
			}
			wantTree(t, dir, earlier)
		}
	})
}

func TestReadOnlyParent(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		write(t, filepath.Join(dir, "module"), nil)
	}, func(t *testing.T, dir string) {
		for _, name := range []string{"module", "new"} {
			src, err := place(t, packed(t, example.entries())["zip"], filepath.Join(dir, name))
			if e, ok := errors.AsType[*module.Error](err); !ok || e.Op != "store" || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v, want a *module.Error about storing", name, err)
			}
			if len(src.asked) != 0 {
				t.Errorf("%s: something was fetched although there is no place for it", name)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// TestOtherFileSystem: the package is made where it is to be, so no rename crosses a border.
func TestOtherFileSystem(t *testing.T) {
	t.Parallel()
	other, link := disktest.Elsewhere(t)
	if _, err := place(t, packed(t, example.entries())["tar.gz"], filepath.Join(link, "module")); err != nil {
		t.Fatal(err)
	}
	wantTree(t, filepath.Join(other, "module"), example)
}

var (
	fetchTo   = flag.String("module.fetch", "", "be a process that downloads to this `directory`; see TestChild")
	fetchForm = flag.String("module.form", "", "in which form the package comes to it")
	fetchStop = flag.String("module.stop", "", "the step at which it waits for a line")
	fetchOver = flag.Bool("module.over", false, "it replaces what is there")
)

// steps are those of a download, as the process tells of them.
var steps = []string{"open", "half", "all"}

// TestChild is the process of the test below and does nothing by itself.
func TestChild(t *testing.T) {
	switch {
	case *replaceAt != "":
		replaceOften(t)
		return
	case *fetchTo == "":
		return
	}
	step := func(name string) {
		if name == *fetchStop {
			disktest.Stop(name)
		}
	}
	content := packed(t, example.entries())[*fetchForm]
	said := func(name string) io.Reader {
		return readFunc(func([]byte) (int, error) { step(name); return 0, io.EOF })
	}
	src := &fake{open: map[string]func() (*module.Body, error){archiveURL: func() (*module.Body, error) {
		step("open")
		return &module.Body{Size: int64(len(content)), ReadCloser: io.NopCloser(io.MultiReader(
			bytes.NewReader(content[:len(content)/2]), said("half"), bytes.NewReader(content[len(content)/2:]), said("all")))}, nil
	}}}
	o := module.Options{Replace: *fetchOver, Progress: func(e module.Event) { step(string(e.Kind)) }}
	if _, err := module.DownloadLocation(t.Context(), src, at(t, archiveURL), *fetchTo, o); err != nil {
		t.Fatal(err)
	}
}

// startFetch starts a process that has come to the step.
func startFetch(t *testing.T, dir, form, step string, flags ...string) *disktest.Process {
	t.Helper()
	return disktest.Start(t, step, append(flags, "-module.fetch="+dir, "-module.form="+form, "-module.stop="+step)...)
}

// TestKilled kills processes at each step: nothing of them is at the target, and the next
// download beside it removes what they have left, but not what others who are alive are
// writing.
func TestKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: on windows what is left is removed an hour later")
	}
	parent := t.TempDir()
	alive := startFetch(t, filepath.Join(parent, "alive"), "zip", "half")
	left := func() (names []string) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				names = append(names, e.Name())
			}
		}
		return names
	}
	targets := []string{"alive"}
	for form, content := range packed(t, example.entries()) {
		for _, step := range steps {
			targets = append(targets, form+" "+step)
			dir := filepath.Join(parent, form+" "+step)
			startFetch(t, dir, form, step).Kill()
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s, killed at %q: there is something: %v", form, step, err)
			}
			if n := len(left()); n != 2 {
				t.Errorf("%s, killed at %q: %v; want that of the dead and of the living", form, step, left())
			}
			if _, err := place(t, content, dir); err != nil {
				t.Errorf("%s, after the kill at %q: %v", form, step, err)
			}
			if n := len(left()); n != 1 {
				t.Errorf("%s, after the next download: %v; want only that of the living", form, left())
			}
		}
	}
	if err := alive.GoOn(); err != nil {
		t.Errorf("the one that was not killed: %v", err)
	}
	if n := len(left()); n != 0 {
		t.Errorf("at the end: %v", left())
	}
	for _, name := range targets {
		got := tree(t, filepath.Join(parent, name))
		for file, content := range example {
			if got[file] != content {
				t.Errorf("%s: %s has %d bytes", name, file, len(got[file]))
			}
		}
	}
}

var (
	replaceAt = flag.String("module.replace", "", "be a process that replaces this `directory` until it is killed; see TestChild")
	kills     = flag.Int("module.kills", 6, "how many processes TestKilledAnywhere kills")
)

// TestKilledReplacing kills processes at each step of a replacement: before the last one
// the old package is there, after it the new one, and what they leave goes with the next
// download, also if that has nothing to fetch.
func TestKilledReplacing(t *testing.T) {
	t.Parallel()
	skipWithoutExchange(t)
	content := packed(t, example.entries())["zip"]
	for _, step := range []string{"open", "half", "all", "stored"} {
		dir := target(t)
		write(t, dir, earlier)
		startFetch(t, dir, "zip", step, "-module.over").Kill()
		want := earlier
		if step == "stored" {
			want = example
		}
		if diff := cmp.Diff(withDirs(want), tree(t, dir)); diff != "" {
			t.Errorf("killed at %q: %s", step, diff)
		}
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 2 {
			t.Errorf("killed at %q: %v, %v; want the package and what the dead has left", step, entries, err)
		}
		src := serve(map[string][]byte{archiveURL + ".zip": content})
		report, err := module.DownloadLocation(t.Context(), src, at(t, archiveURL+".zip"), dir,
			module.Options{Replace: true, H1: h1(t, example)})
		if err != nil || report.Reused != (step == "stored") {
			t.Errorf("after the kill at %q: %+v, %v", step, report, err)
		}
		wantTree(t, dir, example)
	}
}

// replaceOften is the process of the test below.
func replaceOften(t *testing.T) {
	for round := range 100_000 {
		pack := []files{example, earlier}[round%2]
		src := serve(map[string][]byte{archiveURL: zipOf(t, pack.entries()...)})
		if _, err := module.DownloadLocation(t.Context(), src, at(t, archiveURL), *replaceAt, module.Options{Replace: true}); err != nil {
			t.Fatal(err)
		}
		if round < 5 {
			fmt.Printf("\nat round %d\n", round)
		}
	}
}

// TestKilledAnywhere kills processes that do nothing but replace, wherever they are.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	skipWithoutExchange(t)
	dir := target(t)
	for i := range *kills {
		disktest.Start(t, fmt.Sprintf("round %d", i%5), "-module.replace="+dir).Kill()
		got := tree(t, dir)
		if cmp.Diff(withDirs(example), got) != "" && cmp.Diff(withDirs(earlier), got) != "" {
			t.Fatalf("after kill %d: a mixture of %d entries", i, len(got))
		}
	}
	if _, _, err := replace(t, dir, module.Options{}); err != nil {
		t.Error(err)
	}
	wantTree(t, dir, example)
}
