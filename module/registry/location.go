package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/module"
)

type key struct {
	module  addrs.Module
	version addrs.Version
}

// ModuleLocation returns the location of m at v by [module.ResolveLocation], or by [module.DirectLocation] if the
// answer has the property use_registry_credentials. If the location is on this machine, the error wraps
// [module.ErrLocal].
func (c *Client) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	wanted, subject := key{m, v}, subjectOf(m, v)
	if v.IsZero() {
		// Some registries would answer with their newest version.
		return nil, source.Failed("find", subject, errors.New("the version is missing"))
	}
	loc, err := source.FindVersion(v.String(), func(version string) (*module.Location, error) {
		return c.getLocation(ctx, wanted, version)
	}, func(refused *failure.RequestError) (string, error) {
		return c.unavailable(ctx, refused, wanted)
	})
	return loc, source.Failed("find", subject, err)
}

// getLocation requests a location. Version is the text of the version.
func (c *Client) getLocation(ctx context.Context, k key, version string) (*module.Location, error) {
	r, err := c.request(ctx, k.module, version, "download")
	if err != nil {
		return nil, err
	}
	loc, err := c.locations.Get(ctx, c.http, r, cloneLocation, func(_ context.Context, resp *httpx.Response) (*module.Location, error) {
		return decodeLocation(resp, r.URL)
	})
	if err == nil {
		loc.Module, loc.Version = k.module, k.version
	}
	return loc, err
}

func cloneLocation(l *module.Location) *module.Location {
	c := *l
	return &c
}

// unavailable returns the reason why the registry refused a location, and the listed text of its version.
func (c *Client) unavailable(ctx context.Context, refused *failure.RequestError, k key) (listed string, reason error) {
	versions, err := c.ModuleVersions(ctx, k.module)
	if err != nil {
		return "", source.NoList(ctx, refused, "module", err)
	}
	release, ok := versions.Find(k.version)
	switch {
	case !ok:
		return "", versions.Unavailable(k.version)
	case errors.Is(refused.Err, failure.ErrNotFound):
		return release.Listed, fault.Narrow("the version is listed, but has no location", versions.Unavailable(k.version))
	}
	return release.Listed, refused.Err
}

// subjectOf names a package in errors.
func subjectOf(m addrs.Module, v addrs.Version) string {
	if v.IsZero() {
		return m.String()
	}
	return m.String() + " " + v.String()
}

// getHeader is the header with a location.
const getHeader = "X-Terraform-Get"

// wireLocation is the wire form. A flag other than true, false or null is an error, because it
// decides where a token goes.
type wireLocation struct {
	Location               string `json:"location"`
	UseRegistryCredentials *bool  `json:"use_registry_credentials"`
}

// decodeLocation decodes the answer to the request for base, without Module and Version.
func decodeLocation(resp *httpx.Response, base *url.URL) (*module.Location, error) {
	header := strings.TrimSpace(resp.Header.Get(getHeader))
	var doc wireLocation
	// Beside a header, the body may be anything that is not an object. An object must be valid: otherwise clients
	// that read it and clients that do not would use different locations.
	if body := bytes.TrimSpace(resp.Body); len(body) > 0 && (header == "" || body[0] == '{') {
		if err := resp.DecodeObject(&doc); err != nil {
			return nil, err
		}
	}
	answer := strings.TrimSpace(doc.Location)
	if doc.UseRegistryCredentials != nil {
		// This newer form does not use the header.
		loc, err := module.DirectLocation(base, answer)
		if err != nil {
			return nil, err
		}
		loc.UseRegistryCredentials = *doc.UseRegistryCredentials
		return loc, nil
	}
	if answer = cmp.Or(answer, header); answer == "" {
		return nil, errors.New("the answer has no location, neither in its body nor in the header " + getHeader)
	}
	loc, err := module.ResolveLocation(base, answer)
	if err != nil {
		return nil, err
	}
	if loc.Kind == module.KindLocal || strings.HasPrefix(strings.ToLower(loc.URL), "file:") {
		return nil, fmt.Errorf("%w: a registry must not send the location %s", module.ErrLocal, loc)
	}
	return loc, nil
}

// acceptArchive is like the header that the CLI sends to registries that serve packages.
const acceptArchive = "application/zip, application/x-tar, */*;q=0.1"

// OpenModule implements [module.Opener]. The token of the registry is sent only if Direct and UseRegistryCredentials of
// loc are set, and only to an https URL that is not presigned. Its scheme, host and port must be those of the
// registry's API or of the host in the address, unless PackageCredentials of [transport.Settings] allows it.
func (c *Client) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	const op = "fetch"
	if loc == nil {
		return nil, source.Failed(op, "", errors.New("the location is nil"))
	}
	subject := subjectOf(loc.Module, loc.Version)
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
	if e, ok := err.(*failure.RequestError); ok && errors.Is(e.Err, failure.ErrUnauthorized) {
		err = e.Because(explainUnauthorized(e.Err, withheld, sent))
	}
	if err != nil {
		return nil, source.Failed(op, subject, err)
	}
	b := &module.Body{ReadCloser: source.NewReader(body, op, subject), Size: body.Size, Resumes: body.Resumes, ETag: body.Header.Get("ETag")}
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
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&terraform-get=1", "&")
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
		err = fmt.Errorf("%w; the registry asks for its token, but this is not its own host (set transport.Settings.PackageCredentials to allow it)", err)
	}
	if sent {
		err = fmt.Errorf("%w; the user and password of Client.ModuleCredentials were sent", err)
	}
	return err
}
