// Package httpx is the one way in which the clients of this module talk HTTP:
// bounded GET requests that retry, resume, and hold to one rule about redirects
// and credentials.
//
// A document (discovery, versions, metadata, checksums) is read whole by
// [Client.Get]; a package of any size is streamed by [Client.Open]:
//
//	c := &httpx.Client{Credentials: tokens}
//	resp, err := c.Get(ctx, httpx.Request{URL: u, Accept: "application/json", TokenFor: host, Limit: 16 << 20})
//	if err != nil {
//		return err // an *failure.RequestError
//	}
//	err = resp.DecodeJSON(&versions)
//
// # Attempts
//
// A request is tried again after a connection fault, a timeout, a body that
// breaks off, status 429, and 5xx except 501; never after the caller's context
// has ended, a refused certificate, a host name that does not exist, or a
// refusal of our own. Waits grow exponentially with jitter; on 429 and 503 the
// server's Retry-After or x-ratelimit-reset counts instead. No wait is longer
// than 30 seconds, and one that the context's deadline would cut short is not
// begun.
//
// What fails here has had its attempts: nothing above this package should try
// again, but for a download that ended in fault.ErrChanged.
//
// net/http and the retries below end where the headers do, so a transfer that
// breaks later is resumed above them, see [Body].
//
// # Redirects and credentials
//
// Every hop must be https unless AllowHTTP is set, and VetoHost is asked about
// each host before it is dialled. A token goes along only over https, only in
// the Authorization header, and on a redirect only as long as scheme, host and
// port stay those of the first URL. A presigned URL, which authorises by its own
// query, gets none, since object stores refuse requests with both. A user and
// password are held to the same. There is no Referer.
//
// # Errors
//
// Every failure is an [*failure.RequestError]. No token, user information, query or fragment
// gets into its text, and no control character of the server's.
package httpx
