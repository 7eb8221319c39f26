package regtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RoundTrip answers requests to any host. Only the host of New and hosts in an Address have discovery.
func (r *Registry) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if s := req.URL.Scheme; s != "https" && s != "http" {
		return nil, fmt.Errorf("regtest: unsupported protocol scheme %q", s)
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	rep, err := r.reply(&call{
		ctx:    req.Context(),
		method: method(req.Method),
		scheme: req.URL.Scheme,
		host:   normalHost(req.URL.Scheme, host),
		path:   req.URL.EscapedPath(),
		query:  req.URL.RawQuery,
		header: req.Header,
		form:   postedForm(req),
		gunzip: gunzips(req),
	})
	if err == errDropped {
		err = &net.OpError{Op: "read", Net: "tcp", Err: err}
	}
	if err != nil {
		return nil, err
	}
	resp := rep.response(req)
	if gunzips(req) && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		gunzip(resp)
	}
	return resp, nil
}

func (rep *reply) response(req *http.Request) *http.Response {
	for name, values := range rep.header {
		if len(values) == 0 {
			delete(rep.header, name)
		}
	}
	return &http.Response{
		Status:     strconv.Itoa(rep.status) + " " + http.StatusText(rep.status),
		StatusCode: rep.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        rep.header,
		Body:          rep.body,
		ContentLength: rep.length,
		Request:       req,
	}
}

// method returns the method of a request; empty means GET.
func method(s string) string {
	if s == "" {
		return http.MethodGet
	}
	return s
}

// ServeHTTP uses the Host header in URLs, which are https if req came over TLS. An unknown host is as the host
// of New. A lost connection is a panic with [http.ErrAbortHandler].
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.serve(w, req, nil) }

func (r *Registry) serve(w http.ResponseWriter, req *http.Request, s *Server) {
	scheme := "http"
	if req.TLS != nil {
		scheme = "https"
	}
	rep, err := r.reply(&call{
		ctx:     req.Context(),
		method:  method(req.Method),
		scheme:  scheme,
		host:    normalHost(scheme, req.Host),
		path:    req.URL.EscapedPath(),
		query:   req.URL.RawQuery,
		header:  req.Header,
		form:    postedForm(req),
		server:  s,
		anyHost: true,
	})
	if err == nil {
		defer rep.body.Close()
		err = rep.write(w)
	}
	if err != nil {
		// The client has disconnected, or a fault drops the connection.
		panic(http.ErrAbortHandler)
	}
}

// write sends the reply. It returns an error where the body breaks off.
func (rep *reply) write(w http.ResponseWriter) error {
	for name, values := range rep.header {
		w.Header()[name] = values
	}
	if len(rep.header["Content-Length"]) == 0 {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(rep.status)
	flush := http.NewResponseController(w).Flush
	// Sent bytes must arrive before a pause or a break.
	eager := rep.length < 0 || rep.body.how.Break != "" || rep.body.how.Rate > 0
	if eager {
		_ = flush()
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := rep.body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if eager {
				_ = flush()
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			_ = flush()
			return err
		}
	}
}

// A Server is a Registry that listens. For tofu and terraform, set SSL_CERT_FILE to a file with CertPEM.
// Providers are at Addr, and modules, whose host needs a dot, at 127.0.0.1:PORT.
type Server struct {
	Addr string // "localhost:PORT"
	URL  string // "https://localhost:PORT"

	// CertPool and CertPEM are the authority of the certificate, for the loopback interface and the hosts so far.
	CertPool *x509.CertPool
	CertPEM  []byte

	registry *Registry
	tls      *tls.Config
	client   *http.Transport

	mu      sync.Mutex
	origins map[string]string // ports of other origins
	servers []*http.Server
	closed  bool
	running sync.WaitGroup
}

// ServeTLS serves on a free loopback port, and each other Origin on another.
func (r *Registry) ServeTLS() (*Server, error) {
	auth, err := newAuthority(r.names())
	if err != nil {
		return nil, fmt.Errorf("regtest: making a certificate: %w", err)
	}
	s := &Server{
		CertPool: auth.pool,
		CertPEM:  auth.pem,
		registry: r,
		tls:      &tls.Config{Certificates: []tls.Certificate{auth.leaf}},
		origins:  map[string]string{},
	}
	port, err := s.listen("https")
	if err != nil {
		return nil, err
	}
	s.Addr = net.JoinHostPort("localhost", port)
	s.URL = "https://" + s.Addr
	s.client = &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: s.CertPool},
		ForceAttemptHTTP2: true,
		DialContext:       s.dial,
	}
	return s, nil
}

// Client returns a client that trusts the server and finds all hosts there.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.client} }

// Close stops the server and closes all connections. It may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	list := s.servers
	s.servers, s.closed = nil, true
	s.mu.Unlock()
	s.client.CloseIdleConnections()
	for _, server := range list {
		_ = server.Close()
	}
	s.running.Wait()
}

// dial connects to loopback addresses directly. Other names lead to the origin with this port,
// or to the registry.
func (s *Server) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		addr = s.Addr
		if s.hasOrigin(port) {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// listen starts to serve on a new port and returns it.
func (s *Server) listen(scheme string) (port string, err error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("regtest: %w", err)
	}
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			s.registry.serve(w, req, s)
		}),
		TLSConfig: s.tls.Clone(),
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = listener.Close()
		return "", http.ErrServerClosed
	}
	s.servers = append(s.servers, server)
	s.running.Go(func() {
		// The errors say that the server was closed.
		if scheme == "http" {
			_ = server.Serve(listener)
		} else {
			_ = server.ServeTLS(listener, "", "")
		}
	})
	return port, nil
}

// origin returns the URL of an origin for a client that has connected to asked. If it cannot
// be served, the URL is unchanged.
func (s *Server) origin(origin, asked string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	port, err := s.port(u)
	if err != nil {
		return origin
	}
	host, _, err := net.SplitHostPort(asked)
	if err != nil {
		host = asked
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}

// port returns the port of an origin.
func (s *Server) port(u *url.URL) (string, error) {
	name := u.Scheme + "://" + normalHost(u.Scheme, u.Host)
	s.mu.Lock()
	port := s.origins[name]
	s.mu.Unlock()
	if port != "" {
		return port, nil
	}
	port, err := s.listen(u.Scheme)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A concurrent request may have added one, which serves as well.
	if s.origins[name] == "" {
		s.origins[name] = port
	}
	return s.origins[name], nil
}

// hasOrigin reports whether a port belongs to an origin.
func (s *Server) hasOrigin(port string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(s.origins)), port)
}

// names returns the hosts of the registry without their ports.
func (r *Registry) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Sorted(maps.Keys(r.hosts))
	for i, host := range list {
		if name, _, err := net.SplitHostPort(host); err == nil {
			list[i] = name
		}
	}
	return slices.Compact(list)
}

// An authority has issued the certificate of a server.
type authority struct {
	pem  []byte
	pool *x509.CertPool
	leaf tls.Certificate
}

// newAuthority makes a certification authority and a certificate for the loopback addresses
// and names.
func newAuthority(names []string) (*authority, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "regtest authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "regtest"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	a := &authority{
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		pool: x509.NewCertPool(),
		leaf: tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey},
	}
	a.pool.AppendCertsFromPEM(a.pem)
	return a, nil
}
