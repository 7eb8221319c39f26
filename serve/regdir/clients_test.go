package regdir_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regcheck"
)

// filled returns a registry in a directory with a provider for this platform, and a module that calls another.
func filled(t *testing.T) (*regdir.Registry, string) {
	t.Helper()
	dir := t.TempDir()
	r := newRegistry(&storage.Dir{Path: dir})
	publish(t, r, dist(t, "1.0.0", 0, addrs.CurrentPlatform().String(), "plan9_arm"))
	_, src := upstream()
	requests := []module.Request{
		{Source: addrs.ModuleSource{Module: network}}, {Source: addrs.ModuleSource{Module: vpc}, Version: addrs.MustParseModuleVersion("3.0.0")},
	}
	must.Get(r.CopyModules(t.Context(), src, requests, module.Options{}))(t)
	_, loc := source(t, "# calls nothing\n")
	publishModule(t, r, v2, loc)
	return r, dir
}

func serve(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// served is what regserve serves of a registry.
func served(r *regdir.Registry) http.Handler {
	return &regserve.Handler{Providers: r, Modules: r, Host: r.Host, StreamModules: true}
}

// findings returns what regcheck finds.
func findings(t *testing.T, srv *httptest.Server, platform string) []regcheck.Finding {
	t.Helper()
	return regcheck.Examine(t.Context(), srv.URL, regcheck.Options{
		Client: srv.Client(), Provider: "acme/alpha", Platform: platform, Module: "acme/network/aws",
	})
}

// TestRegcheck checks that regcheck finds nothing in what a web server with the rules in the documentation serves,
// nor in what regserve serves, and without the rules only the media types and that Terraform needs a header.
func TestRegcheck(t *testing.T) {
	t.Parallel()
	r, dir := filled(t)
	for name, h := range map[string]http.Handler{
		"plain":    http.FileServer(http.Dir(dir)),
		"rules":    withRules(http.FileServer(http.Dir(dir))),
		"regserve": served(r),
	} {
		srv := serve(t, h)
		for _, platform := range []string{addrs.CurrentPlatform().String(), "plan9_arm"} {
			failed := 0
			for _, f := range findings(t, srv, platform) {
				switch {
				case name == "plain" && f.Level == regcheck.Advice && strings.Contains(f.Text, "media type"):
				case name == "plain" && strings.Contains(f.Text, "X-Terraform-Get"):
					failed++
				default:
					t.Errorf("%s: %v", name, f)
				}
			}
			if name == "plain" && failed != 1 {
				t.Errorf("%s: regcheck does not find the missing header", name)
			}
		}
	}
}

// project returns a project that requires alpha and, if called is set, the module network at a host.
func project(t *testing.T, program, host string, srv *httptest.Server, called bool) *terraformtest.Project {
	t.Helper()
	p := terraformtest.New(t, program)
	p.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	p.Require(t, map[string]string{host + "/acme/alpha": "1.0.0"})
	if called {
		p.Write(t, "module.tf", fmt.Sprintf("module \"m\" {\n  source  = \"%s/acme/network/aws\"\n  version = \"2.0.0\"\n}\nmodule \"s\" {\n  source  = \"%s/acme/network/aws//modules/subnet\"\n  version = \"~> 2.0\"\n}\n", host, host))
	}
	return p
}

// wantInstalled checks what init has installed and locked.
func wantInstalled(t *testing.T, p *terraformtest.Project, out string, called bool) {
	t.Helper()
	if !strings.Contains(out, "acme/alpha v1.0.0 (") { // with the key that signed
		t.Errorf("%s does not say that it has installed alpha and who signed it:\n%s", p.Name(), out)
	}
	if lock := p.Read(t, ".terraform.lock.hcl"); !strings.Contains(lock, "zh:") || !strings.Contains(lock, "h1:") {
		t.Errorf("the lock file is\n%s", lock)
	}
	if called && p.Read(t, ".terraform/modules/m/main.tf") != "# calls nothing\n" {
		t.Errorf("%s has installed another module", p.Name())
	}
}

// TestInit installs a provider and a module with the clients from files that a web server serves, with and without
// the rule for modules, and from regserve.
func TestInit(t *testing.T) {
	t.Parallel()
	r, dir := filled(t)
	plain := serve(t, http.FileServer(http.Dir(dir)))
	rule := serve(t, withRules(http.FileServer(http.Dir(dir))))
	regserve := serve(t, served(r))
	terraformtest.Each(t, func(t *testing.T, program string) {
		for name, srv := range map[string]*httptest.Server{"plain": plain, "rule": rule, "regserve": regserve} {
			called := true
			if name == "plain" && !strings.HasPrefix(filepath.Base(program), "tofu") {
				called = false // Terraform before 1.12 needs the header
			}
			p := project(t, program, srv.Listener.Addr().String(), srv, called)
			wantInstalled(t, p, p.Init(t), called)
		}
	})
}

// TestInitOffline installs copied modules and a provider of a host that does not exist, by a "host" block, from files below a
// path.
func TestInitOffline(t *testing.T) {
	t.Parallel()
	_, dir := filled(t)
	srv := serve(t, http.StripPrefix("/below", withRules(http.FileServer(http.Dir(dir)))))
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := project(t, program, host, srv, true)
		p.Configure(t, fmt.Sprintf("host %q {\n  services = {\n    \"providers.v1\" = \"%s/below/v1/providers/\"\n    \"modules.v1\"   = \"%s/below/v1/modules/\"\n  }\n}\n", host, srv.URL, srv.URL))
		wantInstalled(t, p, p.Init(t), true)
	})
}

// nginxRules are the rules in the documentation of the package.
const nginxRules = `
location ~ ^(?:.*/)?v1/modules/([^/]+/[^/]+/[^/]+/[^/]+)/download$ {
    add_header X-Terraform-Get ../../../../../../files/modules/$1/package.tar.gz;
    default_type application/json;
}
location ~ ^(?:.*/)?v1/(?:providers|modules)/ {
    default_type application/json;
}
`

// TestNginx serves the files with nginx, with the rules in the documentation.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("skipped: nginx is not installed")
	}
	if text := string(must.Get(os.ReadFile("doc.go"))(t)); !strings.Contains(strings.ReplaceAll(text, "\n//\t", "\n"), nginxRules) {
		t.Error("the documentation of the package lacks the rules for nginx that are tested here")
	}
	_, dir := filled(t)
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error { return os.Chmod(path, 0o755) }))
	home := t.TempDir()
	socket := filepath.Join(home, "s")
	config := filepath.Join(home, "nginx.conf")
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	write(t, config, user+"\ndaemon off;\nmaster_process off;\npid "+home+"/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+
		"types { application/json json; }\ndefault_type application/octet-stream;\n"+
		"client_body_temp_path "+home+"/a; proxy_temp_path "+home+"/b; fastcgi_temp_path "+home+"/c; uwsgi_temp_path "+home+"/d; scgi_temp_path "+home+"/e;\n"+
		"server {\nlisten unix:"+socket+";\nroot "+dir+";\n"+nginxRules+"}\n}\n")
	var log bytes.Buffer
	cmd := exec.Command(nginx, "-c", config, "-p", home, "-e", "stderr")
	cmd.Stderr, cmd.WaitDelay = &log, time.Second
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	for tries := 0; ; tries++ {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			conn.Close()
			break
		}
		if tries == 200 {
			t.Fatalf("nginx does not listen: %v\n%s", err, &log)
		}
		time.Sleep(20 * time.Millisecond)
	}
	srv := serve(t, proxy(&http.Transport{DialContext: dial}))
	if found := findings(t, srv, addrs.CurrentPlatform().String()); len(found) > 0 {
		t.Errorf("regcheck: %v\n%s", found, &log)
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := project(t, program, srv.Listener.Addr().String(), srv, true)
		wantInstalled(t, p, p.Init(t), true)
	})
}

// proxy passes requests on over http.
func proxy(rt http.RoundTripper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", "nginx"
		resp, err := rt.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})
}
