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

// maxCause bounds the text of an error that came from elsewhere.
const maxCause = 400

// minSecret is the length from which a string counts as a secret. Shorter ones
// protect nothing, and masking them would mutilate every text.
const minSecret = 4

// maxSecrets bounds the query parameters whose values are masked one by one; of
// a query with more, only the whole is.
const maxSecrets = 64

// secrets are the strings that must not show in any text: the token, and what
// the URLs carry besides scheme, host and path. The longest come first, since one
// may be a part of another, of which the rest would show.
type secrets struct {
	texts  []string
	passes []string // those that hide hosts and paths too: tokens, logins, passwords
}

// add puts s among the secrets.
func (x *secrets) add(s string) {
	if len(s) >= minSecret && !slices.Contains(x.texts, s) {
		x.texts = append(x.texts, s)
		slices.SortFunc(x.texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
}

// addPass puts s among the secrets that must not show in a URL either: a server may
// send a client on to a path that repeats its token. What a query says is no secret
// there, it is often in the path as well.
func (x *secrets) addPass(s string) {
	x.add(s)
	if len(s) >= minSecret && !slices.Contains(x.passes, s) {
		x.passes = append(x.passes, s)
	}
}

// addURL puts what must not show of u among the secrets.
func (x *secrets) addURL(u *url.URL) {
	if u.User != nil {
		x.addPass(u.User.String())
		p, _ := u.User.Password()
		x.addPass(p)
		x.addPass(basic(u.User.Username(), p))
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

// mask replaces each secret in s.
func (x secrets) mask(s string) string {
	for _, secret := range x.texts {
		s = strings.ReplaceAll(s, secret, weburl.Ellipsis)
	}
	return s
}

// maskCut masks a text that was cut off at its end, perhaps within a secret.
func (x secrets) maskCut(s string) string {
	for _, secret := range x.texts {
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

// url is [Redact] for a URL that may repeat a secret.
func (x secrets) url(u *url.URL) string {
	if u == nil || len(x.passes) == 0 {
		return weburl.Redact(u)
	}
	shown := *u
	for _, pass := range x.passes {
		if strings.Contains(strings.ToLower(u.Host), strings.ToLower(pass)) {
			shown.Host = weburl.Ellipsis
		}
		if strings.Contains(u.Path, pass) || strings.Contains(u.EscapedPath(), pass) {
			shown.Path, shown.RawPath = "/"+weburl.Ellipsis, ""
		}
	}
	return weburl.Redact(&shown)
}

// text makes s, which came from elsewhere, fit for an error.
func (x secrets) text(s string, max int) string {
	return weburl.Clean(weburl.OneLine(weburl.RedactText(x.mask(s))), max)
}

// scrub returns err such that its text can be shown, and without the wrapping
// that served its purpose.
func (x secrets) scrub(err error) error {
	switch e := err.(type) {
	case *url.Error: // net/http adds the URL, query included
		if e.Err != nil {
			return x.scrub(e.Err)
		}
	case *redirectError:
		return &redirectError{e.to, x.scrub(e.err)}
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

// certificateHint is what most users of a private registry need to know first.
const certificateHint = "; to trust a private authority, give HTTP of transport.Client an http.Client " +
	"whose Transport has it in TLSClientConfig.RootCAs, or (not on Windows and macOS) name its PEM file in SSL_CERT_FILE"

// scrubbedError shows text in place of what err says. errors.Is and errors.As
// see through it. It has no Unwrap, so that nobody who prints each error of a
// chain prints the original; for the same reason As does not find a
// *url.Error, which contains the whole URL.
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

// isA reports whether there is a T in the chain of err.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
