// Package transport has the HTTP settings that all clients share. It is meant for 1.0.
//
//	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
//	registry := &regclient.Client{Transport: web}
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/", Transport: web}
//
// Requests are repeated after temporary network errors, timeouts, status 429 and 5xx except 501.
// The waits double from about a second. Retry-After and X-RateLimit-Reset of a 429 or 503 replace
// them, capped at 30 seconds. If a wait would outlast the context's deadline, the request fails at
// once. An interrupted download resumes where it stopped, if the server permits.
package transport

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// Settings are the HTTP settings that clients share. The zero Settings are usable and send no credentials; a nil
// *Settings means the zero Settings. Several clients may share Settings, which are safe for concurrent
// use as long as its fields do not change. PackageCredentials and VetoHost may be called
// concurrently.
type Settings struct {
	// HTTP makes the requests. Its Transport and Jar are used. Its Timeout applies to documents, if
	// shorter than Timeout. Its CheckRedirect is called after the checks of this module. See the
	// examples; to add request headers, the example Headers of package regclient.
	//
	// If nil, all clients of the process share a transport with the proxies of the environment.
	HTTP *http.Client

	// Credentials returns the token for a host. If nil, requests are anonymous. If it returns
	// an error, the request fails. If it implements [auth.Invalidator], Invalidate is called
	// after a 401.
	Credentials auth.Source

	// PackageCredentials reports whether the token for host, the host of the provider, module
	// or mirror, may be sent to pkg, the URL of an archive, SHA256SUMS document or signature.
	// If nil, the token is not sent there, as in the OpenTofu CLI. A presigned URL never gets the
	// token. Module packages on the registry's own hosts do not need PackageCredentials, see
	// OpenModule of [github.com/tofureg/tofureg/regclient.Client].
	PackageCredentials func(host svchost.Hostname, pkg *url.URL) bool

	// UserAgent is the User-Agent header. If empty, "tofureg/" and the version are sent.
	UserAgent string

	// Timeout limits one attempt: for a document until its last byte, for an archive until the
	// headers. Zero means 10 seconds, a negative time no limit. Delays by
	// [github.com/tofureg/tofureg/transport/throttle.Transport] do not count.
	Timeout time.Duration

	// Idle limits the time between two bytes of an archive. Zero means 30 seconds, a negative time
	// no limit.
	Idle time.Duration

	// Retries is the maximum number of retries of a request. For an archive, each new byte starts
	// the count again. Zero means 2, a negative number none.
	Retries int

	// ArchiveRetries, if not zero, replaces Retries for archives.
	ArchiveRetries int

	// AllowHTTP permits http URLs. Tokens are never sent over http.
	AllowHTTP bool

	// VetoHost, if not nil, is called before each request, redirect and use of cached services,
	// with the host to be contacted, as "host" or "host:port": names in lower-case ASCII, IP
	// addresses in canonical form without a zone, IPv6 in brackets, no default port. If VetoHost
	// returns an error, the request fails with an error that wraps it. VetoHost is not called for git,
	// which has its own VetoHost in package module.
	VetoHost func(host string) error

	// Logger, if not nil, receives debug records of requests and retries. They contain no
	// tokens or URL queries.
	Logger *slog.Logger
}
