package regtest

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// browseTimeout ends what a browser would show as a page that never comes.
const browseTimeout = time.Minute

// Browse plays the browser of a user who logs in: it follows rawURL, and all
// redirects from there, to the last page. What a program of this machine serves
// at http://localhost or http://127.0.0.1 it fetches from there, and everything
// else from the registry in this process. As a method value it is what a program
// does to open a URL:
//
//	client := &login.Client{Transport: &transport.Client{HTTP: reg.Client()}, Open: reg.Browse}
//
// It is an error if there is no last page, or one with a status of 400 or more,
// so that a test fails at once which would wait for an answer otherwise.
func (r *Registry) Browse(rawURL string) error { return browse(rawURL, r) }

// Browse is [Registry.Browse] over TLS.
func (s *Server) Browse(rawURL string) error { return browse(rawURL, s.client) }

func browse(rawURL string, registry http.RoundTripper) error {
	// A program that waits for a browser may be gone after the first answer.
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
		return fmt.Errorf("regtest: Browse: the last page, at %s%s, has the status %s", resp.Request.URL.Host, resp.Request.URL.Path, resp.Status)
	}
	return nil
}

// A split takes requests to the registry, but those over http to a program of
// this machine to there.
type split struct{ registry, machine http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s split) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && isLoopback(req.URL.Hostname()) {
		return s.machine.RoundTrip(req)
	}
	return s.registry.RoundTrip(req)
}
