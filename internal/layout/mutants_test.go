package layout_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestMutants checks that each mutant that .ci/mutants builds still applies to the code. Building and finding them takes minutes.
func TestMutants(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("skipped: git is not installed")
	}
	patches := must.Get(filepath.Glob(filepath.Join(root, "serve", "*", "testdata", "mutants", "*.patch")))(t)
	if len(patches) == 0 {
		t.Error("found no mutants in serve/*/testdata/mutants")
	}
	for _, patch := range patches {
		dir := must.Get(filepath.Abs(filepath.Join(filepath.Dir(patch), "..", "..")))(t)
		cmd := exec.CommandContext(t.Context(), git, "apply", "--check", must.Get(filepath.Abs(patch))(t))
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("git apply --check %s in %s: %v: %s", patch, dir, err, out)
		}
	}
}
