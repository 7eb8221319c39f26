// Package throttle keeps a program from asking more of a host than it should: a
// bound on the requests that are under way at a time, a rate, and silence for as
// long as a busy server asks for it.
//
// A [Transport] is a [net/http.RoundTripper]. It goes into the http.Client of the
// settings that all clients share, or of several, which then share its limits:
//
//	web := &transport.Client{HTTP: &http.Client{Transport: &throttle.Transport{PerSecond: 20, Parallel: 8}}}
//	registry := &regclient.Client{Transport: web}
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/", Transport: web}
//
// Most programs need none: the clients of this module share identical requests and
// bound how much they do at once, each for itself. It is for servers that start many
// jobs, each with clients of its own, and for registries that count requests.
//
// # What is counted
//
// Limits are for each host and port, and hold for every request that is made: the
// hops of a redirect, attempts that repeat one, and the rest of a download that broke
// off. Answers that come from a cache, such as one of package doccache, are not
// requests if the cache stands before this transport:
//
//	&http.Client{Transport: &doccache.Transport{Dir: dir, Base: &throttle.Transport{}}}
//
// What waits here ends with the context of its request. The clients of this module do
// not count that time as part of their timeouts.
//
// # What a busy server says
//
// The status 429 (RFC 6585) and 503 (RFC 9110, section 15.6.4) may come with a
// Retry-After header, in seconds or as a date, or with X-RateLimit-Reset. A client
// that got one waits by itself; this transport has all others wait too, so that ten
// clients do not each find out the same. Repeating the request is left to them.
package throttle
