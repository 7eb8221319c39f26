package regtest_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

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

// TestModuleForms: every form of location leads to the package.
func TestModuleForms(t *testing.T) {
	t.Parallel()
	sum := func(rel *regtest.ModuleRelease) string { return "checksum=" + rel.Checksum() }
	tests := map[string]struct {
		module regtest.Module
		want   func(rel *regtest.ModuleRelease) string
	}{
		"absolute":      {regtest.Module{}, func(*regtest.ModuleRelease) string { return base + packagePath }},
		"root-relative": {regtest.Module{URLs: regtest.RootRelative}, func(*regtest.ModuleRelease) string { return packagePath }},
		"root-relative with a query": {
			regtest.Module{URLs: regtest.RootRelative, Query: "token=a%2Fb"},
			func(*regtest.ModuleRelease) string { return packagePath + "?token=a%2Fb" },
		},
		"relative": {regtest.Module{URLs: regtest.Relative}, func(*regtest.ModuleRelease) string { return "../../../../../.." + packagePath }},
		"opaque": {
			regtest.Module{URLs: regtest.Opaque},
			func(*regtest.ModuleRelease) string { return fmt.Sprintf("/get?id=%x&archive=tar.gz", packagePath) },
		},
		"opaque at an origin, presigned": {
			regtest.Module{URLs: regtest.Opaque, Origin: "http://files.example.com", Query: "archive=tgz&signature=5eed"},
			func(*regtest.ModuleRelease) string {
				return fmt.Sprintf("http://files.example.com/get?id=%x&archive=tgz&signature=5eed", packagePath)
			},
		},
		"with everything": {
			regtest.Module{URLs: regtest.Opaque, Subdir: "modules/subnet", Checksum: true},
			func(rel *regtest.ModuleRelease) string {
				return fmt.Sprintf("/get//modules/subnet?id=%x&archive=tar.gz&%s", packagePath, sum(rel))
			},
		},
		"sub-directory and checksum": {
			regtest.Module{Subdir: "*/subnet", Checksum: true},
			func(rel *regtest.ModuleRelease) string { return base + packagePath + "//*/subnet?" + sum(rel) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, rel := withModule(test.module)
			a := get(t, reg.Client(), locationURL)
			location := a.Header.Get("X-Terraform-Get")
			if want := test.want(rel); location != want {
				t.Errorf("location %s, want %s", location, want)
			}
			location = strings.Replace(location, "//"+test.module.Subdir, "", 1)
			u, err := a.Request.URL.Parse(location)
			if test.module.Subdir == "" {
				u, err = a.Request.URL.Parse(a.Header.Get("X-Terraform-Get"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if a := get(t, reg.Client(), u.String()); !bytes.Equal(a.body, packageData(t, rel)) {
				t.Errorf("GET %s: %s", u, a.Status)
			}
		})
	}
}

// TestModuleRedirected: a relative location is told of the path that was asked
// for first; the package is at every host.
func TestModuleRedirected(t *testing.T) {
	t.Parallel()
	reg, rel := withModule(regtest.Module{URLs: regtest.Relative})
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Redirect: "https://moved.example.com"})
	a := get(t, reg.Client(), locationURL)
	asked, err := url.Parse(locationURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []*url.URL{asked, a.Request.URL} {
		u, err := from.Parse(a.Header.Get("X-Terraform-Get"))
		if err != nil {
			t.Fatal(err)
		}
		if a := get(t, reg.Client(), u.String()); !bytes.Equal(a.body, packageData(t, rel)) {
			t.Errorf("GET %s: %s", u, a.Status)
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
