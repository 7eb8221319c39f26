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

// maxURLSent limits a URL, in bytes. Presigned URLs have up to 4 KiB.
const maxURLSent = 32 << 10

// Admit checks the URL of a request or redirect, also with VetoHost. It returns the URL to request:
// without fragment, with the host of weburl.Host.
func (c *Client) Admit(u *url.URL) (*url.URL, error) {
	if u == nil {
		return nil, errors.New("URL is missing")
	}
	if len(u.Host)+len(u.Path)+len(u.RawQuery) > maxURLSent {
		return nil, fmt.Errorf("%w: URL exceeds %d bytes", fault.ErrTooLarge, maxURLSent)
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

// follow is the CheckRedirect of the http.Client. It calls the CheckRedirect of the caller last.
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
		return &redirectError{a.secrets.url(req.URL), err}
	}
	return nil
}

// check checks a redirect.
func (a *attempt) check(via []*http.Request, req *http.Request) error {
	if limit := max(0, cmp.Or(a.req.Redirects, defaultRedirects)); len(via) > limit {
		return fmt.Errorf("more than %d redirects", limit)
	}
	from := via[len(via)-1].URL
	if u := req.URL.User; u != nil && (from.User == nil || u.String() != from.User.String() || !sameOrigin(from, req.URL)) {
		return errors.New("the URL contains credentials") // not inherited by a relative URL
	}
	u, err := a.client.Admit(req.URL)
	if err != nil {
		return err
	}
	req.URL = u
	return nil
}

// credentials removes headers that the next server must not see. net/http copies the headers of the
// first request, even to http if host and port are equal, and sets Referer.
func (a *attempt) credentials(req *http.Request) {
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	signed := presigned(req.URL, a.tokenHost)
	if signed {
		req.URL.User = nil // so that later redirects do not inherit it
	}
	a.credentialed = a.credentialed && sameOrigin(a.url, req.URL) && !signed
	if a.credentialed {
		req.Header.Set("Authorization", a.authorization())
	}
}

// sameOrigin reports whether both URLs are https with the same host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == "https" && b.Scheme == "https" &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		cmp.Or(a.Port(), "443") == cmp.Or(b.Port(), "443")
}
