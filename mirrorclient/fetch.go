package mirrorclient

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Evidence returns the hashes in pkg. It makes no request. It refuses a package with SumsURL or
// SignatureURL, which cannot come from a mirror, so that no signature is ignored.
func (c *Client) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	const op = "fetch the evidence of"
	switch {
	case pkg == nil:
		return verify.Evidence{}, source.Failed(op, "", errors.New("the package is missing"))
	case pkg.SumsURL != "" || pkg.SignatureURL != "":
		return verify.Evidence{}, source.Failed(op, pkg.String(), errors.New("the package has checksums or a signature, so it is not from a mirror"))
	}
	return pkg.Evidence(), nil
}

// Open opens the archive of pkg for reading. An interrupted transfer is resumed if the server
// supports it.
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	if pkg == nil {
		return nil, source.Failed(op, "", errors.New("the package is missing"))
	}
	if pkg.URL == "" {
		return nil, source.Failed(op, pkg.String(), provider.ErrUnpacked)
	}
	r, err := c.archiveRequest(pkg.URL)
	if err != nil {
		return nil, source.Failed(op, pkg.String(), err)
	}
	return source.Open(ctx, c.http, r, op, pkg.String())
}

// archiveRequest returns the request for an archive. It checks the URL again, since the caller may
// have read the package from a file.
func (c *Client) archiveRequest(ref string) (httpx.Request, error) {
	c.setup()
	if c.baseErr != nil {
		return httpx.Request{}, c.baseErr
	}
	u, err := c.http.Resolve(nil, ref)
	if err != nil {
		return httpx.Request{}, err
	}
	r := httpx.Request{URL: u}
	if c.http.MayGoTo(u, c.host) {
		r.TokenFor = c.host
	}
	return r, nil
}
