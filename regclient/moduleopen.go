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

// acceptArchive is what the CLI sends to registries that serve packages themselves,
// but well-formed.
const acceptArchive = "application/zip, application/x-tar, */*;q=0.1"

// OpenModule starts to fetch what is at loc, which must be of module.KindHTTP: an
// archive, or a page that names another location. What may be a page is asked for
// with the parameter terraform-get=1. It implements [module.Opener] and is called by
// [module.Download].
//
// The token of the registry of loc.Module goes along only if all of this holds:
//
//   - Direct and UseRegistryCredentials of loc are set, as ModuleLocation sets them
//     if the registry says so;
//   - the URL has scheme, host and port of the registry's API as discovery declares
//     it, or of the host in the module's address, or PackageCredentials of [transport.Client]
//     permits it. The CLI sends the token to whatever URL the registry names;
//   - the URL is https, and is not presigned.
//
// Across a redirect the token stays with scheme, host and port. Where no token goes, a
// user and password may, see [Client.ModuleCredentials]. A transfer that
// breaks is taken up again where it broke, if the server can do that. A package comes with
// status 200 or 203; any other status is an error, unless its header names the next
// location. The error, of reading too, is a *module.Error.
func (c *Client) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	const op = "fetch"
	if loc == nil {
		return nil, source.Failed(op, "", errors.New("there is no location"))
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
		return nil, source.Failed(op, subject, body.Unusable(errors.New("an answer with a package has status 200 or 203")))
	}
	return b, nil
}

// packageRequest makes the request for what is at loc. Withheld tells that the
// registry wants its token to go along, but that it does not go there.
func (c *Client) packageRequest(ctx context.Context, loc *module.Location) (r httpx.Request, withheld bool, err error) {
	c.setup()
	if loc.Kind != module.KindHTTP {
		return r, false, fmt.Errorf("a location of kind %s cannot be fetched over http", loc.Kind)
	}
	u, err := httpx.ParseReference(loc.URL)
	if err != nil {
		return r, false, err
	}
	r = httpx.Request{URL: u, Accept: acceptArchive}
	if loc.MayBePage() {
		// Such a page is often at the URL that people visit, too.
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

// addQuery adds a parameter and leaves the others byte by byte as they are.
func addQuery(u *url.URL, parameter string) {
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += parameter
}

// mayHaveToken tells whether the token of host may go to u, where a registry says
// that its package is. Without this check a registry could have it sent to anybody,
// and so could whoever gets it to name a location.
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
		if err == nil && api.Scheme == "https" {
			if h, err := svchost.FromWire(api.Host); err == nil && h == at {
				return true, nil
			}
		}
	}
	return c.http.MayGoTo(u, host), nil
}

// explainUnauthorized adds to a refusal which credentials went along, and which did not.
func explainUnauthorized(err error, withheld, sent bool) error {
	if withheld {
		err = fmt.Errorf("%w; the registry asks for its token here, but this is not its own host: transport.Client.PackageCredentials can permit it", err)
	}
	if sent {
		err = fmt.Errorf("%w; a user and password of Client.ModuleCredentials were sent", err)
	}
	return err
}
