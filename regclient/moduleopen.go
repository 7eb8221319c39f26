package regclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
)

// acceptArchive is like the header that the CLI sends to registries that serve packages.
const acceptArchive = "application/zip, application/x-tar, */*;q=0.1"

// OpenModule starts to fetch an archive, or a page that names another location, from loc. Its
// kind must be [module.KindHTTP]. OpenModule implements [module.Opener] for
// [module.Download].
//
// The token of the registry is sent only if
//
//   - Direct and UseRegistryCredentials of loc are set, and
//   - the URL has the scheme, host and port of the registry's API or of the host in the
//     address, or PackageCredentials of [transport.Client] allows it, and
//   - the URL is https and not presigned.
//
// Otherwise a user and password may be sent; see [Client.ModuleCredentials]. If the transfer
// breaks, it is resumed if the server supports that. A package has status 200 or 203. Reads
// also return a [*module.Error].
func (c *Client) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	const op = "fetch"
	if loc == nil {
		return nil, source.Failed(op, "", errors.New("the location is nil"))
	}
	subject := moduleSubject(loc.Module, loc.Version)
	if loc.Module.IsZero() {
		subject = loc.String()
	}
	r, withheld, err := c.packageRequest(ctx, loc)
	if err != nil {
		return nil, source.Failed(op, subject, err)
	}
	sent := false
	if c.ModuleCredentials != nil {
		r.Login = func(host svchost.Hostname) (user string, password auth.Password, ok bool) {
			user, password, ok = c.ModuleCredentials(host)
			sent = sent || ok // httpx asks only if it sends them
			return user, password, ok
		}
	}
	body, err := c.http.Open(ctx, r)
	if e, ok := err.(*failure.RequestError); ok && errors.Is(e.Err, fault.ErrUnauthorized) {
		err = e.Because(explainUnauthorized(e.Err, withheld, sent))
	}
	if err != nil {
		return nil, source.Failed(op, subject, err)
	}
	b := &module.Body{
		ReadCloser: source.NewReader(body, op, subject),
		Size:       body.Size,
		Resumes:    body.Resumes,
	}
	if loc.MayBePage() {
		b.Next = body.Header.Get(getHeader)
	}
	whole := body.Status == http.StatusOK || body.Status == http.StatusNonAuthoritativeInfo
	if b.Next == "" && !whole {
		return nil, source.Failed(op, subject, body.Unusable(errors.New("a package must have status 200 or 203")))
	}
	return b, nil
}

// packageRequest returns the request for loc. withheld reports that the registry asks for its
// token, but the URL may not get it.
func (c *Client) packageRequest(ctx context.Context, loc *module.Location) (r httpx.Request, withheld bool, err error) {
	c.setup()
	if loc.Kind != module.KindHTTP {
		return r, false, fmt.Errorf("unsupported location kind %s", loc.Kind)
	}
	u, err := httpx.ParseReference(loc.URL)
	if err != nil {
		return r, false, err
	}
	r = httpx.Request{URL: u, Accept: acceptArchive}
	if loc.MayBePage() {
		// A page for people may be at the same URL.
		r.Accept = ""
		addQuery(u, "terraform-get=1")
	}
	if !loc.Direct || !loc.UseRegistryCredentials || loc.Module.IsZero() {
		return r, false, nil
	}
	allowed, err := c.mayHaveToken(ctx, u, loc.Module.Host())
	if err != nil {
		return r, false, err
	}
	if !allowed {
		return r, u.Scheme == "https" && u.User == nil, nil
	}
	r.TokenFor = c.discovery.TokenHost(loc.Module.Host())
	return r, false, nil
}

// addQuery adds a parameter and does not change the other parameters.
func addQuery(u *url.URL, parameter string) {
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += parameter
}

// mayHaveToken reports whether the token of host may be sent to u. Without this check, a registry
// could have the token sent to any server.
func (c *Client) mayHaveToken(ctx context.Context, u *url.URL, host svchost.Hostname) (bool, error) {
	if u.Scheme != "https" || u.User != nil {
		return false, nil
	}
	if at, err := svchost.FromWire(u.Host); err == nil {
		if at == c.discovery.TokenHost(host) {
			return true, nil
		}
		services, err := c.discovery.Discover(ctx, host)
		if err != nil {
			return false, err
		}
		api, err := services.URL(disco.ModulesV1)
		if err == nil && api.Scheme == "https" && !services.TokenHost().IsZero() {
			if h, err := svchost.FromWire(api.Host); err == nil && h == at {
				return true, nil
			}
		}
	}
	return c.http.MayGoTo(u, host), nil
}

// explainUnauthorized adds to err which credentials were sent and which were not.
func explainUnauthorized(err error, withheld, sent bool) error {
	if withheld {
		err = fmt.Errorf("%w; the registry asks for its token, but this is not its own host (set transport.Client.PackageCredentials to allow it)", err)
	}
	if sent {
		err = fmt.Errorf("%w; the user and password of Client.ModuleCredentials were sent", err)
	}
	return err
}
