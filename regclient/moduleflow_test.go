package regclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient/regtest"
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
			want = append(want, reg.AddModule(regtest.Module{Address: name, Version: "1.2.0", Format: []string{"tar.gz", "zip", "tar.xz"}[i%3]}))
			requests = append(requests, module.Request{
				Source:     addrs.MustParseModuleSource(host + "/" + name),
				Constraint: addrs.MustParseModuleConstraint("~> 1.0"),
				Dir:        filepath.Join(dir, fmt.Sprint(i)),
			})
		}
		begin := time.Now()
		results := must.Get(module.DownloadAll(t.Context(), client(reg), requests, module.Options{}))(t)
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
		"body":               {Answer: "body", Format: "zip"},
		"both":               {Answer: "both", Format: "tar.xz"},
		"empty body":         {Answer: "empty body", Format: "tar.xz"},
		"body without":       {Answer: "empty object"},
		"root-relative":      {URLs: "root-relative"},
		"relative":           {URLs: "relative", Answer: "body"},
		"opaque":             {URLs: "opaque", Format: "zip"},
		"token in the query": {Query: "token=abc"},
		"checksum":           {Checksum: true},
		"elsewhere":          {Origin: "https://files.example.com"},
		"a page":             {Pages: 1},
		"pages with tags":    {Pages: 3, MetaTag: true, Origin: "https://pages.example.com"},
		"subdirectory":       {Subdir: "modules/subnet"},
		"direct":             {UseRegistryCredentials: &no, URLs: "relative"},
		"direct, with token": {UseRegistryCredentials: &yes, URLs: "opaque", Format: "zip"},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New(host)
			m.Address = "acme/network/aws"
			rel := reg.AddModule(m)
			reg.Require(secret, regtest.Discovery|regtest.ModuleVersions|regtest.ModuleLocation)
			if m.UseRegistryCredentials == &yes {
				reg.Require(secret, 0)
			}
			c := client(reg)
			c.Transport.Credentials = tokens(t, secret)
			dir := filepath.Join(t.TempDir(), "network")
			report := must.Get(module.Download(t.Context(), c, sourceOf(network), addrs.Version{}, dir, module.Options{}))(t)
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
	reg := moduleRegistry(regtest.Module{Origin: "http://store.example.com", URLs: "opaque", Query: "archive=tar.gz&X-Amz-Signature=" + secret})
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
