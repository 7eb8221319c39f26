package httpx_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// childURL is the environment variable with the URL that a child process requests twice with a zero
// Client. The test needs a process because net/http reads the proxy variables once.
const (
	childURL       = "HTTPX_TEST_CHILD_URL"
	childTransport = "HTTPX_TEST_CHILD_TRANSPORT" // not empty: with an empty http.Client
	childPackages  = "HTTPX_TEST_CHILD_PACKAGES"  // not empty: packages, and not documents
)

func TestMain(m *testing.M) {
	address := os.Getenv(childURL)
	if address == "" {
		os.Exit(m.Run())
	}
	for range 2 {
		c := &httpx.Client{Retries: -1}
		if os.Getenv(childTransport) != "" {
			c.HTTP = &http.Client{} // has the transport that net/http gives it
		}
		ask := getInChild
		if os.Getenv(childPackages) != "" {
			ask = openInChild
		}
		data, err := ask(c, withToken(address))
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Printf("%s\n", data)
	}
}

func getInChild(c *httpx.Client, r httpx.Request) ([]byte, error) {
	resp, err := c.Document(context.Background(), r)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func openInChild(c *httpx.Client, r httpx.Request) ([]byte, error) {
	body, err := c.Open(context.Background(), r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// child runs a child process that requests address from srv, with these variables.
func (srv *tlsServer) child(t *testing.T, address string, environ ...string) (out string, err error) {
	t.Helper()
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(caFile, srv.ca, 0o600))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(environ, "PATH="+os.Getenv("PATH"), childURL+"="+address, "SSL_CERT_FILE="+caFile, "GOCOVERDIR="+t.TempDir())
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// authority issues a certificate for loopback names.
func authority(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"registry.test"}, IPAddresses: []net.IP{net.IPv4zero, net.IPv4(127, 0, 0, 1)},
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// tlsServer is a TLS server on a loopback port.
type tlsServer struct {
	*httptest.Server
	roots *x509.CertPool
	ca    []byte // PEM
	conns atomic.Int32
}

func serveTLS(t *testing.T, h http.HandlerFunc, config *tls.Config) *tlsServer {
	cert, ca := authority(t)
	srv := &tlsServer{Server: httptest.NewUnstartedServer(h), roots: x509.NewCertPool(), ca: ca}
	config.Certificates = []tls.Certificate{cert}
	srv.TLS = config
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			srv.conns.Add(1)
		}
	}
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	srv.roots.AppendCertsFromPEM(ca)
	return srv
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	srv := serveTLS(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) }, &tls.Config{})
	withRoots := func(c *tls.Config) *httpx.Client {
		return &httpx.Client{HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: c}}}
	}

	if _, err := withRoots(&tls.Config{RootCAs: srv.roots}).Document(t.Context(), get(srv.URL)); err != nil {
		t.Errorf("with the authority: %v", err)
	}

	_, err := withRoots(&tls.Config{RootCAs: x509.NewCertPool()}).Document(t.Context(), get(srv.URL+"/x?sig=sig-value"))
	e := asError(t, err)
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) || unknown.Cert == nil || e.Attempts != 1 {
		t.Errorf("unknown authority: %v", err)
	}
	for _, want := range []string{"unknown authority", "TLSClientConfig.RootCAs", "SSL_CERT_FILE", "HTTP of transport.Settings"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	leaks(t, err.Error())

	_, err = withRoots(&tls.Config{RootCAs: srv.roots, ServerName: "other.test"}).Document(t.Context(), get(srv.URL))
	var hostname x509.HostnameError
	if e := asError(t, err); !errors.As(err, &hostname) || e.Attempts != 1 || strings.Contains(err.Error(), "RootCAs") {
		t.Errorf("wrong name: %v", err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A request is not retried if the server requires a client certificate.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	srv := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	_, err := (&httpx.Client{HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: srv.roots}}}}).Document(t.Context(), get(srv.URL))
	if e := asError(t, err); e.Attempts != 1 || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without one: %v", err)
	}
	mine, _ := authority(t)
	c := &httpx.Client{HTTP: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: srv.roots, Certificates: []tls.Certificate{mine}},
	}}}
	if resp, err := c.Document(t.Context(), get(srv.URL)); err != nil || string(resp.Body) != "test authority" {
		t.Errorf("with one: %v", err)
	}
}

// An https request to a server without TLS.
func TestPlainHTTPWhereTLSIsExpected(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	c := &httpx.Client{HTTP: srv.Client()}
	_, err := c.Document(t.Context(), get("https"+strings.TrimPrefix(srv.URL, "http")))
	if e := asError(t, err); e.Attempts != 1 || !errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("error %v", err)
	}
}

// A reset HTTP/2 stream resumes over the same connection.
func TestResumeOverHTTP2(t *testing.T) {
	t.Parallel()
	data := random(1<<20, 21)
	var requests atomic.Int32
	srv := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if requests.Add(1) <= 3 {
			w = &cutWriter{w, 200_000}
		}
		http.ServeContent(w, r, "pkg.zip", time.Time{}, bytes.NewReader(data))
	}, &tls.Config{})
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: srv.roots}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	got, _, b, err := download(t, client(t, tr), get(srv.URL))
	if err != nil || b.Resumes() != 3 || srv.conns.Load() != 1 {
		t.Fatalf("%d resumes, %d connections, %v", b.Resumes(), srv.conns.Load(), err)
	}
	same(t, got, data)
}

// proxy is a CONNECT proxy on a loopback port that connects to one server.
func proxy(t *testing.T, target string) (address string, connects *atomic.Int32) {
	connects = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		connects.Add(1)
		up, err := net.Dial("tcp", target)
		if err != nil {
			http.Error(w, "no way", http.StatusBadGateway)
			return
		}
		down, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			up.Close()
			return
		}
		io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { defer up.Close(); io.Copy(up, down) }()
		go func() { defer down.Close(); io.Copy(down, up) }()
	}))
	t.Cleanup(srv.Close)
	return srv.URL, connects
}

// trustedFile skips a test if SSL_CERT_FILE does not work.
func trustedFile(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("skipped: SSL_CERT_FILE, by which the child process trusts the server, has no effect on " + runtime.GOOS)
	}
}

// Clients without an http.Client use the proxies of the environment, share their connections, and use
// HTTP/2.
func TestProxiesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	trustedFile(t)
	srv := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, " ", r.Proto)
	}, &tls.Config{})
	target := strings.TrimPrefix(srv.URL, "https://")
	_, port, _ := net.SplitHostPort(target)
	proxyURL, connects := proxy(t, target)
	dead := "http://127.0.0.1:1"
	direct := "0.0.0.0:" + port // this machine, but no loopback address, for which proxies are never used
	for _, test := range []struct {
		name, address string
		environ       []string
		want          string // host, or "" for a failure
		proxied       int32
	}{
		{"proxy", "https://registry.test/", []string{"HTTPS_PROXY=" + proxyURL}, "registry.test", 1},
		{"lower case", "https://registry.test/", []string{"https_proxy=" + proxyURL}, "registry.test", 1},
		{"empty http.Client", "https://registry.test/", []string{"HTTPS_PROXY=" + proxyURL, childTransport + "=1"}, "registry.test", 1},
		{"no proxy", "https://" + direct + "/", []string{"HTTPS_PROXY=" + dead, "NO_PROXY=0.0.0.0"}, direct, 0},
		{"not excepted", "https://" + direct + "/", []string{"HTTPS_PROXY=" + proxyURL, "NO_PROXY=other.test"}, direct, 1},
		{"dead proxy", "https://registry.test/", []string{"HTTPS_PROXY=http://user:hunter2@" + dead[len("http://"):]}, "", 0},
	} {
		srv.conns.Store(0)
		connects.Store(0)
		out, err := srv.child(t, test.address, test.environ...)
		if test.want == "" {
			if err == nil || !strings.Contains(out, "proxyconnect") {
				t.Errorf("%s: %v\n%s", test.name, err, out)
			}
			leaks(t, strings.TrimSuffix(out, "\n"))
			continue
		}
		line := test.want + " HTTP/2.0\n"
		if err != nil || out != line+line {
			t.Errorf("%s: %v\n%s", test.name, err, out)
		}
		if connects.Load() != test.proxied || srv.conns.Load() != 1 {
			t.Errorf("%s: %d CONNECTs, %d connections", test.name, connects.Load(), srv.conns.Load())
		}
	}
}

// TestProtocols: a zero Client requests documents by HTTP/2, and packages by HTTP/1.1 if the server
// supports it.
func TestProtocols(t *testing.T) {
	t.Parallel()
	trustedFile(t)
	for _, test := range []struct {
		server    []string
		documents string
		packages  string
	}{
		{[]string{"h2", "http/1.1"}, "HTTP/2.0", "HTTP/1.1"},
		{[]string{"http/1.1"}, "HTTP/1.1", "HTTP/1.1"},
		{[]string{"h2"}, "HTTP/2.0", "HTTP/2.0"},
	} {
		config := &tls.Config{}
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { // after httptest has added protocols
			c := config.Clone()
			c.NextProtos = test.server
			if !slices.ContainsFunc(hello.SupportedProtos, func(p string) bool { return slices.Contains(test.server, p) }) {
				c.NextProtos = []string{"none"} // or crypto/tls lets clients of HTTP/1.1 pass
			}
			return c, nil
		}
		srv := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }, config)
		for packages, want := range map[string]string{"": test.documents + "\n", "1": test.packages + "\n"} {
			if out, err := srv.child(t, srv.URL, childPackages+"="+packages); err != nil || out != want+want {
				t.Errorf("server %q, packages %q: %v\n%s", test.server, packages, err, out)
			}
		}
	}
}

func TestModuleVersion(t *testing.T) {
	t.Parallel()
	const path = "github.com/tofureg/tofureg"
	user := debug.Module{Path: "example.com/tool", Version: "v9.9.9"}
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.3"}}, "1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}, ""},
		{debug.BuildInfo{Main: user}, ""},
		{debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: "x"}, {Path: path, Version: "v0.4.0-rc1"}}}, "0.4.0-rc1"},
		{debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: path, Version: "v0.4.0", Replace: &debug.Module{Path: "../x"}}}}, ""},
		{debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: path, Version: "v0.4.0", Replace: &debug.Module{Path: "fork", Version: "v0.5.0"}}}}, "0.5.0"},
	} {
		if got := httpx.ModuleVersion(&test.info); got != test.want {
			t.Errorf("%+v: %q, want %q", test.info, got, test.want)
		}
	}
}
