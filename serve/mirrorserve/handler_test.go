package mirrorserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ask sends one request to a handler.
func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	r.URL.Path = path
	if u, err := url.ParseRequestURI(path); err == nil {
		r.URL = u
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestHandlerOfMirror checks that a mirror is served as its files state.
func TestHandlerOfMirror(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	h := http.StripPrefix("/providers", &mirrorserve.Handler{Source: m})
	for _, name := range []string{"/index.json", "/1.0.0.json", "/2.0.0.json"} {
		w := ask(h, "GET", "/providers/"+home+name)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != mirrortest.Served(t, read(t, dir, home+name)) {
			t.Errorf("%s: %d %v\n%s", name, w.Code, w.Header(), w.Body)
		}
		tag := w.Header().Get("Etag")
		if again := ask(h, "GET", "/providers/"+home+name, "If-None-Match", tag); again.Code != 304 || len(tag) < 10 || strings.HasPrefix(tag, "W/") {
			t.Errorf("%s with its tag %s: %d", name, tag, again.Code)
		}
		if many := ask(h, "GET", "/providers/"+home+name, "Range", "bytes=0-0"+strings.Repeat(",1-1", 32)); many.Code != 200 || many.Body.Len() != w.Body.Len() {
			t.Errorf("33 ranges of %s: %d, %d bytes, want 200 and %d", name, many.Code, many.Body.Len(), w.Body.Len())
		}
		if head := ask(h, "HEAD", "/providers/"+home+name); head.Code != 200 || head.Body.Len() != 0 || head.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("HEAD %s: %d %v", name, head.Code, head.Header())
		}
	}
	path, content := "/providers/"+archive(v1, linux), read(t, dir, archive(v1, linux))
	size := len(content)
	w := ask(h, "GET", path)
	tag := w.Header().Get("Etag")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/zip" || w.Body.String() != content || tag == "" {
		t.Errorf("archive: %d %v", w.Code, w.Header())
	}
	if other := ask(h, "GET", "/providers/"+archive(v2, linux)).Header().Get("Etag"); other == tag {
		t.Error("two archives have the same tag")
	}
	tests := map[string]struct {
		method string
		header []string
		status int
		body   string
		length int
	}{
		"head":              {"HEAD", nil, 200, "", size},
		"same":              {"GET", []string{"If-None-Match", `"x", ` + tag}, 304, "", 0},
		"changed":           {"GET", []string{"If-None-Match", `"x"`}, 200, content, size},
		"any":               {"GET", []string{"If-None-Match", "*"}, 304, "", 0},
		"range":             {"GET", []string{"Range", "bytes=10-19"}, 206, content[10:20], 10},
		"head of a range":   {"HEAD", []string{"Range", "bytes=10-19"}, 200, "", size},
		"33 ranges":         {"GET", []string{"Range", "bytes=0-0" + strings.Repeat(",1-1", 32)}, 200, content, size},
		"last bytes":        {"GET", []string{"Range", "bytes=-5"}, 206, content[size-5:], 5},
		"range of the same": {"GET", []string{"Range", "bytes=10-", "If-Range", tag}, 206, content[10:], size - 10},
		"range of another":  {"GET", []string{"Range", "bytes=10-", "If-Range", `"x"`}, 200, content, size},
		"beyond":            {"GET", []string{"Range", "bytes=100000-"}, 416, "invalid range: failed to overlap\n", 0},
		"precondition":      {"GET", []string{"If-Match", `"x"`}, 412, "", 0},
	}
	for name, test := range tests {
		w := ask(h, test.method, path, test.header...)
		length := w.Header().Get("Content-Length")
		if w.Code != test.status || w.Body.String() != test.body || test.length > 0 && length != fmt.Sprint(test.length) {
			t.Errorf("%s: %d, %d bytes, length %s", name, w.Code, w.Body.Len(), length)
		}
	}
}

// TestHandlerRefuses checks that other paths and methods are refused.
func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	write(t, dir, "secret.json", "{}")
	write(t, dir, home+"/3.0.0/linux_amd64/x", "x")
	h := &mirrorserve.Handler{Source: m}
	const a = "/" + home + "/terraform-provider-alpha_1.0.0_linux_amd64"
	for _, path := range []string{
		"/", "", "/secret.json", "/" + home, "/" + home + "/", "/" + home + "/x", "/.tofureg/change.lock", "/.tofureg/x/y/index.json",
		a + ".record.json", a + ".json", "/" + home + "/record_terraform-provider-alpha_1.0.0_linux_amd64.json", a + "_x.zip", a, strings.ToUpper(a) + ".zip", a + ".ZIP", a + ".zip/", "/" + a + ".zip",
		"/" + home + "/terraform-provider-alpha_1.0_linux_amd64.zip", "/" + home + "/1.0.json", "/" + home + "/.json", "/" + home + "/01.0.0.json",
		"/" + home + "/3.0.0.json", "/" + home + "/terraform-provider-alpha_3.0.0_linux_amd64.zip",
		"/" + home + "/4.0.0.json", "/" + home + "/terraform-provider-alpha_4.0.0_linux_amd64.zip",
		"/Registry.example.com/acme/alpha/index.json", "/registry.example.com:443/acme/alpha/index.json", "/registry.example.com/ACME/alpha/index.json",
		"/registry.example.com/acme/beta/index.json", "/other.example/acme/alpha/index.json", "/xn--/acme/alpha/index.json",
		"/registry.example.com/%61cme/alpha/index.json", "/" + home + "/%69ndex.json", "/" + home + "/1%2e0.0.json",
		"/../secret.json", "/registry.example.com/acme/alpha/../alpha/index.json", "/registry.example.com/acme/%2e%2e/index.json",
		"/registry.example.com/acme/..%2f..%2f../index.json", "/registry.example.com/acme/alpha%00/index.json", "/a/b/c/%zz", `/registry.example.com/acme\alpha/x/index.json`,
	} {
		w := ask(h, "GET", path)
		var doc struct{ Errors []string }
		if err := json.Unmarshal(w.Body.Bytes(), &doc); w.Code != 404 || err != nil || len(doc.Errors) != 1 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%q: %d, %v, %s", path, w.Code, err, w.Body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if w := ask(h, method, "/"+home+"/index.json"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

// TestHandlerWithoutDocuments serves a directory without documents.
func TestHandlerWithoutDocuments(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, archive(v1, linux), "x")
	write(t, dir, home+"/Terraform-Provider-alpha_1.0.0_darwin_arm64.zip", "y")
	write(t, dir, home+"/terraform-provider-alpha_1.0.0_windows_amd64_x.zip", "z") // ignored
	write(t, dir, home+"/2.0.0/linux_amd64/x", "x")
	h := &mirrorserve.Handler{Source: m}
	if w := ask(h, "GET", "/"+home+"/index.json"); !maps.Equal(mirrortest.Parse[index](t, w.Body.String()).Versions, map[string]struct{}{"1.0.0": {}}) {
		t.Errorf("index: %s", w.Body)
	}
	doc := mirrortest.Parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String())
	if len(doc.Archives) != 2 || doc.Archives["darwin_arm64"].URL != "terraform-provider-alpha_1.0.0_darwin_arm64.zip" {
		t.Errorf("%v", doc)
	}
	if w := ask(h, "GET", "/"+home+"/terraform-provider-alpha_1.0.0_darwin_arm64.zip"); w.Body.String() != "y" || w.Header().Get("Etag") != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestPullThrough serves a registry as a mirror, with the signed hashes.
func TestPullThrough(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	h := &mirrorserve.Handler{Source: client}
	if w := ask(h, "GET", "/"+home+"/index.json"); !maps.Equal(mirrortest.Parse[index](t, w.Body.String()).Versions, map[string]struct{}{"1.0.0": {}, "2.0.0": {}}) {
		t.Errorf("index: %s", w.Body)
	}
	reg.Reset()
	w := ask(h, "GET", "/"+home+"/1.0.0.json")
	doc := mirrortest.Parse[document](t, w.Body.String())
	if len(doc.Archives) != 3 {
		t.Errorf("%s", w.Body)
	}
	// Requests: versions, one package, SHA256SUMS document, signature.
	if n := reg.Count(0); n != 4 {
		t.Errorf("%d requests: %v", n, reg.Requests())
	}
	for _, platform := range three {
		pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v1, platform))(t)
		a := doc.Archives[platform.String()]
		if !slices.Equal(a.Hashes, []string{pkg.SHA256.String()}) || a.URL != pkg.ArchiveName() {
			t.Errorf("%s: %v", platform, a)
		}
		w := ask(h, "GET", "/"+home+"/"+a.URL)
		if zh, _ := checksum.ZH(t.Context(), w.Body); w.Code != 200 || zh != pkg.SHA256 || w.Header().Get("Etag") != `"`+zh.Value()+`"` {
			t.Errorf("%s: %d %v", platform, w.Code, w.Header())
		}
	}
	reg.Reset()
	if w := ask(h, "GET", "/"+archive(v1, linux), "If-None-Match", "*"); w.Code != 304 || reg.Count(regtest.Archive) != 0 {
		t.Errorf("%d, %v", w.Code, reg.Requests())
	}
	// The CLI sends HEAD before a download.
	if w := ask(h, "HEAD", "/"+archive(v1, linux)); w.Code != 200 || w.Header().Get("Etag") == "" || w.Body.Len() != 0 || reg.Count(regtest.Archive) != 0 {
		t.Errorf("HEAD: %d %v, %v", w.Code, w.Header(), reg.Requests())
	}
	whole := ask(h, "GET", "/"+archive(v1, linux)).Body.String()
	if w := ask(h, "GET", "/"+archive(v1, linux), "Range", "bytes=7-50"); w.Code != 206 || w.Body.String() != whole[7:51] {
		t.Errorf("range: %d", w.Code)
	}
}

// TestStatements checks the documents for sources that state more or less.
func TestStatements(t *testing.T) {
	t.Parallel()
	unsigned := verify.Policy{AllowUnsigned: true}
	unchecked := verify.Policy{AllowUnchecked: true}
	appended := func(name string) func([]byte) []byte {
		return func(b []byte) []byte { return append(b, strings.Repeat("0", 64)+"  "+name+"\n"...) }
	}
	unlisted := regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) {
		delete(doc["versions"].([]any)[0].(map[string]any), "platforms")
	}}
	tests := map[string]struct {
		provider regtest.Provider
		mirror   *regtest.Mirror
		policy   verify.Policy
		fault    regtest.Fault
		want     string // for each platform
		missing  int    // number of platforms
		status   int    // if not 200
	}{
		"signed":                    {want: "zh"},
		"stated too, not signed":    {provider: regtest.Provider{PackageHashes: true}, want: "zh"},
		"no sums":                   {provider: regtest.Provider{NoSums: true}, status: 502},
		"no sums, allowed":          {provider: regtest.Provider{NoSums: true}, policy: unsigned, want: "zh"},
		"no sums, hashes, allowed":  {provider: regtest.Provider{NoSums: true, PackageHashes: true}, policy: unsigned, want: "h1 zh"},
		"sums without a key":        {provider: regtest.Provider{Keys: []*regtest.Key{}, PackageHashes: true}, policy: unsigned, want: "h1 zh"},
		"a line with another name":  {provider: regtest.Provider{EditSums: appended("terraform-provider-alpha_1.0.0_linux_amd64_x5.zip")}, want: "zh"},
		"platforms from the sums":   {provider: regtest.Provider{EditSums: appended("terraform-provider-alpha_1.0.0_plan9_arm.zip")}, fault: unlisted, want: "zh", missing: -1},
		"one line is missing":       {provider: regtest.Provider{EditSums: func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }}, want: "zh", missing: 1},
		"v before the version":      {provider: regtest.Provider{EditSums: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("_1.0.0_"), []byte("_v1.0.0_")) }}, want: "zh"},
		"sums of another version":   {provider: regtest.Provider{EditSums: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("1.0.0"), []byte("0.9.0")) }}, status: 502},
		"sums of another provider":  {provider: regtest.Provider{EditSums: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("-alpha_"), []byte("-x-alpha_")) }}, status: 502},
		"sums with other files too": {provider: regtest.Provider{EditSums: func(b []byte) []byte { return append(b, bytes.Repeat([]byte("0"), 64)...) }}, status: 502},
		"bad signature":             {fault: regtest.Fault{Kind: regtest.Signature, Corrupt: true}, status: 502},
		"sums are not there":        {fault: regtest.Fault{Kind: regtest.Sums, Status: 404}, status: 502},
		"unauthorised":              {fault: regtest.Fault{Kind: regtest.Versions, Status: 401}, status: 502},
		"a mirror":                  {mirror: &regtest.Mirror{}, policy: unsigned, want: "h1 zh"},
		"a mirror, strict":          {mirror: &regtest.Mirror{}, status: 502},
		"a mirror without hashes":   {mirror: &regtest.Mirror{NoHashes: true}, policy: unchecked, want: ""},
		"a mirror with one hash":    {mirror: &regtest.Mirror{Hashes: []string{"zh"}}, policy: unsigned, want: "zh"},
		"a mirror, null archive": {mirror: &regtest.Mirror{}, policy: unsigned, status: 502, fault: regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
			doc["archives"].(map[string]any)["linux_amd64"] = nil
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New("registry.example.com")
			test.provider.Address, test.provider.Platforms = "acme/alpha", names(three)
			reg.AddProvider(test.provider)
			if test.fault.Kind != 0 {
				reg.AddFault(test.fault)
			}
			var src provider.Source = client(reg)
			if test.mirror != nil {
				reg.Mirror = *test.mirror
				src = &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
			}
			var log strings.Builder
			h := &mirrorserve.Handler{Source: src, Policy: policyOf(test.policy), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			w := ask(h, "GET", "/"+home+"/1.0.0.json")
			if test.status != 0 {
				if w.Code != test.status || strings.Contains(w.Body.String(), "https:") || log.Len() == 0 {
					t.Errorf("status %d, want %d: %s, log %q", w.Code, test.status, w.Body, &log)
				}
				return
			}
			if w.Code != 200 {
				t.Fatalf("%d %s %s", w.Code, w.Body, &log)
			}
			doc := mirrortest.Parse[document](t, w.Body.String())
			if len(doc.Archives) != 3-test.missing {
				t.Errorf("%d archives: %s", len(doc.Archives), w.Body)
			}
			for platform, a := range doc.Archives {
				var schemes []string
				for _, h := range a.Hashes {
					schemes = append(schemes, h[:2])
				}
				if got := strings.Join(schemes, " "); got != test.want {
					t.Errorf("%s: hashes %q, want %q", platform, got, test.want)
				}
			}
		})
	}
}

// TestPlatformsOfMirror checks that platforms are requested if a mirror does not list them.
func TestPlatformsOfMirror(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"windows_amd64", "plan9_mips"}})
	reg.Mirror.NoHashes = true
	src := &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client()}}
	unchecked := policyOf(verify.Policy{AllowUnchecked: true})
	for name, h := range map[string]*mirrorserve.Handler{
		"told by the refusal": {Source: src, Policy: unchecked},
		"as asked":            {Source: src, Policy: unchecked, Platforms: []addrs.Platform{addrs.MustParsePlatform("plan9_mips"), windows}},
	} {
		doc := mirrortest.Parse[document](t, ask(h, "GET", "/"+home+"/1.0.0.json").Body.String())
		if len(doc.Archives) != 2 {
			t.Errorf("%s: %v", name, doc)
		}
	}
}

// TestChain reads a mirror of a mirror of a mirror.
func TestChain(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	inner := httptest.NewServer(&mirrorserve.Handler{Source: m})
	defer inner.Close()
	unsigned := policyOf(verify.Policy{AllowUnsigned: true})
	through := &mirrorclient.Client{BaseURL: inner.URL, Transport: &transport.Settings{AllowHTTP: true}}
	outer := httptest.NewServer(http.StripPrefix("/some/where", &mirrorserve.Handler{Source: through, Policy: unsigned}))
	defer outer.Close()
	src := &mirrorclient.Client{BaseURL: outer.URL + "/some/where", Transport: &transport.Settings{AllowHTTP: true}}
	copied, to := newMirror(t)
	if fetched := mustAdd(t, copied, src, wants(three, v1, v2), mirrordir.AddOptions{Policy: unsigned}); fetched != 6 {
		t.Errorf("%d fetched", fetched)
	}
	for _, name := range []string{"/index.json", "/1.0.0.json", "/2.0.0.json", "/" + filepath.Base(archive(v1, linux))} {
		want, got := read(t, dir, home+name), read(t, to, home+name)
		if strings.HasSuffix(name, ".json") {
			want, got = mirrortest.Served(t, want), mirrortest.Served(t, got) // without serials
		}
		if want != got {
			t.Errorf("%s differs", name)
		}
	}
}

func FuzzHandler(f *testing.F) {
	for _, path := range []string{"/" + home + "/index.json", "/" + home + "/1.0.0.json", "/" + archive(v1, linux), "//", "/%2f/%2e%2e/x/index.json", "/b%C3%BCcher.example/a/b/index.json"} {
		f.Add(path)
	}
	src := &recording{}
	h := &mirrorserve.Handler{Source: src}
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 404 {
			t.Errorf("%q: %d", path, w.Code)
		}
		for _, p := range src.asked {
			if q, err := addrs.ParseProvider(p.String()); err != nil || q != p {
				t.Errorf("%q reached the source as %q", path, p)
			}
		}
		src.asked = nil
	})
}

// recording is a source without packages that records the calls.
type recording struct {
	failing
	asked []addrs.Provider
}

func (r *recording) ProviderVersions(_ context.Context, p addrs.Provider) (*provider.Versions, error) {
	r.asked = append(r.asked, p)
	return nil, failure.ErrNotFound
}

func (r *recording) ProviderPackage(_ context.Context, p addrs.Provider, _ addrs.Version, _ addrs.Platform) (*provider.Package, error) {
	r.asked = append(r.asked, p)
	return nil, failure.ErrNotFound
}

// TestHandlerOfBucket checks that an archive in an object store is served only with its recorded
// hashes.
func TestHandlerOfBucket(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	b := &bucket{}
	m := &mirrordir.Mirror{Store: b, TempDir: t.TempDir()}
	mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{})
	h := &mirrorserve.Handler{Source: m, TempDir: t.TempDir()}
	name := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t).URL
	text := b.Content[name]
	if got := mustFetch(t, h, archive(v1, linux)); got != text {
		t.Errorf("%d bytes, want %d", len(got), len(text))
	}
	b.Content[name] = text[:100] + string(text[100]^1) + text[101:]
	if status, body := fetch(h, archive(v1, linux)); status == 200 {
		t.Errorf("an altered archive was served, %d bytes", len(body))
	}
}

// TestMistakenSource checks that a signed package of another version is not served.
func TestMistakenSource(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	asked, other := all[0].Version, all[1].Version
	for name, as := range map[string]addrs.Version{"another": other, "nothing": {}} {
		src := mistaken{Source: client(reg), As: as}
		h := &mirrorserve.Handler{Source: src}
		for _, file := range []string{"index.json", asked.String() + ".json", "terraform-provider-alpha_" + asked.String() + "_linux_amd64.zip"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+home+"/"+file, nil))
			if file == "index.json" && name == "another" {
				continue // the list of versions is correct
			}
			if body, _ := io.ReadAll(w.Result().Body); w.Code == http.StatusOK {
				t.Errorf("%s: %s was served: %.200q", name, file, body)
			}
		}
	}
}
