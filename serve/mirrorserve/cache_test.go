package mirrorserve_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
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
	mustAdd(t, other, src, wants(three[:1], v1), mirrordir.AddOptions{})
	wantFiles(t, dir, files(t, otherDir)...)
	for _, name := range files(t, otherDir) {
		want, got := read(t, otherDir, name), read(t, dir, name)
		if path.Dir(name) == home && !strings.HasPrefix(path.Base(name), "record_") && path.Ext(name) == ".json" {
			want, got = mirrortest.Served(t, want), mirrortest.Served(t, got) // without serials
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-added +kept):\n%s", name, diff)
		}
	}
	if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{})}); !report.OK() || len(report.Notes) > 0 {
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
	if w.Code != 200 || w.Body.String() != mirrortest.Served(t, read(t, otherDir, home+"/1.0.0.json")) {
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

// TestCacheInclude checks that Include holds for cached packages too, and that no request is made for
// others.
func TestCacheInclude(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, c, _ := newCache(t, src)
	mustFetch(t, h, archive(v1, linux))
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	reg.Reset()
	for pattern, includes := range map[string]bool{"registry.example.com/other/*": false, "registry.example.com/acme/*": true} {
		c := &mirrorserve.Cache{Source: src, Mirror: c.Mirror, Patterns: provider.Patterns{Include: []provider.Pattern{provider.MustParsePattern(pattern)}}}
		status := 404
		if includes {
			status = 200
		}
		h := &mirrorserve.Handler{Source: c, Archive: func(context.Context, *provider.Package) (string, error) { return "", nil }}
		for _, path := range []string{home + "/index.json", home + "/1.0.0.json", archive(v1, linux)} {
			if w := ask(h, "GET", "/"+path); w.Code != status {
				t.Errorf("Include %s: GET %s: status %d, want %d", pattern, path, w.Code, status)
			}
		}
		_, listing := c.ProviderVersions(t.Context(), alpha)
		_, finding := c.ProviderPackage(t.Context(), alpha, v1, linux)
		_, proving := c.Evidence(t.Context(), pkg)
		body, opening := c.Open(t.Context(), pkg)
		if opening == nil {
			body.Close()
		}
		for call, err := range map[string]error{"ProviderVersions": listing, "ProviderPackage": finding, "Evidence": proving, "Open": opening} {
			_, ok := errors.AsType[*failure.Error](err)
			if excluded := ok && errors.Is(err, provider.ErrExcluded); excluded == includes || includes && err != nil {
				t.Errorf("Include %s: %s: %v, want ErrExcluded: %v", pattern, call, err, !includes)
			}
		}
		if !includes && reg.Count(0) != 0 {
			t.Errorf("Include %s: requests %v, want none", pattern, reg.Requests())
		}
		reg.Reset()
	}
}

// A Cache that lacks a field, or a package, returns an error.
func TestCacheWithoutFields(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, _ := newMirror(t)
	pkg := &provider.Package{Provider: alpha, Version: v1, Platform: linux}
	whole := &mirrorserve.Cache{Source: src, Mirror: m}
	_, proving := whole.Evidence(t.Context(), nil)
	_, opening := whole.Open(t.Context(), nil)
	for _, err := range []error{proving, opening} {
		if _, ok := errors.AsType[*failure.Error](err); !ok {
			t.Errorf("%v, want an error about the missing package", err)
		}
	}
	for name, c := range map[string]*mirrorserve.Cache{"zero": {}, "no Source": {Mirror: m}, "no Mirror": {Source: src}} {
		_, listing := c.ProviderVersions(t.Context(), pkg.Provider)
		_, finding := c.ProviderPackage(t.Context(), pkg.Provider, pkg.Version, pkg.Platform)
		_, proving := c.Evidence(t.Context(), pkg)
		_, opening := c.Open(t.Context(), pkg)
		for call, err := range map[string]error{"ProviderVersions": listing, "ProviderPackage": finding, "Evidence": proving, "Open": opening} {
			if _, ok := errors.AsType[*failure.Error](err); !ok || !strings.Contains(err.Error(), "Source and Mirror must not be nil") {
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

// TestArchiveOverHTTP10: an answer over HTTP/1.0 has a length, so that a proxy notices that a refused archive is not complete.
func TestArchiveOverHTTP10(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"right, size hidden": {Kind: regtest.Archive, Header: http.Header{"Content-Length": nil}},
		"wrong bytes":        {Kind: regtest.Archive, Corrupt: true},
		"wrong, size hidden": {Kind: regtest.Archive, Corrupt: true, Header: http.Header{"Content-Length": nil}},
		"cut":                {Kind: regtest.Archive, Break: "cut", After: 1000, Part: "whole"},
		"cut, size hidden":   {Kind: regtest.Archive, Break: "cut", After: 1000, Part: "whole", Header: http.Header{"Content-Length": nil}},
	} {
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Size: 1 << 20})
		reg.AddFault(fault)
		h, _, _ := newCache(t, client(reg))
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		conn := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String()))(t)
		must.Get(fmt.Fprintf(conn, "GET /%s HTTP/1.0\r\n\r\n", archive(v1, linux)))(t)
		answer, _ := io.ReadAll(conn) // an error is as good as a part
		conn.Close()
		head, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		_, length, sized := strings.Cut(head, "Content-Length: ")
		length, _, _ = strings.Cut(length, "\r\n")
		served := strings.HasPrefix(head, "HTTP/1.0 200 ")
		if complete := served && fmt.Sprint(len(body)) == length; served && !sized || complete != strings.HasPrefix(name, "right") {
			t.Errorf("%s: %d bytes with the header %q", name, len(body), head)
		}
	}
}

// TestRefusedOnTheWay checks that refused and incomplete archives are neither served nor added.
func TestRefusedOnTheWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider regtest.Provider
		fault    regtest.Fault
		policy   verify.Policy
	}{
		"wrong bytes":        {fault: regtest.Fault{Kind: regtest.Archive, Corrupt: true, First: 1}},
		"wrong, size hidden": {fault: regtest.Fault{Kind: regtest.Archive, Corrupt: true, First: 1, Header: http.Header{"Content-Length": nil}}},
		"cut":                {fault: regtest.Fault{Kind: regtest.Archive, Break: "cut", After: 1000, Part: "whole", First: 1}},
		"archive not found":  {fault: regtest.Fault{Kind: regtest.Archive, Status: 404, First: 1}},
		"bad signature":      {fault: regtest.Fault{Kind: regtest.Signature, Corrupt: true, First: 1}},
		"sums not found":     {fault: regtest.Fault{Kind: regtest.Sums, Status: 404, First: 1}},
		"not signed":         {provider: regtest.Provider{NoSums: true}},
		"not accepted":       {policy: verify.Policy{Accept: checksum.NewSet()}},
		"too large":          {policy: verify.Policy{Limits: checksum.Limits{Package: 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				registry := func() *regtest.Registry {
					reg := regtest.New("registry.example.com")
					provider := test.provider
					provider.Address, provider.Size = "acme/alpha", 1<<20
					reg.AddProvider(provider)
					if test.fault.Kind != 0 {
						reg.AddFault(test.fault)
					}
					return reg
				}
				through := &mirrorserve.Handler{Source: client(registry()), Policy: policyOf(test.policy), TempDir: t.TempDir()}
				if status, _ := fetch(through, archive(v1, linux)); status != 0 && status != 502 {
					t.Errorf("pulled through: status %d", status)
				}
				h, c, dir := newCache(t, client(registry()))
				c.Policy = policyOf(test.policy)
				if status, _ := fetch(h, archive(v1, linux)); status != 0 && status != 502 {
					t.Errorf("status %d", status)
				}
				synctest.Wait() // until temporary files are removed
				wantFiles(t, dir)
				wantFiles(t, c.Mirror.TempDir)
				if test.fault.First == 0 {
					if status, _ := fetch(h, archive(v1, linux)); status != 0 && status != 502 {
						t.Errorf("again: status %d", status)
					}
					return
				}
				mustFetch(t, h, archive(v1, linux)) // the failure is not cached
				if !strings.Contains(strings.Join(files(t, dir), " "), archive(v1, linux)) {
					t.Errorf("not kept: %v", files(t, dir))
				}
			})
		})
	}
}

// plant adds alpha 1.0.0 for linux_amd64 of a registry of its own to a mirror.
func plant(t *testing.T, m *mirrordir.Mirror, p regtest.Provider) {
	t.Helper()
	reg := regtest.New("registry.example.com")
	p.Address = "acme/alpha"
	reg.AddProvider(p)
	mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(verify.Policy{AllowUnsigned: true})})
}

// TestCacheTrustsNoRecord checks that a damaged archive, or one that Policy does not accept, is
// downloaded again and replaced, and not served otherwise.
func TestCacheTrustsNoRecord(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, m *mirrordir.Mirror, dir string){
		"added without a signature": func(t *testing.T, m *mirrordir.Mirror, _ string) {
			plant(t, m, regtest.Provider{NoSums: true, Files: map[string]string{"other": "content"}})
		},
		"not recorded": func(t *testing.T, _ *mirrordir.Mirror, dir string) {
			write(t, dir, archive(v1, linux), "planted")
		},
		"truncated": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			plant(t, m, regtest.Provider{})
			write(t, dir, archive(v1, linux), "truncated")
		},
		"damaged record": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			plant(t, m, regtest.Provider{})
			write(t, dir, recordOf(v1, linux), "{")
		},
		"signed by another key": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			plant(t, m, regtest.Provider{Files: map[string]string{"other": "content"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, src := newRegistry(t)
			h, c, dir := newCache(t, src)
			if name == "signed by another key" {
				pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
				c.Policy = policyOf(verify.Policy{Keys: verify.NewKeySet(pkg.Keys...)})
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
			if zh, _ := checksum.ZH(t.Context(), strings.NewReader(content)); read(t, dir, archive(v1, linux)) != content || !strings.Contains(read(t, dir, home+"/1.0.0.json"), zh.String()) {
				t.Error("it was not replaced")
			}
			if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{Policy: c.Policy}); !report.OK() {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestCacheKeepsEvidence checks that the signature is recorded even if the policy does not require
// it.
func TestCacheKeepsEvidence(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, c, _ := newCache(t, src)
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	c.Policy = policyOf(verify.Policy{Accept: checksum.NewSet(pkg.SHA256)})
	mustFetch(t, h, archive(v1, linux))
	down(reg)
	mustFetch(t, &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: c.Mirror}}, archive(v1, linux))
}

// TestCacheIsOvertaken checks that an archive that another process has added during the download is
// kept.
func TestCacheIsOvertaken(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	goOn := make(chan struct{})
	h, c, dir := newCache(t, mirrortest.WatchedSource{Source: src, Read: func(_ context.Context, _ int, err error) {
		if err != nil { // at the end
			<-goOn
		}
	}})
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	body := must.Get(c.Open(t.Context(), pkg))(t)
	mustAdd(t, c.Mirror, src, wants(three[:1], v1), mirrordir.AddOptions{})
	path := filepath.Join(dir, filepath.FromSlash(archive(v1, linux)))
	f := must.Get(os.Open(path))(t) // so that its inode is not reused
	defer f.Close()
	before := must.Get(f.Stat())(t)
	close(goOn)
	must.Get(io.Copy(io.Discard, body))(t)
	body.Close()
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced: %v", err)
	}
	mustFetch(t, h, archive(v1, linux))
}

// stubborn is a source that answers only after its context has ended, with an error.
type stubborn struct{ failing }

func (stubborn) ProviderVersions(ctx context.Context, _ addrs.Provider) (*provider.Versions, error) {
	<-ctx.Done()
	return nil, errors.New("too late")
}

// TestCacheWaitsForAnySource checks that a timeout is a fault of the source, whatever its error is,
// and that a canceled caller is not.
func TestCacheWaitsForAnySource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, _, _ := filled(t)
		c := &mirrorserve.Cache{Source: stubborn{}, Mirror: m}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if list, err := c.ProviderVersions(ctx, alpha); err == nil {
			t.Errorf("the caller has left and gets %v", list)
		}
		if list, err := c.ListedVersions(ctx, alpha); err == nil {
			t.Errorf("the caller has left and gets the versions %v", list)
		}
		if list, err := c.ListedArchives(ctx, alpha, v1); err == nil {
			t.Errorf("the caller has left and gets the archives %v", list)
		}
		start := time.Now()
		list, err := c.ProviderVersions(t.Context(), alpha)
		if err != nil || len(list.Versions) != 2 || time.Since(start) != 5*time.Second {
			t.Errorf("%v, %v after %v", list, err, time.Since(start))
		}
	})
}

// TestCacheLetsGo checks that a client gets the whole archive before it is added.
func TestCacheLetsGo(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	got := make(chan struct{})
	storage := &mirrortest.WatchedStore{Store: &bucket{}, Before: func(op, name string) error {
		if op == "write" && strings.HasSuffix(name, ".zip") {
			<-got
		}
		return nil
	}}
	m := &mirrordir.Mirror{Store: storage, TempDir: t.TempDir()}
	srv := httptest.NewServer(&mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}})
	resp := must.Get(srv.Client().Get(srv.URL + "/" + archive(v1, linux)))(t)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
	resp.Body.Close()
	close(got)
	srv.Close() // waits for the response, which waits until the archive is added
	if got := all(t, m); len(got) != 1 || reg.Count(regtest.Archive) != 1 {
		t.Errorf("kept: %v", got)
	}
}
