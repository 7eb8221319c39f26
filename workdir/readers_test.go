package workdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/workdir/internal/must"
)

// TestReaders runs programs that readers of the documents wrote without a look at the sources, and compares what they print with
// the comment at their ends.
func TestReaders(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("skipped: go is not installed")
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/readers/...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range []string{"scan", "bar"} {
		_, want, _ := strings.Cut(string(must.Get(os.ReadFile("testdata/readers/"+name+"/main.go"))(t)), "\n// Output:\n// ")
		want = strings.ReplaceAll(want, "\n// ", "\n")
		if got, err := exec.Command(filepath.Join(bin, name)).CombinedOutput(); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", name, err, got, want)
		}
	}
}
