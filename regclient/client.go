package regclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

// Discoverer finds the services of a host. *disco.Client is one. It must be safe
// for concurrent use.
type Discoverer interface {
	// Discover returns the services of host. A host without any is no error.
	Discover(ctx context.Context, host svchost.Hostname) (*disco.Services, error)
}

// Client asks registries of providers and modules. The zero value works and is
// anonymous. Set the fields before the first call; after it a Client is safe for
// concurrent use and must not be copied.
//
// Identical requests that are under way at the same time are made once, and each
// caller gets a result of its own. Results are not kept.
type Client struct {
	// HTTP makes the requests; nil means a transport that all clients of the
	// process share and that takes proxies from the environment. It is used as a
	// copy: its Transport and Jar are kept, its Timeout does not hold for
	// archives, and its CheckRedirect is asked after the client's own rules.
	//
	// By the shared transport documents come over HTTP/2, and packages over HTTP/1.1,
	// which takes less memory. One that is set here does both in its own way.
	//
	// Set it to trust another certificate authority, to show a client certificate or
	// to use another proxy; package disco has an example of each.
	HTTP *http.Client

	// Credentials finds the token of a host; nil: requests are anonymous. An
	// error of it fails the request.
	Credentials auth.Source

	// Discovery finds the registry of a host; nil means a disco.Client made
	// from the fields of this Client, which keeps what it finds.
	Discovery Discoverer

	// UserAgent is sent with each request; empty means one that names tofureg.
	UserAgent string

	// Timeout is for one attempt at a document, from the connection to the last
	// byte; 0 means 10 seconds, negative means none. Archives have an idle
	// timeout instead.
	Timeout time.Duration

	// Retries is how often a request is repeated after a broken connection, 429,
	// or 5xx except 501; 0 means twice, negative means never.
	Retries int

	// AllowHTTP lets URLs be http, for object stores inside a company and for
	// tests. A token is never sent over http.
	AllowHTTP bool

	// PackageCredentials tells whether the token of host, the one in the address
	// of the provider or module, may go to pkg, the URL of an archive, of sums or
	// of a signature.
	//
	// Nil means never for providers, as in the OpenTofu CLI: such URLs are often
	// presigned, and some servers refuse a request that is authorised twice. For
	// modules, nil means that the token may go to the registry itself if that
	// asks for it, see [Client.OpenModule].
	PackageCredentials func(host svchost.Hostname, pkg *url.URL) bool

	// ModuleCredentials has users and passwords for the servers of module packages,
	// such as those of a netrc file: the method Lookup of an [auth.Netrc] fits. Nil
	// means none; nothing is read unless the caller does so. They go as basic
	// credentials to the package of a module, or the page before it, and only there:
	//
	//   - to exactly the host and port that were asked about, over https;
	//   - not along a redirect to another scheme, host or port;
	//   - not where the token of the registry goes, and not with a URL that has a
	//     password or a signature in it.
	//
	// They are no tokens: registries never get them. What is fetched by git, or by
	// other means than https, gets them neither.
	ModuleCredentials func(host svchost.Hostname) (user string, password auth.Password, ok bool)

	// VetoHost is asked before each request and each redirect with the host, or
	// host:port, that is about to be contacted; an error prevents it. Names are in
	// lower-case ASCII, addresses in their shortest form without a zone, and the
	// default port is left out. Nil means that all hosts are allowed. It does not reach the git program, for which
	// [module.Git] has a VetoHost of its own.
	VetoHost func(host string) error

	// Logger is told of requests and repeats; nil means silence. Tokens and
	// query strings never reach it.
	Logger *slog.Logger

	once      sync.Once
	http      *httpx.Client
	discovery Discoverer

	spellings source.Spellings[addrs.Provider]
	versions  flight.Group[addrs.Provider, *provider.Versions]
	packages  flight.Group[packageKey, *provider.Package]
	documents flight.Group[documentKey, []byte]

	moduleSpellings source.Spellings[addrs.Module]
	moduleVersions  flight.Group[addrs.Module, *module.Versions]
	moduleLocations flight.Group[moduleKey, *module.Location]
}

var (
	_ provider.Source = (*Client)(nil)
	_ module.Source   = (*Client)(nil)
)

// maxDocument is how many bytes a document with versions, a package or a location may
// have.
const maxDocument = 16 << 20

// errNothing is the answer to those who went on after the error of a parser.
var errNothing = errors.New("the zero value names nothing that could be asked for")

func (c *Client) setup() {
	c.once.Do(func() {
		c.http = &httpx.Client{
			HTTP:        c.HTTP,
			UserAgent:   c.UserAgent,
			Timeout:     c.Timeout,
			Retries:     c.Retries,
			AllowHTTP:   c.AllowHTTP,
			VetoHost:    c.VetoHost,
			Logger:      c.Logger,
			Credentials: c.Credentials,
		}
		c.discovery = c.Discovery
		if c.discovery == nil {
			c.discovery = &disco.Client{
				HTTP:        c.HTTP,
				UserAgent:   c.UserAgent,
				Timeout:     c.Timeout,
				Retries:     c.Retries,
				Credentials: c.Credentials,
				AllowHTTP:   c.AllowHTTP,
				VetoHost:    c.VetoHost,
				Logger:      c.Logger,
			}
		}
	})
}

// documentRequest makes the request for the document at the path of these parts in
// a service of host.
func (c *Client) documentRequest(ctx context.Context, host svchost.Hostname, id disco.Service, parts ...string) (httpx.Request, error) {
	if host.IsZero() || slices.Contains(parts, "") {
		return httpx.Request{}, errNothing
	}
	c.setup()
	services, err := c.discovery.Discover(ctx, host)
	if err != nil {
		return httpx.Request{}, err
	}
	base, err := services.URL(id)
	if err != nil {
		return httpx.Request{}, err
	}
	return httpx.Request{
		URL:      httpx.Endpoint(base, parts...),
		Accept:   httpx.JSON,
		TokenFor: services.TokenHost(),
		Limit:    maxDocument,
	}, nil
}
