package mirrorserve_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

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
	must.Get(m.Add(t.Context(), &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}, wants, mirrordir.Options{}))(t)
	files := serve(t, http.FileServer(http.Dir(dir)))
	handler := serve(t, http.StripPrefix("/providers", &mirrorserve.Handler{Source: m}))
	through := serve(t, &mirrorserve.Handler{Source: &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}})
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
