package regtest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/regclient/regtest"
)

const mirrorBase = base + "/mirror/registry.example.com/acme/alpha/"

// archives asks for the archives of a version of acme/alpha at the mirror.
func archives(t *testing.T, reg *regtest.Registry, version string) map[string]any {
	t.Helper()
	return object(t, reg.Client(), mirrorBase+version+".json")["archives"].(map[string]any)
}

// TestMirror goes the way of a client from the base URL to an archive.
func TestMirror(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64", "darwin_arm64"}})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.10.0"})
	if reg.MirrorURL() != base+"/mirror/" {
		t.Errorf("base URL %s", reg.MirrorURL())
	}
	index := get(t, reg.Client(), mirrorBase+"index.json")
	if string(index.body) != `{"versions":{"1.10.0":{},"1.2.0":{}}}` || index.Header.Get("Content-Type") != "application/json" {
		t.Errorf("index: %s %s", index.Header, index.body)
	}
	version := get(t, reg.Client(), mirrorBase+"1.2.0.json")
	want := `{"archives":{`
	for i, platform := range []string{"darwin_arm64", "linux_amd64"} {
		want += strings.Repeat(",", i) + fmt.Sprintf(`%q:{"url":%q,"hashes":[%q,%q]}`, platform, rel.Filename(platform), rel.H1(platform), rel.ZH(platform))
	}
	if want += "}}"; string(version.body) != want || version.Header.Get("Content-Type") != "application/json" {
		t.Errorf("version: %s\n%s\nwant\n%s", version.Header, version.body, want)
	}
	zip := get(t, reg.Client(), mirrorBase+rel.Filename("linux_amd64"), "Range", "bytes=10-")
	if zip.StatusCode != 206 || !bytes.Equal(zip.body, content(t, rel, "linux_amd64")[10:]) || zip.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("archive: %s %s", zip.Status, zip.Header)
	}
	for i, kind := range []regtest.Kind{regtest.MirrorIndex, regtest.MirrorVersion, regtest.Archive} {
		if got := reg.Requests()[i]; got.Kind != kind {
			t.Errorf("%v is not of the kind %v", got, kind)
		}
	}
}

func TestMirrorUnknown(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddProvider(regtest.Provider{Address: "bücher.example.com:8443/acme/alpha"})
	for _, path := range []string{
		"", "x", "registry.example.com/acme/alpha", "registry.example.com/acme/alpha/", "registry.example.com/acme/beta/index.json",
		"registry.example.com/ACME/alpha/index.json", "REGISTRY.example.com/acme/alpha/index.json", "registry.example.com:443/acme/alpha/index.json",
		"other.example.com/acme/alpha/index.json", "registry.example.com/acme/alpha/2.0.0.json", "registry.example.com/acme/alpha/v1.0.0.json",
		"registry.example.com/acme/alpha/.json", "registry.example.com/acme/alpha/x.zip", "registry.example.com/acme/alpha/other/x.zip",
		"registry.example.com/acme/alpha/download/index.json", "-/acme/alpha/index.json", "registry.example.com/%2e%2e/alpha/index.json",
		"b%C3%BCcher.example.com:8443/acme/alpha/index.json", "xn--bcher-kva.example.com/acme/alpha/index.json",
	} {
		a := get(t, reg.Client(), base+"/mirror/"+path)
		if a.StatusCode != http.StatusNotFound || string(a.body) != `{"errors":["Not Found"]}` {
			t.Errorf("GET %s: %s: %s", path, a.Status, a.body)
		}
	}
	for _, host := range []string{"xn--bcher-kva.example.com:8443", "xn--bcher-kva.example.com%3A8443"} {
		if a := get(t, reg.Client(), base+"/mirror/"+host+"/acme/alpha/index.json"); a.StatusCode != 200 {
			t.Errorf("%s: %s", host, a.Status)
		}
	}
}

// TestMirrorForms: every form of URL leads to the archive, at any host and path
// of the mirror, also from behind a redirect.
func TestMirrorForms(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-alpha_1.0.0_linux_amd64.zip"
	const file = "/releases/registry.example.com/acme/alpha/1.0.0/" + name
	for want, how := range map[string]regtest.Mirror{
		name:                            {},
		name + "?signature=5eed":        {URLs: regtest.FileName, Query: "signature=5eed"},
		"download/" + name:              {URLs: regtest.InDownload, Path: "providers"},
		"../../../../.." + file:         {URLs: regtest.Relative, Path: "/a/b/"},
		file:                            {URLs: regtest.RootRelative, Path: "/"},
		"https://M" + file:              {URLs: regtest.Absolute},
		"http://files.test:8080" + file: {URLs: regtest.FileName, Origin: "http://files.test:8080"},
		fmt.Sprintf("/get?id=%x", file): {URLs: regtest.Opaque},
		fmt.Sprintf("https://files.test/get?id=%x&signature=5eed", file): {URLs: regtest.Opaque, Origin: "https://files.test", Query: "signature=5eed"},
	} {
		for _, redirect := range []bool{false, true} {
			reg, rel := start()
			reg.Mirror = how
			host := "mirror.example.com"
			if redirect {
				reg.AddFault(regtest.Fault{Kind: regtest.MirrorMetadata, Redirect: "https://moved.example.com"})
			}
			u := strings.Replace(reg.MirrorURL(), "registry.example.com", host, 1) + "registry.example.com/acme/alpha/"
			object(t, reg.Client(), u+"index.json")
			a := get(t, reg.Client(), u+"1.0.0.json")
			link := between(string(a.body), `"url":"`, `"`)
			link = strings.ReplaceAll(link, `\u0026`, "&")
			if got := strings.Replace(link, "https://"+a.Request.URL.Host, "https://M", 1); got != want {
				t.Errorf("%+v: URL %s, want %s", how, got, want)
			}
			target, err := a.Request.URL.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			if a := get(t, reg.Client(), target.String()); !bytes.Equal(a.body, content(t, rel, "linux_amd64")) {
				t.Errorf("%+v: GET %s: %s", how, target, a.Status)
			}
			if n := reg.Count(regtest.Archive); n != 1 {
				t.Errorf("%+v: %d archives were asked for", how, n)
			}
		}
	}
}

// between returns what stands between two texts.
func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// TestMirrorHashes: all that a mirror may say of hashes.
func TestMirrorHashes(t *testing.T) {
	t.Parallel()
	h1 := func(rel *regtest.Release) string { return rel.H1("linux_amd64").String() }
	zh := func(rel *regtest.Release) string { return rel.ZH("linux_amd64").String() }
	h9 := func(*regtest.Release) string { return "h9:unknown" }
	for name, test := range map[string]struct {
		how  regtest.Mirror
		zip  []byte
		want []func(*regtest.Release) string // nil: the property is left out
	}{
		"usual":          {regtest.Mirror{}, nil, []func(*regtest.Release) string{h1, zh}},
		"zh":             {regtest.Mirror{Hashes: []string{"zh"}}, nil, []func(*regtest.Release) string{zh}},
		"h1":             {regtest.Mirror{Hashes: []string{"h1"}}, nil, []func(*regtest.Release) string{h1}},
		"unknown":        {regtest.Mirror{Hashes: []string{"h9"}}, nil, []func(*regtest.Release) string{h9}},
		"unknown and zh": {regtest.Mirror{Hashes: []string{"h9", "zh"}}, nil, []func(*regtest.Release) string{h9, zh}},
		"empty":          {regtest.Mirror{Hashes: []string{}}, nil, []func(*regtest.Release) string{}},
		"none":           {regtest.Mirror{NoHashes: true}, nil, nil},
		"no archive":     {regtest.Mirror{}, []byte("no zip"), []func(*regtest.Release) string{zh}},
	} {
		reg := regtest.New("registry.example.com")
		rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Zip: test.zip})
		reg.Mirror = test.how
		entry := archives(t, reg, "1.0.0")["linux_amd64"].(map[string]any)
		got, stated := entry["hashes"].([]any)
		want := []any{}
		for _, f := range test.want {
			want = append(want, f(rel))
		}
		if stated != (test.want != nil) || stated && !cmp.Equal(got, want) {
			t.Errorf("%s: hashes %v, want %v", name, got, want)
		}
	}
}

// TestMirrorHosts: providers of all registries are there, each under its host,
// unless the mirror ignores hosts.
func TestMirrorHosts(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddProvider(regtest.Provider{Address: "localhost:8080/acme/alpha", Version: "2.0.0"})
	for path, want := range map[string]string{
		"registry.example.com/acme/alpha/index.json": `{"versions":{"1.0.0":{}}}`,
		"localhost:8080/acme/alpha/index.json":       `{"versions":{"2.0.0":{}}}`,
	} {
		if a := get(t, reg.Client(), reg.MirrorURL()+path); string(a.body) != want {
			t.Errorf("GET %s: %s %s", path, a.Status, a.body)
		}
	}
	reg.Mirror.IgnoreHost = true
	for path, want := range map[string]int{
		"other.example.com/acme/alpha/index.json": 200, "-/acme/alpha/index.json": 200, "other.example.com/acme/beta/index.json": 404,
		// Of two that it may be, it is always the same.
		"other.example.com/acme/alpha/2.0.0.json": 200, "other.example.com/acme/alpha/1.0.0.json": 404,
	} {
		if a := get(t, reg.Client(), reg.MirrorURL()+path); a.StatusCode != want {
			t.Errorf("hosts ignored: GET %s: %s", path, a.Status)
		}
	}
}

// TestMirrorListed: versions in any spelling, also several of one version, each
// have their own archives.
func TestMirrorListed(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	versions := []string{"1.0.0", "1.0", "2.0.0-beta.1+linux", "v3.0.0", "latest", "../..", "1.0.0/x", "index", "ö", "a/../b"}
	releases := map[string]*regtest.Release{}
	for _, v := range versions {
		releases[v] = reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v})
	}
	// A second release with a platform more.
	again := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64", "plan9_mips"}})
	if n := len(object(t, reg.Client(), mirrorBase+"index.json")["versions"].(map[string]any)); n != len(versions) {
		t.Errorf("%d versions are listed", n)
	}
	check := func(version, platform string, rel *regtest.Release) {
		entry := archives(t, reg, url.PathEscape(version))[platform].(map[string]any)
		if a := get(t, reg.Client(), mirrorBase+entry["url"].(string)); !bytes.Equal(a.body, content(t, rel, platform)) {
			t.Errorf("version %q: GET %v: %s", version, entry["url"], a.Status)
		}
		if !slices.Contains(entry["hashes"].([]any), any(rel.ZH(platform).String())) {
			t.Errorf("version %q: hashes %v", version, entry["hashes"])
		}
	}
	for _, v := range versions {
		if v != "index" { // its document is that of all versions
			check(v, "linux_amd64", releases[v])
		}
	}
	check("1.0.0", "plan9_mips", again)
}

// TestMirrorFaults: faults and tokens do what they do at a registry.
func TestMirrorFaults(t *testing.T) {
	t.Parallel()
	reg, rel := start()
	urls := []string{mirrorBase + "index.json", mirrorBase + "1.0.0.json", mirrorBase + rel.Filename("linux_amd64")}
	reg.Require("secret", regtest.MirrorMetadata)
	for i, want := range []int{401, 401, 200} {
		if a := get(t, reg.Client(), urls[i]); a.StatusCode != want {
			t.Errorf("without a token: GET %s: %s", urls[i], a.Status)
		}
		if a := get(t, reg.Client(), urls[i], "Authorization", "Bearer secret"); a.StatusCode != 200 {
			t.Errorf("with a token: GET %s: %s", urls[i], a.Status)
		}
	}
	reg.Require("", 0)
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		doc["archives"].(map[string]any)["linux_amd64"] = nil
	}})
	if got := archives(t, reg, "1.0.0"); !cmp.Equal(got, map[string]any{"linux_amd64": nil}) {
		t.Errorf("edited: %v", got)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorIndex, Header: http.Header{"Content-Type": nil}})
	if a := get(t, reg.Client(), urls[0]); a.Header["Content-Type"] != nil || a.StatusCode != 200 {
		t.Errorf("no media type: %s %s", a.Status, a.Header)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "/mirror/", Break: regtest.Cut, After: 10})
	if a := get(t, reg.Client(), urls[2]); a.err == nil || len(a.body) != 10 {
		t.Errorf("cut: %d bytes, %v", len(a.body), a.err)
	}
	reg.Mirror.UnknownStatus = 500
	for _, path := range []string{"index.json", "1.0.0.json"} {
		if a := get(t, reg.Client(), reg.MirrorURL()+"registry.example.com/acme/beta/"+path); a.StatusCode != 500 {
			t.Errorf("unknown: %s", a.Status)
		}
	}
	if a := get(t, reg.Client(), mirrorBase+"2.0.0.json"); a.StatusCode != 404 {
		t.Errorf("unknown version: %s", a.Status)
	}
}
