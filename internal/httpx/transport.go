package httpx

import (
	"crypto/tls"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// SharedTransport returns the transport of clients without their own HTTP client.
var SharedTransport = sync.OnceValue(func() http.RoundTripper {
	packages := newTransport()
	packages.ForceAttemptHTTP2 = false
	packages.HTTP2, packages.TLSNextProto = nil, nil
	packages.Protocols = new(http.Protocols)
	packages.Protocols.SetHTTP1(true)
	if packages.TLSClientConfig == nil {
		packages.TLSClientConfig = new(tls.Config)
	}
	packages.TLSClientConfig.NextProtos = []string{"http/1.1"}
	return &shared{documents: newTransport(), packages: packages}
})

// shared requests documents by HTTP/2, over one connection for each host, and packages by HTTP/1.1,
// over a connection each. HTTP/2 would buffer up to 4 MB of each package, and packages would share
// the throughput of one connection.
type shared struct{ documents, packages *http.Transport }

func (s *shared) RoundTrip(r *http.Request) (*http.Response, error) {
	if !IsForPackage(r.Context()) {
		return s.documents.RoundTrip(r)
	}
	resp, err := s.packages.RoundTrip(r)
	if err != nil && strings.Contains(err.Error(), "tls: no application protocol") {
		return s.documents.RoundTrip(r) // HTTP/2 only
	}
	return resp, err
}

// CloseIdleConnections implements http.Client.CloseIdleConnections.
func (s *shared) CloseIdleConnections() {
	s.documents.CloseIdleConnections()
	s.packages.CloseIdleConnections()
}

// newTransport returns a copy of http.DefaultTransport with more idle connections for a host.
func newTransport() *http.Transport {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.MaxIdleConns = 256
	t.MaxIdleConnsPerHost = 32
	t.MaxResponseHeaderBytes = 1 << 20
	if t.HTTP2 == nil {
		// A ping detects a dead connection, such as after the computer was suspended.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	}
	return t
}

// Base returns next, or the shared transport if it is nil.
func Base(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		return SharedTransport()
	}
	return next
}

// CloseIdle closes the idle connections of next, if it supports it, unless next is nil: the shared
// transport has other users.
func CloseIdle(next http.RoundTripper) {
	if next != nil {
		(&http.Client{Transport: next}).CloseIdleConnections()
	}
}

const modulePath = "github.com/tofureg/tofureg"

// UserAgent returns the default User-Agent header: "tofureg/" and the version, or "tofureg" if the
// version is unknown.
var UserAgent = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := moduleVersion(info); v != "" {
			return "tofureg/" + v
		}
	}
	return "tofureg"
})

// moduleVersion returns the version of this module without "v", or "" if it was built from a directory.
func moduleVersion(info *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if v, ok := strings.CutPrefix(m.Version, "v"); ok {
			return v
		}
	}
	return ""
}
