package disco

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// Hosts caches the services of hosts. Clients may share it: the services that a client has found
// are used only by clients with the same HTTP, AllowHTTP and token of the host. It contains no
// tokens. It is safe for concurrent use, and must not be copied or changed after the first use.
type Hosts struct {
	// Overrides are the services of hosts to which no request is made, see [NewServices]. Nil
	// means no services.
	Overrides map[svchost.Hostname]*Services
	// Aliases maps a host to the target whose services and token it has. An override of the
	// alias takes precedence. An alias of the target is ignored.
	Aliases map[svchost.Hostname]svchost.Hostname

	// TTL is the lifetime of cached services; if zero, an hour; if negative, nothing is cached.
	// Documents over 64 KiB are not cached.
	TTL time.Duration

	cache flight.Cache[hostKey, *Services]
}

// hostKey has all that the services of a host were learned with: a laxer transport, or another
// token, may have found others.
type hostKey struct {
	host        svchost.Hostname
	http        *http.Client
	allowHTTP   bool
	credentials httpx.Credentials
}

// maxCached limits a cached document, in bytes. Real documents have a few hundred bytes. An
// attacker who chooses the hosts must not fill the memory.
const maxCached = 64 << 10

func (h *Hosts) discover(ctx context.Context, web *transport.Client, host svchost.Hostname) (*Services, error) {
	client := httpx.New(web)
	target, s, ok := h.resolve(host)
	if ok {
		return s.view(host, target, client.AllowHTTP), nil
	}
	if target.IsZero() {
		return nil, failed(host, errors.New("hostname is empty"))
	}
	request, err := client.Prepare(ctx, httpx.Request{
		URL: wellKnown(target), Accept: httpx.JSON, TokenFor: target, Limit: maxDocument, Redirects: maxRedirects,
	})
	if err != nil {
		return nil, failed(host, err)
	}
	key := hostKey{target, client.HTTP, client.AllowHTTP, request.Credentials()}
	s, err = h.cache.Do(ctx, key, func(ctx context.Context) (*Services, time.Duration, error) {
		s, err := fetch(ctx, client, request, target)
		if err == nil && s.doc.size > maxCached {
			return s, -1, nil
		}
		return s, h.TTL, err
	})
	if err != nil {
		return nil, failed(host, err)
	}
	return s.view(host, target, client.AllowHTTP), nil
}

// Forget removes host, or the target of an alias, from the cache. It does not affect running
// calls of Discover.
func (h *Hosts) Forget(host svchost.Hostname) {
	target := h.tokenHost(host)
	h.cache.Forget(func(key hostKey) bool { return key.host == target })
}

// tokenHost returns the host to which the request for host is sent, with its token.
func (h *Hosts) tokenHost(host svchost.Hostname) svchost.Hostname {
	target, _, _ := h.resolve(host)
	return target
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
