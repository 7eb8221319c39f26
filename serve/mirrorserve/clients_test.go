package mirrorserve_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// wide is a source with long lists.
type wide struct {
	provider.Source
	list  []provider.Release
	asked atomic.Int32 // packages
}

func newWide() *wide {
	w := &wide{}
	for i := range 12_000 {
		w.list = append(w.list, provider.Release{Version: addrs.MustParseVersion(fmt.Sprintf("1.0.0-%s%d", strings.Repeat("a", 230), i))})
	}
	return w
}

func (w *wide) ProviderVersions(_ context.Context, p addrs.Provider) (*provider.Versions, error) {
	return &provider.Versions{Provider: p, Versions: w.list}, nil
}

func (w *wide) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	w.asked.Add(1)
	return nil, provider.ErrNoPlatform
}

// TestUnreadDocuments checks that a client that reads nothing has a limited number of bytes waiting,
// for a minute, and that other clients are served meanwhile.
func TestUnreadDocuments(t *testing.T) {
	t.Parallel()
	src := newWide()
	synctest.Test(t, func(t *testing.T) {
		h := &mirrorserve.Handler{Source: src}
		const streams, most = 8, 16 << 20
		var wg sync.WaitGroup
		var refused atomic.Int64
		for i := range streams {
			wg.Go(func() {
				c := newSlowClient(-1)
				serveSlowly(t, h, c, "192.0.2.1:1", fmt.Sprintf("registry.example.com/acme/a%d/index.json", i))
				if c.Code == http.StatusServiceUnavailable && c.Header().Get("Retry-After") != "" {
					refused.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+home+"/index.json", nil)
		r.RemoteAddr = "192.0.2.2:1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("another client gets status %d, want 200", w.Code)
		}
		time.Sleep(59 * time.Second)
		wg.Wait() // all streams have ended
		if served := streams - refused.Load(); served < 1 || served*int64(w.Body.Len()) > most {
			t.Errorf("%d documents of %d bytes waited, want 1 to %d", served, w.Body.Len(), most/w.Body.Len())
		}
	})
}

// crowded is a source that counts the lists that are requested at the same time for each host.
type crowded struct {
	provider.Source
	mu   sync.Mutex
	now  map[string]int
	most int
}

func (c *crowded) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	c.mu.Lock()
	c.now[p.Host().String()]++
	c.most = max(c.most, c.now[p.Host().String()])
	c.mu.Unlock()
	time.Sleep(time.Second)
	c.mu.Lock()
	c.now[p.Host().String()]--
	c.mu.Unlock()
	return nil, failure.ErrNotFound
}

// TestListsAtOnce checks that a quarter of Parallel lists of versions are requested for a host at the
// same time, for both kinds of documents.
func TestListsAtOnce(t *testing.T) {
	t.Parallel()
	for parallel, want := range map[int]int{0: 4, 8: 2, 3: 1, 1: 1} {
		for _, file := range []string{"index.json", "1.0.0.json"} {
			synctest.Test(t, func(t *testing.T) {
				src := &crowded{now: map[string]int{}}
				h := &mirrorserve.Handler{Source: src, Parallel: parallel}
				var wg sync.WaitGroup
				for i := range 24 {
					wg.Go(func() { fetch(h, fmt.Sprintf("h%d.example.com/acme/a%d/%s", i%2, i, file)) })
				}
				wg.Wait()
				if src.most != want {
					t.Errorf("Parallel %d, %s: %d lists at the same time, want %d", parallel, file, src.most, want)
				}
			})
		}
	}
}

// silent is a source that never answers for one host.
type silent struct{ provider.Source }

const silentHost = "silent.example.com"

func (s silent) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if p.Host().String() == silentHost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Source.ProviderVersions(ctx, p)
}

func (s silent) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if p.Host().String() == silentHost {
		return &provider.Package{Provider: p, Version: v, Platform: on}, nil
	}
	return s.Source.ProviderPackage(ctx, p, v, on)
}

func (s silent) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	if pkg.Provider.Host().String() == silentHost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Source.Open(ctx, pkg)
}

// TestSilentHost checks that requests for a host that does not answer stop no other host, whether
// they ask for documents or for archives.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	for name, handler := range handlers(verify.Policy{AllowUnchecked: true}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, _ := sized(1000)
				h := handler(t, silent{client(reg)})
				ctx, leave := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range 8 {
					for _, file := range []string{"index.json", fmt.Sprintf("terraform-provider-a%d_1.0.0_linux_amd64.zip", i)} {
						wg.Go(func() {
							r := httptest.NewRequestWithContext(ctx, "GET", fmt.Sprintf("/%s/acme/a%d/%s", silentHost, i, file), nil)
							r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i)
							h.ServeHTTP(httptest.NewRecorder(), r)
						})
					}
				}
				time.Sleep(time.Second)
				synctest.Wait()
				for _, path := range []string{home + "/index.json", home + "/1.0.0.json", archive(v1, linux)} {
					if w := ask(h, "GET", "/"+path); w.Code != http.StatusOK {
						t.Errorf("GET %s while another host is silent: status %d, %s", path, w.Code, w.Body)
					}
				}
				leave()
				wg.Wait()
			})
		})
	}
}

// TestManyPlatforms checks that a document needs a limited number of requests to the host that the
// client has chosen.
func TestManyPlatforms(t *testing.T) {
	t.Parallel()
	const most = 64
	for listed, want := range map[int]int{most: http.StatusOK, most + 1: http.StatusBadGateway, 1000: http.StatusBadGateway} {
		rel := provider.Release{Version: v1}
		for i := range listed {
			rel.Platforms = append(rel.Platforms, addrs.MustParsePlatform(fmt.Sprintf("linux_a%d", i)))
		}
		src := &wide{list: []provider.Release{rel}}
		w := ask(&mirrorserve.Handler{Source: src}, "GET", "/"+home+"/1.0.0.json")
		if n := int(src.asked.Load()); w.Code != want || n != min(listed, most) {
			t.Errorf("%d platforms: status %d after %d requests, want %d after %d", listed, w.Code, n, want, min(listed, most))
		}
	}
}

// TestInit installs with the real clients from one directory in all ways. The second installation
// has the lock file of the first one and may not change it.
func TestInit(t *testing.T) {
	t.Parallel()
	here := addrs.CurrentPlatform()
	providers := []addrs.Provider{
		addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseProvider("registry.example.com/acme/beta"),
		addrs.MustParseProvider("bücher.example/acme/gamma"),
	}
	reg := regtest.New("registry.example.com")
	var wants []mirrordir.Want
	for _, p := range providers {
		reg.AddProvider(regtest.Provider{
			Address: p.String(), Version: "1.2.0-beta+meta.1", Platforms: []string{here.String(), "plan9_mips"},
			// The client compares the h1 of the unpacked package with the h1 of the archive,
			// which differ for an archive with directory entries.
			Files: map[string]string{"docs/a.txt": "text"}, Deflate: true,
		})
		wants = append(wants, mirrordir.Want{Provider: p, Version: addrs.MustParseVersion("1.2.0-beta+meta.1")})
	}
	m, dir := newMirror(t)
	must.Get(m.Add(t.Context(), &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}, wants, mirrordir.AddOptions{}))(t)
	files := serve(t, http.FileServer(http.Dir(dir)))
	handler := serve(t, http.StripPrefix("/providers", &mirrorserve.Handler{Source: m}))
	through := serve(t, &mirrorserve.Handler{Source: &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}})
	private := serve(t, &mirrorserve.Handler{Source: m, Authorize: bearer})
	network := func(srv *httptest.Server, path string) string {
		return fmt.Sprintf("network_mirror {\n    url = %q\n  }", srv.URL+path)
	}

	terraformtest.Each(t, func(t *testing.T, program string) {
		c := &cli{Project: terraformtest.New(t, program), providers: providers}
		static := &cli{Project: terraformtest.New(t, program), providers: providers[:2]} // clients ask for gamma in ASCII
		static.init(t, network(files, "/"), files)
		c.init(t, network(handler, "/providers/"), handler)
		c.init(t, fmt.Sprintf("filesystem_mirror {\n    path = %q\n  }", dir), files, "-lockfile=readonly")
		c.init(t, network(through, "/"), through, "-lockfile=readonly")
		c.credentials = fmt.Sprintf("credentials %q {\n  token = \"secret\"\n}\n", private.Listener.Addr())
		c.init(t, network(private, "/"), private, "-lockfile=readonly")
	})
}

// serve starts a TLS server on the loopback interface.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// cli is a directory with a configuration and a program that installs from it.
type cli struct {
	*terraformtest.Project
	providers   []addrs.Provider
	credentials string // blocks of the configuration
}

// init runs the init command in a directory with the configuration and the lock file of the
// previous run.
func (c *cli) init(t *testing.T, method string, srv *httptest.Server, flags ...string) {
	t.Helper()
	required := map[string]string{}
	for _, p := range c.providers {
		required[p.String()] = "1.2.0-beta+meta.1"
	}
	c.Require(t, required)
	c.Configure(t, "provider_installation {\n  "+method+"\n}\n"+c.credentials)
	c.Env = nil // each server has another certificate
	c.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	t.Logf("%s with %s", method, srv.URL)
	out := c.Init(t, flags...)
	for _, p := range c.providers {
		if !strings.Contains(out, p.Type()+" v1.2.0") {
			t.Errorf("%s does not tell of having installed %s:\n%s", c.Program, p, out)
		}
	}
}

// TestInitThroughCache installs with the real clients through a cache server, and again without the
// registry, also from its mirror as a filesystem mirror.
func TestInitThroughCache(t *testing.T) {
	t.Parallel()
	here := addrs.CurrentPlatform()
	terraformtest.Each(t, func(t *testing.T, program string) {
		reg := regtest.New("registry.example.com")
		providers := []addrs.Provider{addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseProvider("bücher.example/acme/gamma")}
		for _, p := range providers {
			reg.AddProvider(regtest.Provider{Address: p.String(), Version: "1.2.0-beta+meta.1", Platforms: []string{here.String(), "plan9_mips"}, Deflate: true})
		}
		m, dir := newMirror(t)
		cache := &mirrorserve.Cache{Source: client(reg), Mirror: m}
		srv := serve(t, http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}))
		network := fmt.Sprintf("network_mirror {\n    url = %q\n  }", srv.URL+"/providers/")
		c := &cli{Project: terraformtest.New(t, program), providers: providers}
		c.init(t, network, srv)
		if n := reg.Count(regtest.Archive); n != len(providers) {
			t.Errorf("%d archives were fetched, want one of each: %v", n, reg.Requests())
		}
		down(reg)
		c.init(t, network, srv, "-lockfile=readonly")
		must.Do(t, os.Remove(filepath.Join(c.Dir, ".terraform.lock.hcl")))
		c.init(t, network, srv)
		c.init(t, fmt.Sprintf("filesystem_mirror {\n    path = %q\n  }", dir), srv, "-lockfile=readonly")
	})
}
