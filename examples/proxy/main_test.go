package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestCanBeCopied: the program fits on a few pages.
func TestCanBeCopied(t *testing.T) {
	t.Parallel()
	if n := strings.Count(string(must.Get(os.ReadFile("main.go"))(t)), "\n"); n > 200 {
		t.Errorf("main.go has %d lines, want at most 200", n)
	}
}

// TestArguments: without arguments the program prints its flags. What it cannot use is an error before it listens.
func TestArguments(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), nil, &out); err != nil || !strings.Contains(out.String(), "-tokens") {
		t.Errorf("without arguments: %v, %q; want the flags", err, &out)
	}
	file := filepath.Join(t.TempDir(), "x")
	must.Do(t, os.WriteFile(file, []byte("short"), 0o600))
	for text, args := range map[string][]string{
		"no such file": {"-tokens", file + "y"},
		"at least 32":  {"-tokens", file, "-secret", file},
		"nope":         {"-nope"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("run(%q) = %v, want an error with %q", args, err, text)
		}
	}
}

// balancer forwards TCP connections to processes in turn, and leaves out those that refuse.
type balancer struct {
	net.Listener
	mu      sync.Mutex
	targets []string
	next    int
}

func (b *balancer) run() {
	for {
		in, err := b.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			b.mu.Lock()
			targets := append(append([]string(nil), b.targets[b.next%len(b.targets):]...), b.targets[:b.next%len(b.targets)]...)
			b.next++
			b.mu.Unlock()
			for _, target := range targets {
				if out, err := net.Dial("tcp", target); err == nil {
					defer out.Close()
					go func() { _, _ = io.Copy(out, in); out.Close() }()
					_, _ = io.Copy(in, out)
					return
				}
			}
		}()
	}
}

// internet forwards each connection, for whatever host, to a test registry, as the proxy server of a company does. It
// notes the hosts.
func internet(t *testing.T, registry string, asked *sync.Map) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Host, true)
		out, err := net.Dial("tcp", registry)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		in, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in); out.Close() }()
		go func() { _, _ = io.Copy(in, out); in.Close() }()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// process is a running proxy.
type process struct {
	*exec.Cmd
	address string
	ended   chan error
}

// start starts a process of the program and waits until it listens.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: programtest.Command(t, args...), ended: make(chan error, 1)}
	p.Env = append(p.Env, env...)
	p.Stderr = os.Stderr
	lines := bufio.NewScanner(must.Get(p.StdoutPipe())(t))
	must.Do(t, p.Start())
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "listening address="); ok {
			p.address = address
			break
		}
	}
	go func() {
		for lines.Scan() { // the log
		}
		p.ended <- p.Wait()
	}()
	t.Cleanup(func() { _ = p.Process.Kill() })
	if p.address == "" {
		t.Fatalf("the process %q does not listen: %v", args, <-p.ended)
	}
	return p
}

// company is two processes over one directory, and what is around them.
type company struct {
	a, b     *process
	host     string // of the load balancer
	upstream *regtest.Registry
	asked    sync.Map // hosts and ports
	client   *http.Client
	ca       []byte
}

const token = "a-long-random-token"

func newCompany(t *testing.T) *company {
	t.Helper()
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		t.Skip("skipped: SSL_CERT_FILE has no effect on " + runtime.GOOS)
	}
	c := &company{upstream: regtest.New("registry.opentofu.org")}
	for version, age := range map[string]time.Duration{"1.0.0": 14 * 24 * time.Hour, "1.1.0": time.Hour} {
		seen := time.Now().Add(-age).Format(time.RFC3339)
		ofProvider := seen
		if version == "1.0.0" {
			ofProvider = "" // as in the lists of registry.opentofu.org
		}
		for _, name := range []string{"alpha", "beta", "gamma", "delta"} {
			c.upstream.AddProvider(regtest.Provider{Address: "other/" + name, Version: version, Platforms: []string{addrs.CurrentPlatform().String()}, Discovered: ofProvider, Size: 1 << 20})
		}
		c.upstream.AddModule(regtest.Module{Address: "other/network/aws", Version: version, Discovered: seen})
	}
	registry := must.Get(c.upstream.ServeTLS())(t)
	t.Cleanup(registry.Close)

	sample := httptest.NewTLSServer(nil) // for its certificate
	defer sample.Close()
	pair := sample.TLS.Certificates[0]
	c.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	c.client = sample.Client()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	der := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	args := []string{
		"-listen", "127.0.0.1:0", "-dir", filepath.Join(dir, "storage"), "-drain", "200ms", "-old", time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		"-cert", write("cert.pem", c.ca), "-key", write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"-tokens", write("tokens", []byte("another\n"+token+"\n")), "-secret", write("secret", []byte(strings.Repeat("s", 32))),
	}
	env := []string{"HTTPS_PROXY=" + internet(t, strings.TrimPrefix(registry.URL, "https://"), &c.asked), "SSL_CERT_FILE=" + write("upstream.pem", registry.CertPEM)}
	c.a, c.b = start(t, env, args...), start(t, env, args...)
	lb := &balancer{Listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), targets: []string{c.a.address, c.b.address}}
	t.Cleanup(func() { lb.Close() })
	go lb.run()
	c.host = lb.Addr().String()
	return c
}

// get returns the answer of a process or of the load balancer.
func (c *company) get(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(t, err)
	return resp.StatusCode, string(data)
}

// init runs init of a CLI with a configuration.
func (c *company) init(t *testing.T, program, config string, terraform string) string {
	t.Helper()
	project := terraformtest.New(t, program)
	project.Trust(t, c.ca)
	project.Configure(t, fmt.Sprintf("credentials %q {\n  token = %q\n}\n%s", c.host, token, config))
	project.Write(t, "main.tf", terraform)
	return project.Init(t)
}

// TestTwoProcesses: both CLIs install through two processes over one directory, by the registry and by the mirror,
// and choose the version that is old enough. They still do when one process was killed, and when the registry is gone.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	both := func(t *testing.T, program, modules string) {
		t.Helper()
		out := c.init(t, program, "", fmt.Sprintf(`
terraform {
  required_providers {
    alpha = { source = "%[1]s/other/alpha" }
    beta  = { source = "%[1]s/other/beta" }
  }
}
`+modules, c.host))
		for _, want := range []string{"/other/alpha v1.0.0 (", "/other/beta v1.0.0 ("} {
			if !strings.Contains(out, want) {
				t.Errorf("init by the registry did not install %q, signed:\n%s", want, out)
			}
		}
		mirror := fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = \"https://%s/providers/\"\n  }\n}\n", c.host)
		out = c.init(t, program, mirror, "terraform {\n  required_providers {\n    gamma = { source = \"registry.opentofu.org/other/gamma\" }\n  }\n}\n")
		if !strings.Contains(out, "other/gamma v1.0.0") {
			t.Errorf("init by the mirror did not install gamma 1.0.0:\n%s", out)
		}
	}
	if status, body := c.get(t, c.host, "/v1/providers/other/alpha/versions"); status != http.StatusOK || !strings.Contains(body, "1.0.0") || strings.Contains(body, "1.1.0") {
		t.Errorf("versions: status %d, %s; want 1.0.0 only", status, body)
	}
	resp := must.Get(c.client.Get("https://" + c.host + "/v1/providers/other/alpha/versions"))(t)
	if resp.Body.Close(); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: status %d, want 401", resp.StatusCode)
	}
	const network = `module "network" { source = "%[1]s/other/network/aws" }`
	for _, name := range []string{"terraform", "tofu"} { // in turn, because a process is killed between
		t.Run(name, func(t *testing.T) { both(t, cli(t, name), network) })
	}
	must.Do(t, c.a.Process.Kill())
	<-c.a.ended
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name+" with one process", func(t *testing.T) { both(t, cli(t, name), network) })
	}
	c.upstream.AddFault(regtest.Fault{Status: http.StatusInternalServerError})
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name+" without the registry", func(t *testing.T) { both(t, cli(t, name), "") }) // modules are not stored
	}
	if status, body := c.get(t, c.b.address, "/metrics"); status != http.StatusOK || !strings.Contains(body, `proxy_answers_total{kind="archive",status="200",cache=`) || !strings.Contains(body, "proxy_cache_hits_total ") {
		t.Errorf("metrics: status %d\n%s", status, body)
	}
}

// cli returns the path of a client, or skips the test.
func cli(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: %s is not installed", name)
	}
	return path
}

// TestGitHosts: the registry names the repositories, and only those of github.com are asked.
func TestGitHosts(t *testing.T) {
	t.Parallel()
	cli(t, "git")
	c := newCompany(t)
	for host, want := range map[string]bool{"github.com": true, "git.example.com": false} {
		name, _, _ := strings.Cut(host, ".")
		c.upstream.AddModule(regtest.Module{Address: "acme/" + name + "/aws", Version: "1.0.0", Location: "git::https://" + host + "/acme/x.git"})
		status, body := c.get(t, c.a.address, "/v1/modules/acme/"+name+"/aws/1.0.0/package")
		if _, asked := c.asked.Load(host + ":443"); asked != want || status != http.StatusBadGateway { // there is no such repository
			t.Errorf("a repository of %s: status %d, %s, asked %t; want 502, asked %t", host, status, body, asked, want)
		}
	}
}

// TestKilledInTheMiddle: programs that install while a process is killed get what was published, from the other one.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.upstream.AddFault(regtest.Fault{Kind: regtest.Archive, Rate: 4 << 20}) // each takes a quarter of a second
	var asked atomic.Int32
	var all sync.WaitGroup
	for i := range 12 {
		name := []string{"alpha", "beta", "gamma", "delta"}[i%4]
		all.Go(func() {
			host := svchost.MustParse(c.host)
			tokens := auth.Static(map[svchost.Hostname]auth.Token{host: must.Get(auth.NewToken(token))(t)})
			client := &regclient.Client{Transport: &transport.Settings{HTTP: c.client, Credentials: tokens}}
			p := must.Get(addrs.NewProvider(host, "other", name))(t)
			pkg, err := provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{addrs.CurrentPlatform()}})
			if asked.Add(1) == 6 { // when half of them download
				must.Do(t, c.a.Process.Kill())
			}
			var report *verify.Report
			if err == nil {
				report, err = provider.Download(t.Context(), client, pkg, filepath.Join(t.TempDir(), "a.zip"), provider.DownloadOptions{})
			}
			if err != nil || report.Trust != verify.Signed || pkg.Version.String() != "1.0.0" {
				t.Errorf("%s: %v, %v; want 1.0.0, signed", name, report, err)
			}
		})
	}
	all.Wait()
	if err := <-c.a.ended; err == nil {
		t.Error("the first process ended by itself, want killed")
	}
}

// TestGracefulEnd: a process that is told to end is not ready, and finishes the running download.
func TestGracefulEnd(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := c.get(t, c.a.address, path); status != http.StatusOK {
			t.Errorf("GET %s: status %d, %s; want 200", path, status, body)
		}
	}
	c.upstream.AddFault(regtest.Fault{Kind: regtest.Archive, Rate: 1 << 20}) // a second
	path := "/v1/providers/other/alpha/1.0.0/download/" + addrs.CurrentPlatform().OS() + "/" + addrs.CurrentPlatform().Arch() + "/archive.zip"
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+c.a.address+path, nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	resp := must.Get(c.client.Do(r))(t) // the download has begun
	defer resp.Body.Close()
	must.Do(t, c.a.Process.Signal(syscall.SIGTERM))
	unready := false
	for range 100 {
		status, _ := c.get(t, c.a.address, "/readyz")
		if unready = unready || status == http.StatusServiceUnavailable; status == 0 {
			break // it does not listen any more
		}
	}
	if !unready {
		t.Error("the process was ready until it ended")
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != resp.ContentLength {
		t.Errorf("the running download has %d of %d bytes: %v", n, resp.ContentLength, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case err := <-c.a.ended:
		if err != nil {
			t.Errorf("the process ended with %v, want code 0", err)
		}
	case <-ctx.Done():
		t.Error("the process has not ended within a minute")
	}
	// The other process has the archive.
	before := c.upstream.Count(regtest.Archive)
	if status, _ := c.get(t, c.b.address, path); status != http.StatusOK || c.upstream.Count(regtest.Archive) != before {
		t.Errorf("the archive at the other process: status %d, %d requests upstream; want 200 and none", status, c.upstream.Count(regtest.Archive)-before)
	}
}
