package disco_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// The tests in this file use sockets and TLS. They run the examples of package transport.

func tlsServer(t *testing.T, configure func(*tls.Config)) (*httptest.Server, svchost.Hostname, *http.Transport) {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"modules.v1":"/m/"}`)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are part of the tests
	srv.TLS = &tls.Config{}
	if configure != nil {
		configure(srv.TLS)
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	host := svchost.MustParse(srv.Listener.Addr().String())
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(tr.CloseIdleConnections)
	return srv, host, tr
}

func TestCustomAuthority(t *testing.T) {
	t.Parallel()
	_, host, tr := tlsServer(t, nil)
	c := disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: tr}}}
	wantURL(t, discover(t, &c, host), disco.ModulesV1, "https://"+host.String()+"/m/")

	c2 := disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: &http.Transport{}}}}
	_, err := c2.Discover(t.Context(), host)
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
		t.Errorf("without the authority: %v", err)
	}
	var failed *failed
	if !as(err, &failed) || failed.Attempts != 1 || !strings.Contains(err.Error(), "RootCAs") {
		t.Errorf("the error does not say where to set the authority, or was tried again: %v", err)
	}
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	srv, host, tr := tlsServer(t, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert })
	c := disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: tr}, Retries: -1}}
	if _, err := c.Discover(t.Context(), host); err == nil {
		t.Error("the request succeeded without a certificate")
	}
	with := tr.Clone()
	t.Cleanup(with.CloseIdleConnections)
	with.TLSClientConfig.Certificates = srv.TLS.Certificates // any certificate will do
	c2 := disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: with}}}
	wantURL(t, discover(t, &c2, host), disco.ModulesV1, "https://"+host.String()+"/m/")
}

func TestProxy(t *testing.T) {
	t.Parallel()
	_, target, tr := tlsServer(t, nil)
	tunnels := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tunnels <- r.Method + " " + r.Host + " " + r.Header.Get("Authorization")
		conn, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", target.String())
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go splice(client, conn)
		go splice(conn, client, buffered.Reader)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr.Proxy = http.ProxyURL(address)
	c := disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: tr}}}
	c.Transport.Credentials = tokens(t, map[svchost.Hostname]string{example: "secret"})
	wantURL(t, discover(t, &c, example), disco.ModulesV1, "https://example.com/m/")
	if asked := <-tunnels; asked != "CONNECT example.com:443 " || len(tunnels) != 0 {
		t.Errorf("the proxy was asked for %q and %d more", asked, len(tunnels))
	}
}

// splice copies from one connection to the other.
func splice(to net.Conn, from net.Conn, buffered ...*bufio.Reader) {
	defer to.Close()
	var r io.Reader = from
	if len(buffered) > 0 {
		r = buffered[0]
	}
	_, _ = io.Copy(to, r)
}
