package install_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": "", "docs/a.txt": "text", "LICENSE": "free"}, Deflate: true})
	d := newDir(t)
	var events []progress.Event
	done := o.install(t, d, install.Options{Progress: func(e progress.Event) { events = append(events, e) }})
	wantNames(t, d.Path, home+"/LICENSE", home+"/docs/a.txt", home+"/"+program)
	if done.Report.Trust != verify.Signed || done.Reused || done.Fetched == 0 || done.Link != "" {
		t.Errorf("%+v", done)
	}
	// The archive has an entry for a directory, so its h1 differs from the h1 of the tree.
	if n := len(done.Report.Local); n != 3 {
		t.Errorf("local hashes: %v", done.Report.Local)
	}
	if got, none := d.PathOf(alpha, v1, linux), d.PathOf(alpha, addrs.Version{}, linux); got != done.Dir || none != "" {
		t.Errorf("PathOf returned %q, without a version %q, want %s and none", got, none, done.Dir)
	}
	if got, err := d.Get(alpha, v1, linux); err != nil || *got != done.Package {
		t.Errorf("Get returned %+v, %v, want %+v", got, err, done.Package)
	}
	for pkg := range d.All() {
		if *pkg != done.Package {
			t.Errorf("All yielded %+v, want %+v", pkg, done.Package)
		}
	}
	if path, err := done.Executable(); err != nil || path != filepath.Join(done.Dir, program) {
		t.Error(path, err)
	}
	if _, err := os.Stat(done.Dir + ".lock"); err != nil {
		t.Errorf("the lock file that the CLI takes: %v", err)
	}
	last := events[len(events)-1]
	if last.Kind != progress.Installed || last.Provider != alpha || last.Bytes != done.Fetched {
		t.Errorf("last event %+v", last)
	}
	for _, name := range []string{program, "docs"} {
		if runtime.GOOS == "windows" {
			break // Windows has no such modes
		}
		if info, err := os.Stat(filepath.Join(done.Dir, name)); err != nil || info.Mode().Perm()&0o111 == 0 || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if data, err := json.Marshal(done); err != nil || !strings.Contains(string(data), `"provider":"registry.example.com/acme/alpha"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestInstallTwice: with a locked h1 an installed package needs no request. Without one the archive
// is downloaded, but a correct package stays.
func TestInstallTwice(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	was := must.Get(os.Stat(first.Dir))(t)

	o.reg.Reset()
	locked := o.install(t, d, install.Options{Policy: verify.Policy{Accept: checksum.NewSet(first.Report.Recordable()...)}})
	if !locked.Reused || locked.Fetched != 0 || locked.Report.Trust != verify.Accepted || len(o.reg.Requests()) != 0 {
		t.Errorf("locked: %+v, %d requests", locked, len(o.reg.Requests()))
	}
	var last progress.Event
	again := o.install(t, d, install.Options{Progress: func(e progress.Event) { last = e }})
	if !again.Reused || again.Fetched != first.Fetched || again.Report.Trust != verify.Signed || o.reg.Count(regtest.Archive) != 1 {
		t.Errorf("not locked: %+v, %d requests", again, len(o.reg.Requests()))
	}
	if last.Kind != progress.Reused {
		t.Errorf("last event %+v", last)
	}
	if is, err := os.Stat(first.Dir); err != nil || !os.SameFile(was, is) {
		t.Error("a good package was replaced", err)
	}
}

// TestInstallRepairs: anything else at the location is replaced as a whole, and links are not
// followed.
func TestInstallRepairs(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/a.txt": "text"}})
	good := o.install(t, newDir(t), install.Options{})
	accept := verify.Policy{Accept: checksum.NewSet(good.Report.Recordable()...)}
	for name, spoil := range map[string]func(t *testing.T, target string){
		"changed":   func(t *testing.T, target string) { write(t, target, program, "else") },
		"missing":   func(t *testing.T, target string) { os.Remove(filepath.Join(target, program)) },
		"more":      func(t *testing.T, target string) { write(t, target, "more", "") },
		"empty":     func(t *testing.T, target string) { os.RemoveAll(target); os.Mkdir(target, 0o755) },
		"none":      func(t *testing.T, target string) { os.RemoveAll(target) },
		"a file":    func(t *testing.T, target string) { os.RemoveAll(target); write(t, target, ".", "") },
		"link in":   func(t *testing.T, target string) { link(t, "a.txt", filepath.Join(target, "docs", "b.txt")) },
		"link":      func(t *testing.T, target string) { os.RemoveAll(target); link(t, elsewhere(t), target) },
		"dead link": func(t *testing.T, target string) { os.RemoveAll(target); link(t, "nowhere", target) },
		"loop":      func(t *testing.T, target string) { os.RemoveAll(target); link(t, target, target) },
		"through a file": func(t *testing.T, target string) {
			os.RemoveAll(target)
			link(t, filepath.Join(write(t, t.TempDir(), "file", ""), "package"), target)
		},
	} {
		for kind, policy := range map[string]verify.Policy{"locked": accept, "signed": {}} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				d := newDir(t)
				first := o.install(t, d, install.Options{})
				if name == "a file" {
					os.RemoveAll(first.Dir)
					write(t, filepath.Dir(first.Dir), linux.String(), "a file")
				} else {
					spoil(t, first.Dir)
				}
				if _, err := d.Lookup(t.Context(), alpha, v1, linux, accept.Accept); err == nil {
					t.Error("it was believed")
				}
				target, _ := os.Readlink(first.Dir)
				done := o.install(t, d, install.Options{Policy: policy})
				if done.Fetched == 0 || done.Link != "" {
					t.Errorf("%+v", done)
				}
				wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
				if name == "link" {
					wantNames(t, target, "precious")
				}
			})
		}
	}
}

// link makes a symbolic link, or skips the test.
func link(t testing.TB, target, path string) {
	t.Helper()
	err := disktest.Symlink(target, path)
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("skipped: the right to make links is not there")
	}
	must.Do(t, err)
}

// links reports whether this system permits links to packages.
func links(t testing.TB) bool {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "link")
	_ = disktest.Symlink(dir, path)
	_, err := os.Stat(path)
	return err == nil || runtime.GOOS != "windows"
}

// elsewhere returns a directory with a file that must not be changed.
func elsewhere(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "precious", "content")
	return dir
}

func TestInstallRefused(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	good := o.install(t, newDir(t), install.Options{})
	zh := o.pkg.SHA256
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		pkg    func(*provider.Package)
		policy verify.Policy
		want   error
	}{
		"another content":   {policy: verify.Policy{Accept: checksum.NewSet(otherH1)}, want: verify.ErrNotAccepted},
		"nothing accepted":  {policy: verify.Policy{Accept: checksum.NewSet()}, want: verify.ErrNotAccepted},
		"another signer":    {policy: verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(strings.Repeat("0", 40)))(t)}, want: verify.ErrUnknownKey},
		"unsigned":          {pkg: func(p *provider.Package) { p.SumsURL = "" }, want: verify.ErrUnsigned},
		"another platform":  {pkg: func(p *provider.Package) { p.Platform = addrs.MustParsePlatform("linux_arm64") }, want: verify.ErrFilename},
		"too large":         {policy: verify.Policy{Limits: checksum.Limits{Package: good.Fetched - 1}}, want: failure.ErrTooLarge},
		"too much content":  {policy: verify.Policy{Limits: checksum.Limits{Unpacked: 1}}, want: failure.ErrTooLarge},
		"too many entries":  {policy: verify.Policy{Accept: checksum.NewSet(zh), Limits: checksum.Limits{Entries: -1, NameLen: 1}}, want: failure.ErrTooLarge},
		"not found":         {pkg: func(p *provider.Package) { p.URL += "x" }, want: failure.ErrNotFound},
		"cancelled":         {ctx: cancelled, want: context.Canceled},
		"no provider":       {pkg: func(p *provider.Package) { p.Provider = addrs.Provider{} }, policy: verify.Policy{Accept: checksum.NewSet(zh)}},
		"no version":        {pkg: func(p *provider.Package) { p.Version = addrs.Version{} }, policy: verify.Policy{Accept: checksum.NewSet(zh)}},
		"no platform":       {pkg: func(p *provider.Package) { p.Platform = addrs.Platform{} }, policy: verify.Policy{Accept: checksum.NewSet(zh)}},
		"another directory": {pkg: func(p *provider.Package) { p.Dir = filepath.Join(t.TempDir(), "none") }, want: os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			pkg := o.pkg.Clone()
			if c.pkg != nil {
				c.pkg(pkg)
			}
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			done, err := d.Install(c.ctx, o.src, pkg, install.Options{Policy: c.policy})
			if perr, ok := errors.AsType[*failure.Error](err); !ok || perr.Op == "" || perr.Subject == "" {
				t.Errorf("Install returned %v, want a complete *failure.Error", err)
			}
			if done != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			wantNames(t, d.Path)
		})
	}
	if _, err := newDir(t).Install(t.Context(), o.src, nil, install.Options{}); err == nil {
		t.Error("no package: no error")
	}
	if _, err := new(install.Dir).Install(t.Context(), o.src, o.pkg, install.Options{}); err == nil {
		t.Error("no path: no error")
	}
	if _, err := newDir(t).Install(t.Context(), nil, o.pkg, install.Options{}); err == nil {
		t.Error("no source: no error")
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	done := o.install(t, d, install.Options{})
	h1 := checksum.WithScheme(done.Report.Local, checksum.SchemeH1)
	found := must.Get(d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(append([]checksum.Hash{otherH1}, h1...)...)))(t)
	checkInstalled(t, found)
	if diff := cmp.Diff(h1, found.Report.Local, cmp.Comparer(func(a, b checksum.Hash) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for name, accept := range map[string][]checksum.Hash{
		"nil": nil, "none": {}, "another": {otherH1}, "only of archives": {o.pkg.SHA256}, "an unknown scheme": {checksum.MustParseHash("h2:x")},
	} {
		_, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(accept...))
		if _, ok := errors.AsType[*checksum.MismatchError](err); !ok || !errors.Is(err, verify.ErrNotAccepted) || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, where := range map[string]struct {
		d  *install.Dir
		p  addrs.Provider
		v  addrs.Version
		on addrs.Platform
	}{
		"provider":  {d, addrs.MustParseProvider("registry.example.com/acme/beta"), v1, linux},
		"version":   {d, alpha, addrs.MustParseVersion("1.2.1"), linux},
		"platform":  {d, alpha, v1, addrs.MustParsePlatform("linux_arm64")},
		"directory": {newDir(t), alpha, v1, linux},
	} {
		_, err := where.d.Lookup(t.Context(), where.p, where.v, where.on, checksum.NewSet(h1...))
		if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, failure.ErrNotFound) || !strings.Contains(err.Error(), "package is not installed") {
			t.Errorf("another %s: %v", name, err)
		}
		_, err = where.d.Get(where.p, where.v, where.on)
		if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, failure.ErrNotFound) {
			t.Errorf("another %s: Get returned %v", name, err)
		}
	}
	for _, d := range []*install.Dir{nil, {}} {
		if pkg, err := d.Get(alpha, v1, linux); pkg != nil || err == nil {
			t.Errorf("Get without Path returned %v, %v", pkg, err)
		}
	}
	if pkg, err := d.Get(alpha, addrs.Version{}, linux); pkg != nil || err == nil || errors.Is(err, failure.ErrNotFound) {
		t.Errorf("Get without a version returned %v, %v", pkg, err)
	}
	if names := names(t, d.Path); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "beta") }) {
		t.Error("a lookup made directories")
	}
}

// TestLookupLinks: a package may be a symbolic link, as the CLI makes from a cache. The directories
// above it may not.
func TestLookupLinks(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	done := o.install(t, newDir(t), install.Options{})
	h1 := checksum.WithScheme(done.Report.Local, checksum.SchemeH1)
	parts := strings.Split(home, "/")

	d := newDir(t)
	target := filepath.Join(d.Path, filepath.FromSlash(home))
	must.Do(t, os.MkdirAll(filepath.Dir(target), 0o755))
	link(t, done.Dir, target)
	found, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(h1...))
	if err != nil || found.Link != done.Dir || found.Dir != target {
		t.Fatalf("a link to the package: %+v, %v", found, err)
	}
	checkInstalled(t, found)
	if again := o.install(t, d, install.Options{Policy: verify.Policy{Accept: checksum.NewSet(h1...)}}); !again.Reused || again.Link == "" {
		t.Errorf("installed over a link to the same: %+v", again)
	}

	for level := range len(parts) - 1 {
		d := newDir(t)
		place := filepath.Join(append([]string{d.Path}, parts[:level+1]...)...)
		source := filepath.Dir(done.Dir)
		for range len(parts) - 2 - level {
			source = filepath.Dir(source)
		}
		must.Do(t, os.MkdirAll(filepath.Dir(place), 0o755))
		link(t, source, place)
		if _, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(h1...)); !errors.Is(err, checksum.ErrIrregular) {
			t.Errorf("lookup through %s: %v", place, err)
		}
		if _, err := d.Install(t.Context(), o.src, o.pkg, install.Options{}); !errors.Is(err, checksum.ErrIrregular) {
			t.Errorf("install through %s: %v", place, err)
		}
		for pkg, err := range d.All() {
			t.Errorf("listed through %s: %v, %v", place, pkg, err)
		}
	}

	base := filepath.Join(t.TempDir(), "base")
	link(t, filepath.Clean(strings.TrimSuffix(done.Dir, filepath.FromSlash(home))), base)
	if _, err := (&install.Dir{Path: base}).Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(h1...)); err != nil {
		t.Errorf("the plugin directory itself is a link: %v", err)
	}
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[struct {
		Name  string
		Files []string
		Want  string
	}](t, "executables.txt") {
		dir := t.TempDir()
		for _, f := range c.Files {
			write(t, dir, f, "")
		}
		got, err := (&install.Package{Provider: alpha, Version: v1, Platform: linux, Dir: dir}).Executable()
		if c.Want == "" && !errors.Is(err, fs.ErrNotExist) || c.Want != "" && (err != nil || got != filepath.Join(dir, c.Want)) {
			t.Errorf("%s: %q, %v; want %q", c.Name, got, err, c.Want)
		}
	}
	if _, err := (&install.Package{Provider: alpha, Dir: filepath.Join(t.TempDir(), "none")}).Executable(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, os.ErrNotExist)
	}
}

// list returns the relative paths of the packages that All yields.
func list(t testing.TB, d *install.Dir) (list []string) {
	t.Helper()
	for pkg, err := range d.All() {
		must.Do(t, err)
		rel := must.Get(filepath.Rel(d.Path, pkg.Dir))(t)
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
	must.Do(t, os.MkdirAll(filepath.Join(d.Path, "registry.opentofu.org/acme/alpha/1.0.0"), 0o755))
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
	must.Do(t, os.MkdirAll(filepath.Join(d.Path, "other.example.com/acme/gamma/1.0.0"), 0o755))
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
	root := must.Get(os.OpenRoot(d.Path))(t)
	defer root.Close()
	lock := must.Get(fsx.AcquireLockIn(t.Context(), root, alive+"lock"))(t)
	must.Get(d.Prune(t.Context(), nil))(t)
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
	must.Do(t, os.Remove(stuck))
	must.Do(t, os.Mkdir(stuck, 0o755))
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
					policy.Accept = checksum.NewSet(accept...)
				}
				if _, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy}); err != nil {
					t.Error(err)
				}
				// Prune may have removed it, or be removing it.
				_, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(accept...))
				if err != nil && !errors.Is(err, failure.ErrNotFound) && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, verify.ErrNotAccepted) {
					t.Errorf("error %v, want %v", err, failure.ErrNotFound)
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

// TestDiskFull: if the disk is full, nothing is left of a new package and the old one stays.
func TestDiskFull(t *testing.T) {
	disktest.Full(t, 100_000, func(t *testing.T, path string) {
		d := &install.Dir{Path: path}
		small := newOffer(t, regtest.Provider{})
		small.install(t, d, install.Options{})
		for name, p := range map[string]regtest.Provider{
			"archive": {Version: "2.0.0", Size: 300_000},
			"content": {Version: "3.0.0", Zip: archivetest.Zip(t, entry{Name: program, Content: string(make([]byte, 300_000))})},
		} {
			large := newOffer(t, p)
			done, err := d.Install(t.Context(), large.src, large.pkg, install.Options{})
			if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %+v, %v; want a *failure.Error with the system's reason", name, done, err)
			}
			wantNames(t, path, home+"/"+program)
		}
	})
}

// TestReadOnly: installed packages of a read-only directory can be used.
func TestReadOnly(t *testing.T) {
	var o *offer
	disktest.ReadOnly(t, func(t *testing.T, path string) {
		newOffer(t, regtest.Provider{}).install(t, &install.Dir{Path: path}, install.Options{})
	}, func(t *testing.T, path string) {
		d := &install.Dir{Path: path}
		o = newOffer(t, regtest.Provider{})
		elsewhere := o.install(t, newDir(t), install.Options{})
		accept := elsewhere.Report.Recordable()
		if done := o.install(t, d, install.Options{Policy: verify.Policy{Accept: checksum.NewSet(accept...)}}); !done.Reused {
			t.Errorf("%+v", done)
		}
		if _, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(accept...)); err != nil {
			t.Error(err)
		}
		lock := new(lockfile.File)
		must.Do(t, lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: accept}))
		for name, in := range map[string]*install.Installer{
			"directory": {Source: o.src, Dir: d, Platform: linux},
			"cache":     {Source: o.src, Dir: newDir(t), Cache: d, Platform: linux},
		} {
			if _, err := in.Ensure(t.Context(), install.Requirements{alpha: {}}, lock); err != nil {
				t.Errorf("as the %s: %v", name, err)
			}
		}
		_, err := d.Install(t.Context(), o.src, o.pkg, install.Options{})
		if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, want a *failure.Error about the permission", err)
		}
		if removed, err := d.Prune(t.Context(), func(*install.Package) bool { return false }); err == nil || removed != nil {
			t.Errorf("%v, %v", removed, err)
		}
		wantNames(t, path, home+"/"+program)
	})
}

// TestReplacesReadOnlyTree: a package with read-only directories can be replaced and removed.
func TestReplacesReadOnlyTree(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(*testing.T, string) {}, func(t *testing.T, _ string) {
		dir := must.Get(os.MkdirTemp("", "tofureg"))(t) // writable for this user
		defer os.RemoveAll(dir)
		d := &install.Dir{Path: dir}
		o := newOffer(t, regtest.Provider{})
		for range 2 {
			done := o.install(t, d, install.Options{})
			write(t, done.Dir, "docs/deep/a.txt", "other content")
			for _, name := range []string{"docs/deep", "docs"} {
				must.Do(t, os.Chmod(filepath.Join(done.Dir, filepath.FromSlash(name)), 0o555))
			}
		}
		if removed, err := d.Prune(t.Context(), func(*install.Package) bool { return false }); len(removed) != 1 || err != nil {
			t.Errorf("%v, %v", removed, err)
		}
		o.install(t, d, install.Options{})
		wantNames(t, dir, home+"/"+program)
	})
}
