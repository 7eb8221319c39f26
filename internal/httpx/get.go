package httpx

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Response is a document that was read whole. Its status is always 2xx, and
// never 206.
type Response struct {
	Status   int
	Header   http.Header
	URL      *url.URL // that answered, after redirects; relative URLs in the document count from here
	Body     []byte   // never nil
	HadToken bool     // whether a token went along (not whether it followed each redirect)
	Attempts int      // requests made, redirects not counted

	secrets secrets // of the request, which the document may repeat
}

// Get fetches a document of at most r.Limit bytes. Any failure is an [*failure.RequestError]
// that says what it wraps, and so is any status but 2xx, and 206, which is no
// answer to a request for the whole.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	f, err := newFetch(ctx, c, &r, true)
	if err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		return nil, f.fail(f.url, nil, errors.New("the request has no limit"))
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
