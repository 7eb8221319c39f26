package httpx

import (
	"cmp"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"
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
type secrets []string

// add puts s among the secrets.
func (x *secrets) add(s string) {
	if len(s) >= minSecret && !slices.Contains(*x, s) {
		*x = append(*x, s)
		slices.SortFunc(*x, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
}

// addURL puts what must not show of u among the secrets.
func (x *secrets) addURL(u *url.URL) {
	if u.User != nil {
		x.add(u.User.String())
		p, _ := u.User.Password()
		x.add(p)
		x.add(basic(u.User.Username(), p))
	}
	x.add(u.RawQuery)
	n := 0
	for p := range queryPairs(u.RawQuery) {
		if n++; n > maxSecrets {
			break
		}
		x.add(p.raw)
		x.add(p.value)
	}
	x.add(u.Fragment)
}

// mask replaces each secret in s.
func (x secrets) mask(s string) string {
	for _, secret := range x {
		s = strings.ReplaceAll(s, secret, ellipsis)
	}
	return s
}

// maskCut masks a text that was cut off at its end, perhaps within a secret.
func (x secrets) maskCut(s string) string {
	for _, secret := range x {
		s = strings.ReplaceAll(s, secret, ellipsis)
		for n := min(len(secret)-1, len(s)); n >= minSecret; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// text makes s, which came from elsewhere, fit for an error.
func (x secrets) text(s string, max int) string {
	return Clean(oneLine(redactText(x.mask(s))), max)
}

// scrub returns err such that its text can be shown, and without the wrapping
// that served its purpose.
func (x secrets) scrub(err error) error {
	switch e := err.(type) {
	case *url.Error: // net/http adds the URL, query included
		if e.Err != nil {
			return x.scrub(e.Err)
		}
	case permanentError:
		return x.scrub(e.error)
	case *redirectError:
		return &redirectError{e.from, e.to, x.scrub(e.err)}
	case *statusError, *endedError:
		return err // made of clean parts
	}
	raw := err.Error()
	text := x.text(raw, maxCause)
	if unknownAuthority(err) {
		text += certificateHint
	}
	if text == raw {
		return err
	}
	return &scrubbedError{text, err}
}

// certificateHint is what most users of a private registry need to know first.
const certificateHint = "; to trust a private authority, give the client's HTTP field an http.Client " +
	"whose Transport has it in TLSClientConfig.RootCAs, or (not on Windows and macOS) name its PEM file in SSL_CERT_FILE"

func unknownAuthority(err error) bool {
	return isA[x509.UnknownAuthorityError](err) || isA[x509.SystemRootsError](err)
}

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
