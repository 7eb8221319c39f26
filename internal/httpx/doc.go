// Package httpx makes the HTTP requests of all clients: GET requests with limits and retries, resumed downloads, and
// rules for redirects and credentials.
//
//	c := httpx.New(settings)
//	resp, err := c.Document(ctx, httpx.Request{URL: u, Accept: httpx.JSON, TokenFor: host, Limit: 16 << 20})
//	if err != nil {
//		return err // a *failure.RequestError
//	}
//	err = resp.DecodeJSON(&versions)
//
// [Client.Document] reads a document. [Client.Open] streams a package. Both retry as described in package
// transport, so callers must not retry, except a download after failure.ErrChanged.
//
// The loop in retry.go makes attempts, each a call of the method attempt, and says why one follows another.
// [Body] resumes the download after that.
//
// Every hop must be https unless AllowHTTP is set, and VetoHost must accept its host. A token is
// sent only over https, only in the Authorization header, and on a redirect only if scheme, host
// and port are as in the first URL. It is not sent to a presigned URL, which contains its own
// credentials, because object stores refuse both together. The same rules apply to a user and
// password. No Referer is sent.
//
// Every error is a [*failure.RequestError]. Its text contains no token, user information, query or
// fragment, and no control characters.
package httpx
