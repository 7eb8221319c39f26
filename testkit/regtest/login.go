package regtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The service and paths of the identity server.
const (
	loginService = "login.v1"
	authzPath    = "/oauth/authorization"
	tokenPath    = "/oauth/token"
)

// maxForm is the maximum size of a form in bytes.
const maxForm = 64 << 10

// A Login is an identity server, see [Registry.Browse]. A code works once.
type Login struct {
	ClientID string // if empty, "regtest"
	Token    string // if empty, "regtest-token"

	ExpiresIn        time.Duration // stated lifetime, in seconds; if zero, none
	GrantTypes       []string      // declared; if nil, "authz_code", the only supported type
	MinPort, MaxPort int           // declared; if both are zero, 1024 to 65535
	Scopes           []string      // required, declared if not nil
}

// declaration returns the value of the service in the discovery document.
func (l *Login) declaration() map[string]any {
	d := map[string]any{"client": l.clientID(), "authz": authzPath, "token": tokenPath}
	if l.GrantTypes != nil {
		d["grant_types"] = l.GrantTypes
	}
	if l.MinPort != 0 || l.MaxPort != 0 {
		d["ports"] = []int{l.MinPort, l.MaxPort}
	}
	if l.Scopes != nil {
		d["scopes"] = l.Scopes
	}
	return d
}

func (l *Login) clientID() string {
	if l.ClientID == "" {
		return "regtest"
	}
	return l.ClientID
}

func (l *Login) token() string {
	if l.Token == "" {
		return "regtest-token"
	}
	return l.Token
}

// validRedirect reports whether a browser may be sent to a URL with its code: to an allowed
// port of this machine.
func (l *Login) validRedirect(redirect string) bool {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !isLoopback(u.Hostname()) {
		return false
	}
	port, err := strconv.Atoi(u.Port())
	first, last := l.MinPort, l.MaxPort
	if first == 0 && last == 0 {
		first, last = 1024, 65535
	}
	return err == nil && first <= port && port <= last
}

// isLoopback reports whether name is this machine.
func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// loginKind returns the kind of a path of the identity server, or Other.
func (r *Registry) loginKind(path string) Kind {
	switch {
	case r.Login == nil:
	case path == authzPath:
		return LoginAuthz
	case path == tokenPath:
		return LoginToken
	}
	return Other
}

// method returns the method of requests of this kind.
func (k Kind) method() string {
	if k == LoginToken {
		return http.MethodPost
	}
	return http.MethodGet
}

// postedForm returns the posted form, or nil if it is missing or too large.
func postedForm(req *http.Request) url.Values {
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" || req.Body == nil || req.Method != http.MethodPost {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(req.Body, maxForm+1))
	if err != nil || len(data) > maxForm {
		return nil
	}
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil
	}
	return form
}

// oauthFailure returns an error document of OAuth.
func oauthFailure(code, description string) *answer {
	a := document(map[string]any{"error": code, "error_description": description})
	a.status, a.doc = http.StatusBadRequest, nil
	maps.Copy(a.header, uncached)
	return a
}

// uncached is the header of answers with secrets.
var uncached = http.Header{"Cache-Control": {"no-store"}}

// browseTimeout ends a Browse whose page does not arrive.
const browseTimeout = time.Minute

// Browse follows redirects as a browser, also to this machine. A status of 400 or more is an error.
func (r *Registry) Browse(rawURL string) error { return browse(rawURL, r) }

// Browse is like [Registry.Browse] over TLS.
func (s *Server) Browse(rawURL string) error { return browse(rawURL, s.client) }

func browse(rawURL string, registry http.RoundTripper) error {
	// The program may stop listening after the first answer.
	machine := &http.Transport{DisableKeepAlives: true}
	defer machine.CloseIdleConnections()
	client := &http.Client{Transport: split{registry, machine}, Timeout: browseTimeout}
	resp, err := client.Get(rawURL)
	if err != nil {
		return fmt.Errorf("regtest: Browse: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("regtest: Browse: reading the page: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("regtest: Browse: %s%s: status %s", resp.Request.URL.Host, resp.Request.URL.Path, resp.Status)
	}
	return nil
}

// split sends requests for http on this machine to machine, and all others to registry.
type split struct{ registry, machine http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (s split) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && isLoopback(req.URL.Hostname()) {
		return s.machine.RoundTrip(req)
	}
	return s.registry.RoundTrip(req)
}

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
