package regdir_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// source returns a directory with a module, and its location.
func source(t testing.TB, text string) (string, *module.Location) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), text)
	write(t, filepath.Join(dir, "modules", "subnet", "main.tf"), "# subnet\n")
	write(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\n")
	must.Do(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o700))
	return dir, must.Get(module.ParseLocation(dir))(t)
}

var local = module.Options{AllowLocal: true}

func publishModule(t testing.TB, r *regdir.Registry, v addrs.Version, loc *module.Location) *module.Report {
	t.Helper()
	return must.Get(r.PublishModule(t.Context(), network, v, loc, local))(t)
}

// wantModules checks that each listed version can be downloaded in all ways. It returns the versions.
func wantModules(t testing.TB, s storage.Store) string {
	t.Helper()
	var said []string
	rules := client(withRules(static(s)))
	if _, locks := storage.As[storage.Locker](s); !locks {
		rules = client(static(s)) // a rule cannot know the name of an archive in a bucket
	}
	for _, src := range []module.Source{client(static(s)), rules, newRegistry(s)} {
		versions, err := src.ModuleVersions(t.Context(), network)
		if _, missing := s.Stat(t.Context(), ".well-known/terraform.json"); errors.Is(err, failure.ErrNotFound) || missing != nil {
			versions, err = &module.Versions{}, nil
		}
		must.Do(t, err)
		var list []string
		for _, rel := range slices.Backward(versions.Versions) {
			report, err := module.Download(t.Context(), src, module.Request{
				Source: addrs.ModuleSource{Module: network}, Version: rel.Version, Dir: filepath.Join(t.TempDir(), "module"),
			}, module.Options{})
			if err != nil {
				t.Errorf("Download(%s): %v", rel.Version, err)
				continue
			}
			list = append(list, rel.Version.String()+" "+report.H1.String())
		}
		said = append(said, strings.Join(list, " "))
	}
	if said[0] != said[1] || said[1] != said[2] {
		t.Errorf("the registry has %q with a body, %q with a header, %q as a source", said[0], said[1], said[2])
	}
	return said[0]
}

func TestPublishModule(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		r := newRegistry(store)
		dir, loc := source(t, "# one\n")
		report := publishModule(t, r, v1, loc)
		if want := must.Get(checksum.H1Dir(t.Context(), os.DirFS(dir)))(t); report.H1 != want || report.Dir != "" || report.Version != v1 || report.Module != network {
			t.Errorf("%s: PublishModule() = %+v, want h1 %s", name, report, want)
		}
		if got, want := wantModules(t, store), "1.0.0 "+report.H1.String(); got != want {
			t.Errorf("%s: the registry has %q, want %q", name, got, want)
		}
		before := files(t, store)
		for _, want := range []string{".well-known/terraform.json", "v1/modules/acme/network/aws/versions", "v1/modules/acme/network/aws/1.0.0/download"} {
			if before[want] == "" {
				t.Errorf("%s: %s is missing", name, want)
			}
		}
		publishModule(t, r, v1, loc)
		if !maps.Equal(files(t, store), before) {
			t.Errorf("%s: the same module again changes files", name)
		}
		_, other := source(t, "# two\n")
		publishModule(t, r, v2, other)
		_, err := r.PublishModule(t.Context(), network, v1, other, local)
		if !errors.Is(err, regdir.ErrExists) || strings.Count(err.Error(), "h1:") != 2 {
			t.Errorf("%s: PublishModule of other content: %v, want ErrExists with both h1", name, err)
		}
		must.Do(t, r.RemoveModule(t.Context(), network, v2))
		if got, want := wantModules(t, store), "1.0.0 "+report.H1.String(); got != want {
			t.Errorf("%s: after a removal the registry has %q, want %q", name, got, want)
		}
		must.Do(t, r.RemoveModule(t.Context(), network, v1))
		must.Get(r.Sweep(t.Context()))(t)
		if all := files(t, store); wantModules(t, store) != "" || strings.Contains(fmt.Sprint(slices.Collect(maps.Keys(all))), ".gz") {
			t.Errorf("%s: after all removals there are %q", name, slices.Sorted(maps.Keys(all)))
		}
		publishModule(t, r, v1, other)
		if !strings.HasPrefix(wantModules(t, store), "1.0.0 ") {
			t.Errorf("%s: the version is not there again", name)
		}
	}
}

// TestPublishedModuleStays publishes a module again with another mode, an empty directory and another compression. The first
// two are other content, and the last one writes nothing; what was published can still be downloaded.
func TestPublishedModuleStays(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		r := newRegistry(store)
		dir, loc := source(t, "# one\n")
		want := "1.0.0 " + publishModule(t, r, v1, loc).H1.String()
		before := files(t, store)
		again := func(what string, change, undo func(), exists bool) {
			change()
			defer undo()
			upstream := must.Get(module.ParseLocation(dir))(t)
			_, err := r.PublishModule(t.Context(), network, v1, upstream, local)
			if errors.Is(err, regdir.ErrExists) != exists || !exists && err != nil {
				t.Errorf("%s: PublishModule with %s: %v, want ErrExists: %t", name, what, err, exists)
			}
			if got := wantModules(t, store); got != want || !maps.Equal(files(t, store), before) {
				t.Errorf("%s: after PublishModule with %s the registry has %q, want %q, or changed files", name, what, got, want)
			}
		}
		main, empty := filepath.Join(dir, "main.tf"), filepath.Join(dir, "empty")
		again("a mode", func() { must.Do(t, os.Chmod(main, 0o755)) }, func() { must.Do(t, os.Chmod(main, 0o644)) }, true)
		again("an empty directory", func() { must.Do(t, os.Mkdir(empty, 0o755)) }, func() { must.Do(t, os.Remove(empty)) }, true)
		recompress(t, store, before)
		before = files(t, store)
		again("another compression", func() {}, func() {}, false)
	}
}

// recompress makes a store what another version of the compressor would have published.
func recompress(t *testing.T, s storage.Store, all map[string]string) {
	t.Helper()
	var packed bytes.Buffer
	for name, old := range all {
		if !strings.HasSuffix(name, ".gz") {
			continue
		}
		z := must.Get(gzip.NewWriterLevel(&packed, gzip.NoCompression))(t)
		must.Get(io.Copy(z, must.Get(gzip.NewReader(strings.NewReader(old)))(t)))(t)
		must.Do(t, z.Close())
		put(t, s, name, packed.String())
		record := strings.NewReplacer(
			fmt.Sprintf("%x", sha256.Sum256([]byte(old))), fmt.Sprintf("%x", sha256.Sum256(packed.Bytes())),
			fmt.Sprintf(`"size": %d`, len(old)), fmt.Sprintf(`"size": %d`, packed.Len()),
		).Replace(all[moduleRecord])
		if record == all[moduleRecord] || packed.Len() == len(old) {
			t.Fatal("nothing was recompressed")
		}
		put(t, s, moduleRecord, record)
	}
}

// TestCase publishes modules and versions whose names differ in case only, in stores that tell them apart.
func TestCase(t *testing.T) {
	t.Parallel()
	r := newRegistry(&mirrortest.Bucket{Generations: true})
	_, loc := source(t, "# one\n")
	capital := addrs.MustParseModule(host + "/Acme/Network/aws")
	rc := addrs.MustParseModuleVersion("1.0.0-RC1")
	must.Get(r.PublishModule(t.Context(), capital, rc, loc, local))(t)
	before := files(t, r.Store)
	for _, test := range []struct {
		m    string
		v    string
		want error
	}{
		{"acme/network/aws", "1.0.0", regdir.ErrExists}, {"Acme/network/aws", "1.0.0", regdir.ErrExists}, {"ACME/other/aws", "1.0.0", regdir.ErrExists},
		{"Acme/Network/aws", "1.0.0-rc1", regdir.ErrExists}, {"Acme/Network/aws", "1.0.0-RC1", nil},
	} {
		_, err := r.PublishModule(t.Context(), addrs.MustParseModule(host+"/"+test.m), addrs.MustParseModuleVersion(test.v), loc, local)
		if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), "1.0.0-RC1") && !strings.Contains(fmt.Sprint(err), "cme") && test.want != nil {
			t.Errorf("PublishModule(%s %s): %v, want %v", test.m, test.v, err, test.want)
		}
	}
	if !maps.Equal(files(t, r.Store), before) {
		t.Error("refused publications have left files")
	}
	must.Get(r.PublishModule(t.Context(), addrs.MustParseModule(host+"/Acme/other/aws"), v1, loc, local))(t)
	var list []string
	for l, err := range r.All(t.Context()) {
		list = append(list, fmt.Sprint(l.Module, " ", l.Version, err))
	}
	if want := []string{host + "/Acme/Network/aws 1.0.0-RC1 <nil>", host + "/Acme/other/aws 1.0.0 <nil>"}; !slices.Equal(list, want) {
		t.Errorf("All() yields %q, want %q", list, want)
	}
}

// TestSameBytes checks that a directory and a tag of git give the same archive, whatever the times and the
// modes of files and the umask were.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	dir, loc := source(t, "# one\n")
	one, two := &storage.Dir{Path: t.TempDir()}, &storage.Dir{Path: t.TempDir()}
	publishModule(t, newRegistry(one), v1, loc)
	must.Do(t, os.Chmod(filepath.Join(dir, "main.tf"), 0o600))
	must.Do(t, os.Chtimes(filepath.Join(dir, "main.tf"), fileTime, fileTime))
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "one"}, {"tag", "v1.0.0"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(t, filepath.Join(dir, "main.tf"), "# later\n")
	tag := must.Get(module.ParseLocation("git::file://" + filepath.ToSlash(dir) + "?ref=v1.0.0"))(t)
	report := must.Get(newRegistry(two).PublishModule(t.Context(), network, v1, tag, module.Options{AllowLocal: true, Git: &module.Git{}}))(t)
	if report.Commit == "" {
		t.Errorf("PublishModule() = %+v, want a commit", report)
	}
	const archive = "files/modules/acme/network/aws/1.0.0/package.tar.gz"
	if got, want := files(t, two)[archive], files(t, one)[archive]; got != want || got == "" {
		t.Errorf("a tag gives an archive of %d bytes, a directory one of %d, or other bytes", len(got), len(want))
	}
}

// upstream returns a registry with modules, and a client of it. Network calls vpc, which has a directory.
func upstream() (*regtest.Registry, *regclient.Client) {
	reg := regtest.New(host)
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Files: map[string]string{
		"main.tf": "module \"vpc\" {\n  source  = \"" + host + "/acme/vpc/aws\"\n  version = \"~> 2.0\"\n}\n",
	}})
	reg.AddModule(regtest.Module{Address: "acme/vpc/aws", Version: "2.0.0", Subdir: "modules/vpc"})
	reg.AddModule(regtest.Module{Address: "acme/vpc/aws", Version: "3.0.0", Format: "zip"})
	return reg, &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
}

var vpc = addrs.MustParseModule(host + "/acme/vpc/aws")

// TestCopyModules copies what a lock file names, and then downloads it from the copy.
func TestCopyModules(t *testing.T) {
	t.Parallel()
	reg, src := upstream()
	var lock lockfile.File
	for _, e := range []struct{ source, constraint, version string }{
		{network.String(), "1.0.0", "1.0.0"}, {vpc.String() + "//modules/vpc", "~> 2.0", "2.0.0"}, {vpc.String(), "2.0.0", "2.0.0"},
		{"git::https://example.com/acme/dns.git", "", ""}, {"acme/network/aws", "", "1.0.0"},
	} {
		entry := lockfile.Entry{Key: must.Get(lockfile.KeyOf(e.source, e.constraint))(t), Hash: checksum.MustParseHash("h1:" + strings.Repeat("A", 43) + "=")}
		if e.version != "" {
			entry.Version = addrs.MustParseModuleVersion(e.version)
		}
		if a := must.Get(module.ParseAddress(e.source))(t); a.Registry.Module.Host().String() == host {
			report := must.Get(module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: a.Registry.Module}, Version: entry.Version, Dir: filepath.Join(t.TempDir(), "m")}, module.Options{}))(t)
			entry.Hash = report.H1
		}
		must.Do(t, lock.Set(entry))
	}
	requests, others := regdir.LockedModules(&lock, svchost.MustParse(host), svchost.Hostname{})
	if len(requests) != 2 || len(others) != 2 {
		t.Fatalf("LockedModules() = %+v, %+v; want two requests and two others", requests, others)
	}
	if none, others := regdir.LockedModules(nil, svchost.MustParse(host), svchost.Hostname{}); len(none)+len(others) != 0 {
		t.Errorf("LockedModules(nil) = %+v, %+v; want none", none, others)
	}
	store := &mirrortest.Bucket{Generations: true}
	r := newRegistry(store)
	results := must.Get(r.CopyModules(t.Context(), src, requests, module.Options{}))(t)
	if len(results) != 2 || results[0].Report.Version != v1 || results[1].Report.H1 != requests[1].H1 || results[1].Report.Subdir != "modules/vpc" {
		t.Errorf("CopyModules() = %+v", results)
	}
	for _, src := range []module.Source{client(static(store)), r} {
		for _, request := range requests {
			request.Dir = filepath.Join(t.TempDir(), "m")
			report, err := module.Download(t.Context(), src, request, module.Options{})
			if err != nil || report.Version != request.Version {
				t.Errorf("Download(%s) from the copy: %+v, %v", request.Source, report, err)
			}
		}
	}
	before := files(t, store)
	reg.Reset()
	results = must.Get(r.CopyModules(t.Context(), src, requests, module.Options{}))(t)
	if n := len(reg.Requests()); n > 0 || !results[0].Report.Reused || results[1].Report.Subdir != "modules/vpc" || !maps.Equal(before, files(t, store)) {
		t.Errorf("CopyModules again makes %d requests and returns %+v", n, results)
	}
}

// TestCopyChecks checks that a package with another hash than the locked one is not copied, that an upstream
// version that has changed is an error, and that other requests do not suffer.
func TestCopyChecks(t *testing.T) {
	t.Parallel()
	_, src := upstream()
	r := newRegistry(&mirrortest.Bucket{Generations: true})
	wrong := checksum.MustParseHash("h1:" + strings.Repeat("A", 43) + "=")
	requests := []module.Request{
		{Source: addrs.ModuleSource{Module: network}, H1: wrong},
		{Source: addrs.ModuleSource{Module: vpc}, Constraint: addrs.MustParseModuleConstraint("< 3")},
		{Source: addrs.MustParseModuleSource("other.example.com/acme/vpc/aws")},
		{Source: addrs.MustParseModuleSource(host + "/acme/unknown/aws")},
	}
	results, err := r.CopyModules(t.Context(), src, requests, module.Options{Parallel: 1})
	for i, want := range []error{checksum.ErrMismatch, nil, nil, failure.ErrNotFound} {
		if _, ok := errors.AsType[*failure.Error](results[i].Err); (i != 1) != ok || want != nil && (!errors.Is(results[i].Err, want) || !errors.Is(err, want)) {
			t.Errorf("result %d: %+v, %v; want %v", i, results[i].Report, results[i].Err, want)
		}
	}
	if results[1].Err != nil || results[1].Report.Version.String() != "2.0.0" || !strings.Contains(results[2].Err.Error(), "another host than the registry") {
		t.Errorf("CopyModules() = %+v", results)
	}
	if _, err := r.ModuleVersions(t.Context(), network); !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("ModuleVersions of the refused module: %v", err)
	}
	changed := regtest.New(host)
	changed.AddModule(regtest.Module{Address: "acme/vpc/aws", Version: "2.0.0", Files: map[string]string{"main.tf": "# changed\n"}})
	_, err = r.CopyModules(t.Context(), &regclient.Client{Transport: &transport.Settings{HTTP: changed.Client()}}, requests[1:2], module.Options{})
	if !errors.Is(err, regdir.ErrExists) || strings.Count(err.Error(), "h1:") != 2 {
		t.Errorf("CopyModules of a changed version: %v, want ErrExists with both h1", err)
	}
}

// TestRefusedModule checks that nothing is written of a module that is not as it must be.
func TestRefusedModule(t *testing.T) {
	t.Parallel()
	dir, loc := source(t, "# one\n")
	r := newRegistry(&mirrortest.Bucket{Generations: true})
	for name, test := range map[string]struct {
		m    addrs.Module
		v    addrs.Version
		loc  *module.Location
		o    module.Options
		want error
		text string
	}{
		"not allowed":  {network, v1, loc, module.Options{}, module.ErrLocal, ""},
		"too large":    {network, v1, loc, module.Options{AllowLocal: true, Limits: checksum.Limits{Unpacked: 10}}, failure.ErrTooLarge, ""},
		"no location":  {network, v1, nil, local, nil, ""},
		"no module":    {addrs.Module{}, v1, loc, local, nil, "the module is missing"},
		"no version":   {network, addrs.Version{}, loc, local, nil, "the version is missing"},
		"another host": {addrs.MustParseModule("other.example.com/a/b/c"), v1, loc, local, nil, "another host"},
		"missing":      {network, v1, must.Get(module.ParseLocation(dir + "x"))(t), local, failure.ErrNotFound, ""},
	} {
		_, err := r.PublishModule(t.Context(), test.m, test.v, test.loc, test.o)
		if _, ok := errors.AsType[*failure.Error](err); !ok || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: PublishModule: %v, want %v %q", name, err, test.want, test.text)
		}
	}
	must.Do(t, os.Symlink("main.tf", filepath.Join(dir, "link.tf")))
	if _, err := r.PublishModule(t.Context(), network, v1, loc, local); !errors.Is(err, module.ErrLink) {
		t.Errorf("PublishModule with a link: %v, want ErrLink", err)
	}
	if all := files(t, r.Store); len(all) > 0 {
		t.Errorf("files are written: %q", slices.Sorted(maps.Keys(all)))
	}
	// A link that leads to the package can be kept.
	o := module.Options{AllowLocal: true, KeepLinks: true}
	report := must.Get(r.PublishModule(t.Context(), network, v1, loc, o))(t)
	again, err := module.Download(t.Context(), r, module.Request{Source: addrs.ModuleSource{Module: network}, Dir: filepath.Join(t.TempDir(), "m"), H1: report.H1}, o)
	if err != nil || report.H1.Scheme() != scheme.L1 {
		t.Errorf("a module with a link: %v, %v, %v", report, again, err)
	}
}

// TestUnfinishedModule checks that the archive which a killed process has left is not taken for another content.
func TestUnfinishedModule(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		_, one := source(t, "# one\n")
		_, two := source(t, "# two\n")
		dying := &watched{Store: store, before: func(op, name string) error {
			if op == "write" && strings.HasSuffix(name, "record.json") {
				return errDead
			}
			return nil
		}}
		if _, err := newRegistry(dying).PublishModule(t.Context(), network, v1, one, local); !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		report := publishModule(t, newRegistry(store), v1, two)
		if got := wantModules(t, store); got != "1.0.0 "+report.H1.String() {
			t.Errorf("%s: the registry has %q", name, got)
		}
		must.Get(newRegistry(store).Sweep(t.Context()))(t)
		if n := strings.Count(fmt.Sprint(slices.Collect(maps.Keys(files(t, store)))), ".gz"); n != 1 {
			t.Errorf("%s: Sweep leaves %d archives, want 1", name, n)
		}
	}
}

// TestKilledModules kills the publication, the copy and the removal of a module at each call of the store.
func TestKilledModules(t *testing.T) {
	t.Parallel()
	_, one := source(t, "# one\n")
	_, two := source(t, "# two\n")
	_, src := upstream()
	h1 := publishModule(t, newRegistry(&mirrortest.Bucket{Generations: true}), v1, one).H1.String()
	h2 := publishModule(t, newRegistry(&mirrortest.Bucket{Generations: true}), v2, two).H1.String()
	prepare := func(r *regdir.Registry) { publishModule(t, r, v1, one) }
	killWith(t, wantModules, prepare, func(r *regdir.Registry) error {
		return errorOf(r.PublishModule(t.Context(), network, v2, two, local))
	}, "1.0.0 "+h1, "1.0.0 "+h1+" 2.0.0 "+h2)
	killWith(t, wantModules, prepare, func(r *regdir.Registry) error { return r.RemoveModule(t.Context(), network, v1) }, "1.0.0 "+h1, "")
	copied := must.Get(newRegistry(&mirrortest.Bucket{Generations: true}).CopyModules(t.Context(), src, []module.Request{{Source: addrs.ModuleSource{Module: network}}}, module.Options{}))(t)
	killWith(t, wantModules, func(*regdir.Registry) {}, func(r *regdir.Registry) error {
		return errorOf(r.CopyModules(t.Context(), src, []module.Request{{Source: addrs.ModuleSource{Module: network}}}, module.Options{}))
	}, "", "1.0.0 "+copied[0].Report.H1.String())
}

// TestModulePublishers lets 20 processes publish versions of a module, each content twice and one version with
// two contents, of which one wins.
func TestModulePublishers(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			var mu sync.Mutex
			lost := 0
			for n := range 20 {
				version, text := fmt.Sprintf("1.%d.0", n/2), fmt.Sprintf("# %d\n", n/2)
				if n >= 18 {
					version, text = "9.0.0", fmt.Sprintf("# %d\n", n)
				}
				_, loc := source(t, text)
				wg.Go(func() {
					_, err := newRegistry(store).PublishModule(t.Context(), network, addrs.MustParseModuleVersion(version), loc, local)
					if mu.Lock(); errors.Is(err, regdir.ErrExists) && n >= 18 {
						lost++
					} else if err != nil {
						t.Error(err)
					}
					mu.Unlock()
				})
			}
			wg.Wait()
			versions := must.Get(newRegistry(store).ModuleVersions(t.Context(), network))(t)
			if lost != 1 || len(versions.Versions) != 10 || versions.Versions[0].Version.String() != "9.0.0" {
				t.Errorf("%d processes lost, the registry has %v", lost, versions)
			}
			wantModules(t, store)
		})
	}
}
