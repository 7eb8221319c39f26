package httpx

import (
	"context"
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
	Attempts int      // number of attempts

	secrets secrets
}

// Get returns a document of at most r.Limit bytes. Any other status than 2xx, and status 206, is an
// error. The error is a [*failure.RequestError].
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	f, err := newFetch(ctx, c, &r, true)
	if err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		return nil, f.fail(f.url, nil, errors.New("Request.Limit is missing"))
	}
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
		Attempts: f.made,
		secrets:  f.secrets,
	}, nil
}
