package regserve_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

const originHost = "origin.example.com"

// origin returns a registry and a Handler that serves what the registry has.
func origin(t testing.TB) (*regtest.Registry, *regserve.Handler) {
	t.Helper()
	reg := regtest.New(originHost)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64", "darwin_arm64"}, PackageHashes: true})
	}
	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	return reg, &regserve.Handler{Providers: client, Modules: client, Host: svchost.MustParse(originHost)}
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	return server
}

// get returns status, header and body of an answer.
func get(t *testing.T, server *httptest.Server, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil))(t)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := *server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp := must.Get(client.Do(req))(t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(t)
	return resp, string(body)
}

// When the context of a request ends, a client that is still there gets an error.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://"+originHost+"/v1/providers/acme/alpha/versions", nil).WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Etag") != "" {
		t.Errorf("status %d with Etag %q, want 503 without", w.Code, w.Header().Get("Etag"))
	}
}

// The server check finds nothing to say, with and without streamed modules and tokens.
func TestServerCheck(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	options := regcheck.Options{Provider: "acme/alpha", Module: "acme/network/aws"}
	for name, change := range map[string]func(*regserve.Handler, *regcheck.Options){
		"plain":            func(*regserve.Handler, *regcheck.Options) {},
		"streamed modules": func(h *regserve.Handler, _ *regcheck.Options) { h.StreamModules = true },
		"authorized": func(h *regserve.Handler, o *regcheck.Options) {
			h.StreamModules, h.Authorize, o.Token = true, bearer, "secret"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, o := &regserve.Handler{Providers: h.Providers, Modules: h.Modules, Host: h.Host}, options
			change(h, &o)
			server := serve(t, h)
			o.Client = server.Client()
			if !h.StreamModules {
				// The location of the module is at the origin.
				o.Client = &http.Client{Transport: either{originHost: reg, "": server.Client().Transport}}
			}
			for _, f := range regcheck.Examine(t.Context(), server.URL, o) {
				t.Errorf("%v", f)
			}
		})
	}
}

// bearer accepts requests with the token "secret".
func bearer(r *http.Request) error {
	if r.Header.Get("Authorization") != "Bearer secret" {
		return errors.New("no token")
	}
	return nil
}

// either sends requests to transports by host.
type either map[string]http.RoundTripper

func (e either) RoundTrip(r *http.Request) (*http.Response, error) {
	if transport, ok := e[r.URL.Host]; ok {
		return transport.RoundTrip(r)
	}
	return e[""].RoundTrip(r)
}

// download finds and downloads the newest acme/alpha of a server.
func download(t *testing.T, server *httptest.Server) (*provider.Package, *verify.Report, error) {
	t.Helper()
	client := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}
	p := must.Get(addrs.NewProvider(svchost.MustParse(strings.TrimPrefix(server.URL, "https://")), "acme", "alpha"))(t)
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg := must.Get(provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, need))(t)
	report, err := provider.Download(t.Context(), client, pkg, t.TempDir()+"/archive.zip", provider.DownloadOptions{})
	return pkg, report, err
}

// What our own client gets through the Handler is what it gets from the origin.
func TestThrough(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	key := verify.Key{ID: "0C0AF313E5FD9F80", Armor: reg.Key().Public().Armor, TrustSignature: "signature", Source: "Acme", SourceURL: "https://acme.example/"}
	h.Providers = &changed{h.Providers, func(pkg *provider.Package) { pkg.Keys = []verify.Key{key} }, func(*verify.Evidence) {}}
	server := serve(t, h)
	pkg, report, err := download(t, server)
	if err != nil || report.Trust != verify.Signed || pkg.Version.String() != "1.1.0" {
		t.Errorf("Download of %v: %v, %v; want signed 1.1.0", pkg, report, err)
	}
	if len(pkg.Hashes) != 2 || len(pkg.Hashes[pkg.Platform]) == 0 {
		t.Errorf("stated hashes %v, want those of both platforms", pkg.Hashes)
	}
	if !slices.Equal(pkg.Keys, []verify.Key{key}) {
		t.Errorf("keys %+v, want %+v", pkg.Keys, key)
	}
	for _, q := range reg.Requests() {
		if strings.Contains(q.Path, "1.0.0") {
			t.Errorf("the origin was asked for %s, which no client wants", q)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.2.3.4"})
	server := serve(t, h)
	for _, c := range casetest.Read[struct {
		Path string
		Want int
	}](t, "answers.txt") {
		path, want := c.Path, c.Want
		resp, body := get(t, server, path)
		if resp.StatusCode != want {
			t.Errorf("GET %s: status %d, %s; want %d", path, resp.StatusCode, body, want)
		}
		if strings.Contains(body, originHost) && !strings.HasSuffix(path, "/download") {
			t.Errorf("GET %s: the answer names the origin: %s", path, body)
		}
		if tag := resp.Header.Get("Etag"); want == 200 {
			if again, _ := get(t, server, path, "If-None-Match", tag); tag == "" || again.StatusCode != http.StatusNotModified {
				t.Errorf("GET %s with the tag %s: status %d, want 304", path, tag, again.StatusCode)
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "https://"+originHost+"/v1/providers/acme/alpha/versions", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" || !strings.Contains(w.Body.String(), `"errors"`) {
		t.Errorf("POST: %d, %v, %s; want 405 and errors", w.Code, w.Header(), w.Body)
	}
}

func TestHalves(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	for _, c := range []struct {
		h    *regserve.Handler
		want string
		gone string
	}{
		{&regserve.Handler{Providers: h.Providers, Host: h.Host}, `{"providers.v1":"/v1/providers/"}`, "/v1/modules/acme/network/aws/versions"},
		{&regserve.Handler{Modules: h.Modules, Host: h.Host}, `{"modules.v1":"/v1/modules/"}`, "/v1/providers/acme/alpha/versions"},
	} {
		server := serve(t, c.h)
		if _, body := get(t, server, "/.well-known/terraform.json"); strings.TrimSpace(body) != c.want {
			t.Errorf("discovery %s, want %s", body, c.want)
		}
		if resp, _ := get(t, server, c.gone); resp.StatusCode != 404 {
			t.Errorf("GET %s: status %d, want 404", c.gone, resp.StatusCode)
		}
	}
}

// A Handler below a path of its host is reached by clients that know only the host.
func TestBaseURLWithPath(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	mux := http.NewServeMux()
	server := serve(t, mux)
	h.BaseURL = server.URL + "/registry/"
	mux.Handle("/.well-known/terraform.json", h)
	mux.Handle("/registry/", http.StripPrefix("/registry", h))
	if pkg, _, err := download(t, server); err != nil || !strings.HasPrefix(pkg.URL, server.URL+"/registry/v1/") {
		t.Errorf("Download of %s: %v; want it from /registry/v1/", pkg.URL, err)
	}
}

const packagePath = "/v1/providers/acme/alpha/1.0.0/download/linux/amd64"

// Clients would refuse a package that is not signed, so the Handler does not offer it.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	for name, src := range map[string]*changed{
		"no sums":      {h.Providers, func(*provider.Package) {}, func(ev *verify.Evidence) { ev.Sums = nil }},
		"no signature": {h.Providers, func(*provider.Package) {}, func(ev *verify.Evidence) { ev.Signature = nil }},
		"no keys":      {h.Providers, func(pkg *provider.Package) { pkg.Keys = nil }, func(*verify.Evidence) {}},
	} {
		server := serve(t, &regserve.Handler{Providers: src, Host: h.Host})
		resp, body := get(t, server, packagePath)
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, verify.ErrUnsigned.Error()) {
			t.Errorf("%s: status %d, %s; want 502 and %q", name, resp.StatusCode, body, verify.ErrUnsigned)
		}
	}
}

// changed is a source that answers otherwise.
type changed struct {
	provider.Source
	pkg      func(*provider.Package)
	evidence func(*verify.Evidence)
}

func (c *changed) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := c.Source.ProviderPackage(ctx, p, v, on)
	if err == nil {
		pkg = pkg.Clone()
		c.pkg(pkg)
	}
	return pkg, err
}

func (c *changed) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ev, err := c.Source.Evidence(ctx, pkg)
	c.evidence(&ev)
	return ev, err
}

// TestSparseSource: a source that knows less than a registry states is served so that both clients
// install from it. Unknown protocols are absent.
func TestSparseSource(t *testing.T) {
	t.Parallel()
	here := addrs.CurrentPlatform()
	for name, change := range map[string]func(pkg *provider.Package){
		"everything":   func(*provider.Package) {},
		"no protocols": func(pkg *provider.Package) { pkg.Protocols = nil },
		"no size":      func(pkg *provider.Package) { pkg.Size = 0 },
		"h1 only": func(pkg *provider.Package) {
			pkg.Hashes[here] = checksum.WithScheme(pkg.Hashes[here], checksum.SchemeH1)
		},
		"no own hashes": func(pkg *provider.Package) { delete(pkg.Hashes, here) },
		"empty list":    func(pkg *provider.Package) { pkg.Hashes[here] = nil },
		"digest only": func(pkg *provider.Package) {
			pkg.Hashes[here], pkg.SHA256 = checksum.WithScheme(pkg.Hashes[here], checksum.SchemeH1), checksum.Hash{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New(originHost)
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.1.0", Platforms: []string{here.String(), "plan9_mips"}, PackageHashes: true})
			client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
			src := &changed{client, change, func(*verify.Evidence) {}}
			if name == "no protocols" {
				reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) {
					delete(doc["versions"].([]any)[0].(map[string]any), "protocols")
				}})
			}
			server := serve(t, &regserve.Handler{Providers: src, Host: svchost.MustParse(originHost)})
			for _, path := range []string{"/v1/providers/acme/alpha/versions", "/v1/providers/acme/alpha/1.1.0/download/" + here.OS() + "/" + here.Arch()} {
				resp, body := get(t, server, path)
				if known := strings.Contains(body, `"protocols":["`); resp.StatusCode != 200 || known == (name == "no protocols") || strings.Contains(body, "null") {
					t.Errorf("%s: status %d, %s", path, resp.StatusCode, body)
				}
			}
			terraformtest.Each(t, func(t *testing.T, program string) {
				project := terraformtest.New(t, program)
				project.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
				project.Require(t, map[string]string{strings.TrimPrefix(server.URL, "https://") + "/acme/alpha": "1.1.0"})
				project.Init(t)
			})
		})
	}
}

// A source that states no hash of its own has the one in its SHA256SUMS document.
func TestShasumFromSums(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	_, want := get(t, serve(t, &regserve.Handler{Providers: h.Providers, Host: h.Host}), packagePath)
	_, got := get(t, serve(t, &regserve.Handler{Providers: &changed{h.Providers, func(pkg *provider.Package) { pkg.SHA256, pkg.Hashes = checksum.Hash{}, nil }, func(*verify.Evidence) {}}, Host: h.Host}), packagePath)
	if a, b := member(t, got, "shasum"), member(t, want, "shasum"); a != b || a == "" {
		t.Errorf("shasum %q, want %q", a, b)
	}
}

func member(t *testing.T, doc, name string) string {
	t.Helper()
	var members map[string]any
	must.Do(t, json.Unmarshal([]byte(doc), &members))
	text, _ := members[name].(string)
	return text
}

// A module that the origin serves with its token comes through the Handler, without it.
func TestModuleWithToken(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	h.Modules = &direct{h.Modules}
	server := serve(t, h)
	_, body := get(t, server, "/v1/modules/acme/network/aws/1.0.0/download")
	location := member(t, body, "location")
	if !strings.HasPrefix(location, server.URL) || !strings.Contains(body, `"use_registry_credentials":false`) {
		t.Errorf("location %s, want one at the Handler", body)
	}
	resp, content := get(t, server, strings.TrimPrefix(location, server.URL))
	if resp.StatusCode != 200 || content != "the package" {
		t.Errorf("GET %s: status %d, %q; want the package", location, resp.StatusCode, content)
	}
}

type direct struct{ module.Source }

func (d *direct) ModuleLocation(_ context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	return &module.Location{Module: m, Version: v, Kind: module.KindHTTP, URL: "https://" + originHost + "/x", Direct: true, UseRegistryCredentials: true}, nil
}

func (d *direct) OpenModule(context.Context, *module.Location) (*module.Body, error) {
	return &module.Body{ReadCloser: io.NopCloser(strings.NewReader("the package")), Size: 11}, nil
}

// No path panics, reaches the source unparsed or is answered with another status than these.
func FuzzHandler(f *testing.F) {
	for _, path := range []string{
		"/.well-known/terraform.json", "/v1/providers/acme/alpha/versions", packagePath, packagePath + "/SHA256SUMS",
		"/v1/modules/acme/network/aws/versions", "/v1/modules/acme/network/aws/1.0.0/download", "/v1/providers/%2e%2e/a/versions", "//", "/v1/providers/a//versions",
	} {
		f.Add(path, "If-None-Match")
	}
	_, handler := origin(f)
	f.Fuzz(func(t *testing.T, path, header string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" {
			return
		}
		r := &http.Request{Method: http.MethodGet, URL: u, Host: "registry.example.com", Header: http.Header{header: {"bytes=0-1"}}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(t.Context()))
		switch w.Code {
		case 200, 206, 301, 304, 307, 308, 404, 412, 416:
		default:
			t.Errorf("GET %q: status %d, %s", path, w.Code, w.Body)
		}
	})
}

// Both real clients install a provider and a module through a Handler, and lock the
// provider as signed.
func TestRealClients(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		_, h := origin(t)
		server := serve(t, &regserve.Handler{Providers: h.Providers, Modules: h.Modules, Host: h.Host, StreamModules: true})
		project := terraformtest.New(t, program)
		project.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		host := strings.TrimPrefix(server.URL, "https://")
		project.Write(t, "main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    alpha = { source = "%[1]s/acme/alpha", version = "~> 1.0" }
  }
}
module "network" { source = "%[1]s/acme/network/aws" }
`, host))
		out := project.Init(t)
		if !strings.Contains(out, "Installed "+host+"/acme/alpha v1.1.0 (") {
			t.Errorf("init did not say that it has installed acme/alpha 1.1.0, signed:\n%s", out)
		}
		if lock := project.Read(t, ".terraform.lock.hcl"); strings.Count(lock, `"zh:`) != 2 {
			t.Errorf("the lock file lacks the signed hashes of both platforms:\n%s", lock)
		}
		if modules := project.Read(t, ".terraform/modules/modules.json"); !strings.Contains(modules, "acme/network/aws") {
			t.Errorf("the module is not installed: %s", modules)
		}
	})
}

// noVersions is a module source that answers with nil.
type noVersions struct{ module.Source }

func (noVersions) ModuleVersions(context.Context, addrs.Module) (*module.Versions, error) {
	return nil, nil
}

// TestNilVersions: a source that returns neither versions nor an error fails the request.
func TestNilVersions(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	handler := &regserve.Handler{Modules: noVersions{}, Host: svchost.MustParse(originHost)}
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "https://"+originHost+"/v1/modules/acme/network/aws/versions", nil))
	if answer.Code < 500 {
		t.Errorf("status %d, want an error", answer.Code)
	}
}
