package layout_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestReaders runs programs that readers of the documents wrote without a look at the sources, and compares what they print with
// the comment at their ends.
func TestReaders(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/readers/...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	programs := must.Get(filepath.Glob(filepath.Join(bin, "*")))(t)
	if len(programs) != 6 {
		t.Errorf("built %q, want 6 programs", programs)
	}
	for _, program := range programs {
		name := filepath.Base(program)
		_, want, _ := strings.Cut(readFile(t, "internal/layout/testdata/readers/"+name+"/main.go"), "\n// Output:\n// ")
		want = strings.ReplaceAll(want, "\n// ", "\n")
		if got, err := exec.Command(program).CombinedOutput(); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant:\n%s", name, err, got, want)
		}
	}
}
