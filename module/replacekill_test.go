package module_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/module"
)

var (
	replaceAt = flag.String("module.replace", "", "be a process that replaces this `directory` until it is killed; see TestChild")
	kills     = flag.Int("module.kills", 6, "how many processes TestKilledAnywhere kills")
)

// replacing skips where there is a moment with nothing.
func replacing(t *testing.T) {
	t.Helper()
	if !exchanges(t) {
		t.Skip("skipped: two directories cannot change places at once here")
	}
}

// TestKilledReplacing kills processes at each step of a replacement: before the last one
// the old package is there, after it the new one, and what they leave goes with the next
// download, also if that has nothing to fetch.
func TestKilledReplacing(t *testing.T) {
	t.Parallel()
	replacing(t)
	content := forms(t)["zip"]
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
	replacing(t)
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
