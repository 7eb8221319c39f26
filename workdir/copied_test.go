package workdir_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/workdir"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// TestCopiedModules: a tree whose registry modules were copied by its lock file is prepared from the copy, with the
// modules that these call and without the registry of before. The copy may be a store of this process, or served.
func TestCopiedModules(t *testing.T) {
	t.Parallel()
	const host = "registry.example.com"
	upstream := regtest.New(host)
	for _, m := range []regtest.Module{
		{Address: "acme/network/aws", Version: "1.0.0", Files: map[string]string{
			"main.tf":        "module \"vpc\" {\n  source  = \"" + host + "/acme/vpc/aws//modules/subnet\"\n  version = \"~> 2.0\"\n}\nmodule \"local\" {\n  source = \"./local\"\n}\n",
			"local/local.tf": "# local\n",
		}},
		{Address: "acme/network/aws", Version: "2.0.0"},
		{Address: "acme/vpc/aws", Version: "2.1.0", Files: map[string]string{"main.tf": "# vpc\n", "modules/subnet/main.tf": "# subnet\n"}},
		{Address: "acme/vpc/aws", Version: "3.0.0", Files: map[string]string{"main.tf": "# vpc 3\n"}},
	} {
		upstream.AddModule(m)
	}
	tree := func(lock []byte) string {
		dir := t.TempDir()
		text := "module \"network\" {\n  source  = \"" + host + "/acme/network/aws\"\n  version = \"1.0.0\"\n}\n" +
			"module \"vpc\" {\n  source  = \"" + host + "/acme/vpc/aws\"\n  version = \">= 2.0.0\"\n}\n"
		must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644))
		if lock != nil {
			must.Do(t, os.WriteFile(filepath.Join(dir, lockfile.Name), lock, 0o644))
		}
		return dir
	}
	client := func(c *http.Client) *regclient.Client {
		return &regclient.Client{Transport: &transport.Settings{HTTP: c, Retries: -1}}
	}
	before := &workdir.Dir{Path: tree(nil), Registry: client(upstream.Client()), LockModules: true}
	want := must.Get(before.Prepare(t.Context()))(t)
	lock := must.Get(os.ReadFile(filepath.Join(before.Path, lockfile.Name)))(t)

	registry := &regdir.Registry{Store: &storage.Memory{}, Host: svchost.MustParse(host)}
	requests, others := regdir.LockedModules(must.Get(lockfile.Load(filepath.Join(before.Path, lockfile.Name)))(t), registry.Host, svchost.Hostname{})
	if len(requests) != 3 || len(others) != 0 {
		t.Fatalf("LockedModules = %+v, %+v, want 3 requests", requests, others)
	}
	must.Get(registry.CopyModules(t.Context(), client(upstream.Client()), requests, module.Options{}))(t)
	upstream.Reset()

	server := httptest.NewTLSServer(&regserve.Handler{Modules: registry, Host: registry.Host, StreamModules: true})
	t.Cleanup(server.Close)
	for name, src := range map[string]module.Source{"store": registry, "served": client(&http.Client{Transport: to{server}})} {
		dir := &workdir.Dir{Path: tree(lock), Registry: src, LockModules: true, ReadOnly: true}
		got := must.Get(dir.Prepare(t.Context()))(t)
		if len(got.Modules) != len(want.Modules) {
			t.Fatalf("%s: Prepare = %+v, want %+v", name, got.Modules, want.Modules)
		}
		for i, m := range got.Modules {
			if w := want.Modules[i]; m.Key != w.Key || m.Version != w.Version {
				t.Errorf("%s: module %q has version %s, want %q with %s", name, m.Key, m.Version, w.Key, w.Version)
			}
		}
		const manifest = ".terraform/modules/modules.json"
		for _, file := range []string{manifest, ".terraform/modules/network/local/local.tf", ".terraform/modules/network.vpc/modules/subnet/main.tf", ".terraform/modules/vpc/main.tf"} {
			text, err := os.ReadFile(filepath.Join(dir.Path, filepath.FromSlash(file)))
			if first := must.Get(os.ReadFile(filepath.Join(before.Path, filepath.FromSlash(file))))(t); err != nil || string(text) != string(first) {
				t.Errorf("%s: %s is %q, %v, want %q", name, file, text, err, first)
			}
		}
		must.Do(t, dir.VerifyModules(t.Context()))
	}
	if n := len(upstream.Requests()); n > 0 {
		t.Errorf("the registry of before got %d requests, want none", n)
	}
	// Without a lock file, the copy decides what is newest.
	dir := &workdir.Dir{Path: tree(nil), Registry: registry}
	for _, m := range must.Get(dir.Prepare(t.Context()))(t).Modules {
		if m.Key == "vpc" && m.Version.String() != "3.0.0" {
			t.Errorf("without a lock file vpc has version %s, want 3.0.0", m.Version)
		}
	}
}

// to sends all requests to a server.
type to struct{ server *httptest.Server }

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = t.server.Listener.Addr().String()
	r.Host = "registry.example.com"
	return t.server.Client().Transport.RoundTrip(r)
}
