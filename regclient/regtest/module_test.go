package regtest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
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

func TestModuleUnknown(t *testing.T) {
	t.Parallel()
	reg, _ := withModule(regtest.Module{Pages: 1})
	// The names of these packages look like those of pages.
	page := reg.AddModule(regtest.Module{Address: "acme/page/aws", Version: "1"})
	for _, path := range []string{
		"/v1/modules/", "/v1/modules/acme/network/versions", "/v1/modules/acme/network/gcp/versions", "/v1/modules/ACME/network/aws/versions",
		"/v1/modules/acme/network/%2e%2e/versions", "/v1/modules/acme/network/aws/2.0.0/download", "/v1/modules/acme/network/aws/v1.0.0/download",
		"/v1/providers/acme/network/aws/versions", "/packages/x", "/packages/registry.example.com/acme/network/aws/1.0.0/network-1.0.0.zip",
		"/packages/registry.example.com/acme/network/aws/1.0.0/page-0", "/packages/registry.example.com/acme/network/aws/1.0.0/page-2",
		"/packages/registry.example.com/acme/network/aws/1.0.0/page-x", "/packages/registry.example.com/acme/network/aws/2.0.0/page-1",
		"/packages/-/acme/network/aws/1.0.0/network-1.0.0.tar.gz",
	} {
		a := get(t, reg.Client(), base+path)
		if a.StatusCode != http.StatusNotFound || string(a.body) != `{"errors":["Not Found"]}` {
			t.Errorf("GET %s: %s: %s", path, a.Status, a.body)
		}
	}
	if a := get(t, reg.Client(), base+page.Path()); a.StatusCode != 200 {
		t.Errorf("GET %s: %s", page.Path(), a.Status)
	}
}

// TestModuleHosts: modules belong to hosts, as providers do.
func TestModuleHosts(t *testing.T) {
	t.Parallel()
	reg, _ := withModule(regtest.Module{})
	reg.AddModule(regtest.Module{Address: "other.example.com/acme/subnet/aws"})
	for url, want := range map[string]int{
		"https://other.example.com/.well-known/terraform.json":              200,
		"https://other.example.com/v1/modules/acme/subnet/aws/versions":     200,
		"https://other.example.com/v1/modules/acme/network/aws/versions":    404,
		base + "/v1/modules/acme/subnet/aws/versions":                       404,
		"https://stranger.example.com/v1/modules/acme/network/aws/versions": 200,
	} {
		if a := get(t, reg.Client(), url); a.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", url, a.Status, want)
		}
	}
}

// TestModuleServices: the module API is where the discovery document says, even
// if that is where the provider API is.
func TestModuleServices(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"/tofu/modules":             base + "/tofu/modules/",
		"modules/":                  base + "/.well-known/modules/",
		"https://api.example.com/m": "https://api.example.com/m/",
		"/v1/providers/":            base + "/v1/providers/",
	} {
		reg, _ := withModule(regtest.Module{})
		reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
		reg.Services = map[string]any{"modules.v1": ref}
		for _, path := range []string{"acme/network/aws/versions", "acme/network/aws/1.0.0/download"} {
			if a := get(t, reg.Client(), want+path); a.StatusCode >= 300 {
				t.Errorf("modules.v1 %q: GET %s: %s", ref, want+path, a.Status)
			}
		}
		for _, url := range []string{listURL, metadataURL("1.0.0", "linux_amd64")} {
			if a := get(t, reg.Client(), url); a.StatusCode != 200 {
				t.Errorf("modules.v1 %q: GET %s: %s", ref, url, a.Status)
			}
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

// TestModuleTwice: what is added twice is listed twice.
func TestModuleTwice(t *testing.T) {
	t.Parallel()
	reg, one := withModule(regtest.Module{})
	two := reg.AddModule(regtest.Module{Address: "acme/network/aws", Files: map[string]string{"other.tf": ""}})
	if list := get(t, reg.Client(), moduleListURL); string(list.body) != `{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.0.0"}]}]}` {
		t.Errorf("versions: %s", list.body)
	}
	if got := get(t, reg.Client(), locationURL).Header.Get("X-Terraform-Get"); got != base+one.Path() {
		t.Errorf("location %s", got)
	}
	if a := get(t, reg.Client(), base+two.Path()); !bytes.Equal(a.body, packageData(t, two)) || one.Path() == two.Path() {
		t.Errorf("GET %s: %s", two.Path(), a.Status)
	}
}

// TestModuleListed: a version is listed and asked for in any spelling.
func TestModuleListed(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"0.10", "v1.2", "1.2.3.4", "2.0.0-beta.1+linux", "latest", "../..", "1.0.0/x", "ö", strings.Repeat("9", 70000)} {
		reg, rel := withModule(regtest.Module{Version: v})
		a := get(t, reg.Client(), moduleBase+"/"+url.PathEscape(v)+"/download")
		if got := a.Header.Get("X-Terraform-Get"); got != base+rel.Path() {
			t.Errorf("version %q: %s, location %s", v, a.Status, got)
		}
		if a := get(t, reg.Client(), base+rel.Path()); a.StatusCode != 200 {
			t.Errorf("version %q: GET %s: %s", v, rel.Path(), a.Status)
		}
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
