package regtest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

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

// TestModuleListNulls: the versions between nulls are all there.
func TestModuleListNulls(t *testing.T) {
	t.Parallel()
	reg, _ := withModule(regtest.Module{})
	reg.ModuleList.Nulls = true
	if versions, _, _, _ := listed(t, reg, ""); !slices.Equal(versions, []string{"null", "1.0.0", "null"}) {
		t.Errorf("versions: %v", versions)
	}
}

// TestModuleListFails: the list breaks off at the second page.
func TestModuleListFails(t *testing.T) {
	t.Parallel()
	reg, _ := withModule(regtest.Module{})
	reg.ModuleList.PageSize = 1
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleVersions, Skip: 1, Status: 500})
	for _, want := range []int{200, 500} {
		if a := get(t, reg.Client(), moduleListURL); a.StatusCode != want {
			t.Errorf("%s, want %d", a.Status, want)
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
