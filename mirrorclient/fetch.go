package mirrorclient

import (
	"context"
	"errors"
	"io"

	"github.com/tofureg/tofureg/internal/httpx"
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
		return verify.Evidence{}, failed(op, "", errors.New("the package is nil"))
	case pkg.SumsURL != "" || pkg.SignatureURL != "":
		return verify.Evidence{}, failed(op, pkg.String(), errors.New("the package has checksums or a signature, so it is not from a mirror"))
	}
	return pkg.Evidence(), nil
}

// Open starts to fetch the archive of pkg. A transfer that breaks is taken up again
// where it broke, if the server can do that. The error, of reading too, is a
// *provider.Error.
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	if pkg == nil {
		return nil, failed(op, "", errors.New("the package is nil"))
	}
	if pkg.URL == "" {
		return nil, failed(op, pkg.String(), provider.ErrUnpacked)
	}
	r, err := c.archiveRequest(pkg.URL)
	if err != nil {
		return nil, failed(op, pkg.String(), err)
	}
	body, err := c.http.Open(ctx, r)
	if err != nil {
		return nil, failed(op, pkg.String(), err)
	}
	return &provider.Body{
		ReadCloser: &reader{body: body, op: op, subject: pkg.String()},
		Size:       body.Size,
		Resumes:    body.Resumes,
	}, nil
}

// archiveRequest makes the request for an archive. A package may come from anywhere,
// such as a JSON file, so its URL is checked again.
func (c *Client) archiveRequest(ref string) (httpx.Request, error) {
	c.setup()
	if c.baseErr != nil {
		return httpx.Request{}, c.baseErr
	}
	u, err := parseReference(ref)
	if err == nil {
		err = acceptable(u, c.AllowHTTP)
	}
	if err != nil {
		return httpx.Request{}, err
	}
	r := httpx.Request{URL: u}
	shown := *u
	if c.PackageCredentials != nil && !c.host.IsZero() && c.PackageCredentials(c.host, &shown) {
		r.TokenFor = c.host
	}
	return r, nil
}

// reader gives the errors of a transfer the form of this package.
type reader struct {
	body        *httpx.Body
	op, subject string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, failed(r.op, r.subject, err)
}

func (r *reader) Close() error { return r.body.Close() }
