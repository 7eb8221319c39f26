package httpx

import (
	"encoding/base64"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// findToken sets the token of TokenFor, unless the URL is http or presigned.
func (f *fetch) findToken() error {
	if f.req.TokenFor.IsZero() || f.client.Credentials == nil ||
		f.url.Scheme != "https" || presigned(f.url, f.req.TokenFor) {
		return nil
	}
	token, err := auth.Lookup(f.ctx, f.client.Credentials, f.req.TokenFor)
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
func (a *attempt) invalidateToken(status int) {
	if status != http.StatusUnauthorized || !a.tokenLookup || (a.token != "" && !a.credentialed) {
		return
	}
	if i, ok := a.client.Credentials.(auth.Invalidator); ok {
		i.Invalidate(a.req.TokenFor)
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
	return has("token", "access_token", "private_token", "job_token", "jwt", "__token__") && !hasHost(u, tokenHost)
}

// hasHost reports whether host is the host of u.
func hasHost(u *url.URL, host svchost.Hostname) bool {
	h, err := svchost.FromWire(u.Host)
	return err == nil && !host.IsZero() && h == host
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
