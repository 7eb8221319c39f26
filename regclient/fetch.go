package regclient

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// documentKey: what one host's token fetches is not shared with another host, nor what
// may be large with what must be small.
type documentKey struct {
	url      string
	tokenFor svchost.Hostname
	limit    int64
}

// Evidence fetches the SHA256SUMS document of pkg and the signature over it, side by
// side. What pkg has no URL for is nil in the result. The error is a
// *provider.Error.
func (c *Client) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The first failure stops the other request, whose error then only says so.
	var once sync.Once
	var first error
	fetch := func(name, ref string, limit int64) []byte {
		data, err := c.document(ctx, pkg, name, ref, limit)
		if err != nil {
			once.Do(func() { first = source.Failed("fetch "+name+" of", pkg.String(), source.Missing(err)) })
			cancel()
		}
		return data
	}
	ev := pkg.Evidence()
	var wg sync.WaitGroup
	wg.Go(func() { ev.Signature = fetch("the signature", pkg.SignatureURL, verify.MaxSignature) })
	ev.Sums = fetch("the checksums", pkg.SumsURL, verify.MaxSums)
	wg.Wait()
	if first != nil {
		return verify.Evidence{}, first
	}
	return ev, nil
}

func (c *Client) document(ctx context.Context, pkg *provider.Package, name, ref string, limit int64) ([]byte, error) {
	if ref == "" {
		return nil, nil // which tells it from an empty document
	}
	r, err := c.fileRequest(ctx, pkg, ref)
	if err != nil {
		return nil, err
	}
	r.Limit = limit
	return c.documents.Do(ctx, documentKey{ref, r.TokenFor, limit}, bytes.Clone, func(ctx context.Context) ([]byte, error) {
		resp, err := c.http.Get(ctx, r)
		if err != nil {
			return nil, err
		}
		if len(resp.Body) == 0 { // which is not the same as no document
			return nil, resp.Unusable(verify.ErrEmpty)
		}
		return resp.Body, nil
	})
}

// Open starts to fetch the archive of pkg. A transfer that breaks is taken up again
// where it broke, if the server can do that. The error, of reading too, is a
// *provider.Error.
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	switch {
	case pkg.Dir != "":
		return nil, source.Failed(op, pkg.String(), provider.ErrUnpacked)
	case pkg.URL == "":
		return nil, source.Failed(op, pkg.String(), errors.New("the package has no URL"))
	}
	r, err := c.fileRequest(ctx, pkg, pkg.URL)
	if err != nil {
		return nil, source.Failed(op, pkg.String(), err)
	}
	return source.Open(ctx, c.http, r, op, pkg.String())
}

// fileRequest makes the request for one of the files of pkg. A package may come from
// anywhere, such as a JSON file, so its URLs are checked again.
func (c *Client) fileRequest(ctx context.Context, pkg *provider.Package, ref string) (httpx.Request, error) {
	c.setup()
	u, err := c.http.Resolve(nil, ref)
	if err != nil {
		return httpx.Request{}, err
	}
	r := httpx.Request{URL: u}
	if host := pkg.Provider.Host(); c.http.MayGoTo(u, host) {
		r.TokenFor = c.discovery.TokenHost(host)
	}
	return r, nil
}
