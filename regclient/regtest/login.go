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

// Where the identity server is.
const (
	loginService = "login.v1"
	authzPath    = "/oauth/authorization"
	tokenPath    = "/oauth/token"
)

// maxForm is how much of a form is read, in bytes.
const maxForm = 64 << 10

// A Login is the identity server of a [Registry]: what the service login.v1
// declares, and what answers there. Its page, to which a browser is sent, asks no
// questions: everybody is logged in and sent back with a code. [Registry.Browse]
// plays the browser. A program that exchanges the code, and proves that it is the
// one that has asked for it, gets the token; [Registry.Require] demands it
// elsewhere. The zero value is such a server, at the paths /oauth/authorization
// and /oauth/token.
//
// The protocol is OAuth 2.0 with an authorization code and PKCE (RFC 6749 and
// RFC 7636). The server insists on it to the letter: on the client's ID, the
// method S256, a state, a redirect to http://localhost:PORT/ or 127.0.0.1 within
// the ports, the same redirect in both requests, and a code that was not used
// before.
//
// A [Fault] makes it a worse one:
//
//	// The user refuses.
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginAuthz, Edit: func(doc map[string]any) {
//		delete(doc, "code")
//		doc["error"], doc["error_description"] = "access_denied", "not today"
//	}})
//
//	// The answer belongs to somebody else's login.
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginAuthz, Edit: func(doc map[string]any) { doc["state"] = "other" }})
//
//	// There is an answer, but no token in it.
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Edit: func(doc map[string]any) { delete(doc, "access_token") }})
//
//	// The code does not please, or the answer is somewhere else, or far too long.
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Status: 400, Raw: []byte(`{"error":"invalid_grant"}`)})
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Status: 307, Redirect: "https://elsewhere.example.com"})
//	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Raw: make([]byte, 10<<20)})
type Login struct {
	// ClientID is what programs call themselves. Empty means "regtest".
	ClientID string

	// GrantTypes are the grant types. Nil leaves them out, which means
	// "authz_code" alone. It is all that is ever granted.
	GrantTypes []string

	// MinPort and MaxPort are the ports on which programs may wait for the
	// browser. If both are 0 they are left out, which means 1024 to 65535.
	MinPort, MaxPort int

	// Scopes are what programs have to ask for. Nil leaves them out.
	Scopes []string

	// Token is what everybody gets. Empty means "regtest-token".
	Token string

	// ExpiresIn is how long the token is said to be good for, in whole seconds.
	// Zero leaves it out, as most hosts do.
	ExpiresIn time.Duration
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

// comesBack reports whether a browser may be sent to a URL with its code: to a
// program that waits on this machine.
func (l *Login) comesBack(redirect string) bool {
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

// isLoopback reports whether a program on this machine is behind the name.
func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// loginKind returns what a path means to the identity server, or Other.
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

// method returns the one method of requests of this kind.
func (k Kind) method() string {
	if k == LoginToken {
		return http.MethodPost
	}
	return http.MethodGet
}

// postedForm reads the form that a request posts. What is too long or no form is
// none.
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

// oauthFailure is the answer with an error document of OAuth.
func oauthFailure(code, description string) *answer {
	a := document(map[string]any{"error": code, "error_description": description})
	a.status, a.doc = http.StatusBadRequest, nil
	maps.Copy(a.header, uncached)
	return a
}

// uncached is what answers with secrets have in their header.
var uncached = http.Header{"Cache-Control": {"no-store"}}
