package httpx

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Endpoint returns the URL of a path below base, without the query and fragment of base. Base need not
// end with a slash. Each part is escaped as one segment.
func Endpoint(base *url.URL, parts ...string) *url.URL {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	u := *base
	u.Path = strings.TrimSuffix(base.Path, "/") + "/" + strings.Join(parts, "/")
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + "/" + strings.Join(escaped, "/")
	u.RawQuery, u.ForceQuery = "", false
	u.Fragment, u.RawFragment = "", ""
	return &u
}

// ParseReference parses an absolute or relative URL. The error does not contain the URL, which may
// contain credentials.
func ParseReference(ref string) (*url.URL, error) {
	if strings.ContainsAny(ref, " \\") {
		return nil, errors.New("the URL contains a space or a backslash")
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	return u, nil
}

// Resolve parses the URL of a file in a document from base, and checks it like CheckURL. If base is
// nil, ref must be absolute. The error does not contain the URL.
func (c *Client) Resolve(base *url.URL, ref string) (*url.URL, error) {
	u, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if err := c.CheckURL(u); err != nil {
		return nil, err
	}
	return u, nil
}

// CheckURL returns an error if a client cannot request a file from u.
func (c *Client) CheckURL(u *url.URL) error {
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("the URL contains a user name")
	case u.Fragment != "":
		return errors.New("the URL contains a fragment")
	}
	if err := c.checkScheme(u); err != nil {
		return err
	}
	_, _, err := svchost.Canonical(u)
	return err
}

// maxURLSent limits a URL, in bytes. Presigned URLs have up to 4 KiB.
const maxURLSent = 32 << 10

// Admit checks the URL of a request or redirect, also with VetoHost. It returns the URL to request:
// without fragment, with the host of svchost.Canonical.
func (c *Client) Admit(u *url.URL) (*url.URL, error) {
	if u == nil {
		return nil, errors.New("URL is missing")
	}
	if len(u.Host)+len(u.Path)+len(u.RawQuery) > maxURLSent {
		return nil, fmt.Errorf("%w: URL exceeds %d bytes", failure.ErrTooLarge, maxURLSent)
	}
	if err := c.checkScheme(u); err != nil {
		return nil, err
	}
	host, dialled, err := svchost.Canonical(u)
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
		return fmt.Errorf("%w: URL scheme %q is not https", failure.ErrInsecure, weburl.Clean(u.Scheme, 20))
	case !c.AllowHTTP:
		return fmt.Errorf("%w: the URL is http, not https; set AllowHTTP to permit that", failure.ErrInsecure)
	case u.User != nil:
		return fmt.Errorf("%w: the URL would send a password over http", failure.ErrInsecure)
	}
	return nil
}

// sameOrigin reports whether both URLs are https with the same host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == "https" && b.Scheme == "https" &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		cmp.Or(a.Port(), "443") == cmp.Or(b.Port(), "443")
}

// findToken sets the token of TokenFor, unless the URL is http or presigned.
func (f *fetch) findToken(ctx context.Context) error {
	if f.req.TokenFor.IsZero() || f.client.Credentials == nil ||
		f.url.Scheme != "https" || presigned(f.url, f.req.TokenFor) {
		return nil
	}
	token, err := auth.Lookup(ctx, f.client.Credentials, f.req.TokenFor)
	if err != nil {
		return err
	}
	f.tokenLookup = true
	if f.token = token.Reveal(); f.token != "" {
		f.tokenHost = f.req.TokenFor
	}
	f.secrets.addCredential(f.token)
	return nil
}

// findLogin sets the user and password of Login, unless there are other credentials or the URL is
// http or presigned.
func (f *fetch) findLogin() {
	if f.req.Login == nil || f.token != "" || f.url.Scheme != "https" || f.url.User != nil ||
		presigned(f.url, svchost.Hostname{}) {
		return
	}
	host, err := svchost.FromWire(f.url.Host)
	if err != nil {
		return // Login takes valid hosts only
	}
	user, password, ok := f.req.Login(host)
	if !ok {
		return
	}
	f.login = basic(user, password.Reveal())
	f.secrets.addCredential(f.login)
	f.secrets.addCredential(password.Reveal())
}

// MayGoTo reports whether the caller permits the token of host for the package at u.
func (c *Client) MayGoTo(u *url.URL, host svchost.Hostname) bool {
	shown := *u
	return c.PackageCredentials != nil && !host.IsZero() && c.PackageCredentials(host, &shown)
}

// basic returns the basic credentials of a user and password.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// authorization returns the Authorization header, or "".
func (f *fetch) authorization() string {
	switch {
	case f.token != "":
		return "Bearer " + f.token
	case f.login != "":
		return "Basic " + f.login
	}
	return ""
}

// invalidateToken tells Credentials about a 401 of a server that got the token, or if there was no
// token.
func (f *fetch) invalidateToken(a *attempt) {
	if a.resp.StatusCode != http.StatusUnauthorized || !f.tokenLookup || (f.token != "" && !a.credentialed) {
		return
	}
	if i, ok := f.client.Credentials.(auth.Invalidator); ok {
		i.Invalidate(f.req.TokenFor)
	}
}

// presigned reports whether the query of u contains credentials. Names of parameters are not
// case-sensitive. There are two kinds:
//
//   - Signatures of object stores and content networks: X-Amz-Signature, X-Goog-Signature,
//     X-OSS-Signature, q-signature; sig with se, si or sv (Azure); Signature with Expires, Policy
//     or Key-Pair-Id (CloudFront, older S3 and Google Cloud). Such servers answer 400 if there is
//     an Authorization header too.
//   - Tokens: token, access_token, private_token, job_token, jwt, __token__. On tokenHost they
//     are ignored: the host may see its own token, and a parameter token may be something else,
//     such as a position in a list.
func presigned(u *url.URL, tokenHost svchost.Hostname) bool {
	if u.RawQuery == "" {
		return false
	}
	names := make(map[string]bool)
	for name := range queryPairs(u.RawQuery) {
		names[name] = true
	}
	has := func(of ...string) bool {
		return slices.ContainsFunc(of, func(name string) bool { return names[name] })
	}
	if has("x-amz-signature", "x-goog-signature", "x-oss-signature", "q-signature") ||
		has("sig") && has("se", "si", "sv") ||
		has("signature") && has("expires", "policy", "key-pair-id") {
		return true
	}
	if !has("token", "access_token", "private_token", "job_token", "jwt", "__token__") {
		return false
	}
	host, err := svchost.FromWire(u.Host)
	return err != nil || host != tokenHost
}

// queryPairs yields the parameters of a query: the decoded name in lower case, and the raw value.
// Unlike url.ParseQuery it includes malformed parameters, which may contain secrets.
func queryPairs(query string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
			name, value, _ := strings.Cut(part, "=")
			if !yield(strings.ToLower(unescape(name)), value) {
				return
			}
		}
	}
}

// unescape decodes s, or returns s if it cannot be decoded.
func unescape(s string) string {
	if d, err := url.QueryUnescape(s); err == nil {
		return d
	}
	return s
}
