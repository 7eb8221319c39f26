package install_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	soaks    = flag.Int("install.soak", 200, "how many installs TestSoak makes")
	soakSeed = flag.Uint64("install.soakseed", 0, "the seed of TestSoak; 0: a random one")
)

// troubles are the faults of TestSoak: all that a Fault can do.
var troubles = []regtest.Fault{
	{Drop: true},
	{Status: 500}, {Status: 502}, {Status: 503, RetryAfter: "7"}, {Status: 429, RetryAfter: "99999999"}, {Status: 501},
	{Status: 404}, {Status: 401}, {Status: 403}, {Status: 410}, {Status: 204}, {Status: 299},
	{Status: 429, Header: http.Header{"X-Ratelimit-Reset": {"3"}}},
	{Delay: time.Second}, {Delay: time.Minute},
	{Break: "cut", After: 30}, {Break: "cut", After: 20_000},
	{Break: "short", After: 30}, {Break: "short", After: 20_000},
	{Break: "stall", After: 100, Pause: 20 * time.Second}, {Break: "stall", After: 20_000},
	{Rate: 10_000},
	{Corrupt: true},
	{Kind: regtest.Sums | regtest.Signature | regtest.Archive, Changed: true}, {Kind: regtest.Archive, Changed: true, Break: "cut", After: 9_000},
	{Redirect: "https://elsewhere.example.com"}, {Redirect: "http://registry.example.com"}, {Redirect: "file:///etc/passwd"},
	{Redirect: "/", Hops: 3}, {Redirect: "/", Hops: -1},
	{Raw: []byte{}}, {Raw: []byte("null")}, {Raw: []byte("{}")}, {Raw: []byte("[]")}, {Raw: []byte("{\"versions\":[null],\"archives\":{\"linux_amd64\":null}}")},
	{Raw: []byte("<html>Log in</html>"), Header: http.Header{"Content-Type": {"text/html"}}},
	{Raw: []byte("\x1b[31m\x00\xff\xfe")}, {Raw: []byte("\xef\xbb\xbf{}")}, {Raw: []byte(strings.Repeat("[", 100_000))},
	{Kind: regtest.Discovery | regtest.Metadata | regtest.MirrorIndex | regtest.MirrorVersion, PadTo: 20 << 20, Gzip: true},
	{Kind: regtest.Package, Path: "/1.1.0/", Instead: "/1.0.0/"}, {Kind: regtest.Sums, Path: "1.1.0", Instead: "1.0.0"}, {Kind: regtest.Archive, Path: "1.1.0", Instead: "1.0.0"},
	{Header: http.Header{"Content-Length": nil}}, {Header: http.Header{"Content-Length": {"7"}}}, {Header: http.Header{"Content-Length": {"999999"}}},
	{Header: http.Header{"Etag": nil}, Break: "cut", After: 10_000}, {Header: http.Header{"Etag": {`W/"weak"`}}, Break: "cut", After: 10_000},
	{Kind: regtest.Package, Edit: func(doc map[string]any) { doc["os"] = "plan9" }},
	{Kind: regtest.Package, Edit: func(doc map[string]any) { doc["shasum"] = strings.Repeat("0", 64) }},
	{Kind: regtest.Package, Edit: func(doc map[string]any) { delete(doc, "signing_keys") }},
	{Kind: regtest.Package, Edit: func(doc map[string]any) { doc["download_url"] = "" }},
	{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) { delete(doc, "archives") }},
}

// unlucky is a registry in which every tenth answer has one of the troubles.
type unlucky struct {
	healthy *regtest.Registry
	broken  []*regtest.Registry // one for each of troubles
	mu      sync.Mutex
	rand    *rand.Rand
	met     map[int]int
}

func (u *unlucky) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	to := u.healthy
	if u.rand.IntN(10) == 0 {
		n := u.rand.IntN(len(u.broken))
		to = u.broken[n]
		u.met[n]++
	}
	u.mu.Unlock()
	return to.RoundTrip(r)
}

// TestSoak installs repeatedly while a tenth of the answers is faulty. Every install ends with the
// right bytes or a typed error, and leaves nothing behind. Only a package of more than 100 files may leave some
// in a staging directory if the context ends; see TestEnds in internal/hostile.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-install.soakseed=%d", seed)
	files := openFiles()
	synctest.Test(t, func(t *testing.T) { soak(t, seed) }) // waits for all goroutines
	if now := openFiles(); len(now) > len(files) {
		t.Errorf("files are left open: %q; there were %q", now, files)
	}
}

// openFiles returns the open files of this process, where the system lists them.
func openFiles() (files []string) {
	list, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range list {
		name, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(name, "anon_inode:") { // those are the runtime's own
			files = append(files, name)
		}
	}
	return files
}

func soak(t *testing.T, seed uint64) {
	key := regtest.NewKey(regtest.KeyOptions{})
	u := &unlucky{healthy: soakRegistry(key), rand: rand.New(rand.NewPCG(seed, 1)), met: map[int]int{}}
	for _, trouble := range troubles {
		reg := soakRegistry(key)
		reg.AddFault(trouble)
		u.broken = append(u.broken, reg)
	}
	truth := soakTruth(t, u.healthy)
	outcomes := map[string]int{}
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)+2))
			for next.Add(1) <= int64(*soaks) {
				outcome := soakOnce(t, r, u, truth)
				mu.Lock()
				outcomes[outcome]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%6d %s", outcomes[outcome], outcome)
		sum += outcomes[outcome]
	}
	t.Logf("%d of %d kinds of trouble were met", len(u.met), len(troubles))
	if sum != *soaks || outcomes["verified"] < sum/4 || *soaks >= 10_000 && len(u.met) < len(troubles) {
		t.Errorf("%d installs, outcomes %v, trouble %v", sum, outcomes, u.met)
	}
}

func soakRegistry(key *regtest.Key) *regtest.Registry {
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		for _, name := range []string{"alpha", "beta", "gamma"} {
			reg.AddProvider(regtest.Provider{Address: "acme/" + name, Version: version, Size: 30_000, Platforms: []string{linux.String()},
				Keys: []*regtest.Key{key}})
		}
	}
	return reg
}

// soakTruth returns the h1 of the directory of every package.
func soakTruth(t *testing.T, reg *regtest.Registry) map[string]checksum.Hash {
	truth := map[string]checksum.Hash{}
	src := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
	d := newDir(t)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		p := addrs.MustParseProvider("registry.example.com/acme/" + name)
		for _, version := range []string{"1.0.0", "1.1.0"} {
			v := addrs.MustParseVersion(version)
			pkg := must.Get(src.ProviderPackage(t.Context(), p, v, linux))(t)
			done := must.Get(d.Install(t.Context(), src, pkg, install.Options{}))(t)
			truth[name+" "+version] = h1Of(t, done.Dir)
		}
	}
	return truth
}

// soakOnce installs one provider and returns the outcome.
func soakOnce(t *testing.T, r *rand.Rand, u *unlucky, truth map[string]checksum.Hash) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Error(err)
		return "no directory"
	}
	defer os.RemoveAll(dir)
	client := &http.Client{Transport: u}
	name := []string{"alpha", "beta", "gamma"}[r.IntN(3)]
	p := addrs.MustParseProvider("registry.example.com/acme/" + name)
	in := &install.Installer{Source: &regclient.Client{Transport: &transport.Client{HTTP: client}}, Dir: &install.Dir{Path: filepath.Join(dir, "plugins")}, Platform: linux}
	if r.IntN(3) == 0 {
		in.Source = &mirrorclient.Client{BaseURL: "https://registry.example.com/mirror/", Transport: &transport.Client{HTTP: client}}
		in.Policy = func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: true} }
	}
	if r.IntN(3) == 0 {
		in.Cache = &install.Dir{Path: filepath.Join(dir, "cache")}
	}
	var lock *lockfile.File
	if r.IntN(3) == 0 {
		lock = new(lockfile.File)
		if err := lock.Set(lockfile.Entry{Provider: p, Version: addrs.MustParseVersion("1.1.0"), Hashes: []checksum.Hash{truth[name+" 1.1.0"]}}); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if r.IntN(20) == 0 {
		time.AfterFunc(time.Duration(r.IntN(1000))*time.Millisecond, cancel)
	}
	result, err := in.Ensure(ctx, map[addrs.Provider]addrs.ProviderConstraint{p: {}}, lock)
	checkLeft(t, dir)
	if err != nil {
		return soakError(t, err, ctx)
	}
	s := result.Selections[0]
	done := install.Package{Provider: p, Version: s.Version, Platform: linux, Dir: s.Dir}
	got, err := checksum.H1Dir(t.Context(), os.DirFS(done.Dir))
	if want := truth[name+" "+s.Version.String()]; err != nil || got != want {
		t.Errorf("wrong bytes: %s %s has %v, %v; want %v", p, s.Version, got, err, want)
		return "wrong bytes"
	}
	return "verified"
}

// soakKinds are the expected kinds of errors.
var soakKinds = []error{
	context.Canceled, provider.ErrNotFound, provider.ErrUnauthorized, failure.ErrTooLarge, provider.ErrInsecure, provider.ErrChanged,
	verify.ErrUnsigned, verify.ErrUnchecked, verify.ErrBadSignature, verify.ErrUnknownKey, verify.ErrNotListed, verify.ErrFilename,
	verify.ErrNotAccepted, checksum.ErrArchive, io.ErrUnexpectedEOF,
}

// soakError returns the kind of an error, which must be an error of package provider.
func soakError(t *testing.T, err error, ctx context.Context) string {
	t.Helper()
	typed, ok := errors.AsType[*provider.Error](err)
	if !ok || typed.Op == "" || typed.Err == nil || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
		t.Errorf("%T: %q", err, err)
		return "an error that is not typed"
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		t.Errorf("cancelled, but not by the caller: %v", err)
	}
	for _, kind := range soakKinds {
		if errors.Is(err, kind) {
			return "error: " + kind.Error()
		}
	}
	if _, ok := errors.AsType[*checksum.MismatchError](err); ok {
		return "error: mismatch"
	}
	if request, ok := errors.AsType[*failure.RequestError](err); ok && request.Status/100 > 2 {
		return fmt.Sprint("error: status ", request.Status)
	}
	return "error: " + typed.Op
}

// checkLeft fails if the directories below dir contain anything but packages.
func checkLeft(t *testing.T, dir string) {
	t.Helper()
	for _, root := range []string{"plugins", "cache"} {
		d := &install.Dir{Path: filepath.Join(dir, root)}
		if _, err := os.Lstat(d.Path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		for pkg, err := range d.All() {
			if err != nil {
				t.Error(err)
			} else if _, err := pkg.Executable(); err != nil {
				t.Errorf("a package that is not whole: %v", err)
			}
		}
		if left := strays(t, d); len(left) > 0 {
			t.Errorf("left behind in %s: %q", root, left)
		}
	}
}

// strays returns the names in a plugin directory that neither belong to a package nor lead to one.
func strays(t *testing.T, d *install.Dir) []string {
	t.Helper()
	var packages []string
	for pkg, err := range d.All() {
		must.Do(t, err)
		rel := must.Get(filepath.Rel(d.Path, pkg.Dir))(t)
		packages = append(packages, filepath.ToSlash(rel))
	}
	return slices.DeleteFunc(names(t, d.Path), func(name string) bool {
		name, _, _ = strings.Cut(name, " -> ")
		return slices.ContainsFunc(packages, func(pkg string) bool {
			return name == pkg || strings.HasPrefix(name, pkg+"/") || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg+"/", name)
		})
	})
}
