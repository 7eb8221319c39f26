//go:build unix

package workdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
)

// TestNamedPipe: a pipe in place of a file is refused without waiting for it.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"main.tf", modulesJSON} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"x.tf": `module "m" { source = "./m" }`, "m/m.tf": ""})
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o600)))
		if err := prepare(t.Context(), w.dir(t, dir, false)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe named %s: %v, want that it is not a regular file", name, err)
		}
	}
}
