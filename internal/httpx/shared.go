package httpx

import (
	"context"

	"github.com/tofureg/tofureg/internal/flight"
)

// Shared requests and decodes documents. Concurrent callers share a request if it is equal and has
// the same credentials. The zero Shared is ready to use. It is safe for concurrent use.
type Shared[V any] struct {
	requests flight.Group[sharedKey, V]
}

// sharedKey identifies a request with its credentials.
type sharedKey struct {
	url, accept string
	limit       int64
	credentials Credentials
}

// Get returns the result of decode for the document that r requests. If several callers share the
// result, clone returns a copy for each of them; if clone is nil, all callers get the same value.
// Errors of decode are those of [Response.Unusable].
//
// Each caller finds its own credentials before it joins a request: they may depend on its context.
func (s *Shared[V]) Get(ctx context.Context, c *Client, r Request, clone func(V) V, decode func(context.Context, *Response) (V, error)) (v V, err error) {
	q, err := c.Prepare(ctx, r)
	if err != nil {
		return v, err
	}
	key := sharedKey{q.fetch.url.String(), r.Accept, r.Limit, q.Credentials()}
	return s.requests.Do(ctx, key, clone, func(ctx context.Context) (v V, err error) {
		resp, err := q.Get(ctx)
		if err != nil {
			return v, err
		}
		if v, err = decode(ctx, resp); err != nil {
			return v, resp.Unusable(err)
		}
		return v, nil
	})
}
