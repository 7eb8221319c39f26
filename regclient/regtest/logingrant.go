package regtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A grant is what a code stands for.
type grant struct {
	client, redirect, challenge string
}

// authorization sends the browser back with a code or an error. If client or redirect are
// invalid, it does not send the browser back.
func (r *Registry) authorization(c *call) *answer {
	query, err := url.ParseQuery(c.query)
	redirect := query.Get("redirect_uri")
	switch {
	case err != nil:
		return oauthFailure("invalid_request", "the query is malformed")
	case query.Get("client_id") != r.Login.clientID():
		return oauthFailure("unauthorized_client", "unknown client_id")
	case !r.Login.validRedirect(redirect):
		return oauthFailure("invalid_request", "redirect_uri is not an allowed port of this machine")
	}
	params := map[string]any{"state": query.Get("state")}
	if code, description := r.Login.refusal(query); code != "" {
		params["error"], params["error_description"] = code, description
		return sendBack(redirect, params)
	}
	code := rand.Text()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants[code] = grant{query.Get("client_id"), redirect, query.Get("code_challenge")}
	params["code"] = code
	return sendBack(redirect, params)
}

// refusal returns what is wrong with a request for a code, or "".
func (l *Login) refusal(query url.Values) (code, description string) {
	asked := strings.Fields(query.Get("scope"))
	lacks := func(scope string) bool { return !slices.Contains(asked, scope) }
	switch {
	case l.GrantTypes != nil && !slices.Contains(l.GrantTypes, "authz_code"):
		return "unauthorized_client", "the grant type authz_code is not supported"
	case query.Get("response_type") != "code":
		return "unsupported_response_type", "response_type is not code"
	case query.Get("state") == "":
		return "invalid_request", "state is missing"
	case query.Get("code_challenge_method") != "S256" || len(query.Get("code_challenge")) != base64.RawURLEncoding.EncodedLen(sha256.Size):
		return "invalid_request", "code_challenge is missing or not of the method S256"
	case slices.ContainsFunc(l.Scopes, lacks):
		return "invalid_scope", "a scope is missing"
	}
	return "", ""
}

// sendBack redirects the browser to the program.
func sendBack(redirect string, params map[string]any) *answer {
	query := url.Values{}
	for name, value := range params {
		query.Set(name, fmt.Sprint(value))
	}
	a := &answer{
		status: http.StatusFound,
		header: http.Header{"Location": {redirect + "?" + query.Encode()}},
		doc:    params,
		remake: func(edited map[string]any) *answer { return sendBack(redirect, edited) },
	}
	maps.Copy(a.header, uncached)
	a.setBody(nil)
	return a
}

// exchange returns the token for a code.
func (r *Registry) exchange(c *call) *answer {
	if got := c.form.Get("grant_type"); got != "authorization_code" {
		return oauthFailure("unsupported_grant_type", "grant_type is not authorization_code")
	}
	// A code can be used once, even by the wrong client.
	r.mu.Lock()
	g, ok := r.grants[c.form.Get("code")]
	delete(r.grants, c.form.Get("code"))
	r.mu.Unlock()
	verifier := c.form.Get("code_verifier")
	sum := sha256.Sum256([]byte(verifier))
	switch {
	case c.form.Get("client_id") != r.Login.clientID():
		return oauthFailure("invalid_client", "unknown client_id")
	case !ok:
		return oauthFailure("invalid_grant", "the code is unknown or used")
	case c.form.Get("client_id") != g.client:
		return oauthFailure("invalid_grant", "the code belongs to another client")
	case c.form.Get("redirect_uri") != g.redirect:
		return oauthFailure("invalid_grant", "redirect_uri differs from the first request")
	case len(verifier) < 43 || len(verifier) > 128 || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge:
		return oauthFailure("invalid_grant", "code_verifier does not match code_challenge")
	}
	doc := map[string]any{"access_token": r.Login.token(), "token_type": "bearer"}
	if r.Login.ExpiresIn != 0 {
		doc["expires_in"] = int64(r.Login.ExpiresIn.Seconds())
	}
	a := document(doc)
	maps.Copy(a.header, uncached)
	return a
}
