package httpx

import "net/url"

// UserAgent returns the default User-Agent header.
func UserAgent() string { return userAgent() }

// Scrub returns err with a printable text without the secrets of u and the other secrets of a request.
func Scrub(err error, u *url.URL, credentials ...string) error {
	return newSecrets(u, credentials).scrub(err)
}

// Mask returns at most max bytes of a text of the server, like [Scrub].
func Mask(s string, max int, u *url.URL, credentials ...string) string {
	return newSecrets(u, credentials).text(s, max)
}

func newSecrets(u *url.URL, credentials []string) secrets {
	var x secrets
	for _, s := range credentials {
		x.addCredential(s)
	}
	if u != nil {
		x.addURL(u)
	}
	return x
}
