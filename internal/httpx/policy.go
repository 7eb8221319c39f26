package httpx

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxURLSent bounds a URL. The longest that presigning makes have about 4 KiB,
// and many servers refuse more than 8.
const maxURLSent = 32 << 10

// Admit checks a URL before anything is dialled, the first one of a request and
// each that a redirect leads to. It returns the URL as it is to be requested:
// without fragment, the host as weburl.Host has it.
func (c *Client) Admit(u *url.URL) (*url.URL, error) {
	if u == nil {
		return nil, errors.New("there is no URL")
	}
	if len(u.Host)+len(u.Path)+len(u.RawQuery) > maxURLSent {
		return nil, fmt.Errorf("%w: a URL of more than %d bytes", fault.ErrTooLarge, maxURLSent)
	}
	if err := c.checkScheme(u); err != nil {
		return nil, err
	}
	host, dialled, err := weburl.Host(u)
	if err != nil {
		return nil, err
	}
	if c.VetoHost != nil {
		if err := c.VetoHost(host); err != nil {
			return nil, fmt.Errorf("host %s is not allowed: %w", weburl.Clean(host, weburl.MaxShown), err)
		}
	}
	clean := *u
	clean.Host = dialled
	clean.Fragment, clean.RawFragment = "", ""
	return &clean, nil
}

func (c *Client) checkScheme(u *url.URL) error {
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("%w: URL scheme %q is not https", fault.ErrInsecure, weburl.Clean(u.Scheme, 20))
	case !c.AllowHTTP:
		return fmt.Errorf("%w: the URL is http, not https; set AllowHTTP to permit that", fault.ErrInsecure)
	case u.User != nil:
		return fmt.Errorf("%w: the URL would send a password over http", fault.ErrInsecure)
	}
	return nil
}

// follow is the CheckRedirect of our http.Client: our rule first, then that of
// the caller's client.
func (a *attempt) follow(req *http.Request, via []*http.Request) error {
	a.secrets.addURL(req.URL)
	err := a.check(via, req)
	if err == nil {
		a.credentials(req)
		if h := a.client.HTTP; h != nil && h.CheckRedirect != nil {
			if err = h.CheckRedirect(req, via); errors.Is(err, http.ErrUseLastResponse) {
				return http.ErrUseLastResponse
			}
		}
	}
	if err != nil {
		return &redirectError{to: a.secrets.url(req.URL), err: err}
	}
	return nil
}

// check applies the rules that need no credentials.
func (a *attempt) check(via []*http.Request, req *http.Request) error {
	if limit := a.req.maxRedirects(); len(via) > limit {
		return fmt.Errorf("more than %d redirects", limit)
	}
	from := via[len(via)-1].URL
	if u := req.URL.User; u != nil && (from.User == nil || u.String() != from.User.String() || !sameOrigin(from, req.URL)) {
		return errors.New("the URL has credentials in it") // and has not inherited them as a relative one
	}
	u, err := a.client.Admit(req.URL)
	if err != nil {
		return err
	}
	req.URL = u
	return nil
}

// credentials sees to it that the request shows the next server nothing that is
// not meant for it. net/http has copied all headers of the first request, where
// host and port are equal even to http, and has set a Referer.
func (a *attempt) credentials(req *http.Request) {
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	signed := presigned(req.URL, a.tokenHost)
	if signed {
		req.URL.User = nil // and so there is nothing to inherit for what follows
	}
	a.credentialed = a.credentialed && sameOrigin(a.fetch.url, req.URL) && !signed
	if a.credentialed {
		req.Header.Set("Authorization", a.authorization())
	}
}

// sameOrigin reports whether b may see what was meant for a: both are https,
// with the same host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == "https" && b.Scheme == "https" &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		cmp.Or(a.Port(), "443") == cmp.Or(b.Port(), "443")
}
