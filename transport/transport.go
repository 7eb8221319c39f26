// Package transport has the settings with which the clients of this module make requests:
// the HTTP client below, credentials, timeouts, retries, and what is allowed.
//
// One [Client] serves all clients of a program, so that none of them misses a token or a
// rule that another one has:
//
//	web := &transport.Client{Credentials: auth.Environ(os.Environ())}
//	registry := &regclient.Client{Transport: web}
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/", Transport: web}
//
// # Attempts
//
// A request is repeated after a broken connection, a timeout, a body that breaks off, status
// 429, and 5xx except 501; never after the end of the context, a refused certificate, or the
// name of a host that does not exist. The waits grow from about a second, with jitter. On 429
// and 503 Retry-After or x-ratelimit-reset of the server counts instead, up to 30 seconds. A
// wait that the deadline of the context would cut short does not begin. So the zero Client
// takes at most 33 seconds for a document, and 90 if the server asks for waits. A download
// that breaks later continues where it broke, if the server supports that.
package transport

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Client has the settings of requests. The zero Client works and is anonymous; clients
// take a nil *Client for the zero one. A Client has no state. Several clients may share it,
// and it is safe for concurrent use as long as its fields do not change.
type Client struct {
	// HTTP makes the requests. Its Transport and Jar are used. Its Timeout holds for
	// documents, not for archives. Its CheckRedirect is asked after the rules of this
	// module. Set HTTP to trust another certificate authority, to show a client
	// certificate or to use another proxy; there is an example of each.
	//
	// There is no field for further headers, because they would reach object stores and the
	// targets of redirects too. A Transport sees each request, and adds headers where they
	// belong: see the example Headers of package regclient.
	//
	// If nil, a transport that all clients of the process share is used. It takes proxies
	// from the environment. Documents come over HTTP/2, and archives over HTTP/1.1, which
	// takes less memory.
	HTTP *http.Client

	// Credentials finds the token of a host. If nil, requests are anonymous. An error of
	// it fails the request. If it implements [auth.Invalidator], it is told when a server
	// answers 401.
	Credentials auth.Source

	// PackageCredentials reports whether the token of host, the host of the provider, module
	// or mirror, may go to pkg, the URL of an archive, of a SHA256SUMS document or of a
	// signature. If nil, the token never goes there, as in the OpenTofu CLI: such URLs are often
	// presigned, and some servers refuse a request that is authorised twice. A registry gets
	// its token with its own module packages also without PackageCredentials, see OpenModule
	// of package regclient.
	PackageCredentials func(host svchost.Hostname, pkg *url.URL) bool

	// UserAgent is the User-Agent header. If empty, it names tofureg and its version.
	UserAgent string

	// Timeout bounds one attempt: at a document from the connection to the last byte, at
	// an archive to the headers. If zero, 10 seconds are used; if negative, there is no
	// bound.
	Timeout time.Duration

	// Idle bounds the time in which an archive brings no byte, after which the transfer
	// counts as broken. If zero, 30 seconds are used; if negative, there is no bound.
	Idle time.Duration

	// Retries is how often a request is repeated. If zero, 2 is used; if negative, the
	// request is made once.
	Retries int

	// ArchiveRetries, if not zero, takes the place of Retries for archives.
	ArchiveRetries int

	// AllowHTTP permits http URLs, for object stores inside a company and for tests. A
	// token is never sent over http.
	AllowHTTP bool

	// VetoHost, if not nil, is called before each request and each redirect with the
	// host, or host:port, that is about to be contacted. Names are in lower-case ASCII,
	// addresses in their shortest form without a zone, and the default port is left out.
	// An error prevents the request and is in the chain of the result. The git program,
	// which module.Git starts, is not asked; it has a VetoHost of its own.
	VetoHost func(host string) error

	// Logger, if not nil, gets debug records of requests and repeats. They contain no
	// tokens and no queries.
	Logger *slog.Logger
}

// A Waiter is a [http.RoundTripper] that may hold requests back, such as
// [github.com/tofureg/tofureg/transport/throttle.Transport]. Clients call RoundTripWaiting
// instead of RoundTrip if the Transport of HTTP has it. A transport that wraps a Waiter
// should be a Waiter too.
type Waiter interface {
	// RoundTripWaiting makes a request. It calls waiting before it holds the request back,
	// and done after that, both in its own goroutine. Timeout does not include that time.
	RoundTripWaiting(req *http.Request, waiting func() (done func())) (*http.Response, error)
}
