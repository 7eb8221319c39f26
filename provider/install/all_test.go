package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// list returns the relative paths of the packages that All yields.
func list(t testing.TB, d *install.Dir) (list []string) {
	t.Helper()
	for pkg, err := range d.All() {
		must(t, err)
		rel, err := filepath.Rel(d.Path, pkg.Dir)
		must(t, err)
		list = append(list, filepath.ToSlash(rel))
	}
	return list
}

func TestAll(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	if got := list(t, d); got != nil {
		t.Errorf("no directory: %q", got)
	}
	want := []string{
		"bücher.example/acme/alpha/1.0.0-Beta+meta.1/windows_amd64",
		home,
		"registry.example.com/acme/alpha/10.0.0/linux_amd64",
		"registry.example.com/acme/zulu/1.0.0/linux_amd64",
		"registry.opentofu.org/acme/alpha/1.0.0/linux_amd64",
	}
	for _, name := range want[:4] {
		write(t, d.Path, name+"/terraform-provider-alpha", "")
		write(t, d.Path, name+".lock", "")
	}
	cache := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(d.Path, "registry.opentofu.org/acme/alpha/1.0.0"), 0o755))
	link(t, cache, filepath.Join(d.Path, want[4]))
	link(t, filepath.Join(cache, "nowhere"), filepath.Join(d.Path, "registry.opentofu.org/acme/alpha/1.0.0/linux_arm64"))
	link(t, filepath.Join(d.Path, "registry.example.com"), filepath.Join(d.Path, "registry2.example.com"))
	for _, name := range []string{
		".tofureg/.tofureg-1.part/tree/x/linux_amd64/y", "registry.example.com/acme/terraform-provider-x_1.0.0_linux_amd64.zip",
		"registry.example.com/acme/alpha/terraform-provider-alpha_1.0.0_linux_amd64.zip",
		"registry.example.com/acme/alpha/v1.0.0/linux_amd64/x", "registry.example.com/acme/alpha/1.0/linux_amd64/x",
		"registry.example.com/acme/alpha/1.0.0/linux/x", "UPPER.example.com/acme/alpha/1.0.0/linux_amd64/x",
		"xn--bcher-kva.example/acme/alpha/1.0.0/linux_amd64/x", "-/-/-/1.0.0/linux_amd64/x", "file",
	} {
		write(t, d.Path, name, "")
	}
	got := list(t, d)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	for pkg := range d.All() {
		if linked := pkg.Dir == filepath.Join(d.Path, "registry.opentofu.org/acme/alpha/1.0.0/linux_amd64"); linked != (pkg.Link == cache) {
			t.Errorf("%+v", pkg)
		}
		break
	}
	for _, err := range new(install.Dir).All() {
		if err == nil {
			t.Error("no path: no error")
		}
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	o.install(t, d, install.Options{})
	write(t, d.Path, "registry.example.com/acme/beta/1.0.0/linux_amd64/terraform-provider-beta", "")
	write(t, d.Path, "registry.example.com/acme/beta/1.0.0/linux_arm64/terraform-provider-beta", "")
	write(t, d.Path, "registry.example.com/acme/beta/terraform-provider-beta_2.0.0_linux_amd64.zip", "")
	precious := elsewhere(t)
	must(t, os.MkdirAll(filepath.Join(d.Path, "other.example.com/acme/gamma/1.0.0"), 0o755))
	link(t, precious, filepath.Join(d.Path, "other.example.com/acme/gamma/1.0.0/linux_amd64"))

	if removed, err := d.Prune(t.Context(), nil); err != nil || removed != nil {
		t.Errorf("nothing to be removed: %v, %v", removed, err)
	}
	removed, err := d.Prune(t.Context(), func(pkg *install.Package) bool {
		return pkg.Provider == alpha || pkg.Platform.Arch() == "arm64"
	})
	if err != nil || len(removed) != 2 {
		t.Errorf("%v, %v", removed, err)
	}
	wantNames(t, d.Path, home+"/"+program,
		"registry.example.com/acme/beta/1.0.0/linux_arm64/terraform-provider-beta",
		"registry.example.com/acme/beta/terraform-provider-beta_2.0.0_linux_amd64.zip")
	wantNames(t, precious, "precious")
	// Another process may be waiting for the lock.
	if _, err := os.Lstat(filepath.Join(d.Path, "registry.example.com/acme/beta/1.0.0/linux_amd64.lock")); err != nil {
		t.Errorf("the lock file of what was removed: %v", err)
	}

	if removed, err := d.Prune(t.Context(), func(*install.Package) bool { return false }); err != nil || len(removed) != 2 {
		t.Errorf("%v, %v", removed, err)
	}
	wantNames(t, d.Path, "registry.example.com/acme/beta/terraform-provider-beta_2.0.0_linux_amd64.zip")
	if removed, err := newDir(t).Prune(t.Context(), nil); err != nil || removed != nil {
		t.Errorf("no directory: %v, %v", removed, err)
	}
	o.install(t, d, install.Options{})
}

// TestPruneSweeps: Prune removes staging directories of dead processes and leaves those in use.
func TestPruneSweeps(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	const alive, dead = ".tofureg/.tofureg-1.part/", ".tofureg/.tofureg-2.part/"
	write(t, d.Path, alive+"tree/docs/a.txt", "")
	write(t, d.Path, dead+"tree/docs/a.txt", "")
	write(t, d.Path, ".tofureg/other/file", "")
	root, err := os.OpenRoot(d.Path)
	must(t, err)
	defer root.Close()
	lock, err := fsx.AcquireLockIn(t.Context(), root, alive+"lock")
	must(t, err)
	if _, err := d.Prune(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantNames(t, d.Path, alive+"lock", alive+"tree/docs/a.txt", ".tofureg/other/file")
	// Install does the same.
	write(t, d.Path, dead+"tree/docs/a.txt", "")
	newOffer(t, regtest.Provider{}).install(t, d, install.Options{})
	wantNames(t, d.Path, alive+"lock", alive+"tree/docs/a.txt", ".tofureg/other/file", home+"/"+program)
	lock.Release()
}

// TestPruneEnds: if the context ends, Prune returns the removed packages and the earlier errors.
func TestPruneEnds(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		newOffer(t, regtest.Provider{Version: version}).install(t, d, install.Options{})
	}
	stuck := filepath.Join(d.Path, "registry.example.com/acme/alpha/1.0.0/linux_amd64.lock")
	must(t, os.Remove(stuck))
	must(t, os.Mkdir(stuck, 0o755))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	second := filepath.Join(d.Path, "registry.example.com/acme/alpha/1.1.0/linux_amd64")
	removed, err := d.Prune(endsWhen{ctx, func() bool {
		if _, err := os.Lstat(second); err != nil {
			cancel(cause)
		}
		return ctx.Err() != nil
	}}, func(*install.Package) bool { return false })
	if len(removed) != 1 || removed[0].Dir != second {
		t.Errorf("removed %v", removed)
	}
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "1.0.0") {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if got := list(t, d); len(got) != 2 {
		t.Errorf("there are %q", got)
	}
}

// TestPruneBesideInstall: concurrent calls of Install and Prune succeed, and nothing is left of
// removed packages.
func TestPruneBesideInstall(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	accept := o.install(t, newDir(t), install.Options{}).Report.Recordable()
	var installing, pruning sync.WaitGroup
	for range 4 {
		installing.Go(func() {
			for i := range 15 {
				policy := verify.Policy{}
				if i%2 == 0 {
					policy.Accept = accept
				}
				if _, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy}); err != nil {
					t.Error(err)
				}
				// Prune may have removed it, or be removing it.
				_, err := d.Lookup(t.Context(), alpha, v1, linux, accept)
				if err != nil && !errors.Is(err, install.ErrNotInstalled) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, verify.ErrNotAccepted) {
					t.Errorf("error %v, want %v", err, install.ErrNotInstalled)
				}
			}
		})
	}
	none := func(*install.Package) bool { return false }
	done := make(chan struct{})
	for range 2 {
		pruning.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := d.Prune(t.Context(), none); err != nil && runtime.GOOS != "windows" { // which keeps open packages
					t.Error(err)
				}
				runtime.Gosched()
			}
		})
	}
	installing.Wait()
	close(done)
	pruning.Wait()
	if _, err := d.Prune(t.Context(), none); err != nil {
		t.Error(err)
	}
	wantNames(t, d.Path)
}

// TestPathOf: PathOf returns the path of the package that All yields.
func TestPathOf(t *testing.T) {
	t.Parallel()
	d := newDir(t)
	done := newOffer(t, regtest.Provider{}).install(t, d, install.Options{})
	if got := d.PathOf(alpha, v1, linux); got != done.Dir {
		t.Errorf("PathOf returned %q, want %q", got, done.Dir)
	}
	if got := d.PathOf(alpha, addrs.Version{}, linux); got != "" {
		t.Errorf("PathOf without a version returned %q, want none", got)
	}
	for pkg := range d.All() {
		if *pkg != done.Package {
			t.Errorf("All yielded %+v, want %+v", pkg, done.Package)
		}
	}
}
