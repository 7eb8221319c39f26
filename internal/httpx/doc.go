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
// Package transport tells which failures are repeated.
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
