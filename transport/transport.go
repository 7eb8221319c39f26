// Package transport has the HTTP settings that all clients share. It is meant for 1.0.
//
//	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
//	registry := &regclient.Client{Transport: web}
//
// Requests are repeated after temporary network errors, timeouts, status 429 and 5xx except 501. The waits
// double from about a second. Retry-After and X-RateLimit-Reset of a 429 or 503 replace them, up to 30
// seconds. If a wait would outlast the context's deadline, the request fails at once. An interrupted download
// resumes.
package transport

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// Settings are HTTP settings. A nil *Settings works like the zero Settings. Settings are safe for concurrent use while
// their fields do not change. PackageCredentials and VetoHost may be called concurrently.
type Settings struct {
	// HTTP makes the requests with its Transport and Jar. Its Timeout applies to documents, if shorter than Timeout. Its
	// CheckRedirect is called after the checks of this module. If nil, all clients of the process share a transport with
	// the proxies of the environment.
	HTTP *http.Client

	// Credentials returns the token for a host. If nil, requests are anonymous. An error fails the request.
	Credentials auth.Source

	// PackageCredentials reports whether the token for host, the host of the provider, module or mirror, may be sent to
	// pkg, the URL of an archive, SHA256SUMS document or signature, unless it is presigned. If nil, it is not, as in the
	// OpenTofu CLI. Module packages on the registry's own hosts do not need it, see
	// [github.com/tofureg/tofureg/module/registry.Client.OpenModule].
	PackageCredentials func(host svchost.Hostname, pkg *url.URL) bool

	UserAgent string // header; if empty, "tofureg/" and the version

	// Timeout limits one attempt: for a document until its last byte, for an archive until the headers. Zero means 10
	// seconds, a negative time no limit. Delays by [github.com/tofureg/tofureg/transport/throttle.Transport] do not count.
	Timeout time.Duration

	// Idle limits the time between two bytes of an archive. Zero means 30 seconds, a negative time no limit.
	Idle time.Duration

	// Retries is the maximum number of retries, for an archive since the last new byte. Zero means 2, a negative number
	// none.
	Retries int

	ArchiveRetries int // if not zero, replaces Retries for archives

	AllowHTTP bool // permits http URLs, without tokens

	// VetoHost, if not nil, is called before each request, redirect and use of cached services with the host, in the form
	// of svchost.Canonical, with IPv6 in brackets. If it fails, the request fails with an error that wraps its error. It
	// is not called for git, see package module.
	VetoHost func(host string) error

	// Logger, if not nil, receives debug records of requests and retries, without tokens and URL queries.
	Logger *slog.Logger
}
