package httpx

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
)

// Response is a document. Its status is 2xx, but not 206.
type Response struct {
	Status   int
	Header   http.Header
	URL      *url.URL // after redirects, the base of relative URLs
	Body     []byte   // never nil
	HadToken bool     // whether the first URL was requested with a token
	OverHTTP bool     // whether a hop was http, so that the network may have chosen the document
	Attempts int      // number of attempts

	secrets secrets
}

// Get returns a document of at most r.Limit bytes. Any other status than 2xx, and status 206, is an
// error. The error is a [*failure.RequestError].
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	q, err := c.Prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	return q.Get(ctx)
}

// Prepared is a request for a document, with its credentials.
type Prepared struct{ fetch *fetch }

// Credentials identifies the credentials of a request, without revealing them.
type Credentials [sha256.Size]byte

// Prepare is the first half of Get: it checks the request and finds its credentials.
func (c *Client) Prepare(ctx context.Context, r Request) (*Prepared, error) {
	f, err := newFetch(ctx, c, &r, true)
	if err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		return nil, f.fail(f.url, nil, errors.New("Request.Limit is missing"))
	}
	return &Prepared{f}, nil
}

// Credentials returns the same value for requests with the same credentials.
func (p *Prepared) Credentials() Credentials {
	return sha256.Sum256([]byte(p.fetch.tokenHost.String() + " " + p.fetch.authorization()))
}

// Get is the second half of [Client.Get]. It must be called once at most.
func (p *Prepared) Get(ctx context.Context) (*Response, error) {
	f := p.fetch
	f.ctx = ctx
	resp, err := f.run()
	if err != nil {
		return nil, err
	}
	return &Response{
		Status:   resp.StatusCode,
		Header:   resp.Header,
		URL:      resp.Request.URL,
		Body:     resp.Body.(buffered).data,
		HadToken: f.token != "",
		OverHTTP: f.overHTTP,
		Attempts: f.made,
		secrets:  f.secrets,
	}, nil
}
