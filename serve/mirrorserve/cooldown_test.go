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
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
)

const week = 7 * 24 * time.Hour

// youngRegistry returns a registry with a version 1.0.0 that is a week old and 1.1.0 that is a second younger.
func youngRegistry() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	for version, age := range map[string]time.Duration{"1.0.0": week, "1.1.0": week - time.Second} {
		reg.AddProvider(regtest.Provider{
			Address: "acme/alpha", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, Deflate: true,
			Discovered: time.Now().Add(-age).Format(time.RFC3339),
		})
	}
	return reg
}

// TestCooldown: a Cache with a rule lists in its index, and has documents for, only versions that are old enough, also while the
// source is down; the ledger then has the dates. It has the archives of all.
func TestCooldown(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	synctest.Test(t, func(t *testing.T) {
		reg := youngRegistry()
		alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
		rule := &cooldown.Providers{Rule: cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: &storage.Memory{}}}}
		cache := &mirrorserve.Cache{Source: client(reg), Mirror: m, Cooldown: rule}
		h := &mirrorserve.Handler{Source: cache}
		ask := func(file string) (int, string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/registry.example.com/acme/alpha/"+file, nil))
			return w.Code, w.Body.String()
		}
		check := func(when string, youngStatus int) {
			t.Helper()
			code, index := ask("index.json")
			if code != 200 || !strings.Contains(index, `"1.0.0"`) || strings.Contains(index, `"1.1.0"`) != (youngStatus == 200) {
				t.Errorf("%s, the index has status %d: %s", when, code, index)
			}
			if code, doc := ask("1.0.0.json"); code != 200 || !strings.Contains(doc, "zh:") {
				t.Errorf("%s, 1.0.0.json has status %d: %s", when, code, doc)
			}
			if code, doc := ask("1.1.0.json"); code != youngStatus {
				t.Errorf("%s, 1.1.0.json has status %d, want %d: %s", when, code, youngStatus, doc)
			}
			for _, v := range []string{"1.0.0", "1.1.0"} {
				if code, body := ask((&provider.Package{Provider: alpha, Version: addrs.MustParseVersion(v), Platform: addrs.CurrentPlatform()}).ArchiveName()); code != 200 {
					t.Errorf("%s, the archive of %s has status %d: %s", when, v, code, body)
				}
			}
		}
		check("in the beginning", 404)
		if _, doc := ask("1.1.0.json"); !strings.Contains(doc, "is held back until it is old enough: 1.1.0 (seen ") {
			t.Errorf("1.1.0.json does not say that it is held back: %s", doc)
		}
		list := must.Get(cache.ProviderVersions(t.Context(), alpha))(t)
		if len(list.Held) != 1 || !list.Held[0].Until.Equal(time.Now().Add(time.Second)) {
			t.Errorf("held are %+v", list.Held)
		}
		down(reg)
		check("while the source is down", 404)
		reg.ClearFaults()
		time.Sleep(time.Minute) // the pause after a fault
		check("when it is old enough", 200)
		down(reg)
		check("when it was listed and the source is down", 200)
		rule.Dates = nil
		if code, index := ask("index.json"); code != 200 || strings.Contains(index, "1.0.0") {
			t.Errorf("without a ledger, the cached versions have status %d: %s", code, index)
		}
	})
}

// TestCooldownFirstLook: the first look of a ledger is at the list of the source if that answers, also if a client with a lock file
// asks for the document of a cached version first.
func TestCooldownFirstLook(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	_, src := newRegistry(t)
	mustAdd(t, m, src, wants([]addrs.Platform{linux}, v1), mirrordir.AddOptions{})
	h := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Cooldown: &cooldown.Providers{
		Rule: cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: &storage.Memory{}, Old: time.Now().Add(time.Hour)}},
	}}}
	for _, file := range []string{"/1.0.0.json", "/2.0.0.json"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest("GET", "/"+home+file, nil)); w.Code != http.StatusOK {
			t.Errorf("GET %s of a version of the first look: status %d, %s", file, w.Code, w.Body)
		}
	}
}

// TestCooldownWithoutFirstLook: while the source is at fault, cached versions are no first look of a ledger: they are held back, and
// when the source is back, its list is the first look.
func TestCooldownWithoutFirstLook(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	reg, src := newRegistry(t)
	mustAdd(t, m, src, wants([]addrs.Platform{linux}, v1), mirrordir.AddOptions{})
	cache := &mirrorserve.Cache{Source: src, Mirror: m, Cooldown: &cooldown.Providers{
		Rule: cooldown.Rule{Age: week, Dates: &cooldown.Ledger{Store: &storage.Memory{}, Old: time.Now().Add(time.Hour)}},
	}}
	h := &mirrorserve.Handler{Source: cache}
	for _, step := range []struct {
		when   string
		status int
		do     func()
	}{{"while the source is at fault", http.StatusNotFound, func() { down(reg) }}, {"later", http.StatusOK, reg.ClearFaults}} {
		step.do()
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest("GET", "/"+home+"/1.0.0.json", nil)); w.Code != step.status {
			t.Errorf("%s, 1.0.0.json has status %d, want %d: %s", step.when, w.Code, step.status, w.Body)
		}
		if list := must.Get(cache.ProviderVersions(t.Context(), alpha))(t); len(list.Held) == 0 != (step.status == 200) || list.Partial != (step.status != 200) {
			t.Errorf("%s, held are %v, Partial is %t", step.when, list.Held, list.Partial)
		}
	}
}

// TestCooldownClients: through a Cache with a rule both clients choose the older version. With a lock file of the younger one they fail,
// and under Permit they install it.
func TestCooldownClients(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		reg := regtest.New("registry.example.com")
		for version, age := range map[string]time.Duration{"1.0.0": 2 * week, "1.1.0": time.Hour} {
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, Deflate: true, Discovered: time.Now().Add(-age).Format(time.RFC3339)})
		}
		m, _ := newMirror(t)
		cache := func(permit func(addrs.Provider, addrs.Version) bool) *mirrorserve.Cache {
			return &mirrorserve.Cache{Source: client(reg), Mirror: m, Cooldown: &cooldown.Providers{Rule: cooldown.Rule{Age: week}, Permit: permit}}
		}
		p := terraformtest.New(t, program)
		p.Require(t, map[string]string{"registry.example.com/acme/alpha": "~> 1.0"})
		through := func(c *mirrorserve.Cache) {
			srv := serve(t, &mirrorserve.Handler{Source: c})
			p.Configure(t, fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n", srv.URL+"/"))
			p.Env = nil
			p.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
		}
		wantInstalled := func(when, version string) {
			t.Helper()
			if out := p.Init(t); !strings.Contains(out, "alpha v"+version) {
				t.Errorf("%s, %s installed another version than %s:\n%s", when, program, version, out)
			}
		}
		through(cache(nil))
		wantInstalled("with the rule", "1.0.0")

		through(&mirrorserve.Cache{Source: client(reg), Mirror: m})
		if out := p.Init(t, "-upgrade"); !strings.Contains(out, "alpha v1.1.0") {
			t.Fatalf("without the rule, %s did not lock 1.1.0:\n%s", program, out)
		}
		through(cache(nil))
		must.Do(t, os.RemoveAll(filepath.Join(p.Dir, ".terraform")))
		if out, err := p.Try(t, "init", "-no-color", "-input=false"); err == nil || !strings.Contains(out, "previously-selected version") {
			t.Errorf("with a lock file of a held version, %s returned %v:\n%s", program, err, out)
		}
		lock := must.Get(lockfile.Load(filepath.Join(p.Dir, lockfile.Name)))(t)
		through(cache(lock.Locks))
		wantInstalled("with a lock file and Permit", "1.1.0")
	})
}
