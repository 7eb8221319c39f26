package httpx

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

// maxURLSent bounds a URL. The longest that presigning makes have about 4 KiB,
// and many servers refuse more than 8.
const maxURLSent = 32 << 10

// admit checks a URL before anything is dialled, the first one of a request and
// each that a redirect leads to. It returns the URL as it is to be requested:
// without fragment, the host in lower-case ASCII.
func (c *Client) admit(u *url.URL) (*url.URL, error) {
	if u == nil {
		return nil, errors.New("there is no URL")
	}
	if len(u.Host)+len(u.Path)+len(u.RawQuery) > maxURLSent {
		return nil, fmt.Errorf("%w: a URL of more than %d bytes", fault.ErrTooLarge, maxURLSent)
	}
	if err := c.checkScheme(u); err != nil {
		return nil, err
	}
	host, err := dialledHost(u)
	if err != nil {
		return nil, err
	}
	if c.VetoHost != nil {
		if err := c.VetoHost(host); err != nil {
			return nil, fmt.Errorf("host %s is not allowed: %w", Clean(host, maxURL), err)
		}
	}
	clean := *u
	clean.Host = host
	clean.Fragment, clean.RawFragment = "", ""
	return &clean, nil
}

func (c *Client) checkScheme(u *url.URL) error {
	switch {
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("%w: URL scheme %q is not https", fault.ErrInsecure, Clean(u.Scheme, 20))
	case !c.AllowHTTP:
		return fmt.Errorf("%w: the URL is http, not https; set AllowHTTP to permit that", fault.ErrInsecure)
	case u.User != nil:
		return fmt.Errorf("%w: the URL would send a password over http", fault.ErrInsecure)
	}
	return nil
}

// CheckHost refuses a URL without a host, or with one that no request is made to:
// it is no host, its port is out of range, or it is a spelling of another one. It
// is for those who read URLs before they request them.
func CheckHost(u *url.URL) error {
	_, err := dialledHost(u)
	return err
}

// dialledHost returns "host" or "host:port" as it is in u, but in the form in
// which net/http looks the host up, so that no other spelling slips through a
// comparison.
func dialledHost(u *url.URL) (string, error) {
	if u.Opaque != "" || u.Hostname() == "" {
		return "", errors.New("the URL has no host")
	}
	host := strings.ToLower(u.Host)
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		h, err := svchost.FromWire(u.Host)
		if err != nil {
			return "", fmt.Errorf("the URL has no valid host: %w", err)
		}
		host = h.String()
	}
	split := url.URL{Host: host}
	if err := checkName(split.Hostname(), host[0] == '['); err != nil {
		return "", fmt.Errorf("the URL has no valid host: %q: %w", Clean(host, maxURL), err)
	}
	port := split.Port()
	if port == "" {
		return strings.TrimSuffix(host, ":"), nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("the URL has no valid port: %q", Clean(port, 20))
	}
	return strings.TrimSuffix(host, port) + strconv.FormatUint(n, 10), nil
}

// checkName refuses names for hosts that have another name too, and what is no name. In
// brackets stands an IPv6 address, which url.Parse has checked, but not its zone.
func checkName(name string, brackets bool) error {
	_, err := netip.ParseAddr(name)
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isHostRune(r) && (!brackets || r != '%') }):
		// url.Parse lets quotes, angle brackets and more of that kind pass.
		return errors.New("it has a character that is in no name")
	case brackets:
		return nil
	case strings.Contains(name, ":"): // url.Parse lets it pass where the scheme is missing
		return errors.New("it has a colon too many")
	case strings.HasSuffix(name, "."):
		return errors.New("it ends with a dot")
	case err != nil && isNumber(name[strings.LastIndexByte(name, '.')+1:]):
		// Some resolvers take 127.1 and 0x7f000001 for 127.0.0.1.
		return errors.New("it is an IPv4 address in an unusual form")
	}
	return nil
}

func isHostRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~:", r)
}

// isNumber reports whether a resolver may read the last label of a name as a
// number, and so the name as an address.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// trail is where one attempt has come to, following redirects.
type trail struct {
	f            *fetch
	url          *url.URL // asked last
	credentialed bool     // whether the token, or the login, went there
	hops         int
}

// follow is the CheckRedirect of our http.Client: our rule first, then that of
// the caller's client.
func (t *trail) follow(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	t.f.secrets.addURL(req.URL)
	err := t.check(from, req)
	if err == nil {
		t.credentials(req)
		if h := t.f.client.HTTP; h != nil && h.CheckRedirect != nil {
			if err = h.CheckRedirect(req, via); errors.Is(err, http.ErrUseLastResponse) {
				return http.ErrUseLastResponse
			}
		}
	}
	if err != nil {
		return permanentError{&redirectError{from: t.f.secrets.url(from), to: t.f.secrets.url(req.URL), err: err}}
	}
	t.url = req.URL
	return nil
}

// check applies the rules that need no credentials.
func (t *trail) check(from *url.URL, req *http.Request) error {
	t.hops++
	if limit := t.f.req.redirects(); t.hops > limit {
		return fmt.Errorf("more than %d redirects", limit)
	}
	if u := req.URL.User; u != nil && (from.User == nil || u.String() != from.User.String() || !sameOrigin(from, req.URL)) {
		return errors.New("the URL has credentials in it") // and has not inherited them as a relative one
	}
	u, err := t.f.client.admit(req.URL)
	if err != nil {
		return err
	}
	req.URL = u
	return nil
}

// credentials sees to it that the request shows the next server nothing that is
// not meant for it. net/http has copied all headers of the first request, where
// host and port are equal even to http, and has set a Referer.
func (t *trail) credentials(req *http.Request) {
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	signed := t.f.presigned(req.URL)
	if signed {
		req.URL.User = nil // and so there is nothing to inherit for what follows
	}
	t.credentialed = t.credentialed && sameOrigin(t.f.url, req.URL) && !signed
	if t.credentialed {
		req.Header.Set("Authorization", t.f.authorization())
	}
}

// sameOrigin reports whether b may see what was meant for a: both are https,
// with the same host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == "https" && b.Scheme == "https" &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		orDefault(a.Port(), "443") == orDefault(b.Port(), "443")
}

// locationGuard is the transport under our http.Client. It refuses a redirect
// whose Location is no URL before net/http reports it with its full text.
type locationGuard struct {
	f    *fetch
	next http.RoundTripper
}

func (g locationGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(req)
	if err != nil || resp == nil || resp.StatusCode/100 != 3 {
		return resp, err
	}
	if loc := resp.Header.Get("Location"); loc != "" {
		if _, err := req.URL.Parse(loc); err != nil {
			if resp.Body != nil {
				_ = resp.Body.Close() // nothing of it was wanted
			}
			g.f.status, g.f.after = resp.StatusCode, RetryAfter(resp.Header, time.Now())
			return nil, permanentError{errors.New("redirect to a Location that is not a URL")}
		}
	}
	return resp, nil
}
