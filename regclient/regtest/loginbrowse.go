package regtest

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// browseTimeout ends a Browse whose page does not arrive.
const browseTimeout = time.Minute

// Browse acts as the browser of a user who logs in. It follows rawURL and its redirects:
// http://localhost and http://127.0.0.1 on this machine, everything else in the registry.
//
//	client := &login.Client{Transport: &transport.Client{HTTP: reg.Client()}, Open: reg.Browse}
//
// It returns an error if the last page cannot be read, or has a status of 400 or more.
func (r *Registry) Browse(rawURL string) error { return browse(rawURL, r) }

// Browse is like [Registry.Browse] over TLS.
func (s *Server) Browse(rawURL string) error { return browse(rawURL, s.client) }

func browse(rawURL string, registry http.RoundTripper) error {
	// The program may stop listening after the first answer.
	machine := &http.Transport{DisableKeepAlives: true}
	defer machine.CloseIdleConnections()
	client := &http.Client{Transport: split{registry, machine}, Timeout: browseTimeout}
	resp, err := client.Get(rawURL)
	if err != nil {
		return fmt.Errorf("regtest: Browse: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("regtest: Browse: reading the page: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("regtest: Browse: %s%s: status %s", resp.Request.URL.Host, resp.Request.URL.Path, resp.Status)
	}
	return nil
}

// split sends requests for http on this machine to machine, and all others to registry.
type split struct{ registry, machine http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s split) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && isLoopback(req.URL.Hostname()) {
		return s.machine.RoundTrip(req)
	}
	return s.registry.RoundTrip(req)
}
