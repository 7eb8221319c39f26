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

// A Server is a [Registry] that listens on the loopback interface.
//
// For tofu and terraform, set SSL_CERT_FILE to a file with CertPEM and use Addr +
// "/acme/alpha" as the source of a provider. Modules need a host with a dot:
// "127.0.0.1:PORT/acme/network/aws".
type Server struct {
	Addr string // "localhost:PORT", the host of provider addresses
	URL  string // "https://localhost:PORT"

	// CertPool and CertPEM are the authority of the certificate, which is valid for localhost,
	// the loopback addresses, and the hosts that the registry had at the start.
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

// ServeTLS starts a server with its own certificate on a free loopback port. Other origins,
// such as Provider.Origin and Fault.Redirect, get further ports, and URLs refer to these.
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

// Client returns a client that trusts the server. It reaches the registry under any name.
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
