package mirrorserve_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/mirrortest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// newCache returns a handler for a Cache, its mirror and the directory of the mirror.
func newCache(t testing.TB, src provider.Source) (*mirrorserve.Handler, *mirrorserve.Cache, string) {
	t.Helper()
	m, dir := newMirror(t)
	m.TempDir = t.TempDir()
	c := &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}
	return &mirrorserve.Handler{Source: c}, c, dir
}

// down makes a registry unavailable until the result is called.
func down(reg *regtest.Registry) (up func()) {
	reg.AddFault(regtest.Fault{Drop: true})
	return reg.ClearFaults
}

// mustFetch requests an archive, which must succeed.
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
	return strings.Join(slices.Sorted(maps.Keys(mirrortest.Parse[index](t, w.Body.String()).Versions)), " ")
}

// TestCacheKeeps checks that a downloaded archive is added to the mirror and served without the
// registry.
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

	// The registry lists the versions. The documents state the recorded hashes.
	if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
		t.Errorf("versions %s", got)
	}
	doc := mirrortest.Parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String())
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

// TestCacheFaults checks which failures of the source are answered from the mirror.
func TestCacheFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault            regtest.Fault
		index, document  int // statuses
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
			// A cache that has not seen the fault yet.
			h = &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: c.Mirror, Wait: -1}}
			w = ask(h, "GET", "/"+home+"/1.0.0.json")
			if w.Code != test.document {
				t.Errorf("document: %d %s", w.Code, w.Body)
			} else if got := strings.Join(slices.Sorted(maps.Keys(mirrortest.Parse[document](t, w.Body.String()).Archives)), " "); w.Code == 200 && got != test.archives {
				t.Errorf("archives %s, want %s", got, test.archives)
			}
			if mustFetch(t, h, archive(v1, linux)) != content {
				t.Error("another archive")
			}
		})
	}
}

// TestCacheOfDropped checks that a version that the registry has dropped is not listed but served,
// and that Multi lists it.
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
	both := &provider.Multi{Sources: []provider.NamedSource{{Name: "cache", Source: c}, {Name: "kept", Source: c.Mirror}}}
	h = &mirrorserve.Handler{Source: both}
	if got := versionsOf(t, h); got != "1.0.0 2.0.0" {
		t.Errorf("with what is kept: versions %s", got)
	}
	if doc := mirrortest.Parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String()); len(doc.Archives["linux_amd64"].Hashes) == 0 {
		t.Errorf("%v", doc)
	}
	mustFetch(t, h, archive(v2, linux))
	if got := strings.Join(all(t, c.Mirror), ", "); got != home+" 1.0.0 linux_amd64, "+home+" 2.0.0 linux_amd64" {
		t.Errorf("kept: %s", got)
	}
}

// TestCacheForgetsFailures checks that missing packages are requested each time.
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

// A Cache that lacks a field returns an error.
func TestCacheWithoutFields(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, _ := newMirror(t)
	pkg := &provider.Package{Provider: addrs.MustParseProvider("registry.example.com/acme/alpha"), Version: addrs.MustParseVersion("1.0.0"), Platform: addrs.MustParsePlatform("linux_amd64")}
	for name, c := range map[string]*mirrorserve.Cache{"zero": {}, "no Source": {Mirror: m}, "no Mirror": {Source: src}} {
		_, listing := c.ProviderVersions(t.Context(), pkg.Provider)
		_, finding := c.ProviderPackage(t.Context(), pkg.Provider, pkg.Version, pkg.Platform)
		_, proving := c.Evidence(t.Context(), pkg)
		_, opening := c.Open(t.Context(), pkg)
		for call, err := range map[string]error{"ProviderVersions": listing, "ProviderPackage": finding, "Evidence": proving, "Open": opening} {
			if _, ok := errors.AsType[*provider.Error](err); !ok || !strings.Contains(err.Error(), "Source and Mirror must not be nil") {
				t.Errorf("%s: %s returned %v, want an error that names the fields", name, call, err)
			}
		}
		for _, file := range []string{"index.json", "1.0.0.json", pkg.ArchiveName()} {
			if w := ask(&mirrorserve.Handler{Source: c}, "GET", "/"+pkg.Provider.String()+"/"+file); w.Code < 500 {
				t.Errorf("%s: GET %s: status %d, want an error of the server", name, file, w.Code)
			}
		}
	}
}
