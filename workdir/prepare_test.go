package workdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

// TestManyProviderBlocks: the constraints of a provider are joined once. Joining 10,000 one by one allocated gigabytes.
func TestManyProviderBlocks(t *testing.T) {
	t.Parallel()
	aws := addrs.MustParseProvider("hashicorp/aws")
	allocated := func(n int) uint64 {
		m := Module{}
		for i := range n {
			m.Providers = append(m.Providers, Requirement{Provider: aws, Constraint: addrs.MustParseProviderConstraint(fmt.Sprintf("> 0.0.%d", i))})
		}
		var got addrs.ProviderConstraint
		bytes := testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				got = (&Result{Modules: []Module{m}}).Required()[aws]
			}
		}).AllocedBytesPerOp()
		if strings.Count(got.String(), ",") != n-1 || got.Allows(addrs.MustParseVersion(fmt.Sprintf("0.0.%d", n-1))) || !got.Allows(addrs.MustParseVersion("1.0.0")) {
			t.Errorf("Required of %d constraints: %.100s", n, got)
		}
		return uint64(bytes)
	}
	if one, ten := allocated(1000), allocated(10_000); ten > 20*one {
		t.Errorf("Required allocates %d bytes for 1,000 constraints and %d for 10,000, want ten times as many", one, ten)
	}
}

// sizes is a fetcher of packages with as many bytes as the tag says.
type sizes struct{}

func (sizes) FetchModule(_ context.Context, loc *module.Location, dir string, _ module.Options) ([]string, error) {
	var n int
	fmt.Sscan(loc.Tag, &n)
	return nil, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(strings.Repeat("\n", n)), 0o644)
}

// TestPackagesLimit: the packages of a walk have a limit, and each copy counts.
func TestPackagesLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit int64
		err   error
	}{{3000, nil}, {2999, failure.ErrTooLarge}} {
		d := &Dir{Path: t.TempDir(), Registry: localSource{}, Modules: module.Options{Fetcher: sizes{}}, Limits: Limits{Packages: c.limit}}
		write(t, d.Path, map[string]string{"main.tf": `
module "a" {
  source = "oci://example.com/a?tag=1000"
}
module "b" {
  source = "oci://example.com/a?tag=1000"
}
module "c" {
  source = "oci://example.com/c?tag=1000"
}
`})
		if err := prepare(t.Context(), d); !errors.Is(err, c.err) {
			t.Errorf("Prepare of 3,000 bytes with a limit of %d: %v, want %v", c.limit, err, c.err)
		}
	}
}

// own is a fetcher of packages that call the text as a module.
type own string

func (f own) FetchModule(_ context.Context, loc *module.Location, dir string, _ module.Options) ([]string, error) {
	text := fmt.Sprintf("module \"again\" {\n  source = %q\n}\n", string(f))
	sub := filepath.Join(dir, "sub")
	return nil, errors.Join(os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644), os.Mkdir(sub, 0o755), os.WriteFile(filepath.Join(sub, "main.tf"), nil, 0o644))
}

// TestPackageCallsItself: a package that calls its own location is refused, but it may call another directory of its own.
func TestPackageCallsItself(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"oci://example.com/a?tag=1":      `the package at oci://example.com/a?tag=1 calls itself`,
		"oci://example.com/a//sub?tag=1": "",
	} {
		d := &Dir{Path: t.TempDir(), Registry: localSource{}, Modules: module.Options{Fetcher: own(source)}}
		write(t, d.Path, map[string]string{"main.tf": "module \"a\" {\n  source = \"oci://example.com/a?tag=1\"\n}\n"})
		err := prepare(t.Context(), d)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Prepare of a package that calls %s: %v, want %q", source, err, want)
		}
	}
}

// localSource is a source that names a local directory, as a careless cache could, or what its fields say.
type localSource struct {
	module.Source
	location *module.Location
	versions *module.Versions
}

func (s localSource) ModuleVersions(context.Context, addrs.Module) (*module.Versions, error) {
	return s.versions, nil
}
func (s localSource) ModuleLocation(context.Context, addrs.Module, addrs.Version) (*module.Location, error) {
	return s.location, nil
}

// TestSourceNamesLocal: a source must not name a directory on this machine, and what it leaves out is an error.
func TestSourceNamesLocal(t *testing.T) {
	t.Parallel()
	versions := &module.Versions{Versions: []module.Release{{Version: addrs.MustParseVersion("1.0.0")}}}
	secret := t.TempDir()
	write(t, secret, map[string]string{"main.tf": ""})
	local := must.Get(module.ParseLocation("file://" + filepath.ToSlash(secret)))(t)
	gitLocal := must.Get(module.ParseLocation("git::file://" + filepath.ToSlash(secret)))(t)
	for name, c := range map[string]struct {
		source localSource
		want   error
		text   string
	}{
		"a directory":    {localSource{versions: versions, location: local}, module.ErrLocal, "a registry must not name"},
		"a repository":   {localSource{versions: versions, location: gitLocal}, module.ErrLocal, ""},
		"no location":    {localSource{versions: versions}, nil, "returned no location"},
		"no versions":    {localSource{}, nil, "returned no versions"},
		"empty versions": {localSource{versions: &module.Versions{}}, failure.ErrNoVersion, ""},
	} {
		d := &Dir{Path: t.TempDir(), Registry: c.source, LockModules: true, Modules: module.Options{Git: &module.Git{}}}
		write(t, d.Path, map[string]string{"main.tf": "module \"m\" {\n  source = \"acme/network/aws\"\n}\n"})
		_, err := d.Prepare(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: Prepare: %v, want %v with %q", name, err, c.want, c.text)
		}
		if _, err := os.Lstat(filepath.Join(d.Path, ".terraform", "modules", "m")); err == nil {
			t.Errorf("%s: Prepare has made a directory or link for the module", name)
		}
	}
}

// TestPlanHeld: a plan says which newer versions of a module are not old enough, and from when they are.
func TestPlanHeld(t *testing.T) {
	t.Parallel()
	seen := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	versions := &module.Versions{}
	for i, v := range []string{"2.0.0", "1.2.0", "1.1.0", "1.0.0"} {
		versions.Versions = append(versions.Versions, module.Release{Version: addrs.MustParseVersion(v), Discovered: seen.AddDate(0, 0, -4*i)})
	}
	d := &Dir{Path: t.TempDir(), Registry: &cooldown.Modules{
		Source: localSource{versions: versions},
		Rule:   cooldown.Rule{Age: 7 * 24 * time.Hour, Now: func() time.Time { return seen }},
	}}
	write(t, d.Path, map[string]string{"main.tf": "module \"m\" {\n  source = \"acme/network/aws\"\n  version = \"~> 1.0\"\n}\n"})
	result := must.Get(d.Plan(t.Context()))(t)
	m := result.Modules[1]
	if want := seen.AddDate(0, 0, 3); m.Version.String() != "1.1.0" || len(m.Held) != 1 || m.Held[0].Release.Version.String() != "1.2.0" || !m.Held[0].Until.Equal(want) {
		t.Errorf("Plan chooses %v of module m and holds back %v, want 1.1.0, and 1.2.0 until %v", m.Version, m.Held, want)
	}
}

// TestNamesThatDifferInCase: names are told apart where the file system keeps them apart.
func TestNamesThatDifferInCase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": ""})
	if _, err := os.Stat(filepath.Join(dir, "A")); err == nil {
		d := &Dir{Path: t.TempDir(), Registry: localSource{}, Modules: module.Options{Fetcher: sizes{}}}
		write(t, d.Path, map[string]string{"main.tf": "module \"Net\" {\n  source = \"oci://example.com/a?tag=1\"\n}\nmodule \"net\" {\n  source = \"oci://example.com/a?tag=1\"\n}\n"})
		if err := prepare(t.Context(), d); err == nil || !strings.Contains(err.Error(), "the same directory on this file system") {
			t.Errorf("Prepare: %v, want an error that names both modules", err)
		}
		return
	}
	w := newWorld(t)
	same(t, w, tree{files: map[string]string{"main.tf": "module \"Net\" {\n  source = \"HOST/acme/network/aws\"\n}\nmodule \"net\" {\n  source = \"HOST/acme/network/aws//modules/subnet\"\n}\n"}})
}

// TestOffline: without a registry, only what is local or installed is used.
func TestOffline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, source := range []string{w.host + "/acme/network/aws", "https://example.com/a.zip", "git::https://example.com/a.git", "oci://example.com/a?tag=1"} {
		d := &Dir{Path: t.TempDir(), Modules: module.Options{Git: &module.Git{}, Fetcher: sizes{}}}
		write(t, d.Path, map[string]string{"main.tf": fmt.Sprintf("module \"m\" {\n  source = %q\n}\nmodule \"local\" {\n  source = \"./local\"\n}\n", source), "local/main.tf": ""})
		if _, err := d.Prepare(t.Context()); !errors.Is(err, failure.ErrOffline) || !strings.Contains(err.Error(), `module "m"`) {
			t.Errorf("Prepare with %s and without a registry: %v, want ErrOffline for module m", source, err)
		}
		if _, err := d.Plan(t.Context()); err != nil && !errors.Is(err, failure.ErrOffline) {
			t.Errorf("Plan with %s and without a registry: %v", source, err)
		}
	}
	d := w.dir(t, t.TempDir(), false)
	tree{files: map[string]string{"main.tf": "module \"m\" {\n  source = \"HOST/acme/network/aws\"\n}\n"}}.write(t, w, d.Path)
	must.Get(d.InstallModules(t.Context()))(t)
	d.Registry = nil
	if _, err := d.InstallModules(t.Context()); err != nil {
		t.Errorf("InstallModules without a registry, installed: %v", err)
	}
}

// TestApprove: the caller is asked for each package, also when it is installed.
func TestApprove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"HOST/acme/network/aws//modules/subnet\"\n  version = \"1.0.0\"\n}\n"}}.write(t, w, d.Path)
	var asked []string
	refused := errors.New("revoked")
	var refuse error
	d.Modules.Approve = func(_ context.Context, loc module.Location) error {
		asked = append(asked, fmt.Sprintf("%s %s %s", loc.Module, loc.Version, loc.Subdir))
		return refuse
	}
	must.Do(t, prepare(t.Context(), d))
	must.Do(t, prepare(t.Context(), d))
	if want := w.host + "/acme/network/aws 1.0.0 modules/subnet"; len(asked) != 2 || asked[0] != want || asked[1] != want {
		t.Errorf("Approve was called for %q, want twice %q", asked, want)
	}
	refuse = refused
	err := prepare(t.Context(), d)
	if _, ok := errors.AsType[*failure.RefusedError](err); !ok || !errors.Is(err, refused) || !strings.Contains(err.Error(), `module "a"`) {
		t.Errorf("Prepare with a refused module that is installed: %v, want a RefusedError for module a", err)
	}
}

// TestVerifyModules: the installed modules are compared with the lock, and each that differs is named.
func TestVerifyModules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.dir(t, t.TempDir(), false)
	d.LockModules = true
	tree{files: map[string]string{"main.tf": "module \"a\" {\n  source = \"HOST/acme/network/aws\"\n  version = \"1.0.0\"\n}\nmodule \"b\" {\n  source = \"HOST/acme/network/aws\"\n  version = \"~> 2.0\"\n}\nmodule \"local\" {\n  source = \"./local\"\n}\n", "local/x.tf": ""}}.write(t, w, d.Path)
	must.Get(d.InstallModules(t.Context()))(t)
	offline := &Dir{Path: d.Path}
	must.Do(t, offline.VerifyModules(t.Context()))
	before := read(t, d.Path, modulelock.Name)

	// The CLI reads each module where the manifest says.
	manifest := read(t, d.Path, modulesPath+"/modules.json")
	write(t, d.Path, map[string]string{modulesPath + "/a/other/x.tf": "", "evil/x.tf": ""})
	must.Do(t, os.Remove(filepath.Join(d.Path, filepath.FromSlash(modulesPath), "a/other/x.tf")))
	for old, changed := range map[string]string{
		`"Dir":"local"`:                 `"Dir":"../evil"`,
		`"Dir":"local" `:                `"Dir":"evil"`,
		`"Dir":"` + modulesPath + `/b"`: `"Dir":"../evil"`,
	} {
		old = strings.TrimSpace(old)
		if !strings.Contains(manifest, old) {
			t.Fatalf("the manifest has no %s: %s", old, manifest)
		}
		write(t, d.Path, map[string]string{modulesPath + "/modules.json": strings.Replace(manifest, old, changed, 1)})
		if err := offline.VerifyModules(t.Context()); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `module "`) {
			t.Errorf("VerifyModules with %s in the manifest: %v, want one error", changed, err)
		}
	}
	write(t, d.Path, map[string]string{modulesPath + "/modules.json": manifest})
	must.Do(t, os.RemoveAll(filepath.Join(d.Path, filepath.FromSlash(modulesPath), "a/other")))
	must.Do(t, offline.VerifyModules(t.Context()))

	write(t, d.Path, map[string]string{modulesPath + "/a/more.tf": "# changed"})
	err := offline.VerifyModules(t.Context())
	changed, ok := errors.AsType[*modulelock.ChangedError](err)
	if !ok || !strings.Contains(err.Error(), `module "a"`) || strings.Contains(err.Error(), `module "b"`) || changed.Found.Hash == changed.Locked.Hash {
		t.Errorf("VerifyModules after a change in a: %v, want a ChangedError for a alone", err)
	}
	must.Do(t, os.RemoveAll(filepath.Join(d.Path, filepath.FromSlash(modulesPath), "b")))
	if err := offline.VerifyModules(t.Context()); err == nil || !strings.Contains(err.Error(), `module "a"`) || !strings.Contains(err.Error(), `module "b": it is not installed`) {
		t.Errorf("VerifyModules after a change in a and without b: %v, want both named", err)
	}
	if after := read(t, d.Path, modulelock.Name); after != before {
		t.Errorf("VerifyModules has written the lock file: %s", after)
	}
	must.Do(t, os.Remove(filepath.Join(d.Path, modulelock.Name)))
	if err := offline.VerifyModules(t.Context()); err == nil || !strings.Contains(err.Error(), `module "a": `+modulelock.Name+" has no entry") {
		t.Errorf("VerifyModules without a lock file: %v, want the modules named", err)
	}
	if err := offline.VerifyModules(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("VerifyModules after the end of the context: %v, want context.Canceled", err)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestReattached: providers that run already are not installed, keep their entries, and are named in a warning: see
// internal/command/meta_providers.go of Terraform 1.16.
func TestReattached(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: providers of a host with a port have no directory on windows")
	}
	w := newWorld(t)
	reattach := fmt.Sprintf(`TF_REATTACH_PROVIDERS={"%s/acme/alpha":{"Protocol":"grpc","ProtocolVersion":5,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":"/nowhere"}}}`, w.host)
	text := strings.ReplaceAll("terraform {\n  required_providers {\n    alpha = { source = \"HOST/acme/alpha\", version = \"9.9\" }\n    beta  = { source = \"HOST/acme/beta\" }\n  }\n}\n", "HOST", w.host)
	terraformtest.Each(t, func(t *testing.T, program string) {
		theirs := terraformtest.New(t, program)
		theirs.Trust(t, w.server.CertPEM)
		theirs.Write(t, "main.tf", text)
		theirs.Env = append(theirs.Env, reattach)
		theirs.Init(t)

		dir := t.TempDir()
		write(t, dir, map[string]string{"main.tf": text})
		config := must.Get(cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Dir: dir, Terraform: theirs.Name() == "terraform", Environ: []string{reattach}}))(t)
		config.HTTP = w.server.Client()
		d := New(config, dir)
		for _, readOnly := range []bool{false, true} {
			d.ReadOnly = readOnly
			result, err := d.Prepare(t.Context())
			if err != nil || len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], w.host+"/acme/alpha") {
				t.Fatalf("Prepare with ReadOnly %t: %+v, %v; want a warning that names acme/alpha", readOnly, result, err)
			}
			if s := result.Providers.Selections[0]; s.From != install.FromReattached || s.Dir != "" {
				t.Errorf("Prepare: the selection is %+v, want one from %s without a directory", s, install.FromReattached)
			}
		}
		if got, want := read(t, dir, ".terraform.lock.hcl"), theirs.Read(t, ".terraform.lock.hcl"); got != want {
			t.Errorf("Prepare: the lock file is\n%s\nwant that of the client\n%s", got, want)
		}
	})
}
