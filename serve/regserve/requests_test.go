package regserve_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// countingStore counts the requests to a store in memory, which has no locks and no files, like a bucket.
type countingStore struct {
	storage.Memory
	requests atomic.Int32
}

func (s *countingStore) Stat(ctx context.Context, name string) (storage.Info, error) {
	s.requests.Add(1)
	return s.Memory.Stat(ctx, name)
}

func (s *countingStore) Open(ctx context.Context, name string) (*storage.File, error) {
	s.requests.Add(1)
	return s.Memory.Open(ctx, name)
}

func (s *countingStore) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	s.requests.Add(1)
	return s.Memory.List(ctx, dir)
}

// filledRegistry returns a registry as files with acme/alpha 1.0.0 for this machine.
func filledRegistry(t *testing.T, s storage.Store) provider.Source {
	t.Helper()
	dir := t.TempDir()
	reg := regtest.New(originHost)
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{addrs.CurrentPlatform().String()}})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	p, v := addrs.MustParseProvider(originHost+"/acme/alpha"), addrs.MustParseVersion("1.0.0")
	pkg := must.Get(client.ProviderPackage(t.Context(), p, v, addrs.CurrentPlatform()))(t)
	body := must.Get(client.Open(t.Context(), pkg))(t)
	defer body.Close()
	ev := must.Get(client.Evidence(t.Context(), pkg))(t)
	sums := filepath.Join(dir, "terraform-provider-alpha_1.0.0_SHA256SUMS")
	for name, data := range map[string][]byte{
		filepath.Join(dir, pkg.Filename): must.Get(io.ReadAll(body))(t), sums: ev.Sums, sums + ".sig": ev.Signature,
	} {
		must.Do(t, os.WriteFile(name, data, 0o600))
	}
	r := &regdir.Registry{Store: s, Host: svchost.MustParse(originHost)}
	must.Get(r.PublishProvider(t.Context(), regdir.Release{Provider: p, Version: v, Sums: sums, Keys: ev.Keys}))(t)
	return r
}

// filledMirror returns a mirror with the same package.
func filledMirror(t *testing.T, s storage.Store) provider.Source {
	t.Helper()
	reg := regtest.New(originHost)
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{addrs.CurrentPlatform().String()}})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	m := &mirrordir.Mirror{Store: s, TempDir: t.TempDir()}
	want := mirrordir.Want{
		Provider: addrs.MustParseProvider(originHost + "/acme/alpha"), Version: addrs.MustParseVersion("1.0.0"),
		Platforms: []addrs.Platform{addrs.CurrentPlatform()},
	}
	must.Get(m.Add(t.Context(), client, []mirrordir.Want{want}, mirrordir.AddOptions{}))(t)
	return m
}

// TestRequestsOfAnInstall: a cold install takes at most 8 requests to the bucket of the source, with our client
// and with both CLIs, with and without tokens.
func TestRequestsOfAnInstall(t *testing.T) {
	t.Parallel()
	const most = 8
	for name, filled := range map[string]func(*testing.T, storage.Store) provider.Source{"registry": filledRegistry, "mirror": filledMirror} {
		for kind, authorize := range map[string]func(*http.Request) error{"": nil, " with tokens": bearer} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				install := func(t *testing.T, install func(server *httptest.Server, host string)) {
					t.Helper()
					bucket := &countingStore{}
					server := serve(t, &regserve.Handler{Providers: filled(t, bucket), Host: svchost.MustParse(originHost), Authorize: authorize})
					bucket.requests.Store(0)
					install(server, strings.TrimPrefix(server.URL, "https://"))
					if n := bucket.requests.Load(); n > most || n == 0 {
						t.Errorf("the install took %d requests to the bucket, want 1 to %d", n, most)
					}
				}
				install(t, func(server *httptest.Server, host string) {
					tokens := auth.Static(map[svchost.Hostname]auth.Token{svchost.MustParse(host): must.Get(auth.NewToken("secret"))(t)})
					client := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client(), Credentials: tokens}}
					p := must.Get(addrs.NewProvider(svchost.MustParse(host), "acme", "alpha"))(t)
					need := provider.Need{Platforms: []addrs.Platform{addrs.CurrentPlatform()}}
					pkg := must.Get(provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, need))(t)
					report := must.Get(provider.Download(t.Context(), client, pkg, t.TempDir()+"/archive.zip", provider.DownloadOptions{}))(t)
					if report.Trust != verify.Signed {
						t.Errorf("the archive is %v, want signed", report.Trust)
					}
				})
				terraformtest.Each(t, func(t *testing.T, program string) {
					install(t, func(server *httptest.Server, host string) {
						project := terraformtest.New(t, program)
						project.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
						project.Configure(t, fmt.Sprintf("credentials %q {\n  token = \"secret\"\n}\n", host))
						project.Require(t, map[string]string{host + "/acme/alpha": "1.0.0"})
						project.Init(t)
					})
				})
			})
		}
	}
}

// userKey is the key of the user in a context.
type userKey struct{}

// users is a source of acme/alpha that counts its calls, and that answers each user of a context otherwise.
type users struct {
	provider.Source
	asked map[string]int
	keys  string // text in each package, for its size
}

func (u *users) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	user, _ := ctx.Value(userKey{}).(string)
	u.asked["package"]++
	u.asked["package "+v.String()]++
	if user == "carol" {
		return nil, failure.ErrUnauthorized
	}
	return &provider.Package{
		Provider: p, Version: v, Platform: on, Filename: "terraform-provider-alpha_" + v.String() + "_" + on.String() + ".zip",
		URL: "https://" + originHost + "/" + user, Keys: []verify.Key{{Armor: u.keys, ID: "1"}},
	}, nil
}

func (u *users) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	u.asked["evidence"]++
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = fmt.Appendf(nil, "%064d  %s\n", 0, pkg.Filename), []byte("signature")
	return ev, nil
}

func (u *users) Open(_ context.Context, pkg *provider.Package) (*provider.Body, error) {
	u.asked["archive"]++
	text := "the archive of " + pkg.URL
	return &provider.Body{ReadCloser: io.NopCloser(strings.NewReader(text)), Size: int64(len(text))}, nil
}

// answer is what h answers to a request of a user.
func answer(h http.Handler, user, path string) (status int, body string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if user != "" {
		r.Header.Set("Authorization", user)
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, user))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestPackageIsReused: what a document says is used for a minute, for all its files and for all clients.
func TestPackageIsReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &users{asked: map[string]int{}}
		h := &regserve.Handler{Providers: src}
		for i, wait := range []time.Duration{0, time.Minute - 1, 1} {
			time.Sleep(wait)
			for _, name := range []string{"", "/SHA256SUMS", "/SHA256SUMS.sig", "/archive.zip"} {
				if status, body := answer(h, "", packagePath+name); status != http.StatusOK {
					t.Errorf("GET %s: status %d, %s", packagePath+name, status, body)
				}
			}
			if got, want := src.asked["package"], 1+i/2; got != want {
				t.Errorf("the source was asked for the package %d times after %d installs, want %d", got, i+1, want)
			}
		}
	})
}

// TestUsersAreNotMixed: with Authorize each user gets what the source answers to this user, and so do the URLs
// that a document lists, which work without a token.
func TestUsersAreNotMixed(t *testing.T) {
	t.Parallel()
	src := &users{asked: map[string]int{}}
	h := &regserve.Handler{Providers: src, Secret: []byte("shared"), Authorize: func(r *http.Request) error {
		if r.Header.Get("Authorization") == "" {
			return errors.New("no user")
		}
		return nil
	}}
	signed := map[string]string{}
	for range 2 {
		for _, user := range []string{"alice", "bob"} {
			status, doc := answer(h, user, packagePath)
			if status != http.StatusOK {
				t.Fatalf("document for %s: status %d, %s", user, status, doc)
			}
			u := strings.TrimPrefix(member(t, doc, "download_url"), "https://example.com")
			if signed[user] != "" && signed[user] != u {
				t.Errorf("the URL for %s has changed from %s to %s", user, signed[user], u)
			}
			signed[user] = u
		}
	}
	if status, doc := answer(h, "carol", packagePath); status == http.StatusOK {
		t.Errorf("document for carol, whom the source refuses: status %d, %s", status, doc)
	}
	before := src.asked["package"]
	for user, u := range signed {
		want := "the archive of https://" + originHost + "/" + user
		if status, body := answer(h, "", u); status != http.StatusOK || body != want {
			t.Errorf("GET %s: status %d, %q; want %q", u, status, body, want)
		}
	}
	if n := src.asked["package"] - before; n != 0 {
		t.Errorf("the source was asked for the package %d times for signed URLs, want 0", n)
	}
	// Without a signature for it nobody gets the answer to another, and a signature holds for one answer.
	_, query, _ := strings.Cut(signed["alice"], "?")
	if _, body := answer(h, "bob", archivePath+"?"+query); body != "the archive of https://"+originHost+"/alice" {
		t.Errorf("the URL of alice with the token of bob gives %q, want what the URL stands for", body)
	}
	forged := strings.Replace(query, "signature=", "signature=0", 1)
	if _, body := answer(h, "bob", archivePath+"?"+forged); body != "the archive of https://"+originHost+"/bob" {
		t.Errorf("a forged URL of alice with the token of bob gives %q", body)
	}
	_, bob, _ := strings.Cut(signed["bob"], "?")
	for _, part := range strings.Split(bob, "&") {
		if of, ok := strings.CutPrefix(part, "answer="); ok {
			other := strings.Replace(query, "answer=", "answer="+of+"&was=", 1)
			if status, _ := answer(h, "", archivePath+"?"+other); status != http.StatusUnauthorized {
				t.Errorf("the signature of alice with the answer to bob: status %d, want 401", status)
			}
		}
	}
	// A replica that does not know the answer asks the source.
	replica := &regserve.Handler{Providers: src, Secret: []byte("shared"), Authorize: h.Authorize}
	if status, body := answer(replica, "", signed["alice"]); status != http.StatusOK || !strings.HasPrefix(body, "the archive of ") {
		t.Errorf("GET %s at a replica: status %d, %s", signed["alice"], status, body)
	}
}

// TestReuseIsBounded: at most 1,024 packages are kept, and 16 MiB of what their sources say.
func TestReuseIsBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ packages, size, again int }{
		{1024, 0, 0}, {1025, 0, 1},
		{15, 1 << 20, 0}, {16, 1 << 20, 1}, // each a little more than a megabyte
		{1, 17 << 20, 1},
	} {
		src := &users{asked: map[string]int{}, keys: strings.Repeat("x", test.size)}
		h := &regserve.Handler{Providers: src}
		ask := func(n int) {
			answer(h, "", fmt.Sprintf("/v1/providers/acme/alpha/1.%d.0/download/linux/amd64/archive.zip", n))
		}
		for n := range test.packages {
			ask(n)
		}
		again := 0
		for n := range test.packages {
			before := src.asked["package"]
			if ask(n); src.asked["package"] > before {
				again++
			}
		}
		if (again > 0) != (test.again > 0) {
			t.Errorf("%d packages of %d bytes: %d were asked for again, want %d or more", test.packages, test.size, again, test.again)
		}
	}
}

// TestSourceURLs: documents name the URLs of the source if all three are https and have no user information,
// and a package that states its hash and its keys then needs no evidence.
func TestSourceURLs(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	server := serve(t, &regserve.Handler{Providers: h.Providers, Host: h.Host, SourceURLs: true})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: either{originHost: reg, "": server.Client().Transport}}}}
	p := must.Get(addrs.NewProvider(svchost.MustParse(strings.TrimPrefix(server.URL, "https://")), "acme", "alpha"))(t)
	reg.Reset()
	pkg := must.Get(provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}))(t)
	if n := reg.Count(regtest.Sums); n != 0 {
		t.Errorf("the Handler asked its source for SHA256SUMS %d times, want 0", n)
	}
	for _, u := range []string{pkg.URL, pkg.SumsURL, pkg.SignatureURL} {
		if !strings.HasPrefix(u, "https://"+originHost+"/") {
			t.Errorf("the document names %s, want a URL of the origin", u)
		}
	}
	if report := must.Get(provider.Download(t.Context(), client, pkg, t.TempDir()+"/a.zip", provider.DownloadOptions{}))(t); report.Trust != verify.Signed {
		t.Errorf("the archive is %v, want signed", report.Trust)
	}
	for name, change := range map[string]func(*provider.Package){
		"http":     func(pkg *provider.Package) { pkg.URL = strings.Replace(pkg.URL, "https:", "http:", 1) },
		"a file":   func(pkg *provider.Package) { pkg.URL = "file:///srv/a.zip" },
		"relative": func(pkg *provider.Package) { pkg.SumsURL = "SHA256SUMS" },
		"a user": func(pkg *provider.Package) {
			pkg.SignatureURL = strings.Replace(pkg.SignatureURL, "//", "//u:secret@", 1)
		},
		"no URL":    func(pkg *provider.Package) { pkg.SignatureURL = "" },
		"not a URL": func(pkg *provider.Package) { pkg.URL = "https://[" },
	} {
		src := &changed{&withEvidence{h.Providers}, change, func(*verify.Evidence) {}}
		_, doc := get(t, serve(t, &regserve.Handler{Providers: src, Host: h.Host, SourceURLs: true}), packagePath)
		for _, name := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
			if u := member(t, doc, name); u == "" || strings.Contains(u, originHost) {
				t.Errorf("%s: %s is %q, want a URL of the Handler", name, name, u)
			}
		}
		if strings.Contains(doc, "secret") {
			t.Errorf("%s: the document has the user information: %s", name, doc)
		}
	}
	// Without a stated hash the Handler reads it from the source's document.
	src := &changed{h.Providers, func(pkg *provider.Package) { pkg.SHA256, pkg.Hashes = checksum.Hash{}, nil }, func(*verify.Evidence) {}}
	_, doc := get(t, serve(t, &regserve.Handler{Providers: src, Host: h.Host, SourceURLs: true}), packagePath)
	if len(member(t, doc, "shasum")) != 64 || !strings.Contains(member(t, doc, "download_url"), originHost) {
		t.Errorf("without a stated hash: %s", doc)
	}
}

// withEvidence is a source whose evidence does not depend on the URLs of a package.
type withEvidence struct{ provider.Source }

func (w *withEvidence) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	pkg, err := w.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return verify.Evidence{}, err
	}
	return w.Source.Evidence(ctx, pkg)
}

// TestLocationIsReused: a streamed module is asked for once.
func TestLocationIsReused(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	src := &countedModules{Source: h.Modules}
	server := serve(t, &regserve.Handler{Modules: src, Host: h.Host, StreamModules: true, Authorize: bearer})
	resp, doc := get(t, server, "/v1/modules/acme/network/aws/1.0.0/download", "Authorization", "Bearer secret")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("location: status %d, %s", resp.StatusCode, doc)
	}
	location, _, _ := strings.Cut(member(t, doc, "location"), "//*?")
	if resp, body := get(t, server, strings.TrimPrefix(location, server.URL)); resp.StatusCode != http.StatusOK || src.asked != 1 {
		t.Errorf("package at %s: status %d, %.100q; the source was asked %d times, want once", location, resp.StatusCode, body, src.asked)
	}
}

type countedModules struct {
	module.Source
	asked int
}

func (c *countedModules) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	c.asked++
	return c.Source.ModuleLocation(ctx, m, v)
}
