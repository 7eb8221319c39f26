package httpx

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// What the zero values of a Client and a Request mean.
const (
	defaultTimeout   = 10 * time.Second
	defaultIdle      = 30 * time.Second
	defaultRetries   = 2
	defaultRedirects = 10
)

// Client makes requests with the settings that callers give.
type Client transport.Client

// New returns a Client with the settings of t; those of the zero one if t is nil.
func New(t *transport.Client) *Client {
	if t == nil {
		t = &transport.Client{}
	}
	return (*Client)(t)
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

// attempts returns how often a request for a document or a package may be tried.
func (c *Client) attempts(document bool) int {
	retries := c.Retries
	if !document {
		retries = cmp.Or(c.ArchiveRetries, retries)
	}
	return 1 + max(0, cmp.Or(retries, defaultRetries))
}

// headerTimeout bounds the wait for the headers of a package; 0: no bound.
func (c *Client) headerTimeout() time.Duration {
	return max(0, cmp.Or(c.Timeout, defaultTimeout))
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
	return max(0, cmp.Or(c.Idle, defaultIdle))
}

// redirects returns how many hops may be followed.
func (r *Request) redirects() int {
	return max(0, cmp.Or(r.Redirects, defaultRedirects))
}
