package regtest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestProtocol goes the way of a client from the host name to the files.
func TestProtocol(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	rel := reg.AddProvider(regtest.Provider{
		Address: "acme/alpha", Version: "1.2.0",
		Platforms: []string{"linux_amd64", "darwin_arm64"},
		Protocols: []string{"5.0", "6.1"}, Warnings: []string{"mind the gap"},
	})
	client := reg.Client()

	services := object(t, client, base+"/.well-known/terraform.json")
	if want := map[string]any{"providers.v1": "/v1/providers/"}; !cmp.Equal(services, want) {
		t.Errorf("services: %v", services)
	}

	list := get(t, client, listURL)
	want := `{"versions":[{"version":"1.2.0","protocols":["5.0","6.1"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"darwin","arch":"arm64"}]}],"warnings":["mind the gap"]}`
	if string(list.body) != want || list.Header.Get("Content-Type") != "application/json" {
		t.Errorf("versions: %s %s", list.Header, list.body)
	}

	doc := object(t, client, metadataURL("1.2.0", "linux_amd64"))
	files := base + "/releases/registry.example.com/acme/alpha/1.2.0/terraform-provider-alpha_1.2.0"
	key := reg.Key()
	wantDoc := map[string]any{
		"protocols": []any{"5.0", "6.1"}, "os": "linux", "arch": "amd64",
		"filename":              "terraform-provider-alpha_1.2.0_linux_amd64.zip",
		"download_url":          files + "_linux_amd64.zip",
		"shasums_url":           files + "_SHA256SUMS",
		"shasums_signature_url": files + "_SHA256SUMS.sig",
		"shasum":                rel.ZH("linux_amd64").Value(),
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]any{
			"key_id": key.Public().ID, "ascii_armor": key.Public().Armor, "trust_signature": "", "source": "", "source_url": "",
		}}},
	}
	if diff := cmp.Diff(wantDoc, doc); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}

	sums := get(t, client, files+"_SHA256SUMS")
	wantSums := fmt.Sprintf("%s  %s\n%s  %s\n",
		rel.ZH("darwin_arm64").Value(), rel.Filename("darwin_arm64"), rel.ZH("linux_amd64").Value(), rel.Filename("linux_amd64"))
	if string(sums.body) != wantSums || !bytes.Equal(rel.Sums(), sums.body) {
		t.Errorf("sums:\n%swant:\n%s", sums.body, wantSums)
	}
	if sig := get(t, client, files+"_SHA256SUMS.sig"); !bytes.Equal(sig.body, rel.Signature()) {
		t.Error("the signature served is not that of the release")
	}
	zip := get(t, client, files+"_linux_amd64.zip")
	if !bytes.Equal(zip.body, content(t, rel, "linux_amd64")) || zip.Header.Get("Content-Type") != "application/zip" {
		t.Error("the archive served is not that of the release")
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	for _, path := range []string{
		"/", "/favicon.ico", "/v1/providers/", "/v1/providers/acme/alpha", "/v1/providers/acme/beta/versions",
		"/v1/providers/ACME/alpha/versions", "/v1/providers/ac%20me/alpha/versions", "/v1/providers/acme/%2e%2e/versions",
		"/v1/providers//alpha/versions", "/v1/providersacme/alpha/versions", "/acme/alpha/versions",
		"/v1/providers/acme/alpha/9.9.9/download/linux/amd64", "/v1/providers/acme/alpha/1.0.0/download/plan9/mips",
		"/v1/providers/acme/alpha/1.0.0/download/linux", "/v1/providers/acme/alpha/v1.0.0/download/linux/amd64",
		"/releases/x", "/releases/registry.example.com/acme/alpha/1.0.0/x.zip", "/releases/registry.example.com/acme/alpha/2.0.0/x_SHA256SUMS",
		"/releases/registry.example.com/acme/alpha/1.0.0/x.txt", "/get", "/get?id=zz", "/get?id=%zz", "/get?id=2f",
		"/redirect-1-of-0/x", "/redirect-x-of-1/x", "/redirect-", "/redirect-2-of-1/.well-known/terraform.json",
	} {
		a := get(t, reg.Client(), base+path)
		if a.StatusCode != http.StatusNotFound || string(a.body) != `{"errors":["Not Found"]}` {
			t.Errorf("GET %s: %s: %s", path, a.Status, a.body)
		}
	}
}

// TestHosts: the registry is one under its own name and that of its providers,
// and a mere server under any other.
func TestHosts(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]string{
		"registry.example.com":      "https://REGISTRY.example.com:443",
		"Registry.Example.com:8443": "https://registry.example.com:8443",
		"bücher.example.com":        "https://xn--bcher-kva.example.com",
		"localhost:8080":            "https://localhost:8080",
	} {
		reg := regtest.New(name)
		reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
		reg.AddProvider(regtest.Provider{Address: "other.example.com/acme/beta"})
		for url, want := range map[string]int{
			asked + "/.well-known/terraform.json":                           200,
			asked + "/v1/providers/acme/alpha/versions":                     200,
			asked + "/v1/providers/acme/beta/versions":                      404,
			"https://other.example.com/.well-known/terraform.json":          200,
			"https://other.example.com/v1/providers/acme/beta/versions":     200,
			"https://other.example.com/v1/providers/acme/alpha/versions":    404,
			"https://stranger.example.com/.well-known/terraform.json":       404,
			"https://stranger.example.com/v1/providers/acme/alpha/versions": 200,
		} {
			if a := get(t, reg.Client(), url); a.StatusCode != want {
				t.Errorf("New(%q): GET %s: %s, want %d", name, url, a.Status, want)
			}
		}
	}
}

// TestListed: a version is listed and asked for in any spelling.
func TestListed(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	versions := []string{"1.0", "01.2.3", "2.0.0-beta.1+linux", "v3.0.0", "latest", "../..", "1.0.0/x", "99999999999999999999.0.0", "ö", strings.Repeat("9", 70000)}
	for _, v := range versions {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v})
	}
	doc := object(t, reg.Client(), listURL)
	for i, v := range versions {
		if got := doc["versions"].([]any)[i].(map[string]any)["version"]; got != v {
			t.Errorf("listed %q as %q", v, got)
		}
		meta := object(t, reg.Client(), metadataURL(url.PathEscape(v), "linux_amd64"))
		if a := get(t, reg.Client(), meta["download_url"].(string)); a.StatusCode != 200 {
			t.Errorf("version %q: GET %v: %s", v, meta["download_url"], a.Status)
		}
	}
	if a := get(t, reg.Client(), metadataURL("1.0.0", "linux_amd64")); a.StatusCode != 404 {
		t.Errorf("1.0 can be asked for as 1.0.0: %s", a.Status)
	}
}

// TestRanges: files are served as net/http serves files.
func TestRanges(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	u := archiveURL(t, reg)
	whole := content(t, rel, "linux_amd64")
	etag := get(t, reg.Client(), u).Header.Get("Etag")
	if len(etag) < 10 || etag[0] != '"' {
		t.Fatalf("no strong entity tag: %s", etag)
	}
	tests := []struct {
		header []string
		status int
		body   []byte
	}{
		{nil, 200, whole},
		{[]string{"Range", "bytes=10-"}, 206, whole[10:]},
		{[]string{"Range", "bytes=10-19"}, 206, whole[10:20]},
		{[]string{"Range", "bytes=-5"}, 206, whole[len(whole)-5:]},
		{[]string{"Range", "bytes=0-1,5-6"}, 200, whole},
		{[]string{"Range", "bytes=10-", "If-Range", etag}, 206, whole[10:]},
		{[]string{"Range", "bytes=10-", "If-Range", `"other"`}, 200, whole},
		{[]string{"Range", fmt.Sprintf("bytes=%d-", len(whole))}, 416, nil},
		{[]string{"If-None-Match", etag}, 304, []byte{}},
	}
	for _, test := range tests {
		a := get(t, reg.Client(), u, test.header...)
		if a.StatusCode != test.status || a.err != nil || test.body != nil && !bytes.Equal(a.body, test.body) {
			t.Errorf("%q: %s, %v, %d bytes", test.header, a.Status, a.err, len(a.body))
		}
		if test.status != 304 && a.ContentLength != int64(len(a.body)) {
			t.Errorf("%q: %d bytes stated, %d sent", test.header, a.ContentLength, len(a.body))
		}
	}
	// Documents are not files.
	if a := get(t, reg.Client(), listURL, "Range", "bytes=1-"); a.StatusCode != 200 || a.Header.Get("Accept-Ranges") != "" {
		t.Errorf("the list of versions comes in ranges: %s", a.Status)
	}
}

// TestPanics: a mistake in setting up is found at once.
func TestPanics(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	mistakes := map[string]func(){
		"host":     func() { regtest.New("https://registry.example.com") },
		"address":  func() { reg.AddProvider(regtest.Provider{Address: "a/b/c/d"}) },
		"empty":    func() { reg.AddProvider(regtest.Provider{}) },
		"platform": func() { reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux"}}) },
		"size":     func() { reg.AddProvider(regtest.Provider{Address: "acme/alpha", Size: 1 << 32}) },
		"negative": func() { reg.AddProvider(regtest.Provider{Address: "acme/alpha", Size: -1}) },
		"origin":   func() { reg.AddProvider(regtest.Provider{Address: "acme/alpha", Origin: "files.example.com"}) },
		"form":     func() { reg.AddProvider(regtest.Provider{Address: "acme/alpha", URLs: "download"}) },
		"path": func() {
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Origin: "https://files.example.com/x"})
		},
		"name": func() {
			reg.AddProvider(regtest.Provider{Address: "acme/alpha", Files: map[string]string{strings.Repeat("x", 1<<16): ""}})
		},
		"status":  func() { reg.AddFault(regtest.Fault{Status: 100}) },
		"break":   func() { reg.AddFault(regtest.Fault{Break: "Cut"}) },
		"part":    func() { reg.AddFault(regtest.Fault{Part: "half"}) },
		"key":     func() { regtest.NewKey(regtest.KeyOptions{RSABits: 1}) },
		"created": func() { regtest.NewKey(regtest.KeyOptions{Created: time.Unix(-1, 0)}) },
		"signs":   func() { regtest.NewKey(regtest.KeyOptions{Signs: time.Unix(1<<32, 0)}) },
		"release": func() { _, rel := start(); rel.ZH("plan9_mips") },
	}
	for name, m := range map[string]regtest.Module{
		"no address": {},
		"address":    {Address: "acme/network"},
		"format":     {Address: "acme/network/aws", Format: "rar"},
		"answer":     {Address: "acme/network/aws", Answer: "nowhere"},
		"size":       {Address: "acme/network/aws", Size: -1},
		"deflate":    {Address: "acme/network/aws", Size: 1, Deflate: true},
		"bzip2":      {Address: "acme/network/aws", Format: "tar.bz2"},
		"origin":     {Address: "acme/network/aws", Origin: "files.example.com"},
		"properties": {Address: "acme/network/aws", Properties: map[string]any{"x": func() {}}},
		"form":       {Address: "acme/network/aws", URLs: "name"},
		"directory":  {Address: "acme/network/aws", Subdir: "a\x00b"},
		"NUL":        {Address: "acme/network/aws", Files: map[string]string{"a\x00b": ""}},
	} {
		mistakes["module "+name] = func() { reg.AddModule(m) }
	}
	for name, mistake := range mistakes {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "regtest: ") {
					t.Errorf("%s: recovered %q", name, text)
				}
			}()
			mistake()
		}()
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	const files = base + "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	urls := map[regtest.Kind]string{
		regtest.Discovery: base + "/.well-known/terraform.json",
		regtest.Versions:  listURL,
		regtest.Package:   metadataURL("1.0.0", "linux_amd64"),
		regtest.Sums:      files + "_SHA256SUMS",
		regtest.Signature: files + "_SHA256SUMS.sig",
		regtest.Archive:   files + "_linux_amd64.zip",
	}
	for _, on := range []regtest.Kind{regtest.Discovery, regtest.Metadata, regtest.Signature, 0} {
		reg, _ := start()
		reg.Require("secret", on)
		for kind, url := range urls {
			for token, status := range map[string]int{"": 401, "Bearer other": 403, "secret": 403, "Bearer secret": 200} {
				if on != 0 && on&kind == 0 {
					status = 200
				}
				if a := get(t, reg.Client(), url, "Authorization", token); a.StatusCode != status {
					t.Errorf("required on %v: %v with %q: %s, want %d", on, kind, token, a.Status, status)
				}
			}
		}
		reg.Require("", 0)
		if a := get(t, reg.Client(), listURL); a.StatusCode != 200 {
			t.Errorf("when it is taken back: %s", a.Status)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	get(t, reg.Client(), listURL+"?x=%20", "Authorization", "Bearer secret", "Range", "bytes=0-", "Referer", "https://example.com/", "User-Agent", "test/1", "X-Other", "1")
	get(t, reg.Client(), "http://other.example.com:80/a%2fb")
	list := reg.Requests()
	if len(list) != 2 {
		t.Fatalf("%d requests", len(list))
	}
	q := list[0]
	if q.Time.IsZero() || q.Header.Get("X-Other") != "1" {
		t.Errorf("record: %+v", q)
	}
	for got, want := range map[string]string{
		q.Method: "GET", q.Scheme: "https", q.Host: "registry.example.com", q.Path: "/v1/providers/acme/alpha/versions", q.Query: "x=%20",
		q.Authorization: "Bearer secret", q.Range: "bytes=0-", q.Referer: "https://example.com/", q.UserAgent: "test/1",
		q.String():    "GET " + listURL + "?x=%20: 200 (versions, with Authorization, bytes=0-)",
		q.URL():       listURL + "?x=%20",
		list[1].URL(): "http://other.example.com/a%2fb", // without the default port
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// What is handed out is the caller's own.
	q.Header.Set("X-Other", "2")
	if reg.Requests()[0].Header.Get("X-Other") != "1" {
		t.Error("the record can be changed from outside")
	}
	if reg.Count(regtest.Metadata) != 1 || reg.Count(regtest.Other) != 1 || reg.Count(0) != 2 || reg.Count(regtest.Archive) != 0 {
		t.Errorf("counts are wrong: %v", list)
	}
	if !strings.Contains(list[1].String(), "404 (other)") {
		t.Errorf("record: %v", list[1])
	}
	reg.Reset()
	if len(reg.Requests()) != 0 || reg.Count(0) != 0 {
		t.Error("the record is not empty after Reset")
	}
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rel := reg.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i%2), Size: 100, PackageHashes: true})
			reg.AddFault(regtest.Fault{Kind: regtest.Versions, First: 1, Edit: func(map[string]any) {}})
			reg.Require("secret", regtest.Other)
			mod := reg.AddModule(regtest.Module{Address: fmt.Sprintf("acme/m%d/aws", i%2), Size: 100, Checksum: true})
			for _, url := range []string{
				base + "/.well-known/terraform.json", listURL, metadataURL("1.0.0", "linux_amd64"),
				base + "/v1/modules/acme/m0/aws/versions", base + "/v1/modules/acme/m1/aws/1.0.0/download", base + packagePath,
				reg.MirrorURL() + "registry.example.com/acme/p0/index.json", reg.MirrorURL() + "registry.example.com/acme/p0/1.0.0.json",
				base + "/v1/providers/acme/p0/1.0.0/download/linux/amd64", base + "/v1/providers/acme/p1/1.0.0/download/linux/amd64",
			} {
				if _, err := try(t.Context(), reg.Client(), "GET", url); err != nil {
					t.Error(err)
				}
			}
			_, _, _ = rel.Sums(), rel.Signature(), rel.H1("linux_amd64")
			_ = mod.H1()
			_, _ = reg.Requests(), reg.Count(0)
			if i == 7 {
				reg.ClearFaults()
				reg.Reset()
			}
		})
	}
	wg.Wait()
}

const (
	moduleBase    = base + "/v1/modules/acme/network/aws"
	moduleListURL = moduleBase + "/versions"
	locationURL   = moduleBase + "/1.0.0/download"
	packageBase   = "/packages/registry.example.com/acme/network/aws/1.0.0/network-1.0.0."
	packagePath   = packageBase + "tar.gz"
)

// withModule returns a registry with a version of acme/network/aws.
func withModule(m regtest.Module) (*regtest.Registry, *regtest.ModuleRelease) {
	reg := regtest.New("registry.example.com")
	m.Address = "acme/network/aws"
	return reg, reg.AddModule(m)
}

// TestModuleProtocol goes the way of a client from the host name to the package.
func TestModuleProtocol(t *testing.T) {
	t.Parallel()
	reg, rel := withModule(regtest.Module{})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "v1.1", Properties: map[string]any{
		"deprecated": true, "readme": "read me", "version": "overwritten", "source": nil,
	}})

	services := object(t, reg.Client(), base+"/.well-known/terraform.json")
	if want := map[string]any{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/"}; !cmp.Equal(services, want) {
		t.Errorf("services: %v", services)
	}
	list := get(t, reg.Client(), moduleListURL)
	want := `{"modules":[{"versions":[{"version":"1.0.0"},{"deprecated":true,"readme":"read me","source":null,"version":"v1.1"}]}]}`
	if string(list.body) != want || list.Header.Get("Content-Type") != "application/json" {
		t.Errorf("versions: %s %s", list.Header, list.body)
	}
	location := get(t, reg.Client(), locationURL)
	if got := location.Header.Get("X-Terraform-Get"); location.StatusCode != 204 || len(location.body) > 0 || got != base+packagePath {
		t.Errorf("location: %s %s %s", location.Status, got, location.body)
	}
	pkg := get(t, reg.Client(), base+packagePath)
	if rel.H1() != h1Of(t, unpack(t, "tar.gz", pkg.body)) || pkg.Header.Get("Content-Type") != "application/gzip" || pkg.Header.Get("Etag") == "" {
		t.Errorf("package: %s %s", pkg.Status, pkg.Header)
	}
	for i, kind := range []regtest.Kind{regtest.Discovery, regtest.ModuleVersions, regtest.ModuleLocation, regtest.ModulePackage} {
		if got := reg.Requests()[i]; got.Kind != kind {
			t.Errorf("%v is not of the kind %v", got, kind)
		}
	}
}

// TestModuleAnswers: all ways to tell a location, with and without
// use_registry_credentials.
func TestModuleAnswers(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	tests := []struct {
		answer string
		use    *bool
		status int
		header bool
		body   string // L: the location
	}{
		{"header", nil, 204, true, ""},
		{"header", yes, 200, false, `{"location":"L","use_registry_credentials":true}`},
		{"header", no, 200, false, `{"location":"L","use_registry_credentials":false}`},
		{"body", nil, 200, false, `{"location":"L"}`},
		{"body", yes, 200, false, `{"location":"L","use_registry_credentials":true}`},
		{"both", no, 200, true, `{"location":"L","use_registry_credentials":false}`},
		{"empty object", nil, 200, true, `{}`},
		{"empty object", yes, 200, true, `{"use_registry_credentials":true}`},
		{"empty body", nil, 200, true, ``},
		{"none", nil, 204, false, ``},
		{"none", yes, 200, false, `{"use_registry_credentials":true}`},
	}
	for _, test := range tests {
		const want = "git::https://git.example.com/network.git?ref=v1"
		reg, _ := withModule(regtest.Module{Answer: test.answer, UseRegistryCredentials: test.use, Location: want})
		a := get(t, reg.Client(), locationURL)
		header, told := a.Header["X-Terraform-Get"]
		body := strings.Replace(test.body, "L", want, 1)
		if a.StatusCode != test.status || string(a.body) != body || told != test.header || told && header[0] != want {
			t.Errorf("%q: %s %q %s, want %d %t %s", test.answer, a.Status, header, a.body, test.status, test.header, body)
		}
	}
}

// FuzzRequest: no request makes the registry panic, and each gets an answer
// that is as long as it says.
func FuzzRequest(f *testing.F) {
	const files = "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	for _, path := range []string{
		"", "/", "*", "//", "/.well-known/terraform.json", "/v1/providers/acme/alpha/versions",
		"/v1/providers/acme/alpha/1.0.0/download/linux/amd64", "/redirect-1-of-2/x", "/redirect-loop/x", "/redirect-1-of-1/v1/providers/acme/alpha/versions",
		"/v1/modules/acme/network/aws/versions", "/v1/modules/acme/network/aws/1.0.0/download", packagePath,
		"/packages/registry.example.com/acme/network/aws/1.0.0/page-1", "/packages/x/page-99999999999999999999",
		"/mirror/registry.example.com/acme/alpha/index.json", "/mirror/registry.example.com/acme/alpha/1.0.0.json",
		"/mirror/registry.example.com/acme/alpha/download/terraform-provider-alpha_1.0.0_linux_amd64.zip", "/mirror/%2e%2e/a/b/.json",
		files + "_SHA256SUMS", files + "_SHA256SUMS.sig", files + "_linux_amd64.zip", "/get", "/oauth/authorization", "/v1/providers/%2e%2e/%00/versions",
	} {
		f.Add("GET", path, "id=2f", "bytes=0-1")
	}
	f.Add("HEAD", "/", "", "bytes=-1,0-5")
	f.Add("", "/get", "id=2f72656c65617365732f", "bytes=x")
	f.Add("GET", "/v1/modules/acme/network/aws/versions", "limit=99999999999999999999&offset=-1", "")
	f.Add("GET", "/v1/modules/acme/network/aws/versions", "limit=1&offset=9223372036854775807", "")
	reg, _ := start()
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: 100, Pages: -1})
	reg.ModuleList.PageSize = 1
	reg.Login = &regtest.Login{}
	f.Add("GET", "/oauth/authorization", "client_id=regtest&redirect_uri=http://localhost:5000/&state=%00", "")
	f.Add("POST", "/oauth/token", "grant_type=authorization_code", "")
	f.Fuzz(func(t *testing.T, method, path, query, ranges string) {
		u := &url.URL{Scheme: "https", Host: "registry.example.com", Path: path, RawQuery: query}
		req := (&http.Request{Method: method, URL: u, Header: http.Header{"Range": {ranges}}}).WithContext(t.Context())
		resp := must.Get(reg.RoundTrip(req))(t)
		body, err := io.ReadAll(resp.Body)
		if err != nil || method != "HEAD" && int64(len(body)) != resp.ContentLength || resp.StatusCode < 200 {
			t.Errorf("%s, %d bytes of %d, %v", resp.Status, len(body), resp.ContentLength, err)
		}
		resp.Body.Close()
		w := httptest.NewRecorder()
		reg.ServeHTTP(w, req)
		if w.Code != resp.StatusCode {
			t.Errorf("by RoundTrip %s, by ServeHTTP %d", resp.Status, w.Code)
		}
		reg.Reset()
	})
}

var _ http.RoundTripper = (*regtest.Registry)(nil)
