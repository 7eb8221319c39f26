package regtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// A Server is a [Registry] that listens on the loopback interface, for programs
// that cannot be handed a client.
//
// The terraform and tofu programs install from it if SSL_CERT_FILE names a file
// with CertPEM and the source of the provider is Addr + "/acme/alpha". For a
// module they need a host with a dot in it: "127.0.0.1:PORT/acme/network/aws". A
// network_mirror in the file that TF_CLI_CONFIG_FILE names has the URL that
// MirrorURL returns.
type Server struct {
	// Addr is where the registry is, as "localhost:PORT". It can stand as the
	// host of a provider address.
	Addr string

	// URL is the same as a URL, "https://localhost:PORT".
	URL string

	// CertPool and CertPEM are the authority that has issued the certificate
	// of the server. It is good for localhost, the loopback addresses, and the
	// hosts that the registry had when the server was started.
	CertPool *x509.CertPool
	CertPEM  []byte

	registry *Registry
	tls      *tls.Config
	client   *http.Transport

	mu      sync.Mutex
	origins map[string]string // ports by origin, for files that are elsewhere
	servers []*http.Server
	closed  bool
	running sync.WaitGroup
}

// ServeTLS starts a server with a certificate of its own, on a free port of the
// loopback interface. It answers there as the registry does in process, and
// refers to itself by the address that it was asked under.
//
// Other origins, those of Provider.Origin and Fault.Redirect, get a port each
// when they are first referred to, and the references lead there: a client that
// follows them leaves the origin without leaving the machine.
//
// The error is that of the listener or the certificate.
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

// Client returns a client that trusts the server. It reaches the registry by
// its own name as well as by Addr, but it does so over a TLS connection.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.client} }

// Close stops the server and all its connections. Closing it twice does no harm.
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

// dial connects to loopback addresses as they are, and for every other name to the
// origin whose port is asked for, or else to the registry.
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

// listen starts to serve on a further port and returns it.
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
		// What these return is that the server was closed.
		if scheme == "http" {
			_ = server.Serve(listener)
		} else {
			_ = server.ServeTLS(listener, "", "")
		}
	})
	return port, nil
}

// origin returns where an origin is to be found by a client that has asked the
// server as asked. If it cannot be served, references to it lead nowhere.
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

// port returns the port that stands for an origin.
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
	// Another request may have been faster; its listener is as good.
	if s.origins[name] == "" {
		s.origins[name] = port
	}
	return s.origins[name], nil
}

// hasOrigin tells whether a port stands for an origin.
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
