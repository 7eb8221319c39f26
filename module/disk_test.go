package module_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// place downloads the package to dir.
func place(t testing.TB, content []byte, dir string) (*fake, error) {
	src := only(content)
	_, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir}, module.Options{})
	return src, err
}

// TestFullDisk checks that the target is unchanged if a file does not fit on the disk.
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
			if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %v, want a *failure.Error with the system's reason", name, err)
			}
			absent(t, dir)
			write(t, dir, earlier)
			src := only(content)
			_, err = module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir}, module.Options{Replace: true})
			if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s, replacing: %v, want a *failure.Error with the system's reason", name, err)
			}
			wantTree(t, dir, earlier)
		}
	})
}

var (
	fetchTo   = flag.String("module.fetch", "", "download to this `directory`; for TestChild")
	fetchForm = flag.String("module.form", "", "the archive format of the package")
	fetchStop = flag.String("module.stop", "", "the step at which the process waits")
	fetchOver = flag.Bool("module.over", false, "set Options.Replace")
)

// steps are the steps of a download, as TestChild reports them.
var steps = []string{"open", "half", "all"}

// TestChild is the child process of the tests below. It does nothing by itself.
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
	src := opening(func() (*module.Body, error) {
		step("open")
		return &module.Body{Size: int64(len(content)), ReadCloser: io.NopCloser(io.MultiReader(
			bytes.NewReader(content[:len(content)/2]), said("half"), bytes.NewReader(content[len(content)/2:]), said("all")))}, nil
	})
	o := module.Options{Replace: *fetchOver, Progress: func(e progress.Event) { step(string(e.Kind)) }}
	must.Get(module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: *fetchTo}, o))(t)
}

// startFetch starts a process and waits until it has reached the step.
func startFetch(t *testing.T, dir, form, step string, flags ...string) *disktest.Process {
	t.Helper()
	return disktest.Start(t, step, append(flags, "-module.fetch="+dir, "-module.form="+form, "-module.stop="+step)...)
}

// TestKilled kills processes at each step. The target must be missing. The next download
// beside it must remove the staging directory, but not the staging directory of a running
// process.
func TestKilled(t *testing.T) {
	t.Parallel()
	for form, content := range packed(t, example.entries()) {
		start := func(dir, step string) *disktest.Process { return startFetch(t, dir, form, step) }
		download := func(dir string) error {
			_, err := place(t, content, dir)
			return err
		}
		for _, dir := range disktest.Killed(t, t.TempDir(), steps, start, download) {
			if diff := cmp.Diff(withDirs(example), tree(t, dir)); diff != "" {
				t.Errorf("%s in %s (-want +got):\n%s", form, dir, diff)
			}
		}
	}
}

var (
	replaceAt = flag.String("module.replace", "", "replace this `directory` until the process is killed; for TestChild")
	cacheAt   = flag.String("module.cache", "", "use and prune a cache at this `directory` meanwhile; for TestChild")
	kills     = flag.Int("module.kills", 6, "how many processes TestKilledAnywhere kills")
)

// TestKilledReplacing kills processes at each step of a replacement. The target must be the
// old package before the last step, and then the new one. The next download must remove the
// staging directory, even if it fetches nothing.
func TestKilledReplacing(t *testing.T) {
	t.Parallel()
	disktest.SkipWithoutExchange(t)
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
			t.Errorf("killed at %q: %v, %v; want the package and the staging directory", step, entries, err)
		}
		src := serve(map[string][]byte{archiveURL + ".zip": content})
		report, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL+".zip"), Dir: dir, H1: h1(t, example)}, module.Options{Replace: true})
		if err != nil || report.Reused != (step == "stored") {
			t.Errorf("after the kill at %q: %+v, %v", step, report, err)
		}
		wantTree(t, dir, example)
	}
}

// replaceOften is the child process of TestKilledAnywhere.
func replaceOften(t *testing.T) {
	for round := range 100_000 {
		pack := []files{example, earlier}[round%2]
		src := only(pack.zip(t))
		o, location := module.Options{Replace: true}, at(t, archiveURL)
		if *cacheAt != "" {
			o.Cache, location = &module.Cache{Path: *cacheAt}, pack.pinned(t)
		}
		must.Get(module.Download(t.Context(), src, module.Request{Location: location, Dir: *replaceAt}, o))(t)
		if *cacheAt != "" {
			must.Get(o.Cache.Prune(t.Context(), time.Now().Add(time.Hour), 0, false))(t)
		}
		if round < 5 {
			fmt.Printf("\nat round %d\n", round)
		}
	}
}

// TestKilledAnywhere kills processes that replace packages at any time.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	disktest.SkipWithoutExchange(t)
	dir := target(t)
	for i := range *kills {
		disktest.Start(t, fmt.Sprintf("round %d", i%5), "-module.replace="+dir).Kill()
		got := tree(t, dir)
		if cmp.Diff(withDirs(example), got) != "" && cmp.Diff(withDirs(earlier), got) != "" {
			t.Fatalf("after kill %d: a mixture of both packages, %d entries", i, len(got))
		}
	}
	if _, _, err := replace(t, dir, checksum.Hash{}); err != nil {
		t.Error(err)
	}
	wantTree(t, dir, example)
}
