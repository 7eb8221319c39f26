package mirrordir_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// newCache returns a cache server for a source, its cache, and the directory of that.
func newCache(t testing.TB, src provider.Source) (*mirrordir.Handler, *mirrordir.Cache, string) {
	t.Helper()
	m, dir := newMirror(t)
	m.TempDir = t.TempDir()
	c := &mirrordir.Cache{Source: src, Mirror: m, Wait: -1}
	return &mirrordir.Handler{Source: c}, c, dir
}

// down makes a registry unreachable until the result is called.
func down(reg *regtest.Registry) (up func()) {
	reg.AddFault(regtest.Fault{Drop: true})
	return reg.ClearFaults
}

// mustFetch asks for an archive that must be served.
func mustFetch(t testing.TB, h http.Handler, name string) string {
	t.Helper()
	status, body := fetch(h, name)
	if status != 200 {
		t.Errorf("%s: status %d: %.200s", name, status, body)
	}
	return body
}

// versionsOf returns the versions in the index that a handler serves.
func versionsOf(t testing.TB, h http.Handler) string {
	t.Helper()
	w := ask(h, "GET", "/"+home+"/index.json")
	if w.Code != 200 {
		t.Fatalf("index: %d %s", w.Code, w.Body)
	}
	return strings.Join(slices.Sorted(maps.Keys(parse[index](t, w.Body.String()).Versions)), " ")
}

// TestCacheKeeps: what has been fetched once is in the mirror as Add would have put it there,
// and is served from it whether or not there is a registry.
func TestCacheKeeps(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, c, dir := newCache(t, src)
	content := mustFetch(t, h, archive(v1, linux))
	other, otherDir := newMirror(t)
	mustAdd(t, other, src, wants(three[:1], v1), mirrordir.Options{})
	wantFiles(t, dir, files(t, otherDir)...)
	for _, name := range files(t, otherDir) {
		if diff := cmp.Diff(read(t, otherDir, name), read(t, dir, name)); diff != "" {
			t.Errorf("%s (-added +kept):\n%s", name, diff)
		}
	}
	if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{Policy: &verify.Policy{}}); !report.OK() || len(report.Notes) > 0 {
		t.Errorf("%+v", report)
	}

	// While the registry answers, it says what there is; of what is kept, the record is stated.
	if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
		t.Errorf("versions %s", got)
	}
	doc := parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String())
	if len(doc.Archives) != 3 || len(doc.Archives["linux_amd64"].Hashes) != 2 || len(doc.Archives["darwin_arm64"].Hashes) != 1 {
		t.Errorf("%v", doc)
	}
	reg.Reset()
	if mustFetch(t, h, archive(v1, linux)) != content || reg.Count(0) != 0 {
		t.Errorf("the registry was asked about what is kept: %v", reg.Requests())
	}

	up := down(reg)
	if got := versionsOf(t, h); got != "1.0.0" {
		t.Errorf("without the registry: versions %s", got)
	}
	w := ask(h, "GET", "/"+home+"/1.0.0.json")
	if w.Code != 200 || w.Body.String() != read(t, otherDir, home+"/1.0.0.json") {
		t.Errorf("without the registry: %d %s", w.Code, w.Body)
	}
	if mustFetch(t, h, archive(v1, linux)) != content {
		t.Error("another archive")
	}
	for _, path := range []string{archive(v2, linux), archive(v1, darwin), home + "/2.0.0.json", "registry.example.com/acme/beta/index.json"} {
		if w := ask(h, "GET", "/"+path); w.Code != 502 {
			t.Errorf("%s, which is not kept: %d %s", path, w.Code, w.Body)
		}
	}
	up()
	mustFetch(t, h, archive(v2, darwin))
	if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{}); !report.OK() || report.Archives != 2 {
		t.Errorf("%+v", report)
	}
}

// TestCacheFaults: whose answer counts.
func TestCacheFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault            regtest.Fault
		index, document  int // status
		listed, archives string
	}{
		"none":                 {index: 200, listed: "1.0.0 2.0.0", document: 200, archives: "darwin_arm64 linux_amd64 windows_amd64"},
		"connection lost":      {fault: regtest.Fault{Drop: true}, index: 200, listed: "1.0.0", document: 200, archives: "linux_amd64"},
		"status 500":           {fault: regtest.Fault{Status: 500}, index: 200, listed: "1.0.0", document: 200, archives: "linux_amd64"},
		"status 429":           {fault: regtest.Fault{Status: 429}, index: 200, listed: "1.0.0", document: 200, archives: "linux_amd64"},
		"list not found":       {fault: regtest.Fault{Kind: regtest.Versions, Status: 404}, index: 404, document: 404},
		"unauthorised":         {fault: regtest.Fault{Kind: regtest.Versions, Status: 401}, index: 502, document: 502},
		"nonsense":             {fault: regtest.Fault{Kind: regtest.Versions, Raw: []byte("[]")}, index: 502, document: 502},
		"packages are broken":  {fault: regtest.Fault{Kind: regtest.Package, Status: 500}, index: 200, listed: "1.0.0 2.0.0", document: 200, archives: "linux_amd64"},
		"nothing about a kept": {fault: regtest.Fault{Kind: regtest.Package, Path: "/linux/", Status: 500}, index: 200, listed: "1.0.0 2.0.0", document: 200, archives: "darwin_arm64 linux_amd64 windows_amd64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, src := newRegistry(t)
			h, c, _ := newCache(t, src)
			content := mustFetch(t, h, archive(v1, linux))
			if name != "none" {
				reg.AddFault(test.fault)
			}
			w := ask(h, "GET", "/"+home+"/index.json")
			if w.Code != test.index {
				t.Errorf("index: %d %s", w.Code, w.Body)
			} else if w.Code == 200 && versionsOf(t, h) != test.listed {
				t.Errorf("versions %s, want %s", versionsOf(t, h), test.listed)
			}
			// A cache that has not met the fault yet.
			h = &mirrordir.Handler{Source: &mirrordir.Cache{Source: src, Mirror: c.Mirror, Wait: -1}}
			w = ask(h, "GET", "/"+home+"/1.0.0.json")
			if w.Code != test.document {
				t.Errorf("document: %d %s", w.Code, w.Body)
			} else if got := strings.Join(slices.Sorted(maps.Keys(parse[document](t, w.Body.String()).Archives)), " "); w.Code == 200 && got != test.archives {
				t.Errorf("archives %s, want %s", got, test.archives)
			}
			if mustFetch(t, h, archive(v1, linux)) != content {
				t.Error("another archive")
			}
		})
	}
}

// TestCacheOfRefused: what the policy refuses is neither served nor kept, and neither is what
// does not arrive whole.
func TestCacheOfRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider regtest.Provider
		fault    regtest.Fault
		policy   verify.Policy
	}{
		"wrong bytes":        {fault: regtest.Fault{Kind: regtest.Archive, Corrupt: true, First: 1}},
		"wrong, size hidden": {fault: regtest.Fault{Kind: regtest.Archive, Corrupt: true, First: 1, Header: http.Header{"Content-Length": nil}}},
		"cut":                {fault: regtest.Fault{Kind: regtest.Archive, Break: regtest.Cut, After: 1000, Part: regtest.Whole, First: 1}},
		"archive not found":  {fault: regtest.Fault{Kind: regtest.Archive, Status: 404, First: 1}},
		"bad signature":      {fault: regtest.Fault{Kind: regtest.Signature, Corrupt: true, First: 1}},
		"sums not found":     {fault: regtest.Fault{Kind: regtest.Sums, Status: 404, First: 1}},
		"not signed":         {provider: regtest.Provider{NoSums: true}},
		"not accepted":       {policy: verify.Policy{Accept: []verify.Hash{}}},
		"too large":          {policy: verify.Policy{Limits: verify.Limits{Package: 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New("registry.example.com")
			test.provider.Address, test.provider.Size = "acme/alpha", 1<<20
			reg.AddProvider(test.provider)
			if test.fault.Kind != 0 {
				reg.AddFault(test.fault)
			}
			h, c, dir := newCache(t, client(reg))
			c.Policy = test.policy
			if status, _ := fetch(h, archive(v1, linux)); status != 0 && status != 502 {
				t.Errorf("status %d", status)
			}
			wantFiles(t, dir)
			wantFiles(t, c.Mirror.TempDir)
			if test.fault.First == 0 {
				if status, _ := fetch(h, archive(v1, linux)); status != 0 && status != 502 {
					t.Errorf("again: status %d", status)
				}
				return
			}
			mustFetch(t, h, archive(v1, linux)) // the failure is not kept
			if !strings.Contains(strings.Join(files(t, dir), " "), archive(v1, linux)) {
				t.Errorf("not kept: %v", files(t, dir))
			}
		})
	}
}

// TestCacheTrustsNoRecord: what Policy does not accept, or what is damaged, is fetched anew and
// replaced, and if it cannot be fetched it is not served.
func TestCacheTrustsNoRecord(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, m *mirrordir.Mirror, dir string){
		"added without a signature": func(t *testing.T, m *mirrordir.Mirror, _ string) {
			reg := regtest.New("registry.example.com")
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", NoSums: true, Files: map[string]string{"other": "content"}})
			mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.Options{Policy: verify.Policy{AllowUnsigned: true}})
		},
		"not recorded": func(t *testing.T, _ *mirrordir.Mirror, dir string) {
			write(t, dir, archive(v1, linux), "planted")
		},
		"truncated": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			_, src := newRegistry(t)
			mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{})
			write(t, dir, archive(v1, linux), "truncated")
		},
		"damaged record": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			_, src := newRegistry(t)
			mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{})
			write(t, dir, recordOf(v1, linux), "{")
		},
		"signed by somebody else": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			reg := regtest.New("registry.example.com")
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Files: map[string]string{"other": "content"}})
			mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, src := newRegistry(t)
			h, c, dir := newCache(t, src)
			if name == "signed by somebody else" {
				pkg, err := src.ProviderPackage(t.Context(), alpha, v1, linux)
				if err != nil {
					t.Fatal(err)
				}
				c.Policy.Keys = pkg.Keys
			}
			spoil(t, c.Mirror, dir)
			up := down(reg)
			for _, path := range []string{archive(v1, linux), home + "/1.0.0.json"} {
				if status, _ := fetch(h, path); status != 502 {
					t.Errorf("%s without the registry: %d", path, status)
				}
			}
			up()
			content := mustFetch(t, h, archive(v1, linux))
			if zh, _ := verify.ZH(strings.NewReader(content)); read(t, dir, archive(v1, linux)) != content || !strings.Contains(read(t, dir, home+"/1.0.0.json"), zh.String()) {
				t.Error("it was not replaced")
			}
			if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{Policy: &c.Policy}); !report.OK() {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestCacheOfDropped: what the registry has withdrawn is not listed any more, but can be had by
// those who know it; Multi lists it.
func TestCacheOfDropped(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, c, _ := newCache(t, src)
	content := mustFetch(t, h, archive(v1, linux))
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) {
		doc["versions"] = slices.DeleteFunc(doc["versions"].([]any), func(v any) bool { return v.(map[string]any)["version"] == "1.0.0" })
	}})
	if got := versionsOf(t, h); got != "2.0.0" {
		t.Errorf("versions %s", got)
	}
	if w := ask(h, "GET", "/"+home+"/1.0.0.json"); w.Code != 404 {
		t.Errorf("document: %d %s", w.Code, w.Body)
	}
	if mustFetch(t, h, archive(v1, linux)) != content {
		t.Error("another archive")
	}
	both := &provider.Multi{Methods: []provider.Method{{Name: "cache", Source: c}, {Name: "kept", Source: c.Mirror}}}
	h = &mirrordir.Handler{Source: both}
	if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
		t.Errorf("with what is kept: versions %s", got)
	}
	if doc := parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String()); len(doc.Archives["linux_amd64"].Hashes) == 0 {
		t.Errorf("%v", doc)
	}
	mustFetch(t, h, archive(v2, linux))
	if got := strings.Join(all(t, c.Mirror), ", "); got != home+" 1.0.0 linux_amd64, "+home+" 2.0.0 linux_amd64" {
		t.Errorf("kept: %s", got)
	}
}

// TestCacheForgetsFailures: that something is not there is asked for each time.
func TestCacheForgetsFailures(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, _, _ := newCache(t, src)
	three := addrs.MustParseVersion("3.0.0")
	mustFetch(t, h, archive(v1, linux))
	for _, path := range []string{archive(three, linux), home + "/3.0.0.json", "registry.example.com/acme/beta/index.json"} {
		if w := ask(h, "GET", "/"+path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, address := range []string{"acme/alpha", "acme/beta"} {
		reg.AddProvider(regtest.Provider{Address: address, Version: "3.0.0"})
	}
	mustFetch(t, h, archive(three, linux))
	for _, path := range []string{home + "/3.0.0.json", "registry.example.com/acme/beta/index.json"} {
		if w := ask(h, "GET", "/"+path); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestCacheAsSource: programs that fetch packages themselves have a cache too.
func TestCacheAsSource(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	_, c, dir := newCache(t, src)
	to := filepath.Join(t.TempDir(), "a.zip")
	var before *provider.Package
	for i := range 3 {
		pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			before = pkg
		}
		if i == 2 {
			pkg = before // as the registry described it
		}
		report, err := provider.Download(t.Context(), c, pkg, to, provider.Options{})
		if err != nil || report.Trust != verify.Signed {
			t.Fatalf("%v, %v", report, err)
		}
		if data, err := os.ReadFile(to); err != nil || string(data) != read(t, dir, archive(v1, linux)) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		down(reg)
	}
	list, err := c.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.List) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta")); !provider.IsFault(err) {
		t.Errorf("what is not kept: %v", err)
	}
	if _, err := c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v1, Platform: linux, Dir: dir}); !errors.Is(err, provider.ErrUnpacked) {
		t.Errorf("%v, want ErrUnpacked", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx, before); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// TestCacheRemoved: what was kept when it was looked up, and is not when it is fetched, comes
// from the registry again.
func TestCacheRemoved(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	h, c, dir := newCache(t, src)
	mustFetch(t, h, archive(v1, linux))
	pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !strings.HasPrefix(pkg.URL, "file:") {
		t.Fatalf("%+v, %v", pkg, err)
	}
	if err := c.Mirror.Remove(t.Context(), alpha); err != nil {
		t.Fatal(err)
	}
	body, err := c.Open(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	zh, err := verify.ZH(body)
	if err != nil || zh != pkg.SHA256 || body.Size != pkg.Size {
		t.Errorf("%v, %v", zh, err)
	}
	body.Close()
	body.Close()
	if read(t, dir, archive(v1, linux)) == "" {
		t.Error("not kept")
	}
}

// TestCacheOfMirror: a mirror can be the source, with the policy for one.
func TestCacheOfMirror(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	h, c, dir := newCache(t, &mirrorclient.Client{BaseURL: reg.MirrorURL(), HTTP: reg.Client(), Retries: -1})
	c.Policy = verify.Policy{AllowUnsigned: true}
	content := mustFetch(t, h, archive(v1, linux))
	if read(t, dir, archive(v1, linux)) != content {
		t.Error("not kept")
	}
	if doc := parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String()); len(doc.Archives) != 3 {
		t.Errorf("%v", doc)
	}
	down(reg)
	if mustFetch(t, h, archive(v1, linux)) != content || versionsOf(t, h) != "1.0.0" {
		t.Error("without the mirror it is another")
	}
}

// guarded refuses what it does not let through, around a Cache.
type guarded struct {
	*mirrordir.Cache
	denying
}

func (g guarded) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return g.denying.ProviderVersions(ctx, p)
}

func (g guarded) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return g.denying.ProviderPackage(ctx, p, v, platform)
}

func (g guarded) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return g.denying.Evidence(ctx, pkg)
}

func (g guarded) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return g.denying.Open(ctx, pkg)
}

// TestEmbeddedCacheDecides is TestEmbeddedMirrorDecides for a Cache.
func TestEmbeddedCacheDecides(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	h, c, _ := newCache(t, src)
	mustFetch(t, h, archive(v1, linux))
	h = &mirrordir.Handler{Source: guarded{c, denying{c.Mirror}}}
	for _, path := range []string{home + "/index.json", home + "/1.0.0.json", archive(v1, linux)} {
		if status, _ := fetch(h, path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	through := &mirrordir.Handler{Source: struct{ *mirrordir.Cache }{c}}
	mustFetch(t, through, archive(v1, linux))
	mustFetch(t, through, archive(v2, linux))
	if got := len(all(t, c.Mirror)); got != 2 {
		t.Errorf("%d versions are kept", got)
	}
}
