package layout_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// workload is the type of the method above it in docs.
type workload struct {
	registry       svchost.Hostname
	file, exchange string
	client         *http.Client
}

// measured is the type of the methods above it in docs.
type measured struct {
	provider.Source
	opened atomic.Int64 // nanoseconds
}

func TestTaskSource(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	source := &measured{Source: registry}
	pkg := must.Get(provider.Find(t.Context(), source, random, addrs.ProviderConstraint{}, provider.Need{}))(t)
	must.Get(provider.Download(t.Context(), source, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{}))(t)
	if inner, ok := provider.As[*regclient.Client](source); source.opened.Load() == 0 || !ok || inner != registry {
		t.Errorf("%d ns in Open, and As = %v, %t; want some, and the registry", source.opened.Load(), inner, ok)
	}
	entry, _ := lockedRandom(t, registry).Get(random)
	if ends, err := keyEnds(t.Context(), registry, entry); err != nil || !ends.IsZero() {
		t.Errorf("keyEnds = %v, %v; want a key that does not end", ends, err)
	}
	data := t.TempDir()
	if _, err := installedModules(t.Context(), data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("installedModules of an empty directory: %v, want ErrNotExist", err)
	}
	must.Do(t, os.Mkdir(filepath.Join(data, "modules"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(data, "modules", "modules.json"), []byte(`{"Modules":[{"Key":"m","Source":"./m","Dir":"m"}]}`), 0o644))
	if file, err := installedModules(t.Context(), data); err != nil || file["m"].Dir != "m" {
		t.Errorf("installedModules = %v, %v; want the module m", file, err)
	}
}

func TestTaskFallback(t *testing.T) {
	t.Parallel()
	near, nearby := snippetRegistry()
	nearby.Transport.Retries = -1
	near.AddFault(regtest.Fault{Status: http.StatusBadGateway, First: 1})
	far, remote := snippetRegistry()
	source := withFallback(nearby, remote)
	for _, requests := range []int{1, 1} { // the second search is answered near again
		must.Get(source.ProviderVersions(t.Context(), random))(t)
		if n := far.Count(regtest.Versions); n != requests {
			t.Errorf("%d requests of the far registry, want %d", n, requests)
		}
	}
}

func TestTaskLockFile(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	lock, dir := lockedRandom(t, registry), t.TempDir()
	if got, want := billOfMaterials(lock), random.PURL(randomV363); !slices.Equal(got, []string{want}) {
		t.Errorf("billOfMaterials = %q, want %q", got, want)
	}
	if _, err := useInstalled(t.Context(), dir, required, lock); !errors.Is(err, failure.ErrOffline) {
		t.Errorf("with an empty directory: %v, want ErrOffline", err)
	}
	work, cache := t.TempDir(), t.TempDir()
	must.Get(operator(registry, cache, work).Ensure(t.Context(), required, lock))(t)
	reg.Reset()
	if result, err := useInstalled(t.Context(), work, required, lock); err != nil || len(result.Selections) != 1 || reg.Count(0) != 0 {
		t.Errorf("with an installed provider: %v, %v, %d requests", result, err, reg.Count(0))
	}
	other := t.TempDir()
	must.Get(operator(nil, cache, other).Ensure(t.Context(), required, lock))(t)
}

func TestTaskClientCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	dir, pair := t.TempDir(), server.TLS.Certificates[0]
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	must.Do(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	must.Do(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)}), 0o600))
	web := must.Get(withClientCertificate(cert, key))(t)
	if n := len(web.HTTP.Transport.(*http.Transport).TLSClientConfig.Certificates); n != 1 {
		t.Errorf("%d certificates, want 1", n)
	}
}

func TestTaskMirrors(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	mirror := &mirrordir.Mirror{Store: &storage.Memory{}}
	must.Do(t, mirrorNewest(t.Context(), registry, required, mirror))
	if versions, err := mirror.ProviderVersions(t.Context(), random); err != nil || !strings.HasSuffix(versions.String(), ": 3.6.3") {
		t.Errorf("the mirror has %v, %v", versions, err)
	}
	gap := t.TempDir()
	must.Do(t, airGap(t.Context(), registry, lockedRandom(t, registry), []addrs.Platform{linux}, gap))
	text := strings.ReplaceAll(string(must.Get(os.ReadFile(filepath.Join(gap, "tofurc")))(t)), "/media/gap", filepath.ToSlash(gap))
	must.Do(t, (&trouble{ctx: t.Context()}).configuration(t, text))
}

func TestTaskModules(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Files: map[string]string{"main.tf": "# 1\n"}})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	request := module.Request{Source: addrs.MustParseModuleSource("registry.example.com/acme/network/aws"), Dir: filepath.Join(t.TempDir(), "network")}
	report := must.Get(module.Download(t.Context(), client, request, module.Options{}))(t)
	if moved, err := hasMoved(t.Context(), client, request, report.H1); moved || err != nil {
		t.Errorf("hasMoved = %t, %v; want false", moved, err)
	}
	options := withCache(filepath.Join(t.TempDir(), "cache"))
	for i := range 2 {
		request := request
		request.Dir, request.H1 = filepath.Join(t.TempDir(), "network"), report.H1
		if got := must.Get(module.Download(t.Context(), client, request, options))(t); got.Cached != (i == 1) {
			t.Errorf("download %d with a cache: cached %t", i, got.Cached)
		}
	}
	other := regtest.New("registry.example.com")
	other.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Files: map[string]string{"main.tf": "# 2\n"}})
	client = &regclient.Client{Transport: &transport.Settings{HTTP: other.Client()}}
	if moved, err := hasMoved(t.Context(), client, request, report.H1); !moved || err != nil {
		t.Errorf("with other content: hasMoved = %t, %v; want true", moved, err)
	}

	host := svchost.MustParse("registry.example.com")
	registry := &regdir.Registry{Store: &storage.Memory{}, Host: host}
	network := addrs.MustParseModule("registry.example.com/acme/network/aws")
	must.Do(t, publishModule(t.Context(), registry, network, addrs.MustParseVersion("2.0.0"), request.Dir))
	server := httptest.NewTLSServer(closedRegistry(&regclient.Client{}, registry))
	defer server.Close()
	served := must.Get(svchost.Parse(strings.TrimPrefix(server.URL, "https://")))(t)
	at := addrs.ModuleSource{Module: must.Get(addrs.NewModule(served, "acme", "network", "aws"))(t)}
	client = &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}
	got := must.Get(module.Download(t.Context(), client, module.Request{Source: at, Dir: filepath.Join(t.TempDir(), "x")}, module.Options{}))(t)
	if !strings.HasPrefix(got.Location, server.URL) {
		t.Errorf("the package comes from %s, want %s", got.Location, server.URL)
	}
}

func TestTaskMigrated(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.2.0"})
	network := addrs.MustParseModule("acme/network/aws")
	if location, err := newestLocation(t.Context(), registry, network); err != nil || location.Version.String() != "1.2.0" {
		t.Errorf("newestLocation = %v, %v; want that of 1.2.0", location, err)
	}
	dir := t.TempDir()
	must.Do(t, installNewest(t.Context(), registry, required, dir))
	must.Get(os.Stat(filepath.Join(dir, "registry.opentofu.org/hashicorp/random/3.6.3")))(t)
	if err := getModule(t.Context(), "git::ssh://nowhere.invalid/x.git?ref=-x", filepath.Join(dir, "x")); err == nil {
		t.Error("getModule of a reference that is an option: no error")
	}
}

func TestTaskBucketMirror(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	mirror, handler := bucketMirror(&storage.Memory{})
	must.Get(mirror.Add(t.Context(), registry, []mirrordir.Want{{Provider: random, Version: randomV363}}, mirrordir.AddOptions{}))(t)
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/registry.opentofu.org/hashicorp/random/3.6.3.json", nil))
	if rec.Code != http.StatusOK {
		t.Errorf("3.6.3.json: status %d, want 200", rec.Code)
	}
}

func TestTaskWorkloadIdentity(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("subject_token") != "identity" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"access_token":"secret"}`))
	}))
	defer server.Close()
	file, host := filepath.Join(t.TempDir(), "token"), svchost.MustParse("registry.example.com")
	w := &workload{host, file, server.URL, server.Client()}
	var source auth.Source = w
	for text, want := range map[string]string{"identity\n": "secret", "other": ""} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		if token, err := source.Token(t.Context(), host); token.Reveal() != want || (err == nil) != (want != "") {
			t.Errorf("with the identity %q: token %q, error %v; want %q", text, token.Reveal(), err, want)
		}
	}
	if token, err := source.Token(t.Context(), svchost.MustParse("example.org")); !token.IsZero() || err != nil {
		t.Errorf("another host: %v, %v", token, err)
	}
}
