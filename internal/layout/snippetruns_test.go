package layout_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tofureg/tofureg/failure"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// snippetRegistry returns a registry with hashicorp/random, and a client of it.
func snippetRegistry() (*regtest.Registry, *regclient.Client) {
	reg := regtest.New("registry.opentofu.org")
	platforms := []string{"linux_amd64", "darwin_arm64"}
	if here := addrs.CurrentPlatform().String(); here != platforms[0] && here != platforms[1] {
		platforms = append(platforms, here)
	}
	for _, version := range []string{"3.5.9", "3.6.3", "4.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version, Platforms: platforms})
	}
	return reg, &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
}

var (
	random     = addrs.MustParseProvider("hashicorp/random")
	randomV363 = addrs.MustParseVersion("3.6.3")
	required   = install.Requirements{random: addrs.MustParseProviderConstraint("~> 3.6")}
)

// lockedRandom returns a lock file with the hashes of hashicorp/random for the platforms of lockPlatforms.
func lockedRandom(t *testing.T, registry *regclient.Client) *lockfile.File {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, lockPlatforms(t.Context(), registry, dir))
	return must.Get(lockfile.Load(filepath.Join(dir, lockfile.Name)))(t)
}

func TestSnippetDownload(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	report := must.Get(download(t.Context(), registry, t.TempDir()))(t)
	if got, want := report.SignedBy.Fingerprint, reg.Key().Fingerprint(); got != want {
		t.Errorf("signed by %s, want %s", got, want)
	}
}

func TestSnippetEnsure(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	dir := t.TempDir()
	for range 2 {
		must.Do(t, ensure(t.Context(), registry, dir, required))
	}
	if n := reg.Count(regtest.Archive); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	lock, err := lockfile.Load(filepath.Join(dir, lockfile.Name))
	if err != nil || !lock.Covers(random, randomV363) {
		t.Errorf("the lock file does not cover %s %s, error %v", random, randomV363, err)
	}
}

func TestSnippetEnsureAsUser(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	project, mirror := t.TempDir(), t.TempDir()
	must.Do(t, fillMirror(t.Context(), registry, lockedRandom(t, registry), mirror))
	local := must.Get(mirrordir.Open(mirror))(t)
	here := mirrordir.Want{Provider: random, Version: randomV363, Platforms: []addrs.Platform{addrs.CurrentPlatform()}}
	must.Get(local.Add(t.Context(), registry, []mirrordir.Want{here}, mirrordir.AddOptions{}))(t)
	file := filepath.Join(project, "tofurc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	system := cliconfig.System{Environ: []string{"TF_CLI_CONFIG_FILE=" + file}, Home: project, Dir: project}
	must.Do(t, ensureAsUser(t.Context(), system, project, required))
	if _, err := os.Stat(filepath.Join(project, lockfile.Name)); err != nil {
		t.Error(err)
	}
	must.Do(t, os.WriteFile(file, []byte("provider_installation {"), 0o600))
	if err := ensureAsUser(t.Context(), system, project, required); err == nil {
		t.Error("a broken configuration file is not an error")
	}
}

func TestSnippetCheckLockFile(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	lock, platforms := lockedRandom(t, registry), []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	must.Do(t, checkLockFile(t.Context(), registry, lock, platforms))
	err := checkLockFile(t.Context(), registry, lock, append(platforms, addrs.MustParsePlatform("plan9_mips")))
	if err == nil || !strings.Contains(err.Error(), "plan9_mips:not built") {
		t.Errorf("with a platform that is not built: %v", err)
	}
}

func TestSnippetPruneCache(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	dir := t.TempDir()
	must.Do(t, ensure(t.Context(), registry, dir, required))
	cache := filepath.Join(dir, ".terraform", "providers")
	if err := pruneCache(t.Context(), cache); err != nil && !errors.Is(err, install.ErrAccessTimes) {
		t.Error(err)
	}
	if _, err := (&install.Dir{Path: cache}).Get(random, randomV363, addrs.CurrentPlatform()); err != nil {
		t.Errorf("after the prune of a new package: %v", err)
	}
}

func TestSnippetModule(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	release := reg.AddModule(regtest.Module{Address: "terraform-aws-modules/iam/aws", Version: "5.2.0", Files: map[string]string{"modules/iam-user/main.tf": "# empty\n"}})
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	h1 := must.Get(fetchModule(t.Context(), registry, filepath.Join(t.TempDir(), "iam")))(t)
	if h1.String() != fmt.Sprint(release.H1()) {
		t.Errorf("h1 is %s, want %s", h1, release.H1())
	}
}

func TestSnippetLockAndCheck(t *testing.T) {
	t.Parallel()
	_, registry := snippetRegistry()
	lock := lockedRandom(t, registry)
	entry, _ := lock.Get(random)
	if n := len(checksum.WithScheme(entry.Hashes, "h1")); n != 2 {
		t.Errorf("the lock file has %d h1 hashes, want 2", n)
	}
	dir, platform := t.TempDir(), addrs.MustParsePlatform("linux_amd64")
	for _, version := range []string{"3.6.3", "4.0.0"} {
		pkg := must.Get(registry.ProviderPackage(t.Context(), random, addrs.MustParseVersion(version), platform))(t)
		name := filepath.Join(dir, pkg.ArchiveName())
		must.Get(provider.Download(t.Context(), registry, pkg, name, provider.DownloadOptions{}))(t)
		file := must.Get(os.Open(name))(t)
		defer file.Close()
		err := check(t.Context(), lock, random, randomV363, file)
		if version == "3.6.3" && err != nil {
			t.Errorf("check of the locked archive: %v", err)
		} else if version != "3.6.3" && !errors.Is(err, checksum.ErrMismatch) {
			t.Errorf("check of another archive: error %v", err)
		}
	}
}

func TestSnippetMirrors(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	mirror := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client()}}
	report, err := fromMirror(t.Context(), &lockfile.File{}, mirror, t.TempDir())
	if err != nil || report.Trust != verify.Checked {
		t.Errorf("without a lock file: report %v, error %v, want %v", report, err, verify.Checked)
	}
	lock := &lockfile.File{}
	must.Do(t, lock.Set(lockfile.Entry{Provider: random, Version: randomV363, Hashes: []checksum.Hash{checksum.ZHSum([32]byte{})}}))
	if _, err := fromMirror(t.Context(), lock, mirror, t.TempDir()); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("with another lock file: error %v, want %v", err, verify.ErrNotAccepted)
	}

	dir := t.TempDir()
	must.Do(t, fillMirror(t.Context(), registry, lockedRandom(t, registry), dir))
	local := must.Get(mirrordir.Open(dir))(t)
	for held, err := range local.All(t.Context()) {
		if err != nil || held.Provider != random || len(held.Platforms) != 2 {
			t.Errorf("the mirror has %v, error %v", held, err)
		}
	}
}

func TestSnippetLogIn(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.Login = &regtest.Login{}
	file := auth.CredentialsFile{Path: filepath.Join(t.TempDir(), "credentials.tfrc.json")}
	web, host := &transport.Settings{HTTP: reg.Client()}, svchost.MustParse("registry.example.com")
	for range 2 {
		must.Do(t, logIn(t.Context(), web, host, file, reg.Browse))
	}
	if n := reg.Count(regtest.LoginToken); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
	if token, err := web.Credentials.Token(t.Context(), host); err != nil || token.IsZero() {
		t.Errorf("token %v, error %v", token, err)
	}
}

func TestSnippetCachedAndThrottled(t *testing.T) {
	t.Parallel()
	reg, _ := snippetRegistry()
	registry := &regclient.Client{Transport: cachedAndThrottled(filepath.Join(t.TempDir(), "documents"), reg)}
	for range 3 {
		must.Get(newest(t.Context(), registry))(t)
	}
	if n := reg.Count(regtest.Versions); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestSnippetPrivateRegistry(t *testing.T) {
	t.Parallel()
	upstream := regtest.New("registry.opentofu.org")
	upstream.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}})
	source := &regclient.Client{Transport: &transport.Settings{HTTP: upstream.Client()}}
	server := httptest.NewTLSServer(privateRegistry(source, source, "secret"))
	defer server.Close()
	host := svchost.MustParse(strings.TrimPrefix(server.URL, "https://"))
	for token, want := range map[string]error{"secret": nil, "guess": failure.ErrUnauthorized} {
		web := &transport.Settings{HTTP: server.Client(), Credentials: auth.MustNewToken(token).For(host)}
		alpha := must.Get(addrs.NewProvider(host, "acme", "alpha"))(t)
		registry := &regclient.Client{Transport: web}
		pkg, err := provider.Find(t.Context(), registry, alpha, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}})
		if err == nil {
			_, err = provider.Download(t.Context(), registry, pkg, filepath.Join(t.TempDir(), pkg.ArchiveName()), provider.DownloadOptions{})
		}
		if !errors.Is(err, want) {
			t.Errorf("with the token %q: error %v, want %v", token, err, want)
		}
	}
}

func TestSnippetOwnSource(t *testing.T) {
	t.Parallel()
	upstream := regtest.New("registry.opentofu.org")
	upstream.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}})
	from := &regclient.Client{Transport: &transport.Settings{HTTP: upstream.Client()}}
	linux := addrs.MustParsePlatform("linux_amd64")
	pkg := must.Get(from.ProviderPackage(t.Context(), addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.2.0"), linux))(t)
	ev := must.Get(from.Evidence(t.Context(), pkg))(t)
	body := must.Get(from.Open(t.Context(), pkg))(t)
	defer body.Close()
	const dir = "acme/alpha/1.2.0/terraform-provider-alpha_1.2.0_"
	source := &releases{keys: ev.Keys, files: fstest.MapFS{
		dir + "linux_amd64.zip": {Data: must.Get(io.ReadAll(body))(t)}, dir + "SHA256SUMS": {Data: ev.Sums}, dir + "SHA256SUMS.sig": {Data: ev.Signature},
		"acme/alpha/1.2.0/other.zip": {},
	}}
	server := httptest.NewTLSServer(privateRegistry(source, nil, "secret"))
	defer server.Close()
	host := svchost.MustParse(strings.TrimPrefix(server.URL, "https://"))
	registry := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client(), Credentials: auth.MustNewToken("secret").For(host)}}
	for name, want := range map[string]error{"alpha": nil, "beta": failure.ErrNotFound} {
		p := must.Get(addrs.NewProvider(host, "acme", name))(t)
		found, err := provider.Find(t.Context(), registry, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
		var report *verify.Report
		if err == nil {
			report, err = provider.Download(t.Context(), registry, found, filepath.Join(t.TempDir(), "a.zip"), provider.DownloadOptions{})
		}
		if !errors.Is(err, want) || err == nil && report.Trust != verify.Signed {
			t.Errorf("%s: %v, %v; want %v, and if there is none a signed package", name, report, err, want)
		}
	}
	if _, err := source.ProviderPackage(t.Context(), pkg.Provider, pkg.Version, addrs.MustParsePlatform("plan9_mips")); !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("another platform: %v, want ErrNotFound", err)
	}
}

func TestSnippetCacheServer(t *testing.T) {
	t.Parallel()
	reg, registry := snippetRegistry()
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	server := httptest.NewTLSServer(must.Get(cacheServer(registry, t.TempDir()))(t))
	defer server.Close()
	mirror := &mirrorclient.Client{BaseURL: server.URL + "/providers/", Transport: &transport.Settings{HTTP: server.Client()}}
	for range 2 {
		must.Get(fromMirror(t.Context(), &lockfile.File{}, mirror, t.TempDir()))(t)
	}
	if n := reg.Count(regtest.Archive); n != 1 {
		t.Errorf("%d downloads from the registry, want 1", n)
	}
	if _, err := mirror.ProviderVersions(t.Context(), addrs.MustParseProvider("acme/alpha")); !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("another namespace: error %v, want %v", err, failure.ErrNotFound)
	}
}

func TestSnippetErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault    regtest.Fault
		provider string
		version  string
		want     string
	}{
		{regtest.Fault{}, "hashicorp/random", "3.6.3", "the version has no package for this platform"},
		{regtest.Fault{}, "hashicorp/random", "9.0.0", "no version fits the constraint"},
		{regtest.Fault{}, "hashicorp/unknown", "3.6.3", "the registry does not have this provider"},
		{regtest.Fault{Status: http.StatusUnauthorized}, "hashicorp/random", "3.6.3", "log in to the registry"},
		{regtest.Fault{Status: http.StatusBadGateway}, "hashicorp/random", "3.6.3", "try again later: 1 attempts at https://registry.opentofu.org/"},
	} {
		reg, _ := snippetRegistry()
		reg.AddFault(test.fault)
		registry := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
		_, err := registry.ProviderPackage(t.Context(), addrs.MustParseProvider(test.provider), addrs.MustParseVersion(test.version), addrs.MustParsePlatform("plan9_mips"))
		if got := explain(err); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %s, fault %+v: %q, want %q; error %v", test.provider, test.version, test.fault, got, test.want, err)
		}
	}
}

func TestSnippetProxyWithCooldown(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "3.6.3"})
	reg.AddProvider(regtest.Provider{Address: "acme/own", Version: "1.0.0"})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0", Discovered: "2026-04-14T00:00:00Z"})
	proxy := proxyWithCooldown(&regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}, t.TempDir(), time.Now())
	wants := map[string]string{"providers/hashicorp/random": "3.6.3", "providers/acme/own": "1.0.0", "modules/acme/network/aws": "2.0.0"}
	for range 2 { // the second time with new versions, which are held back
		for path, version := range wants {
			w := httptest.NewRecorder()
			proxy.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://proxy.example.com/v1/"+path+"/versions", nil))
			if got := strings.Count(w.Body.String(), `"version":`); w.Code != http.StatusOK || got != 1 || !strings.Contains(w.Body.String(), `"version":"`+version) {
				t.Errorf("%s: status %d, %s; want only version %q", path, w.Code, w.Body, version)
			}
		}
		reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "3.7.0"})
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.1.0"})
	}
}

// TestSnippetExplainVerdicts: explain has a sentence for each kind of refusal.
func TestSnippetExplainVerdicts(t *testing.T) {
	t.Parallel()
	for kind, want := range map[error]string{
		provider.ErrProtocol: "the version needs", verify.ErrRevoked: "the key or", verify.ErrExpired: "the key or", verify.ErrFuture: "the key or",
		verify.ErrWeak: "the publisher needs", verify.ErrBadKey: "the publisher needs",
	} {
		if got := explain(fmt.Errorf("install: %w", kind)); !strings.HasPrefix(got, want) {
			t.Errorf("explain(%v) = %q, want %q", kind, got, want)
		}
	}
}

func TestSnippetCopyLocked(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0"})
	upstream := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	registry := &regdir.Registry{Store: &storage.Memory{}, Host: svchost.MustParse("registry.example.com")}
	network := addrs.MustParseModule("registry.example.com/acme/network/aws")
	var lock modulelock.File
	report := must.Get(module.Download(t.Context(), upstream, module.Request{Source: addrs.ModuleSource{Module: network}, Dir: filepath.Join(t.TempDir(), "network")}, module.Options{}))(t)
	must.Do(t, lock.Set(modulelock.Entry{Key: modulelock.Key{Source: network.String()}, Version: report.Version, Hash: report.H1}))
	must.Do(t, copyLocked(t.Context(), registry, upstream, &lock))
	if versions, err := registry.ModuleVersions(t.Context(), network); err != nil || versions.String() != network.String()+": 2.0.0" {
		t.Errorf("the copy has %v, %v; want the locked version", versions, err)
	}
}

func TestSnippetPublish(t *testing.T) {
	t.Parallel()
	reg, dist := regtest.New("registry.example.com"), t.TempDir()
	release := reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.0.0", Platforms: []string{"linux_amd64"}})
	for name, data := range map[string][]byte{
		"terraform-provider-demo_1.0.0_SHA256SUMS":     release.Sums(),
		"terraform-provider-demo_1.0.0_SHA256SUMS.sig": release.Signature(),
		release.Filename("linux_amd64"):                must.Get(io.ReadAll(release.Archive("linux_amd64")))(t),
	} {
		must.Do(t, os.WriteFile(filepath.Join(dist, name), data, 0o600))
	}
	registry := &regdir.Registry{Store: &storage.Memory{}, Host: svchost.MustParse("registry.example.com")}
	if err := publishDist(t.Context(), registry, dist, []verify.Key{{Armor: "no key"}}); !errors.Is(err, verify.ErrBadKey) {
		t.Errorf("publishDist without a key: %v, want ErrBadKey", err)
	}
	must.Do(t, publishDist(t.Context(), registry, dist, []verify.Key{reg.Key().Public()}))
	demo := addrs.MustParseProvider("registry.example.com/acme/demo")
	if list, err := registry.ProviderVersions(t.Context(), demo); err != nil || list.String() != demo.String()+": 1.0.0" {
		t.Errorf("the registry has %v, %v; want 1.0.0", list, err)
	}
}
