package disco

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// A Client finds the services of hosts. The zero Client sends no tokens. A Client and its Hosts are safe for
// concurrent use, and must not be copied or changed after the first use.
type Client struct {
	Transport *transport.Settings // may be nil
	Hosts     *Hosts              // if nil, the Client has its own

	own Hosts
}

// Discover returns the services of host. A host that answers 404 offers none, which is not an error.
//
// Concurrent calls with the same token share a request, which continues while one of them waits. The error, a
// [*failure.Error], can wrap [failure.ErrUnauthorized] (status 401 or 403) or [failure.ErrInsecure]. It is not
// cached.
func (c *Client) Discover(ctx context.Context, host svchost.Hostname) (*Services, error) {
	return c.hosts().discover(ctx, c.Transport, host)
}

// TokenHost returns the host whose token is sent with the request: the target of an alias, otherwise host.
func (c *Client) TokenHost(host svchost.Hostname) svchost.Hostname {
	target, _, _ := c.hosts().resolve(host)
	return target
}

// Forget removes host, or the target of an alias, from the cache. Results of calls in progress are not cached.
func (c *Client) Forget(host svchost.Hostname) {
	target := c.TokenHost(host)
	c.hosts().cache.Forget(func(key hostKey) bool { return key.host == target })
}

func (c *Client) hosts() *Hosts {
	if c.Hosts == nil {
		return &c.own
	}
	return c.Hosts
}

// Hosts caches the services of at most 1,024 hosts. Clients may share it, but use only what one with the same
// HTTP, AllowHTTP and token of the host has found. For concurrent use, copies and changes, see [Client].
type Hosts struct {
	// Overrides are the services of hosts that are not asked, see [NewHosts]. A nil value means none.
	Overrides map[svchost.Hostname]*Services
	// Aliases maps a host to the target whose services and token it has. A host in Overrides is not an alias. An
	// alias of the target is ignored.
	Aliases map[svchost.Hostname]svchost.Hostname

	// Fallback are the services of a host that answers, but offers none, as paths at the host, such as ModulesV1:
	// "/v1/modules/". They get its token. It does not replace Overrides.
	Fallback map[Service]string

	// TTL is the lifetime of cached services; if zero, an hour; if negative, nothing is cached. Documents over 64
	// KiB are not cached.
	TTL time.Duration

	cache flight.Cache[hostKey, *Services]
}

// hostKey has all that the services of a host were learned with: a laxer transport, or another
// token, may have found others.
type hostKey struct {
	host    svchost.Hostname
	request httpx.Key
}

// maxCached limits a cached document, in bytes. Real documents have a few hundred bytes. An
// attacker who chooses the hosts must not fill the memory.
const maxCached = 64 << 10

func (h *Hosts) discover(ctx context.Context, web *transport.Settings, host svchost.Hostname) (*Services, error) {
	client := httpx.New(web)
	target, s, ok := h.resolve(host)
	if ok {
		return s.view(host, target, client.AllowHTTP), nil
	}
	if target.IsZero() {
		return nil, failed(host, errors.New("hostname is empty"))
	}
	key, get, err := client.Prepare(ctx, httpx.Request{
		URL: wellKnown(target), Accept: httpx.JSON, TokenFor: target, Limit: maxDocument, Redirects: 5,
	})
	if err != nil {
		return nil, failed(host, err)
	}
	s, err = h.cache.Do(ctx, hostKey{target, key}, func(ctx context.Context) (*Services, time.Duration, error) {
		res, err := get(ctx)
		s, err := parse(ctx, client, target, res, err)
		if err == nil && s.doc.size > maxCached {
			return s, -1, nil
		}
		return s, h.TTL, err
	})
	if err != nil {
		return nil, failed(host, err)
	}
	if len(s.doc.services) == 0 && len(h.Fallback) > 0 {
		s = h.fallback(target)
	}
	return s.view(host, target, client.AllowHTTP), nil
}

// fallback returns the services of Fallback for host. A value that could lead to another host is an error of the service.
func (h *Hosts) fallback(host svchost.Hostname) *Services {
	values := make(map[Service]any, len(h.Fallback))
	for id, path := range h.Fallback {
		values[id] = path
	}
	s := NewServices(host, values)
	for id, m := range s.doc.services {
		if u, err := url.Parse(h.Fallback[Service(id)]); err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			m.err = errors.New("a fallback must be a path that starts with a slash")
			s.doc.services[id] = m
		}
	}
	return s
}

// resolve returns the host to ask for the services of host, and its override if there is one.
func (h *Hosts) resolve(host svchost.Hostname) (target svchost.Hostname, override *Services, ok bool) {
	if s, ok := h.Overrides[host]; ok {
		return host, s, true
	}
	target, ok = h.Aliases[host]
	if !ok {
		return host, nil, false
	}
	override, ok = h.Overrides[target]
	return target, override, ok
}

// parse returns the services of host in the answer to the request for them.
func parse(ctx context.Context, client *httpx.Client, host svchost.Hostname, res *httpx.Response, err error) (*Services, error) {
	if err != nil {
		if e, ok := err.(*failure.RequestError); ok && e.Status == http.StatusNotFound && errors.Is(e, failure.ErrNotFound) {
			log(ctx, client, host, e.URL, 0)
			return &Services{host: host, tokenHost: host, allowHTTP: client.AllowHTTP}, nil
		}
		return nil, err
	}
	var doc document
	if res.Status != http.StatusOK {
		err = errors.New("want status 200")
	} else if err = res.CheckMediaType(); err == nil {
		doc, err = parseDocument(res.URL, res.Body)
		doc.overHTTP = res.OverHTTP
	}
	if err != nil {
		return nil, res.Unusable(err)
	}
	log(ctx, client, host, res.ShownURL(), len(doc.services))
	return &Services{host: host, tokenHost: host, allowHTTP: client.AllowHTTP, doc: doc}, nil
}

func log(ctx context.Context, c *httpx.Client, host svchost.Hostname, url string, services int) {
	if c.Logger != nil {
		c.Logger.LogAttrs(ctx, slog.LevelDebug, "discovered services",
			slog.String("host", host.String()), slog.String("url", url), slog.Int("services", services))
	}
}

// failed returns the error of Discover.
func failed(host svchost.Hostname, err error) error {
	return &failure.Error{Op: "discover services of", Subject: host.Display(), Err: err}
}
