package mirrorserve_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
		"not accepted":       {policy: verify.Policy{Accept: []checksum.Hash{}}},
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
				through := &mirrorserve.Handler{Source: client(registry()), Policy: test.policy, TempDir: t.TempDir()}
				if status, _ := fetch(through, archive(v1, linux)); status != 0 && status != 502 {
					t.Errorf("pulled through: status %d", status)
				}
				h, c, dir := newCache(t, client(registry()))
				c.Policy = test.policy
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

// TestCacheTrustsNoRecord checks that a damaged archive, or one that Policy does not accept, is
// downloaded again and replaced, and not served otherwise.
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
		"signed by another key": func(t *testing.T, m *mirrordir.Mirror, dir string) {
			reg := regtest.New("registry.example.com")
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Files: map[string]string{"other": "content"}})
			mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, src := newRegistry(t)
			h, c, dir := newCache(t, src)
			if name == "signed by another key" {
				pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
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
			if zh, _ := checksum.ZH(t.Context(), strings.NewReader(content)); read(t, dir, archive(v1, linux)) != content || !strings.Contains(read(t, dir, home+"/1.0.0.json"), zh.String()) {
				t.Error("it was not replaced")
			}
			if report := mustCheck(t, c.Mirror, mirrordir.CheckOptions{Policy: &c.Policy}); !report.OK() {
				t.Errorf("%+v", report)
			}
		})
	}
}
