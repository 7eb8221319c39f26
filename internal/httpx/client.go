package httpx

import (
	"cmp"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/transport"
)

// Defaults of the fields of a Client and a Request.
const (
	defaultTimeout   = 10 * time.Second
	defaultIdle      = 30 * time.Second
	defaultRetries   = 2
	defaultRedirects = 10
)

// Client makes requests with the settings of a transport.Client.
type Client transport.Client

// New returns a Client with the settings of t. If t is nil, it is the zero Client.
func New(t *transport.Client) *Client {
	if t == nil {
		t = &transport.Client{}
	}
	return (*Client)(t)
}

// Request is a GET request.
type Request struct {
	// URL is the requested URL. User information is sent as basic credentials, over https only.
	URL *url.URL

	// Accept is the requested media type. If empty, any type is accepted.
	Accept string

	// TokenFor is the host whose token is sent. If zero, no token is sent.
	TokenFor svchost.Hostname

	// Login, if not nil, returns the user and password for the host of URL. They are sent as
	// basic credentials if there is neither a token nor user information in URL. Login is not
	// called if the rules of the package comment forbid credentials.
	Login func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	// Limit is the maximum size of the decompressed body, in bytes. Get requires it. For Open, zero
	// means that the size is not limited.
	Limit int64

	// Redirects is the maximum number of redirects. If zero, it is 10. If negative, redirects are
	// refused.
	Redirects int
}

// maxAttempts returns the maximum number of attempts for a document or a package.
func (c *Client) maxAttempts(document bool) int {
	retries := c.Retries
	if !document {
		retries = cmp.Or(c.ArchiveRetries, retries)
	}
	return 1 + min(max(0, cmp.Or(retries, defaultRetries)), 1<<30)
}

// headerTimeout limits the wait for the headers of a package, unless it is 0.
func (c *Client) headerTimeout() time.Duration {
	return max(0, cmp.Or(c.Timeout, defaultTimeout))
}

// documentTimeout limits an attempt for a document, unless it is 0.
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
