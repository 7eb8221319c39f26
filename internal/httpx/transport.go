package httpx

import (
	"crypto/tls"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// SharedTransport returns what clients use if HTTP of their settings is nil, for those that
// put something of theirs before it.
func SharedTransport() http.RoundTripper { return sharedTransport() }

// sharedTransport is made when it is first needed.
var sharedTransport = sync.OnceValue(func() *shared {
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

// shared has the documents of a host share one connection, by HTTP/2, and gives each
// package one of its own, by HTTP/1.1. A stream of HTTP/2 runs up to 4 MB ahead of
// its reader, and all of them wait for what one connection brings; a socket holds less
// and leaves the rest to the sender.
type shared struct{ documents, packages *http.Transport }

func (s *shared) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept-Encoding") != "identity" { // which packages are asked for with
		return s.documents.RoundTrip(r)
	}
	resp, err := s.packages.RoundTrip(r)
	if err != nil && strings.Contains(err.Error(), "tls: no application protocol") {
		return s.documents.RoundTrip(r) // the server speaks HTTP/2 only
	}
	return resp, err
}

// CloseIdleConnections is for http.Client.CloseIdleConnections.
func (s *shared) CloseIdleConnections() {
	s.documents.CloseIdleConnections()
	s.packages.CloseIdleConnections()
}

// newTransport returns a transport with the settings of http.DefaultTransport, the
// proxies of the environment among them, and room for the many requests that one
// registry gets at a time.
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
		// A ping finds the connection that died while nothing was said, as
		// after a suspended laptop wakes.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}
	}
	return t
}

// modulePath is this module's, by which the build information names it.
const modulePath = "github.com/tofureg/tofureg"

// userAgent is the default User-Agent: "tofureg", with the version of this
// module where the program's build information tells it.
var userAgent = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := moduleVersion(info); v != "" {
			return "tofureg/" + v
		}
	}
	return "tofureg"
})

// moduleVersion returns the version of this module without its "v", or "" for
// a build from a directory.
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
