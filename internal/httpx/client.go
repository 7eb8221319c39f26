package httpx

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// What the zero values of a Client and a Request mean.
const (
	defaultTimeout   = 10 * time.Second
	defaultIdle      = 30 * time.Second
	defaultRetries   = 2
	defaultRedirects = 10
)

// Client is what all requests of one caller share. The zero value works. A
// Client holds no state of its own: it may be copied, and used by several
// goroutines, as long as nobody changes its fields meanwhile.
type Client struct {
	// HTTP makes the requests. Its Transport and its Jar are used as they are;
	// its Timeout holds for documents beside the Timeout below (the shorter of
	// the two), and not for packages; its CheckRedirect is asked after the
	// rules of this package. Nil means a transport that all clients of the
	// process share: with connection reuse, HTTP/2 and the proxies of the
	// environment.
	HTTP *http.Client

	// UserAgent is the header of that name; "" means "tofureg/VERSION".
	UserAgent string

	// Timeout bounds one attempt: at a document its headers and body, at a
	// package its headers. Zero means 10 seconds, negative no bound.
	Timeout time.Duration

	// Idle is how long a package may bring no byte before the transfer counts
	// as broken. Zero means 30 seconds, negative no bound.
	Idle time.Duration

	// Retries is how many attempts may follow a first one that failed. Zero
	// means 2, negative none.
	Retries int

	// AllowHTTP permits http URLs and redirects to them. No token is ever sent
	// to one.
	AllowHTTP bool

	// VetoHost, if not nil, may refuse a host: it is called before the first
	// request and before each redirect is followed, with the host as weburl.Host
	// returns it. Its error is in the chain of the error that results.
	VetoHost func(host string) error

	// Logger gets debug records of requests, retries and resumptions. Nil means
	// silence. There are no tokens and no queries in them.
	Logger *slog.Logger

	// Credentials knows the tokens. Nil means that there are none. If it
	// implements [auth.Invalidator], it is told when a server answers 401.
	Credentials auth.Source
}

// Request is one GET.
type Request struct {
	// URL is what to get. Its fragment is not sent; user information in it is
	// sent as basic credentials, over https only.
	URL *url.URL

	// Accept is the media type wanted; "" means any.
	Accept string

	// TokenFor names the host whose token goes along; zero means none.
	TokenFor svchost.Hostname

	// Login, if not nil, knows the user and password for a server. They are sent as
	// basic credentials under the rules for a token (see the package comment), where
	// neither a token nor user information of the URL is. It is asked about the host
	// of URL alone, and only if what it knows may be sent.
	Login func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	// Limit is the most bytes that the body may have, after decompression.
	// Get requires it; for Open, zero means no limit.
	Limit int64

	// Redirects is how many hops are followed; zero means 10, negative none.
	Redirects int

	// Header holds further headers; nil means none. Those that belong to this
	// package are ignored: Authorization, Cookie, Accept-Encoding, Range,
	// If-Range.
	Header http.Header
}

// attempts returns how often a request may be tried.
func (c *Client) attempts() int {
	return 1 + max(0, orDefault(c.Retries, defaultRetries))
}

// headerTimeout bounds the wait for the headers of a package; 0: no bound.
func (c *Client) headerTimeout() time.Duration {
	return max(0, orDefault(c.Timeout, defaultTimeout))
}

// documentTimeout bounds an attempt at a document; 0: no bound.
func (c *Client) documentTimeout() time.Duration {
	d := c.headerTimeout()
	if c.HTTP == nil || c.HTTP.Timeout <= 0 {
		return d
	}
	if d == 0 {
		return c.HTTP.Timeout
	}
	return min(d, c.HTTP.Timeout)
}

// idleTimeout bounds the wait for the next bytes of a package; 0: no bound.
func (c *Client) idleTimeout() time.Duration {
	return max(0, orDefault(c.Idle, defaultIdle))
}

// redirects returns how many hops may be followed.
func (r *Request) redirects() int {
	return max(0, orDefault(r.Redirects, defaultRedirects))
}

// orDefault returns v, or def where v is zero.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
