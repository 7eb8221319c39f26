package httpx

import "net/url"

// What follows is for those who make requests of another kind than this package
// does, and hold to the same rules.

// UserAgent is the User-Agent header where nobody asks for another one.
func UserAgent() string { return userAgent() }

// Scrub returns err, of a request for u that carried the hidden strings, such that
// its text can be shown: without these, without what a URL must not show, in
// one printable line.
func Scrub(err error, u *url.URL, hidden ...string) error { return hide(u, hidden).scrub(err) }

// Mask returns what a server said to a request for u that carried the hidden
// strings, fit to be shown in at most max bytes.
func Mask(s string, max int, u *url.URL, hidden ...string) string {
	return hide(u, hidden).text(s, max)
}

func hide(u *url.URL, hidden []string) secrets {
	var x secrets
	for _, s := range hidden {
		x.addPass(s)
	}
	if u != nil {
		x.addURL(u)
	}
	return x
}
