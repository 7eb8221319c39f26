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

// findToken asks for the token that goes along, unless it must not: over http,
// or beside a query that authorises by itself. A source that fails ends the
// request.
func (f *fetch) findToken() error {
	if f.req.TokenFor.IsZero() || f.client.Credentials == nil ||
		f.url.Scheme != "https" || presigned(f.url, f.req.TokenFor) {
		return nil
	}
	token, err := auth.Lookup(f.ctx, f.client.Credentials, f.req.TokenFor)
	if err != nil {
		return err
	}
	f.asked = true
	if f.token = token.Reveal(); f.token != "" {
		f.home = f.req.TokenFor
	}
	f.secrets.addPass(f.token)
	return nil
}

// findLogin asks for the user and password that go along, unless they must not:
// over http, beside a query that authorises by itself, or beside other credentials.
func (f *fetch) findLogin() {
	if f.req.Login == nil || f.token != "" || f.url.Scheme != "https" || f.url.User != nil ||
		presigned(f.url, svchost.Hostname{}) {
		return
	}
	host, err := svchost.FromWire(f.url.Host)
	if err != nil {
		return // then nobody can have meant it
	}
	user, password, ok := f.req.Login(host)
	if !ok {
		return
	}
	f.login = basic(user, password.Reveal())
	f.secrets.addPass(f.login)
	f.secrets.addPass(password.Reveal())
}

// MayGoTo reports whether the caller lets the token of host go to the package at u.
func (c *Client) MayGoTo(u *url.URL, host svchost.Hostname) bool {
	shown := *u
	return c.PackageCredentials != nil && !host.IsZero() && c.PackageCredentials(host, &shown)
}

// basic returns what the header of a user and password says.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// authorization returns the header of that name, or "".
func (f *fetch) authorization() string {
	switch {
	case f.token != "":
		return "Bearer " + f.token
	case f.login != "":
		return "Basic " + f.login
	}
	return ""
}

// refused tells the source about a 401, so that it looks again next time: where
// its token was sent to the server that answered, and where it had none.
func (a *attempt) refused(status int) {
	if status != http.StatusUnauthorized || !a.asked || (a.token != "" && !a.credentialed) {
		return
	}
	if i, ok := a.client.Credentials.(auth.Invalidator); ok {
		i.Invalidate(a.req.TokenFor)
	}
}

// presigned reports whether the query of u authorises the request by itself.
// There are two kinds:
//
//   - Signatures of object stores and content networks: X-Amz-Signature,
//     X-Goog-Signature, X-OSS-Signature, q-signature; sig beside se, si or sv
//     (Azure); Signature beside Expires, Policy or Key-Pair-Id (CloudFront and
//     the older S3 and Google Cloud forms). Such a server answers 400 to a
//     request that has an Authorization header too.
//   - Bearer secrets: token, access_token, private_token, job_token, jwt,
//     __token__. They count only where u does not lead to home, the host whose
//     token is at stake: somewhere else, the query is what the link was made to
//     be opened with. At home, a parameter named token may be anything, such as
//     the position in a list, and the host may see its own token anyway.
//
// Names are compared without regard to case.
func presigned(u *url.URL, home svchost.Hostname) bool {
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
	return has("token", "access_token", "private_token", "job_token", "jwt", "__token__") && !atHome(u, home)
}

// atHome reports whether u leads to home.
func atHome(u *url.URL, home svchost.Hostname) bool {
	h, err := svchost.FromWire(u.Host)
	return err == nil && !home.IsZero() && h == home
}

// queryPairs yields the parameters of a query: the name, decoded and in lower case, and
// the value as it stands. Unlike url.ParseQuery it loses nothing that is malformed, since
// what it finds is used to hide and to withhold.
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

// unescape decodes s, or returns it as it is where it cannot be decoded.
func unescape(s string) string {
	if d, err := url.QueryUnescape(s); err == nil {
		return d
	}
	return s
}
