package regtest

import (
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
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

// A Login is the identity server of a [Registry], for the service login.v1. The zero value
// answers at /oauth/authorization and /oauth/token. It asks no questions: it sends the browser
// back with a code, and exchanges the code for the token. [Registry.Browse] acts as the
// browser, and [Registry.Require] requires the token.
//
// The server checks the client ID, PKCE with S256 (RFC 7636), the state, the redirect to
// http://localhost:PORT/ or 127.0.0.1, and that each code is used once (RFC 6749).
//
//	// The user refuses.
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginAuthz, Edit: func(doc map[string]any) {
//		delete(doc, "code")
//		doc["error"], doc["error_description"] = "access_denied", "not today"
//	}})
type Login struct {
	ClientID string // if empty, "regtest"
	Token    string // for every client; if empty, "regtest-token"

	ExpiresIn        time.Duration // stated lifetime of the token in whole seconds; if zero, none
	GrantTypes       []string      // declared; nil means "authz_code", the only supported type
	MinPort, MaxPort int           // declared ports of the client; if both are zero, 1024 to 65535
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

// postedForm returns the posted form, or nil if there is none or it is too large.
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
