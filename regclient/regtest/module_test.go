package regtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/regclient/regtest"
)

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
