//go:build windows

package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestPort: a colon cannot be in the name of a directory.
func TestPort(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	must.Do(t, os.Mkdir(d.Path, 0o755))
	p := addrs.MustParseProvider("registry.example.com:8443/acme/alpha")
	if _, err := d.Lookup(t.Context(), p, v1, linux, checksum.Set{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Lookup(%s): %v, want ErrUnsupported", p, err)
	}
}

// TestLongPath installs to a path of more than 260 characters.
func TestLongPath(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{strings.Repeat("docs/", 20) + "a.txt": "text"}})
	d := &install.Dir{Path: filepath.Join(t.TempDir(), strings.Repeat("x", 120), strings.Repeat("y", 120))}
	done := o.install(t, d, install.Options{})
	if len(done.Dir) < 260 {
		t.Errorf("the path has %d characters", len(done.Dir))
	}
	found, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(done.Report.Local...))
	if err != nil || found.Dir != done.Dir {
		t.Errorf("Lookup: %+v, %v", found, err)
	}
	must.Get(d.Prune(t.Context(), func(*install.Package) bool { return false }))(t)
	wantNames(t, d.Path)
}

// TestRunning: while the program of a package runs, the package is replaced completely or not at all.
func TestRunning(t *testing.T) {
	t.Parallel()
	self := must.Get(os.Executable())(t)
	content := must.Get(os.ReadFile(self))(t)
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	path := write(t, first.Dir, "terraform-provider-alpha_v1.2.0.exe", string(content)) // which also makes the package another one
	was := strings.Join(names(t, first.Dir), " ")
	cmd, _ := startProgram(t, path, role{Hold: filepath.Join(t.TempDir(), "some.lock")}, "ready")
	_, err := d.Install(t.Context(), o.src, o.pkg, install.Options{})
	now := names(t, first.Dir)
	if want := map[bool]string{true: program, false: was}[err == nil]; strings.Join(now, " ") != want {
		t.Errorf("Install: %v, then the package holds %q, want %q", err, now, want)
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	o.install(t, d, install.Options{})
	wantNames(t, d.Path, home+"/"+program)
}
