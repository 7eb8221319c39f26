package regclient_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient/regtest"
)

func TestModuleVersions(t *testing.T) {
	t.Parallel()
	reg := listing("1.2.0", "1.10.0", "2.0.0-beta1", "1.9.0", "v0.1")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Properties: map[string]any{
		"deprecated": map[string]any{"reason": "too old", "link": "https://example.com/old"},
	}})
	versions := must(client(reg).ModuleVersions(t.Context(), network))(t)
	want := "2.0.0-beta1\n1.10.0\n1.9.0\n1.2.0\n1.0.0 (deprecated: too old https://example.com/old)\n0.1.0\n"
	if got := releases(versions); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if versions.Module != network || versions.Warnings != nil {
		t.Errorf("module %s, warnings %q", versions.Module, versions.Warnings)
	}
	if best, err := versions.Newest(addrs.MustParseModuleConstraint("~> 1.0")); err != nil || best.String() != "1.10.0" {
		t.Errorf("newest %s, %v", best, err)
	}
	if r := reg.Requests(); len(r) != 2 || r[1].URL() != modulesURL+"acme/network/aws/versions" || r[1].Header.Get("Accept") != "application/json" {
		t.Errorf("requests %v", r)
	}
}

// TestModuleVersionsDocuments: documents of real and hostile servers.
func TestModuleVersionsDocuments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, doc, want string
		warnings        []string
	}{
		{
			name: "extra members everywhere",
			doc: `{"limit":100,"offset":0,"total":2,"id":"acme","modules":[{"source":null,"name":"network","versions":[` +
				`{"version":"1.0.0","deprecated":null,"readme":"# read me","root":{"providers":[{"name":"aws"}]},"submodules":[null]},` +
				`{"version":"1.1.0","deprecated":false,"source":null}]}]}`,
			want: "1.1.0\n1.0.0\n",
		}, {
			name: "members that have other types than one would think",
			doc: `{"meta":[1],"limit":"x","total":{},"modules":[{"total":-1,"limit":1e400,"versions":[` +
				`{"version":"1.0.0","deprecated":[5],"deprecation":7}]}]}`,
			want: "1.0.0\n",
		}, {
			name: "two numbers, four, a v, leading zeros",
			doc:  `{"modules":[{"versions":[{"version":"0.10"},{"version":"v1.2"},{"version":"1.2.3.4"},{"version":"v1.3.0"},{"version":"02.0"}]}]}`,
			want: "2.0.0\n1.3.0\n1.2.3.4\n1.2.0\n0.10.0\n",
		}, {
			name: "only the first module counts",
			doc:  `{"modules":[{"versions":[{"version":"1.0.0"}]},{"versions":[{"version":"9.0.0"}]},null]}`,
			want: "1.0.0\n",
		},
		{name: "a module without versions", doc: `{"modules":[{"versions":[]}]}`},
		{
			name:     "null elements",
			doc:      `{"modules":[{"versions":[null,{"version":"1.0.0"},null,{},{"version":null}]},null]}`,
			want:     "1.0.0\n",
			warnings: []string{`ignored invalid version ""`},
		}, {
			name: "invalid versions",
			doc: `{"modules":[{"versions":[{"version":"main"},{"version":"1.0.0"},{"version":"99999999999999999999.0.0"},` +
				`{"version":"main"},{"version":"\u001b[31m1.0"}]}]}`,
			want: "1.0.0\n",
			warnings: []string{
				`ignored invalid version "main"`, `ignored invalid version "99999999999999999999.0.0"`,
				`ignored invalid version "\x1b[31m1.0"`,
			},
		}, {
			name:     "duplicates, also after normalisation",
			doc:      `{"modules":[{"versions":[{"version":"1.0","deprecated":"yes"},{"version":"v1.0.0"},{"version":"1.0.0+a"}]}]}`,
			want:     "1.0.0+a\n1.0.0 (deprecated: yes )\n",
			warnings: []string{"version 1.0.0 is listed more than once; the first one is used"},
		}, {
			name: "forms of deprecation",
			doc: `{"modules":[{"versions":[{"version":"1","deprecated":true},{"version":"2","deprecated":"use acme/net"},` +
				`{"version":"3","deprecation":{"reason":"moved","link":"https://example.com"}},{"version":"4","deprecated":{"message":"gone","link":5}},` +
				`{"version":"5","deprecated":""},{"version":"6","deprecated":{}},{"version":"7","deprecated":{"reason":"\u001b[31mred","link":"\u001b[0m"}},{"version":"8","deprecation":null}]}]}`,
			want: "8.0.0\n7.0.0 (deprecated: \\x1b[31mred \\x1b[0m)\n6.0.0 (deprecated:  )\n5.0.0\n4.0.0 (deprecated: gone )\n" +
				"3.0.0 (deprecated: moved https://example.com)\n2.0.0 (deprecated: use acme/net )\n1.0.0 (deprecated:  )\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reg := listing("1.0.0")
			reg.AddFault(raw(regtest.ModuleVersions, test.doc))
			versions := must(client(reg).ModuleVersions(t.Context(), network))(t)
			if got := releases(versions); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			if got, want := strings.Join(versions.Warnings, "\n"), strings.Join(test.warnings, "\n"); got != want {
				t.Errorf("warnings\n%s\nwant\n%s", got, want)
			}
			if n := reg.Count(regtest.ModuleVersions); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// TestUnknownModule: forms of "not found".
func TestUnknownModule(t *testing.T) {
	t.Parallel()
	unknown := addrs.MustParseModule(host + "/acme/unknown/aws")
	tests := []regtest.ModuleList{
		{}, {UnknownStatus: http.StatusGone},
		{UnknownBody: `{"modules":[]}`}, {UnknownBody: `{"modules":null}`}, {UnknownBody: `{"modules":[null]}`},
		{UnknownBody: `{"modules":[{}]}`}, {UnknownBody: `{"modules":[{"versions":null}]}`},
		{UnknownBody: `{"modules":[{"source":"acme/unknown/aws","versions":null}],"limit":100,"total":0}`},
		{UnknownStatus: http.StatusNotFound, UnknownBody: `<html>not found</html>`},
	}
	for _, how := range tests {
		reg := listing("1.0.0")
		reg.ModuleList = how
		c := client(reg)
		_, err := c.ModuleVersions(t.Context(), unknown)
		if asError(t, err); !errors.Is(err, module.ErrNotFound) || errors.Is(err, module.ErrNoVersion) {
			t.Errorf("%+v: ModuleVersions returned %v, want ErrNotFound", how, err)
		}
		_, err = c.ModuleLocation(t.Context(), unknown, v100)
		if e := asError(t, err); !errors.Is(err, module.ErrNotFound) || errors.Is(err, module.ErrNoVersion) || e.Status != http.StatusNotFound {
			t.Errorf("location, %+v: %v", how, err)
		}
	}
	_, err := client(listing("1.0.0")).ModuleVersions(t.Context(), unknown)
	want := "list versions of " + host + "/acme/unknown/aws: " + modulesURL + "acme/unknown/aws/versions: HTTP status 404: not found"
	if !strings.HasPrefix(asError(t, err).Error(), want) {
		t.Errorf("text\n got %s\nwant %s…", err, want)
	}
}

func TestBrokenModuleVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ doc, want string }{
		"nothing":       {"", "unexpected end"},
		"null":          {"null", "null"},
		"array":         {"[]", ""},
		"no modules":    {`{"errors":["Not Found"]}`, "modules is missing"},
		"login page":    {"<!doctype html><title>Log in</title>", "application/json"},
		"cut":           {`{"modules":[{"versions":[{"version":"1.0.0"`, "unexpected end"},
		"second value":  {`{"modules":[]} {}`, "after top-level value"},
		"bad UTF-8":     {"{\"modules\":[{\"versions\":[{\"version\":\"\xff\"}]}]}", "UTF-8"},
		"number":        {`{"modules":[{"versions":[{"version":1}]}]}`, "number where string is wanted"},
		"map of lists":  {`{"modules":{"versions":[]}}`, "object where"},
		"text, no list": {`{"modules":[{"versions":"1.0.0"}]}`, "string where"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := listing("1.0.0")
			f := raw(regtest.ModuleVersions, test.doc)
			reg.AddFault(f)
			_, err := client(reg).ModuleVersions(t.Context(), network)
			if e := asError(t, err); e.Status != 200 || errors.Is(err, module.ErrNotFound) {
				t.Errorf("error %+v, want status 200", e)
			}
			if test.want != "application/json" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}

func TestModuleVersionsLimits(t *testing.T) {
	t.Parallel()
	tests := map[string]func(n int) string{
		"versions": func(n int) string {
			return `{"modules":[{"versions":[` + strings.Repeat(`{"version":"1.0.0"},`, n-1) + `{"version":"1.0.0"}]}]}`
		},
		"members": func(n int) string {
			return `{"modules":[{"versions":[{"version":"1.0.0"}]}],"x":[` + numbers(n-1) + `]}`
		},
		"bytes": func(n int) string {
			doc := `{"modules":[{"versions":[{"version":"1.0.0"}]}]}`
			return doc + strings.Repeat(" ", n-len(doc))
		},
	}
	for name, limit := range map[string]int{"versions": 100_000, "members": 500_000, "bytes": 16 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
				c := answering(t, func() []byte { return []byte(tests[name](n)) })
				if _, err := c.ModuleVersions(t.Context(), network); !errors.Is(err, want) {
					t.Errorf("%d: %v, want %v", n, err, want)
				}
			}
		})
	}
}

// TestModuleServiceURLs: forms of the URL of the service.
func TestModuleServiceURLs(t *testing.T) {
	t.Parallel()
	for service, want := range map[string]string{
		"/v1/modules/":                        modulesURL,
		"/v1/modules":                         modulesURL, // works in both CLIs
		"modules/":                            "https://" + host + "/.well-known/modules/",
		"https://api.example.com/m?key=value": "https://api.example.com/m/",
		"https://api.example.com:8443/a%2Fb/": "https://api.example.com:8443/a%2Fb/",
		"https://api.example.com":             "https://api.example.com/",
	} {
		reg := listing("1.0.0")
		reg.Services = map[string]any{
			"modules.v1": service, "login.v1": map[string]any{"client": "x"}, "oci.v1": []any{1},
		}
		c := client(reg)
		if _, err := c.ModuleVersions(t.Context(), network); err != nil {
			t.Errorf("%s: ModuleVersions returned %v, want no error", service, err)
			continue
		}
		if _, err := c.ModuleLocation(t.Context(), network, v100); err != nil {
			t.Errorf("%s: ModuleLocation returned %v, want no error", service, err)
		}
		r := reg.Requests()
		if got := r[1].URL(); got != want+"acme/network/aws/versions" {
			t.Errorf("%s: requested %s, want the versions at %s", service, got, want)
		}
		if got := r[2].URL(); got != want+"acme/network/aws/1.0.0/download" {
			t.Errorf("%s: requested %s, want the location at %s", service, got, want)
		}
	}
}
