package httpx

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
)

// maxCause limits the text of an error of another package, in bytes.
const maxCause = 400

// minSecret is the minimum length of a secret, in bytes. Shorter strings are common in texts.
const minSecret = 4

// maxSecrets limits the query parameters whose values are masked.
const maxSecrets = 64

// secrets are the strings that are masked in all texts: credentials, queries and fragments. Longer
// strings come first, since they may contain shorter ones.
type secrets struct {
	all         []string
	credentials []string // strings of all that are masked in hosts and paths too
}

// add adds a secret.
func (x *secrets) add(s string) {
	if len(s) >= minSecret && !slices.Contains(x.all, s) {
		x.all = append(x.all, s)
		slices.SortFunc(x.all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
}

// addCredential adds a secret that is masked in hosts and paths too: a server may redirect to a path
// that contains the token. The values of a query are often in the path too.
func (x *secrets) addCredential(s string) {
	x.add(s)
	if len(s) >= minSecret && !slices.Contains(x.credentials, s) {
		x.credentials = append(x.credentials, s)
	}
}

// addURL adds user information, query and fragment of u.
func (x *secrets) addURL(u *url.URL) {
	if u.User != nil {
		x.addCredential(u.User.String())
		p, _ := u.User.Password()
		x.addCredential(p)
		x.addCredential(basic(u.User.Username(), p))
	}
	x.add(u.RawQuery)
	n := 0
	for _, value := range queryPairs(u.RawQuery) {
		if n++; n > maxSecrets {
			break
		}
		x.add(value)
		x.add(unescape(value))
	}
	x.add(u.Fragment)
}

// mask replaces the secrets in s.
func (x secrets) mask(s string) string {
	for _, secret := range x.all {
		s = strings.ReplaceAll(s, secret, weburl.Ellipsis)
	}
	return s
}

// maskTruncated masks a text that may end within a secret.
func (x secrets) maskTruncated(s string) string {
	for _, secret := range x.all {
		s = strings.ReplaceAll(s, secret, weburl.Ellipsis)
		for n := min(len(secret)-1, len(s)); n >= minSecret; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// url returns a redacted URL without secrets.
func (x secrets) url(u *url.URL) string {
	if u == nil || len(x.credentials) == 0 {
		return weburl.Redact(u)
	}
	shown := *u
	for _, c := range x.credentials {
		if strings.Contains(strings.ToLower(u.Host), strings.ToLower(c)) {
			shown.Host = weburl.Ellipsis
		}
		if strings.Contains(u.Path, c) || strings.Contains(u.EscapedPath(), c) {
			shown.Path, shown.RawPath = "/"+weburl.Ellipsis, ""
		}
	}
	return weburl.Redact(&shown)
}

// text returns untrusted text for an error.
func (x secrets) text(s string, max int) string {
	return weburl.Clean(weburl.OneLine(weburl.RedactText(x.mask(s))), max)
}

// scrub returns err with a text without secrets. It removes a *url.Error.
func (x secrets) scrub(err error) error {
	switch e := err.(type) {
	case *url.Error: // it contains the whole URL
		if e.Err != nil {
			return x.scrub(e.Err)
		}
	case *redirectError:
		return &redirectError{e.to, x.scrub(e.err), e.resp}
	}
	raw := err.Error()
	text := x.text(raw, maxCause)
	if isA[x509.UnknownAuthorityError](err) || isA[x509.SystemRootsError](err) {
		text += certificateHint
	}
	if text == raw {
		return err
	}
	return &scrubbedError{text, err}
}

const certificateHint = "; to trust a private authority, add it to TLSClientConfig.RootCAs of the Transport in HTTP " +
	"of transport.Settings, or (not on Windows and macOS) set SSL_CERT_FILE to its PEM file"

// scrubbedError replaces the text of err. errors.Is and errors.As match err. There is no Unwrap, and
// As does not match a *url.Error, so that a program that prints wrapped errors prints no secrets.
type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }

func (e *scrubbedError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *scrubbedError) As(target any) bool {
	if _, ok := target.(**url.Error); ok {
		return false
	}
	return errors.As(e.err, target)
}

// isA reports whether err is or wraps a T.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

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
