package regclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

func sourceOf(m addrs.Module) addrs.ModuleSource { return addrs.ModuleSource{Module: m} }

// TestTenModules: ten modules need four answers in sequence and one discovery.
func TestTenModules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		reg := regtest.New(host)
		reg.Latency = delay
		dir := t.TempDir()
		var requests []module.Request
		var want []*regtest.ModuleRelease
		for i := range 10 {
			name := fmt.Sprintf("acme/module%d/aws", i)
			reg.AddModule(regtest.Module{Address: name, Version: "2.0.0"})
			want = append(want, reg.AddModule(regtest.Module{Address: name, Version: "1.2.0", Format: regtest.Format(i % 3)}))
			requests = append(requests, module.Request{
				Source:     addrs.MustParseModuleSource(host + "/" + name),
				Constraint: addrs.MustParseModuleConstraint("~> 1.0"),
				Dir:        filepath.Join(dir, fmt.Sprint(i)),
			})
		}
		begin := time.Now()
		results := must(module.DownloadAll(t.Context(), client(reg), requests, module.Options{}))(t)
		if took := time.Since(begin); took != 4*delay {
			t.Errorf("took %v, want 4 answers one after the other", took)
		}
		for kind, n := range map[regtest.Kind]int{
			regtest.Discovery: 1, regtest.ModuleVersions: 10, regtest.ModuleLocation: 10, regtest.ModulePackage: 10, 0: 31,
		} {
			if got := reg.Count(kind); got != n {
				t.Errorf("%d requests of kind %v, want %d", got, kind, n)
			}
		}
		for _, r := range reg.Requests() {
			if r.Method != http.MethodGet {
				t.Errorf("%s: servers are known to answer nothing but GET", r)
			}
		}
		for i, result := range results {
			if r := result.Report; r.Version.String() != "1.2.0" || r.H1 != want[i].H1() {
				t.Errorf("report %+v, want h1 %s", r, want[i].H1())
			}
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(i), "main.tf")); err != nil {
				t.Errorf("main.tf: %v", err)
			}
		}
	})
}

// TestModuleWays: each way of serving a package results in the same files.
func TestModuleWays(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := map[string]regtest.Module{
		"header":             {},
		"body":               {Answer: regtest.InBody, Format: regtest.Zip},
		"both":               {Answer: regtest.InBoth, Format: regtest.TarXz},
		"empty body":         {Answer: regtest.BesideEmpty, Format: regtest.TarXz},
		"body without":       {Answer: regtest.BesideJSON},
		"root-relative":      {URLs: regtest.RootRelative},
		"relative":           {URLs: regtest.Relative, Answer: regtest.InBody},
		"opaque":             {URLs: regtest.Opaque, Format: regtest.Zip},
		"token in the query": {Query: "token=abc"},
		"checksum":           {Checksum: true},
		"elsewhere":          {Origin: "https://files.example.com"},
		"a page":             {Pages: 1},
		"pages with tags":    {Pages: 3, MetaTag: true, Origin: "https://pages.example.com"},
		"subdirectory":       {Subdir: "modules/subnet"},
		"direct":             {UseRegistryCredentials: &no, URLs: regtest.Relative},
		"direct, with token": {UseRegistryCredentials: &yes, URLs: regtest.Opaque, Format: regtest.Zip},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New(host)
			m.Address = "acme/network/aws"
			rel := reg.AddModule(m)
			reg.Require(secret, regtest.Discovery|regtest.ModuleMetadata)
			if m.UseRegistryCredentials == &yes {
				reg.Require(secret, 0)
			}
			c := client(reg)
			c.Transport.Credentials = tokens(t, secret)
			dir := filepath.Join(t.TempDir(), "network")
			report := must(module.Download(t.Context(), c, sourceOf(network), addrs.Version{}, dir, module.Options{}))(t)
			if report.H1 != rel.H1() || report.Subdir != m.Subdir || len(report.Via) != m.Pages {
				t.Errorf("report %+v, want h1 %s", report, rel.H1())
			}
			if _, err := os.Stat(filepath.Join(report.ModuleDir(), "main.tf")); err != nil {
				t.Errorf("main.tf: %v", err)
			}
		})
	}
}

// TestPresignedHTTP: an http URL is refused, and the error names the field that allows it.
func TestPresignedHTTP(t *testing.T) {
	t.Parallel()
	reg := moduleRegistry(regtest.Module{Origin: "http://store.example.com", URLs: regtest.Opaque, Query: "archive=tar.gz&X-Amz-Signature=" + secret})
	reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, RefuseToken: true})
	for _, allowed := range []bool{false, true} {
		c := client(reg)
		c.Transport.AllowHTTP, c.Transport.Credentials = allowed, tokens(t, "t0ken")
		_, err := module.Download(t.Context(), c, sourceOf(network), v100, filepath.Join(t.TempDir(), "n"), module.Options{})
		switch {
		case allowed && err != nil:
			t.Errorf("with AllowHTTP: error %v, want none", err)
		case !allowed && (!errors.Is(err, module.ErrInsecure) || !strings.Contains(err.Error(), "AllowHTTP") || strings.Contains(err.Error(), secret)):
			t.Errorf("without AllowHTTP: error %v, want ErrInsecure", err)
		}
	}
}

// TestSharedModuleRequests: concurrent calls share a request. Each caller may change its result.
func TestSharedModuleRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := listing(many(250)...)
		reg.ModuleList.PageSize = 100
		reg.Latency = time.Second
		c := client(reg)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				versions, err := c.ModuleVersions(t.Context(), network)
				if err != nil || len(versions.List) != 250 || versions.List[0].Version.IsZero() {
					t.Errorf("ModuleVersions returned %v, %v, want 250 versions", versions, err)
					return
				}
				versions.List[0] = module.Release{}
				loc, err := c.ModuleLocation(t.Context(), network, v100)
				if err != nil || loc.URL == "" {
					t.Errorf("ModuleLocation returned %v, %v, want a URL", loc, err)
					return
				}
				*loc = module.Location{}
			})
		}
		wg.Wait()
		for kind, want := range map[regtest.Kind]int{regtest.Discovery: 1, regtest.ModuleVersions: 2, regtest.ModuleLocation: 1} {
			if n := reg.Count(kind); n != want {
				t.Errorf("%d requests of kind %v, want %d", n, kind, want)
			}
		}
	})
}

// TestModulesAreIndependent: a slow module does not delay other modules or providers.
func TestModulesAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := moduleRegistry(regtest.Module{})
		reg.AddProvider(alphaAt("1.2.0"))
		reg.AddModule(regtest.Module{Address: "acme/slow/aws"})
		reg.AddFault(regtest.Fault{Path: "/acme/slow/", Delay: time.Minute})
		c := client(reg)
		c.Transport.Timeout = -1
		begin := time.Now()
		go func() { _, _ = c.ModuleVersions(t.Context(), addrs.MustParseModule(host+"/acme/slow/aws")) }()
		synctest.Wait()
		_, listErr := c.ModuleVersions(t.Context(), network)
		_, findErr := c.ModuleLocation(t.Context(), network, v100)
		_, provErr := c.ProviderVersions(t.Context(), alpha)
		if err := errors.Join(listErr, findErr, provErr); err != nil || time.Since(begin) != 0 {
			t.Errorf("errors %v after %v, want none at once", err, time.Since(begin))
		}
	})
}

// TestModuleRetries: temporary faults are retried.
func TestModuleRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := moduleRegistry(regtest.Module{})
		for _, kind := range moduleKinds {
			reg.AddFault(regtest.Fault{Kind: kind, First: 1, Status: http.StatusServiceUnavailable})
		}
		c := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
		if _, err := module.Download(t.Context(), c, sourceOf(network), addrs.Version{}, filepath.Join(t.TempDir(), "n"), module.Options{}); err != nil {
			t.Errorf("Download returned %v, want no error", err)
		}
		if n := reg.Count(0); n != 8 {
			t.Errorf("%d requests, want 8", n)
		}
	})
}

// TestDeadModuleService: the declared service does not answer, or is another one.
func TestDeadModuleService(t *testing.T) {
	t.Parallel()
	for _, fault := range []regtest.Fault{{Drop: true}, {Raw: []byte("it works")}} {
		reg := moduleRegistry(regtest.Module{})
		fault.Kind = regtest.ModuleMetadata
		reg.AddFault(fault)
		c := client(reg)
		_, listErr := c.ModuleVersions(t.Context(), network)
		_, findErr := c.ModuleLocation(t.Context(), network, v100)
		for _, err := range []error{listErr, findErr} {
			if e := asError(t, err); e.Attempts != 1 || e.URL == "" || errors.Is(err, module.ErrNotFound) {
				t.Errorf("error %+v, want one attempt", e)
			}
		}
	}
}

// TestModuleHosts: the port is part of the host's name and not of a scheme's, and the
// registry is asked by its ASCII name.
func TestModuleHosts(t *testing.T) {
	t.Parallel()
	for named, want := range map[string]string{
		"registry.example.com:8443": "registry.example.com:8443", "bücher.example.com": "xn--bcher-kva.example.com",
	} {
		reg := regtest.New(named)
		yes := true
		rel := reg.AddModule(regtest.Module{Address: "acme/network/aws", UseRegistryCredentials: &yes})
		reg.Require(secret, 0)
		c := client(reg)
		token := must(auth.NewToken(secret))(t)
		c.Transport.Credentials = auth.Static(map[svchost.Hostname]auth.Token{svchost.MustParse(named): token})
		source := addrs.MustParseModuleSource(named + "/acme/network/aws")
		report, err := module.Download(t.Context(), c, source, addrs.Version{}, filepath.Join(t.TempDir(), "n"), module.Options{})
		if err != nil || report.H1 != rel.H1() {
			t.Errorf("%s: Download returned %v, want the module", named, err)
		}
		for _, r := range reg.Requests() {
			if r.Host != want {
				t.Errorf("asked %s", r)
			}
		}
	}
}
