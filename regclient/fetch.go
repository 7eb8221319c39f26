package regclient

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Evidence fetches the SHA256SUMS document of pkg and its signature, concurrently. If pkg has
// no URL for one of them, it is nil in the result.
func (c *Client) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The first failure cancels the other request. Its error is the cause.
	var once sync.Once
	var first error
	fetch := func(name, ref string, limit int64) []byte {
		data, err := c.document(ctx, pkg, ref, limit)
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

func (c *Client) document(ctx context.Context, pkg *provider.Package, ref string, limit int64) ([]byte, error) {
	if ref == "" {
		return nil, nil // a missing document, not an empty one
	}
	r, err := c.fileRequest(pkg, ref)
	if err != nil {
		return nil, err
	}
	r.Limit = limit
	return c.documents.Get(ctx, c.http, r, bytes.Clone, func(_ context.Context, resp *httpx.Response) ([]byte, error) {
		if len(resp.Body) == 0 { // an empty document is not a missing one
			return nil, verify.ErrEmpty
		}
		return resp.Body, nil
	})
}

// Open starts to fetch the archive of pkg. If the transfer breaks, it is resumed if the server
// supports that. Reads also return a [*provider.Error].
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	switch {
	case pkg.Dir != "":
		return nil, source.Failed(op, pkg.String(), provider.ErrUnpacked)
	case pkg.URL == "":
		return nil, source.Failed(op, pkg.String(), errors.New("the package has no URL"))
	}
	r, err := c.fileRequest(pkg, pkg.URL)
	if err != nil {
		return nil, source.Failed(op, pkg.String(), err)
	}
	return source.Open(ctx, c.http, r, op, pkg.String())
}

// fileRequest returns the request for a file of pkg. It checks the URL again, because pkg may
// come from a JSON file.
func (c *Client) fileRequest(pkg *provider.Package, ref string) (httpx.Request, error) {
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
