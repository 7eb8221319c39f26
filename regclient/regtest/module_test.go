package regtest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/regclient/regtest"
)

const (
	moduleBase    = base + "/v1/modules/acme/network/aws"
	moduleListURL = moduleBase + "/versions"
	locationURL   = moduleBase + "/1.0.0/download"
	packagePath   = "/packages/registry.example.com/acme/network/aws/1.0.0/network-1.0.0.tar.gz"
)

// withModule returns a registry with a version of acme/network/aws.
func withModule(m regtest.Module) (*regtest.Registry, *regtest.ModuleRelease) {
	reg := regtest.New("registry.example.com")
	m.Address = "acme/network/aws"
	return reg, reg.AddModule(m)
}

// packageData reads the package of a module.
func packageData(t *testing.T, rel *regtest.ModuleRelease) []byte {
	t.Helper()
	data, err := io.ReadAll(rel.Package())
	if err != nil {
		t.Fatal(err)
	}
	return data
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
	if rel.Path() != packagePath || rel.Filename() != "network-1.0.0.tar.gz" {
		t.Errorf("path %s, file name %s", rel.Path(), rel.Filename())
	}
	pkg := get(t, reg.Client(), base+packagePath)
	if !bytes.Equal(pkg.body, packageData(t, rel)) || pkg.Header.Get("Content-Type") != "application/gzip" || pkg.Header.Get("Etag") == "" {
		t.Errorf("package: %s %s", pkg.Status, pkg.Header)
	}
	for i, kind := range []regtest.Kind{regtest.Discovery, regtest.ModuleVersions, regtest.ModuleLocation, regtest.ModulePackage} {
		if got := reg.Requests()[i]; got.Kind != kind {
			t.Errorf("%v is not of the kind %v", got, kind)
		}
	}
}

// TestModuleFaults: faults and tokens do what they do for providers.
func TestModuleFaults(t *testing.T) {
	t.Parallel()
	reg, _ := withModule(regtest.Module{Answer: regtest.InBoth})
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "2.0.0"})
	reg.Require("secret", regtest.ModuleMetadata)
	for url, want := range map[string]int{moduleListURL: 401, locationURL: 401, base + packagePath: 200, base + "/.well-known/terraform.json": 200} {
		if a := get(t, reg.Client(), url); a.StatusCode != want {
			t.Errorf("GET %s: %s", url, a.Status)
		}
	}
	reg.Require("", 0)
	reg.Require("secret", regtest.ModuleDownloads)
	for token, want := range map[string]int{"Bearer secret": 200, "Bearer other": 403, "": 401} {
		if a := get(t, reg.Client(), base+packagePath, "Authorization", token); a.StatusCode != want {
			t.Errorf("token %q: %s", token, a.Status)
		}
	}
	reg.Require("", 0)

	// The body and the header contradict each other, in either way.
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Edit: func(doc map[string]any) { doc["location"] = "./elsewhere" }})
	a := get(t, reg.Client(), locationURL)
	if string(a.body) != `{"location":"./elsewhere"}` || a.Header.Get("X-Terraform-Get") != base+packagePath {
		t.Errorf("body edited: %s %s", a.Header, a.body)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"./elsewhere"}}})
	if a := get(t, reg.Client(), locationURL); a.Header.Get("X-Terraform-Get") != "./elsewhere" {
		t.Errorf("header replaced: %s %s", a.Header, a.body)
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Path: "/1.0.0/", Instead: "/2.0.0/"})
	if a := get(t, reg.Client(), locationURL); !strings.Contains(a.Header.Get("X-Terraform-Get"), "/2.0.0/") {
		t.Errorf("instead: %s", a.Header)
	}
	reg.ClearFaults()
	for kind, want := range map[regtest.Kind]string{
		regtest.ModulePackage: "application/octet-stream", regtest.ModulePage: "text/html; charset=utf-8", regtest.ModuleVersions: "application/json",
	} {
		reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte("raw")})
		url := map[regtest.Kind]string{
			regtest.ModulePackage: base + packagePath, regtest.ModuleVersions: moduleListURL,
			regtest.ModulePage: base + "/packages/registry.example.com/acme/network/aws/1.0.0/page-1",
		}[kind]
		if a := get(t, reg.Client(), url); string(a.body) != "raw" || a.Header.Get("Content-Type") != want {
			t.Errorf("raw %v: %s %s", kind, a.Header, a.body)
		}
	}
	reg.ClearFaults()
	reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Break: regtest.Cut, After: 10})
	if a := get(t, reg.Client(), base+packagePath); a.err == nil || len(a.body) != 10 {
		t.Errorf("cut: %d bytes, %v", len(a.body), a.err)
	}
}

// TestModulePanics: a mistake in setting up is found at once.
func TestModulePanics(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]regtest.Module{
		"empty":      {},
		"address":    {Address: "acme/network"},
		"format":     {Address: "acme/network/aws", Format: 4},
		"answer":     {Address: "acme/network/aws", Answer: -1},
		"size":       {Address: "acme/network/aws", Size: -1},
		"deflate":    {Address: "acme/network/aws", Size: 1, Deflate: true},
		"bzip2":      {Address: "acme/network/aws", Format: regtest.TarBzip2},
		"origin":     {Address: "acme/network/aws", Origin: "files.example.com"},
		"properties": {Address: "acme/network/aws", Properties: map[string]any{"x": func() {}}},
		"form":       {Address: "acme/network/aws", URLs: regtest.FileName},
		"directory":  {Address: "acme/network/aws", Subdir: "a\x00b"},
		"NUL":        {Address: "acme/network/aws", Files: map[string]string{"a\x00b": ""}},
		"name":       {Address: "acme/network/aws", Files: map[string]string{strings.Repeat("x", 1<<16): ""}},
	} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "regtest: AddModule: ") {
					t.Errorf("%s: recovered %q", name, text)
				}
			}()
			regtest.New("registry.example.com").AddModule(m)
		}()
	}
}

// TestModuleAnswers: all ways to tell a location, with and without
// use_registry_credentials.
func TestModuleAnswers(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	tests := []struct {
		answer regtest.LocationAnswer
		use    *bool
		status int
		header bool
		body   string // L: the location
	}{
		{regtest.InHeader, nil, 204, true, ""},
		{regtest.InHeader, yes, 200, false, `{"location":"L","use_registry_credentials":true}`},
		{regtest.InHeader, no, 200, false, `{"location":"L","use_registry_credentials":false}`},
		{regtest.InBody, nil, 200, false, `{"location":"L"}`},
		{regtest.InBody, yes, 200, false, `{"location":"L","use_registry_credentials":true}`},
		{regtest.InBoth, nil, 200, true, `{"location":"L"}`},
		{regtest.InBoth, no, 200, true, `{"location":"L","use_registry_credentials":false}`},
		{regtest.BesideJSON, nil, 200, true, `{}`},
		{regtest.BesideJSON, yes, 200, true, `{"use_registry_credentials":true}`},
		{regtest.BesideEmpty, nil, 200, true, ``},
		{regtest.BesideEmpty, yes, 200, true, ``},
		{regtest.Nowhere, nil, 204, false, ``},
		{regtest.Nowhere, yes, 200, false, `{"use_registry_credentials":true}`},
	}
	for _, test := range tests {
		for _, location := range []string{"", "git::https://git.example.com/network.git?ref=v1"} {
			reg, _ := withModule(regtest.Module{Answer: test.answer, UseRegistryCredentials: test.use, Location: location})
			want := location
			if want == "" {
				want = base + packagePath
			}
			a := get(t, reg.Client(), locationURL)
			header, told := a.Header["X-Terraform-Get"]
			body := strings.Replace(test.body, "L", want, 1)
			if a.StatusCode != test.status || string(a.body) != body || told != test.header || told && header[0] != want {
				t.Errorf("%d: %s %q %s, want %d %t %s", test.answer, a.Status, header, a.body, test.status, test.header, body)
			}
		}
	}
}

// TestModulePages follows pages to the package.
func TestModulePages(t *testing.T) {
	t.Parallel()
	for _, tag := range []bool{false, true} {
		reg, rel := withModule(regtest.Module{
			Pages: 2, MetaTag: tag, URLs: regtest.Relative, Subdir: "sub", Query: "a=1&b=2", Origin: "https://files.example.com",
		})
		location := get(t, reg.Client(), locationURL).Header.Get("X-Terraform-Get")
		if want := "https://files.example.com/packages/registry.example.com/acme/network/aws/1.0.0/page-1//sub"; location != want {
			t.Errorf("location %s", location)
		}
		location = strings.TrimSuffix(location, "//sub")
		for range 2 {
			a := get(t, reg.Client(), location+"?terraform-get=1")
			header := a.Header.Get("X-Terraform-Get")
			_, rest, inTag := strings.Cut(string(a.body), `<meta name="terraform-get" content="`)
			if a.StatusCode != 200 || inTag != tag || (header != "") == tag || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Fatalf("GET %s: %s %q %s", location, a.Status, header, a.body)
			}
			location = header
			if tag {
				location, _, _ = strings.Cut(rest, `"`)
				location = strings.ReplaceAll(location, "&amp;", "&")
			}
		}
		if want := "https://files.example.com" + packagePath + "?a=1&b=2"; location != want {
			t.Errorf("the pages lead to %s", location)
		}
		if a := get(t, reg.Client(), location); !bytes.Equal(a.body, packageData(t, rel)) {
			t.Errorf("GET %s: %s", location, a.Status)
		}
		if n := reg.Count(regtest.ModulePage); n != 2 {
			t.Errorf("%d pages were asked for", n)
		}
	}
	reg, _ := withModule(regtest.Module{Pages: -1})
	location := get(t, reg.Client(), locationURL).Header.Get("X-Terraform-Get")
	for range 50 {
		location = get(t, reg.Client(), location).Header.Get("X-Terraform-Get")
	}
	if !strings.HasSuffix(location, "/page-51") {
		t.Errorf("after 50 pages: %s", location)
	}
}

// listed returns the versions of acme/network/aws in a list, and the properties
// that say which part of all it is. A version that is null is "null".
func listed(t *testing.T, reg *regtest.Registry, query string) (versions []string, limit, offset, total any) {
	t.Helper()
	doc := object(t, reg.Client(), moduleListURL+query)
	module := doc["modules"].([]any)[0].(map[string]any)
	for _, e := range module["versions"].([]any) {
		entry, ok := e.(map[string]any)
		if !ok {
			entry = map[string]any{"version": "null"}
		}
		versions = append(versions, entry["version"].(string))
	}
	place := doc
	if reg.ModuleList.TotalInModule {
		place = module
	}
	return versions, place["limit"], place["offset"], place["total"]
}

// TestModuleList: lists come in pages of all kinds.
func TestModuleList(t *testing.T) {
	t.Parallel()
	const all = 250
	tests := []struct {
		how         regtest.ModuleList
		query       string
		first, n    int
		limit, from any
	}{
		{regtest.ModuleList{}, "", 0, 250, nil, nil},
		{regtest.ModuleList{}, "?limit=10&offset=20", 0, 250, nil, nil},
		{regtest.ModuleList{PageSize: 100}, "", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100}, "?offset=100", 100, 100, 100.0, 100.0},
		{regtest.ModuleList{PageSize: 100}, "?offset=200", 200, 50, 100.0, 200.0},
		{regtest.ModuleList{PageSize: 100}, "?offset=250", 250, 0, 100.0, 250.0},
		{regtest.ModuleList{PageSize: 100}, "?offset=9999999999", 250, 0, 100.0, 250.0},
		{regtest.ModuleList{PageSize: 100}, "?limit=1000", 0, 250, 1000.0, 0.0},
		{regtest.ModuleList{PageSize: 100}, "?limit=1001", 0, 250, 1000.0, 0.0},
		{regtest.ModuleList{PageSize: 100, MaxPageSize: 120}, "?limit=1000&offset=50", 50, 120, 120.0, 50.0},
		{regtest.ModuleList{PageSize: 100, MaxPageSize: 10}, "", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100}, "?limit=-1&offset=-1", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100}, "?limit=x&offset=%zz", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100}, "?limit=0", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100, IgnoreQuery: true}, "?limit=1000&offset=100", 0, 100, 100.0, 0.0},
		{regtest.ModuleList{PageSize: 100, TotalInModule: true}, "?offset=100", 100, 100, 100.0, 100.0},
	}
	for _, test := range tests {
		reg := regtest.New("registry.example.com")
		reg.ModuleList = test.how
		for i := range all {
			reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: fmt.Sprintf("1.%d.0", i)})
		}
		versions, limit, offset, total := listed(t, reg, test.query)
		if len(versions) != test.n || test.n > 0 && versions[0] != fmt.Sprintf("1.%d.0", test.first) || limit != test.limit || offset != test.from {
			t.Errorf("%+v %q: %d versions, limit %v, offset %v, total %v", test.how, test.query, len(versions), limit, offset, total)
		}
		if test.limit != nil && total != float64(all) {
			t.Errorf("%+v %q: total %v", test.how, test.query, total)
		}
	}
}

// TestEmptyModule: the registry knows a module that has no versions, until one is added.
func TestEmptyModule(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddEmptyModule("acme/network/aws")
	reg.AddEmptyModule("other.example.com/acme/network/aws")
	for _, u := range []string{moduleListURL, "https://other.example.com/v1/modules/acme/network/aws/versions"} {
		if a := get(t, reg.Client(), u); a.StatusCode != 200 || string(a.body) != `{"modules":[{"versions":[]}]}` {
			t.Errorf("GET %s: %s %s, want 200 and an empty list", u, a.Status, a.body)
		}
	}
	if doc := object(t, reg.Client(), base+"/.well-known/terraform.json"); doc["modules.v1"] == nil {
		t.Errorf("the discovery document is %v, want modules.v1 in it", doc)
	}
	if a := get(t, reg.Client(), base+"/v1/modules/acme/other/aws/versions"); a.StatusCode != 404 {
		t.Errorf("a module that is unknown: %s, want 404", a.Status)
	}
	if a := get(t, reg.Client(), base+"/v1/modules/acme/network/aws/1.0.0/download"); a.StatusCode != 404 {
		t.Errorf("the download of a version: %s, want 404", a.Status)
	}
	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
	reg.AddEmptyModule("acme/network/aws")
	if a := get(t, reg.Client(), moduleListURL); string(a.body) != `{"modules":[{"versions":[{"version":"1.0.0"}]}]}` {
		t.Errorf("GET %s with a version: %s", moduleListURL, a.body)
	}
}

// TestModuleListUnknown: what registries say of modules that they do not have.
func TestModuleListUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		how    regtest.ModuleList
		status int
		body   string
	}{
		{regtest.ModuleList{}, 404, `{"errors":["Not Found"]}`},
		{regtest.ModuleList{UnknownStatus: 500}, 500, `{"errors":["Internal Server Error"]}`},
		{regtest.ModuleList{UnknownStatus: 1}, 404, `{"errors":["Not Found"]}`},
		{regtest.ModuleList{UnknownBody: `{"modules":[{}]}`}, 200, `{"modules":[{}]}`},
		{regtest.ModuleList{UnknownBody: `{"modules":[{"versions":null}]}`}, 200, `{"modules":[{"versions":null}]}`},
		{regtest.ModuleList{UnknownBody: "no such module", UnknownStatus: 404}, 404, "no such module"},
	} {
		reg, _ := withModule(regtest.Module{})
		reg.ModuleList = test.how
		a := get(t, reg.Client(), base+"/v1/modules/acme/other/aws/versions")
		if a.StatusCode != test.status || string(a.body) != test.body {
			t.Errorf("%+v: %s %s", test.how, a.Status, a.body)
		}
		if a := get(t, reg.Client(), moduleListURL); a.StatusCode != 200 {
			t.Errorf("%+v: the known module: %s", test.how, a.Status)
		}
	}
}
