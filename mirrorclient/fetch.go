package mirrorclient

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Evidence returns what the mirror states of pkg: hashes, if it does. It makes no
// request. A package with the URLs of a SHA256SUMS document or of a signature is not
// from a mirror and is refused, so that a signature never goes unnoticed.
func (c *Client) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	const op = "fetch the evidence of"
	switch {
	case pkg == nil:
		return verify.Evidence{}, source.Failed(op, "", errors.New("the package is nil"))
	case pkg.SumsURL != "" || pkg.SignatureURL != "":
		return verify.Evidence{}, source.Failed(op, pkg.String(), errors.New("the package has checksums or a signature, so it is not from a mirror"))
	}
	return pkg.Evidence(), nil
}

// Open starts to fetch the archive of pkg. A transfer that breaks is taken up again
// where it broke, if the server can do that. The error, of reading too, is a
// *provider.Error.
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	if pkg == nil {
		return nil, source.Failed(op, "", errors.New("the package is nil"))
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

// archiveRequest makes the request for an archive. A package may come from anywhere,
// such as a JSON file, so its URL is checked again.
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
