package hostile_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"github.com/tofureg/tofureg/storage"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport/doccache"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var many = flag.Int("hostile.entries", 500, "how many entries and files TestEnds and TestEndsInAStall use")

// maxLate is the maximum number of steps after the end of a context: twice 100 removals, and what
// several goroutines had begun.
const maxLate = 250

// crowd is what the functions of endings work with. It is not changed.
type crowd struct {
	reg  *regtest.Registry
	zip  []byte // with as many directories as files
	tar  []byte // the same as tar.gz
	tree string // directory with many files
	h1   checksum.Hash
}

var (
	gitty   = mustModule("gitty")
	release = mirrordir.Want{Provider: alpha, Version: v1, Platforms: []addrs.Platform{linux}}
)

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{reg: regtest.New(registryHost), tree: t.TempDir()}
	var zipped, packed, gitted bytes.Buffer
	z := zip.NewWriter(&zipped)
	gz, gitGz := gzip.NewWriter(&packed), gzip.NewWriter(&gitted)
	tarred, git := tar.NewWriter(gz), tar.NewWriter(gitGz)
	must.Do(t, git.WriteHeader(&tar.Header{Name: "main.tf", Mode: 0o644}))
	must.Get(z.Create("terraform-provider-alpha"))(t)
	must.Do(t, os.WriteFile(filepath.Join(c.tree, "terraform-provider-alpha"), nil, 0o755))
	for i := range *many / 2 {
		dir, file := fmt.Sprintf("d%d/", i), fmt.Sprintf("d%d/f", i)
		must.Get(z.CreateHeader(&zip.FileHeader{Name: dir}))(t)
		must.Get(z.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Deflate}))(t)
		must.Do(t, tarred.WriteHeader(&tar.Header{Name: dir, Mode: 0o755, Typeflag: tar.TypeDir}))
		must.Do(t, tarred.WriteHeader(&tar.Header{Name: file, Mode: 0o644}))
		must.Do(t, git.WriteHeader(&tar.Header{Name: ".git/" + file, Mode: 0o644}))
		must.Do(t, os.Mkdir(filepath.Join(c.tree, dir), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(c.tree, file), nil, 0o644))
	}
	must.Do(t, errors.Join(z.Close(), tarred.Close(), gz.Close(), git.Close(), gitGz.Close()))
	c.zip, c.tar = zipped.Bytes(), packed.Bytes()
	c.reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{linux.String()}, Zip: c.zip})
	c.reg.AddModule(regtest.Module{Address: "acme/plain/aws", Format: "tar.gz", Package: c.tar})
	c.reg.AddModule(regtest.Module{Address: "acme/direct/aws", Format: "zip", Package: c.zip})
	c.reg.AddModule(regtest.Module{Address: "acme/gitty/aws", Format: "tar.gz", Package: gitted.Bytes()})
	c.h1 = must.Get(checksum.H1Dir(t.Context(), os.DirFS(c.tree)))(t)
	return c
}

// world returns clients of the registry.
func (c *crowd) world() *world { return &world{reg: c.reg, http: c.reg.Client()} }

// installed is the tree as a package of another directory.
func (c *crowd) installed() *install.Installed {
	return &install.Installed{
		Package: install.Package{Provider: alpha, Version: v1, Platform: linux, Dir: c.tree},
		Report:  &verify.Report{Local: []checksum.Hash{c.h1}},
	}
}

// litter creates many files in dir that killed processes could have left.
func litter(t *testing.T, dir, format string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	for i := range *many {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf(format, i)), nil, 0o600))
	}
}

// errorOf returns the error of a function with a result.
func errorOf[T any](_ T, err error) error { return err }

// at is an ending that needs nothing before it.
func at(run func(ctx context.Context, c *crowd, dir string) error) func(*testing.T, *crowd, string) func(context.Context) error {
	return func(_ *testing.T, c *crowd, dir string) func(context.Context) error {
		return func(ctx context.Context) error { return run(ctx, c, dir) }
	}
}

// ending is a function with many steps.
type ending struct {
	name  string
	looks int  // minimum number of looks at the context, for 100 entries or files; -1 if only contexts derived from it are looked at
	stall bool // whether it receives an archive
	ready func(t *testing.T, c *crowd, dir string) func(ctx context.Context) error
}

var endings = []ending{
	{"install.Dir.Install", 400, true, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		client := c.world().registry()
		pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		return func(ctx context.Context) error {
			return errorOf((&install.Dir{Path: dir}).Install(ctx, client, pkg, install.Options{}))
		}
	}},
	{"install.Dir.Install of a directory", 200, false, func(_ *testing.T, c *crowd, dir string) func(context.Context) error {
		pkg := &provider.Package{Provider: alpha, Version: v1, Platform: linux, Dir: c.tree}
		o := install.Options{Policy: verify.Policy{Accept: checksum.NewSet(c.h1)}, Copy: true}
		return func(ctx context.Context) error {
			return errorOf((&install.Dir{Path: dir}).Install(ctx, nil, pkg, o))
		}
	}},
	{"install.Dir.Place", 200, false, at(func(ctx context.Context, c *crowd, dir string) error {
		return errorOf((&install.Dir{Path: dir}).Place(ctx, c.installed(), true))
	})},
	{"install.Dir.Lookup", 400, false, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		d := &install.Dir{Path: dir}
		must.Get(d.Place(t.Context(), c.installed(), false))(t)
		return func(ctx context.Context) error {
			return errorOf(d.Lookup(ctx, alpha, v1, linux, checksum.NewSet(c.h1)))
		}
	}},
	{"install.Dir.Prune", 100, false, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		d := &install.Dir{Path: dir}
		must.Get(d.Place(t.Context(), c.installed(), true))(t)
		return func(ctx context.Context) error {
			return errorOf(d.Prune(ctx, func(*install.Package) bool { return false }))
		}
	}},
	{"install.Dir.Prune of nothing", 100, false, func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		for i := range *many {
			must.Do(t, os.MkdirAll(filepath.Join(dir, registryHost, "acme", fmt.Sprintf("p%d", i)), 0o755))
		}
		return func(ctx context.Context) error { return errorOf((&install.Dir{Path: dir}).Prune(ctx, nil)) }
	}},
	{"install.Dir.PruneUnused", 100, false, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		d, old := &install.Dir{Path: dir}, time.Now().Add(-9000*time.Hour)
		pkg := must.Get(d.Place(t.Context(), c.installed(), true))(t)
		must.Do(t, errors.Join(os.Chtimes(pkg.Dir, old, old), os.Chtimes(must.Get(pkg.Executable())(t), old, old)))
		return func(ctx context.Context) error {
			return errorOf(d.PruneUnused(ctx, install.PruneOptions{Unused: 48 * time.Hour, AllowNoAccessTimes: true}))
		}
	}},
	{"install.Installer.Ensure", 0, true, at(func(ctx context.Context, c *crowd, dir string) error {
		in := &install.Installer{Source: c.world().registry(), Dir: &install.Dir{Path: dir}, Platform: linux}
		return errorOf(in.Ensure(ctx, install.Requirements{alpha: {}}, nil))
	})},
	{"install.Installer.Plan", 0, false, at(func(ctx context.Context, c *crowd, dir string) error {
		in := &install.Installer{Source: c.world().registry(), Dir: &install.Dir{Path: dir}, Platform: linux}
		return errorOf(in.Plan(ctx, install.Requirements{alpha: {}}, nil))
	})},
	{"install.CheckEntry", 0, false, at(func(ctx context.Context, c *crowd, _ string) error {
		return errorOf(install.CheckEntry(ctx, c.world().registry(), lockfile.Entry{Provider: alpha, Version: v1}, verify.Policy{}))
	})},
	{"install.CheckPlatforms", 0, false, at(func(ctx context.Context, c *crowd, _ string) error {
		lock := &lockfile.File{}
		return errors.Join(lock.Set(lockfile.Entry{Provider: alpha, Version: v1}), errorOf(install.CheckPlatforms(ctx, c.world().registry(), lock, nil, nil)))
	})},
	{"install.Installer.Lock", -1, true, at(func(ctx context.Context, c *crowd, dir string) error {
		return errorOf((&install.Installer{Source: c.world().registry(), LockPlatforms: []addrs.Platform{linux}, TempDir: dir}).Lock(ctx, install.Requirements{alpha: {}}, nil))
	})},
	{"module.Download", 200, true, moduleInto(plain, false)},
	{"module.Download of a zip", 550, true, moduleInto(direct, false)},
	{"module.Download with a repository", 50, false, moduleInto(gitty, false)},
	{"module.Download in place of another", 700, false, moduleInto(plain, true)},
	{"module.DownloadAll", 200, true, at(func(ctx context.Context, c *crowd, dir string) error {
		requests := []module.Request{{Source: addrs.ModuleSource{Module: plain}, Version: v1, Dir: filepath.Join(dir, "m")}}
		return errorOf(module.DownloadAll(ctx, c.world().registry(), requests, module.Options{}))
	})},
	{"module.Download", 950, false, at(func(ctx context.Context, c *crowd, dir string) error {
		loc, err := module.ParseLocation(c.tree)
		if err != nil {
			return err
		}
		_, err = module.Download(ctx, nil, module.Request{Location: loc, Dir: filepath.Join(dir, "m")}, module.Options{AllowLocal: true})
		return err
	})},
	{"provider.Download", 0, true, at(func(ctx context.Context, c *crowd, dir string) error {
		return errorOf(downloadProvider(ctx, c.world().registry(), verify.Policy{}, dir))
	})},
	{"provider.Hashes", -1, true, at(func(ctx context.Context, c *crowd, dir string) error {
		return errorOf(provider.Hashes(ctx, c.world().registry(), alpha, v1, []addrs.Platform{linux}, provider.HashOptions{TempDir: dir}))
	})},
	{"checksum.H1Zip", 450, false, at(func(ctx context.Context, c *crowd, _ string) error {
		_, _, err := checksum.H1Zip(ctx, bytes.NewReader(c.zip), int64(len(c.zip)), checksum.Limits{})
		return err
	})},
	{"checksum.H1Dir", 150, false, at(func(ctx context.Context, c *crowd, _ string) error {
		return errorOf(checksum.H1Dir(ctx, os.DirFS(c.tree)))
	})},
	{"checksum.L1Dir", 150, false, at(func(ctx context.Context, c *crowd, _ string) error {
		return errorOf(checksum.L1Dir(ctx, os.DirFS(c.tree)))
	})},
	{"checksum.ZH", 100, false, at(func(ctx context.Context, _ *crowd, _ string) error {
		return errorOf(checksum.ZH(ctx, io.LimitReader(zeros{}, int64(*many)<<16))) // 64 KiB for each
	})},
	{"verify.Policy.Check", 450, false, at(func(ctx context.Context, c *crowd, _ string) error {
		_, err := verify.Policy{Accept: checksum.NewSet(c.h1)}.Check(ctx, verify.Evidence{}, bytes.NewReader(c.zip), int64(len(c.zip)))
		if ctx.Err() == nil && errors.Is(err, verify.ErrNotAccepted) {
			return nil // it has no executable
		}
		return err
	})},
	{"mirrordir.Mirror.Add", -1, true, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		return func(ctx context.Context) error {
			m := mirrorIn(t, dir)
			return errorOf(m.Add(ctx, c.world().registry(), []mirrordir.Want{release}, mirrordir.AddOptions{}))
		}
	}},
	{"mirrordir.Mirror.Add to many files", 100, false, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		litter(t, filepath.Join(dir, registryHost, "acme", "alpha"), "terraform-provider-alpha_1.0.%d_linux_amd64.zip")
		litter(t, filepath.Join(dir, ".tofureg"), ".tofureg-%d.part")
		return func(ctx context.Context) error {
			m := mirrorIn(t, dir)
			return errorOf(m.Add(ctx, c.world().registry(), []mirrordir.Want{release}, mirrordir.AddOptions{}))
		}
	}},
	{"mirrordir.Mirror.All", 100, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		for _, err := range m.All(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	})},
	{"mirrordir.Mirror.Check", 100, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		return errorOf(m.Check(ctx, mirrordir.CheckOptions{}))
	})},
	{"mirrordir.Mirror.ProviderVersions", 200, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		return errorOf(m.ProviderVersions(ctx, alpha))
	})},
	{"mirrordir.Mirror.Reindex", 200, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		return errorOf(m.Reindex(ctx, mirrordir.CheckOptions{}))
	})},
	{"mirrordir.Mirror.ListedVersions", 200, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		return errorOf(m.ListedVersions(ctx, alpha))
	})},
	{"storage.Store.List", 100, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		return errorOf(m.Store.List(ctx, registryHost+"/acme/alpha"))
	})},
	{"storage.Store.Lock", 100, false, func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		litter(t, filepath.Join(dir, ".tofureg"), ".tofureg-%d.part")
		return func(ctx context.Context) error {
			unlock, err := mirrorIn(t, dir).Store.(*storage.Dir).Lock(ctx, "name")
			if err != nil {
				return err
			}
			return cmp.Or(unlock(), ctx.Err())
		}
	}},
	{"mirrordir.Mirror.Remove", 1000, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error { return m.Remove(ctx, alpha) })},
	{"mirrordir.Mirror.Sweep", 500, false, inMirror(func(ctx context.Context, m *mirrordir.Mirror) error {
		_, err := m.Sweep(ctx)
		return err
	})},
	{"mirrorserve.Cache.Open", 0, true, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		return func(ctx context.Context) error {
			cache := &mirrorserve.Cache{Source: c.world().registry(), Mirror: mirrorIn(t, dir)}
			pkg, err := cache.ProviderPackage(ctx, alpha, v1, linux)
			if err != nil {
				return err
			}
			body, err := cache.Open(ctx, pkg)
			if err != nil {
				return err
			}
			defer body.Close()
			_, err = io.Copy(io.Discard, body)
			return err
		}
	}},
	{"module.Cache.Prune", 100, false, func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		must.Do(t, os.Chmod(dir, 0o700))
		litter(t, filepath.Join(dir, "packages"), "%064x")
		litter(t, filepath.Join(dir, "keys"), "%064x")
		return func(ctx context.Context) error {
			return errorOf((&module.Cache{Path: dir}).Prune(ctx, time.Now().Add(time.Hour), 0, false))
		}
	}},
	{"module.Download into a cache", 200, false, at(func(ctx context.Context, c *crowd, dir string) error {
		o := module.Options{Cache: &module.Cache{Path: filepath.Join(dir, "cache")}}
		return errorOf(module.Download(ctx, c.world().registry(), module.Request{Source: addrs.ModuleSource{Module: direct}, Version: v1, Dir: filepath.Join(dir, "m")}, o))
	})},
	{"hashstore.Dir.Prune", 100, false, func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		litter(t, dir, "%064x")
		return func(ctx context.Context) error {
			return errorOf((&hashstore.Dir{Path: dir}).Prune(ctx, time.Now().Add(time.Hour)))
		}
	}},
	{"auth.CredentialsFile.Save", 100, false, func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		litter(t, dir, ".tofureg-%d.part")
		return func(ctx context.Context) error {
			return auth.CredentialsFile{Path: filepath.Join(dir, "file")}.Save(ctx, alpha.Host(), auth.MustNewToken(registryToken))
		}
	}},
	{"doccache.Transport.RoundTrip", 100, false, func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		must.Do(t, os.Chmod(dir, 0o700))
		must.Do(t, os.Mkdir(filepath.Join(dir, "v1"), 0o700))
		litter(t, filepath.Join(dir, "v1"), ".tofureg-%d.part")
		return func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+registryHost+"/.well-known/terraform.json", nil)
			if err != nil {
				return err
			}
			resp, err := (&doccache.Transport{Base: c.reg, Dir: dir}).RoundTrip(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return cmp.Or(err, ctx.Err())
		}
	}},
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// moduleInto downloads a module, if replace is set in place of a directory with many files.
func moduleInto(m addrs.Module, replace bool) func(*testing.T, *crowd, string) func(context.Context) error {
	return func(t *testing.T, c *crowd, dir string) func(context.Context) error {
		dir = filepath.Join(dir, "m")
		if replace {
			litter(t, dir, "%d")
		}
		return func(ctx context.Context) error {
			return errorOf(module.Download(ctx, c.world().registry(), module.Request{Source: addrs.ModuleSource{Module: m}, Version: v1, Dir: dir}, module.Options{Replace: replace}))
		}
	}
}

// mirrorIn returns the mirror in a directory.
func mirrorIn(t *testing.T, dir string) *mirrordir.Mirror {
	return must.Get(mirrordir.Open(dir))(t)
}

// inMirror calls do with a mirror that has many archives, which are empty.
func inMirror(do func(context.Context, *mirrordir.Mirror) error) func(*testing.T, *crowd, string) func(context.Context) error {
	return func(t *testing.T, _ *crowd, dir string) func(context.Context) error {
		litter(t, filepath.Join(dir, registryHost, "acme", "alpha"), "terraform-provider-alpha_1.0.%d_linux_amd64.zip")
		return func(ctx context.Context) error {
			return do(ctx, mirrorIn(t, dir))
		}
	}
}

// looked is a context that counts how often its Err is called, and ends at a call.
type looked struct {
	context.Context
	cancel context.CancelFunc
	end    int64 // the call at which it ends
	ended  func()
	looks  atomic.Int64
}

func newLooked(t *testing.T, end int64, ended func()) *looked {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &looked{Context: ctx, cancel: cancel, end: end, ended: ended}
}

func (c *looked) Err() error {
	if c.looks.Add(1) == c.end {
		c.ended()
		c.cancel()
	}
	return c.Context.Err()
}

// nodes returns the number of files and directories below dir.
func nodes(dir string) int {
	n := 0
	filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { n++; return nil })
	return n
}

func distance(a, b int) int { return max(a-b, b-a) }

// TestEnds: each function that has many steps looks at its context in each of them. Wherever the
// context ends, few steps follow, and the error is that of the context. Files may be left then; the next
// call removes them.
func TestEnds(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	for _, e := range endings {
		if e.looks < 0 {
			continue // TestEndsInAStall shows it
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := e.ready(t, c, dir)
			whole := newLooked(t, math.MaxInt64, nil)
			must.Do(t, run(whole))
			all, files := whole.looks.Load(), nodes(dir)
			if want := *many * e.looks / 100; int(all) < want {
				t.Errorf("%d looks at the context, want at least %d", all, want)
			}
			for _, part := range []int64{5, 60} { // percent of the looks
				dir := t.TempDir()
				run := e.ready(t, c, dir)
				there, end := 0, time.Time{}
				ctx := newLooked(t, max(all*part/100, 1), func() { there, end = nodes(dir), time.Now() })
				err := run(ctx)
				t.Logf("returned %v after the end of the context at %d%%", time.Since(end), part)
				looks, late := ctx.looks.Load()-ctx.end, distance(nodes(dir), there)
				switch {
				case there == 0:
					t.Errorf("after %d%%: %d looks, fewer than those %d of a whole run", part, ctx.looks.Load(), all)
				case !errors.Is(err, context.Canceled) && (err != nil || part < 50):
					t.Errorf("after %d%%: error %v, want context.Canceled", part, err)
				case looks > maxLate || late > maxLate:
					t.Errorf("after %d%%: %d looks, and %d files made or removed, after the end of the context", part, looks, late)
				}
				if part != 60 {
					continue
				}
				if err := run(t.Context()); err != nil {
					t.Errorf("another call after the end: %v", err)
				}
				if n := nodes(dir); n != files {
					t.Errorf("another call after the end: %d files, want %d", n, files)
				}
			}
		})
	}
}

// TestEndsInAStall: an archive with many entries stalls before its end. When the context ends, few steps
// follow, and none after the function has returned.
func TestEndsInAStall(t *testing.T) {
	t.Parallel()
	for _, e := range endings {
		if !e.stall {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				run := e.ready(t, c, dir)
				for path, body := range map[string][]byte{"alpha": c.zip, "direct": c.zip, "plain": c.tar} {
					c.reg.AddFault(regtest.Fault{Kind: regtest.Archive | regtest.ModulePackage, Path: path, Break: "stall", After: int64(len(body) - 100)})
				}
				ctx, cancel := context.WithCancel(t.Context())
				there := 0
				time.AfterFunc(5*time.Second, func() { there = nodes(dir); cancel() })
				start := time.Now()
				err := run(ctx)
				if took := time.Since(start); took != 5*time.Second || !errors.Is(err, context.Canceled) {
					t.Errorf("after %v: %v", took, err)
				}
				left := nodes(dir)
				if late := distance(left, there); late > maxLate {
					t.Errorf("%d files were made or removed after the end of the context", late)
				}
				// The download of a cache belongs to no call, and ends by itself.
				if time.Sleep(time.Hour); nodes(dir) != left && e.name != "mirrorserve.Cache.Open" {
					t.Errorf("%d files an hour after the return, %d before", nodes(dir), left)
				}
			})
		})
	}
}
