package doccache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/doccache"
)

const host = "registry.example.com"

var (
	linux = addrs.MustParsePlatform("linux_amd64")
	v1    = addrs.MustParseVersion("1.0.0")
	alpha = addrs.MustParseProvider(host + "/acme/alpha")
)

// fiveProviders returns a registry with 21 documents: discovery, and for each provider versions,
// package, checksums and signature.
func fiveProviders(caching regtest.Caching) (reg *regtest.Registry, list []addrs.Provider) {
	reg = regtest.New(host)
	reg.Caching = caching
	reg.Latency = time.Second
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		reg.AddProvider(regtest.Provider{Address: "acme/" + name, Platforms: []string{"linux_amd64"}})
		list = append(list, addrs.MustParseProvider(host+"/acme/"+name))
	}
	return reg, list
}

const (
	allDocuments = 21
	documents    = regtest.Discovery | regtest.Metadata | regtest.Sums | regtest.Signature |
		regtest.ModuleVersions | regtest.ModuleLocation | regtest.MirrorIndex | regtest.MirrorVersion
)

// findAll finds the packages of all providers, and downloads them to dir unless that is empty.
func findAll(ctx context.Context, tr *doccache.Transport, list []addrs.Provider, dir string) error {
	c := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: tr}}}
	for _, p := range list {
		pkg, err := provider.Find(ctx, c, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
		if err != nil {
			return err
		}
		if dir != "" {
			_, err = provider.Download(ctx, c, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{})
		} else {
			_, err = c.Evidence(ctx, pkg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestPrograms runs 100 programs, eight at a time, each with its own clients. The first run makes one
// request for each document, the second none. After the documents have expired, the third makes
// one request for each, and no document has changed.
func TestPrograms(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, test := range []struct {
		name      string
		caching   regtest.Caching
		freshFor  time.Duration
		programs  int
		unchanged int // of the requests of the third run
	}{
		{"the server says how long", regtest.Caching{Control: "max-age=3600", Tags: true}, 0, 100, allDocuments},
		{"the server says nothing", regtest.Caching{}, hour, 10, 10}, // files have tags in any case
		{"the server forbids it", regtest.Caching{Control: "max-age=0, private, must-revalidate", Tags: true}, hour, 10, allDocuments},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, out := t.TempDir(), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				reg, list := fiveProviders(test.caching)
				run := func(download string) (requests []regtest.Request) {
					reg.Reset()
					free := make(chan struct{}, 8)
					webtest.Together(test.programs, func(i int) {
						free <- struct{}{}
						defer func() { <-free }()
						to := download
						if i > 0 { // one program downloads
							to = ""
						}
						tr := &doccache.Transport{Base: reg, Dir: dir, FreshFor: test.freshFor}
						if err := findAll(t.Context(), tr, list, to); err != nil {
							t.Errorf("program %d: %v", i, err)
						}
					})
					for _, q := range reg.Requests() {
						if q.Kind != regtest.Archive {
							requests = append(requests, q)
						}
					}
					return requests
				}
				distinct := func(requests []regtest.Request) int {
					urls := map[string]bool{}
					for _, q := range requests {
						urls[q.URL()] = true
					}
					return len(urls)
				}

				first := run(out)
				if len(first) != allDocuments || distinct(first) != allDocuments {
					t.Errorf("first run: %d requests for %d documents, want one for each of %d", len(first), distinct(first), allDocuments)
				}
				time.Sleep(hour / 2)
				if second := run(""); len(second) != 0 {
					t.Errorf("second run: %d requests, want 0: %v", len(second), second)
				}
				time.Sleep(hour)
				third := run("")
				unchanged := 0
				for _, q := range third {
					if q.Status == http.StatusNotModified {
						unchanged++
					}
				}
				if len(third) != allDocuments || distinct(third) != allDocuments || unchanged != test.unchanged {
					t.Errorf("third run: %d requests for %d documents, %d of them unchanged", len(third), distinct(third), unchanged)
				}
				checkFiles(t, dir)
			})
		})
	}
}

// TestAllClients: all clients work with the cache, also offline.
func TestAllClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := fiveProviders(regtest.Caching{Control: "max-age=3600"})
		reg.ModuleList.PageSize = 2
		network := addrs.MustParseModule(host + "/acme/network/aws")
		for i := range 5 {
			reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: fmt.Sprintf("1.%d.0", i)})
		}
		// Discovery is elsewhere, as at many hosts.
		reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Host: host, Redirect: "https://app.example.com"})
		all := func(tr *doccache.Transport) (err error) {
			hc := &http.Client{Transport: tr}
			c := &regclient.Client{Transport: &transport.Settings{HTTP: hc}}
			m := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: hc}}
			pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
			if err != nil {
				return err
			}
			ev, err := c.Evidence(t.Context(), pkg)
			if err != nil || len(ev.Sums) == 0 || len(ev.Signature) == 0 {
				return fmt.Errorf("evidence %v, %w", ev, err)
			}
			versions, err := c.ModuleVersions(t.Context(), network)
			if err != nil || len(versions.Versions) != 5 || len(versions.Warnings) > 0 {
				return fmt.Errorf("versions %+v, %w", versions, err)
			}
			if _, err := c.ModuleLocation(t.Context(), network, addrs.MustParseVersion("1.2.0")); err != nil {
				return err
			}
			if _, err := m.ProviderVersions(t.Context(), alpha); err != nil {
				return err
			}
			_, err = m.ProviderPackage(t.Context(), alpha, v1, linux)
			return err
		}
		must.Do(t, all(&doccache.Transport{Base: reg, Dir: dir}))
		reg.Reset()
		must.Do(t, all(&doccache.Transport{Base: reg, Dir: dir}))
		for _, q := range reg.Requests() {
			// Only the redirect states no time.
			if q.Kind != regtest.Discovery || q.Host != host {
				t.Errorf("unexpected request: %v", q)
			}
		}
		time.Sleep(1000 * time.Hour)
		reg.Reset()
		begin := time.Now()
		tr := &doccache.Transport{Base: reg, Dir: dir, Offline: true}
		if err := all(tr); err != nil {
			t.Errorf("offline: %v", err)
		}
		c := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: tr}}}
		_, err := c.ProviderVersions(t.Context(), addrs.MustParseProvider(host+"/acme/unknown"))
		if !errors.Is(err, failure.ErrOffline) {
			t.Errorf("offline, unknown provider: error %v, want ErrOffline", err)
		}
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		if _, err := provider.Download(t.Context(), c, pkg, filepath.Join(dir, "a.zip"), provider.DownloadOptions{}); !errors.Is(err, failure.ErrOffline) {
			t.Errorf("offline, archive: error %v, want ErrOffline", err)
		}
		if n, d := reg.Count(0), time.Since(begin); n != 0 || d != 0 {
			t.Errorf("offline: %d requests in %v, want 0 in 0s", n, d)
		}
	})
}

// TestPartial: a list that the cache answers may lack versions, which a ledger of first looks must know; one that the server
// has confirmed does not.
func TestPartial(t *testing.T) {
	t.Parallel()
	bubble(t, "lists", func(t *testing.T, dir string) {
		reg, _ := fiveProviders(regtest.Caching{Control: "max-age=60"})
		network := addrs.MustParseModule(host + "/acme/network/aws")
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0"})
		tr := &transport.Settings{HTTP: &http.Client{Transport: &doccache.Transport{Base: reg, Dir: dir}}}
		c, m := &regclient.Client{Transport: tr}, &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: tr}
		for i, want := range []bool{false, true, false} { // fetched, cached, confirmed
			if i == 2 {
				time.Sleep(time.Hour)
			}
			fromRegistry := must.Get(c.ProviderVersions(t.Context(), alpha))(t).Partial
			fromMirror := must.Get(m.ProviderVersions(t.Context(), alpha))(t).Partial
			modules := must.Get(c.ModuleVersions(t.Context(), network))(t).Partial
			if fromRegistry != want || fromMirror != want || modules != want {
				t.Errorf("round %d: Partial is %v, %v, %v, want %v", i, fromRegistry, fromMirror, modules, want)
			}
		}
	})
}

// TestOutage: with cached documents, a client neither waits nor retries.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]regtest.Fault{
		"503":     {Status: 503, RetryAfter: "30"},
		"429":     {Status: 429},
		"dropped": {Drop: true},
		"silent":  {Delay: time.Hour},
	} {
		bubble(t, name, func(t *testing.T, dir string) {
			reg, _ := fiveProviders(regtest.Caching{})
			reg.Latency = 0
			list := func(stale time.Duration) error {
				tr := &doccache.Transport{Base: reg, Dir: dir, StaleIfError: stale}
				_, err := (&regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: tr}}}).ProviderVersions(t.Context(), alpha)
				return err
			}
			must.Do(t, list(0))
			reg.AddFault(f)
			reg.Reset()
			time.Sleep(time.Second)
			begin := time.Now()
			if err := list(time.Hour); err != nil || reg.Count(0) != 2 {
				t.Errorf("error %v, %d requests; want one for each document", err, reg.Count(0))
			}
			limit := time.Duration(0)
			if f.Delay > 0 {
				limit = 20 * time.Second // the timeouts of two attempts
			}
			if d := time.Since(begin); d != limit {
				t.Errorf("it took %v, want %v", d, limit)
			}
			reg.Reset()
			if err := list(0); err == nil || reg.Count(0) != 3 {
				t.Errorf("without cached documents: error %v, %d attempts; want 3", err, reg.Count(0))
			}
		})
	}
}

// TestWaitIsNotTimeout: the wait for the request of another program does not count towards the
// timeout.
func TestWaitIsNotTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		reg, _ := fiveProviders(regtest.Caching{})
		reg.Latency = 3 * time.Second
		list := func(timeout time.Duration) {
			c := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: &doccache.Transport{Base: reg, Dir: dir}}, Timeout: timeout, Retries: -1}}
			if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
				t.Errorf("with a timeout of %v: %v", timeout, err)
			}
		}
		webtest.Together(2, func(i int) {
			time.Sleep(time.Duration(i) * time.Second)
			list([]time.Duration{10 * time.Second, time.Second}[i])
		})
		if n := reg.Count(0); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}
