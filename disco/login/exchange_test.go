package login_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestEcho checks that the error does not contain the code, even if the server repeats it.
func TestEcho(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	reg.AddFault(set(regtest.LoginAuthz, "code", "other-code"))
	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Status: 400, Raw: []byte(`{"error":"bad other-code","error_description":"other-code is bad"}`)})
	_, err := client(reg).Login(t.Context(), host)
	wantError(t, err)
	want := login.RefusedError{Code: "bad ...", Description: "... is bad"}
	if refused, ok := errors.AsType[*login.RefusedError](err); !ok || *refused != want {
		t.Errorf("Login returned %v, want %v", err, &want)
	}
}

// TestAnswerLimit checks the maximum size of an answer at n and n+1.
func TestAnswerLimit(t *testing.T) {
	t.Parallel()
	const before, after = `{"access_token":"`, `"}`
	for n, fits := range map[int]bool{login.MaxAnswer: true, login.MaxAnswer + 1: false} {
		reg := registry(regtest.Login{})
		reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Raw: []byte(before + strings.Repeat("a", n-len(before)-len(after)) + after)})
		r, err := client(reg).Login(t.Context(), host)
		if fits != (err == nil) || fits != (r != nil) || !fits && !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestTokenForms accepts answers of real servers that differ from the protocol.
func TestTokenForms(t *testing.T) {
	t.Parallel()
	for media, text := range map[string]string{
		"application/json":                  `{"access_token":"` + secret + `","token_type":"BEARER","refresh_token":"r","scope":"x","expires_in":null}`,
		"application/json; charset=utf-8":   `{"access_token":"` + secret + `"}`,
		"application/octet-stream":          `{"access_token":"` + secret + `","expires_in":"3600"}`,
		"application/x-www-form-urlencoded": "access_token=" + secret + "&token_type=bearer",
	} {
		reg := registry(regtest.Login{})
		reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Raw: []byte(text), Header: http.Header{"Content-Type": {media}}})
		r, err := client(reg).Login(t.Context(), host)
		if err != nil || r.Token.Reveal() != secret || r.Expires.IsZero() == strings.Contains(text, "3600") {
			t.Errorf("%s: %+v, %v", media, r, err)
		}
	}
}

// TestInsecure checks that AllowHTTP has no effect on the URLs of the service.
func TestInsecure(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]map[string]any{
		"authorization": {"client": "x", "authz": "http://registry.example.com/a", "token": "/t"},
		"token":         {"client": "x", "authz": "/a", "token": "http://registry.example.com/t"},
		"both":          {"client": "x", "authz": "a", "token": "t"},
		"document":      {"client": "x", "authz": "https://registry.example.com/a", "token": "https://registry.example.com/t"},
		"no service":    nil,
	} {
		reg := regtest.New(host.String())
		reg.Services = map[string]any{"login.v1": doc, "tfe.v2": "https://registry.example.com/"}
		if doc == nil {
			delete(reg.Services, "login.v1")
		}
		if name != "authorization" && name != "token" {
			reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Redirect: "http://registry.example.com"})
		}
		c := client(reg)
		c.Transport.AllowHTTP = true
		c.Open = func(string) error { t.Error("opened"); return nil }
		_, err := c.Login(t.Context(), host)
		if wantError(t, err); !errors.Is(err, failure.ErrInsecure) || strings.Contains(err.Error(), "AllowHTTP") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVetoHost checks that VetoHost is called for requests, and not for the login page.
func TestVetoHost(t *testing.T) {
	t.Parallel()
	errVeto := errors.New("not there")
	reg := regtest.New(host.String())
	reg.Services = map[string]any{"login.v1": map[string]any{"client": "x", "authz": "https://sso.example.net/a", "token": "https://api.example.net/t"}}
	for _, veto := range []string{host.String(), "api.example.net"} {
		c := client(reg)
		var asked []string
		c.Transport.VetoHost = func(h string) error {
			if asked = append(asked, h); h == veto {
				return errVeto
			}
			return nil
		}
		c.Open = func(string) error { t.Error("opened"); return nil }
		if _, err := c.Login(t.Context(), host); !errors.Is(err, errVeto) {
			t.Errorf("%s: %v", veto, err)
		}
		if asked[len(asked)-1] != veto {
			t.Errorf("asked about %v", asked)
		}
	}
}

// TestDefaultTransport checks that an HTTP without a Transport means [http.DefaultTransport] for all
// requests. It is not parallel, since it replaces that one.
func TestDefaultTransport(t *testing.T) {
	reg, c := server(regtest.Login{})
	defer func(rt http.RoundTripper) { http.DefaultTransport = rt }(http.DefaultTransport)
	http.DefaultTransport, c.Transport.HTTP = reg, &http.Client{}
	mustLogin(t, c)
}

// TestBadCalls calls methods with missing arguments and fields.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	_, c := server(regtest.Login{})
	_, noHost := c.Login(t.Context(), svchost.Hostname{})
	_, noOpen := new(login.Client).Login(t.Context(), host)
	for want, err := range map[string]error{
		"log in to: missing host":                              noHost,
		"log in to registry.example.com: Client.Open is nil":   noOpen,
		"log out of: missing host":                             c.Logout(t.Context(), svchost.Hostname{}),
		"log out of registry.example.com: Client.Store is nil": c.Logout(t.Context(), host),
	} {
		if wantError(t, err); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzExchange checks that answers of a token endpoint do not panic and do not appear in
// errors.
func FuzzExchange(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"access_token":"abc","token_type":"bearer","expires_in":3600}`))
	f.Add(200, "application/x-www-form-urlencoded", []byte("access_token=abc&expires_in=1"))
	f.Add(400, "application/json", []byte(`{"error":"invalid_grant","error_description":"\u001b[31m"}`))
	f.Add(500, "text/html", []byte("<html>"))
	f.Add(302, "", []byte{})
	f.Fuzz(func(t *testing.T, status int, media string, body []byte) {
		if status < 200 || status > 999 {
			return
		}
		reg := registry(regtest.Login{})
		reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Status: status, Raw: body, Header: http.Header{"Content-Type": {media}}})
		r, err := client(reg).Exchange(context.Background(), host, "the-code")
		if (r == nil) == (err == nil) {
			t.Fatalf("%+v, %v", r, err)
		}
		if err == nil {
			if r.Token.IsZero() || status/100 != 2 {
				t.Errorf("status %d: %+v", status, r)
			}
			return
		}
		if text := err.Error(); len(text) > 1000 || strings.Contains(text, "the-code") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("error %q", text)
		}
	})
}

// lines is a log for concurrent goroutines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// edit returns a fault that changes the parameters or the document of a request.
func edit(kind regtest.Kind, change func(doc map[string]any)) regtest.Fault {
	return regtest.Fault{Kind: kind, Edit: change}
}

// set returns a fault that sets a member.
func set(kind regtest.Kind, name string, value any) regtest.Fault {
	return edit(kind, func(doc map[string]any) { doc[name] = value })
}

// remove returns a fault that removes a member.
func remove(kind regtest.Kind, name string) regtest.Fault {
	return edit(kind, func(doc map[string]any) { delete(doc, name) })
}

// TestFailures checks the error of each failure, and that errors and logs contain no secrets.
func TestFailures(t *testing.T) {
	t.Parallel()
	const at, exchange = regtest.LoginAuthz, regtest.LoginToken
	denied := edit(at, func(doc map[string]any) {
		delete(doc, "code")
		doc["error"], doc["error_description"] = "access_denied", "not \x1b[31mtoday\n"+doc["state"].(string)
	})
	both := edit(at, func(doc map[string]any) {
		doc["error"], doc["error_description"] = "server_error", doc["code"]
	})
	raw := func(text string) regtest.Fault { return regtest.Fault{Kind: exchange, Raw: []byte(text)} }
	rawStatus := func(status int, text string) regtest.Fault {
		return regtest.Fault{Kind: exchange, Status: status, Raw: []byte(text)}
	}
	tests := map[string]struct {
		fault  regtest.Fault
		status int    // of the token endpoint
		code   string // of the *RefusedError, or "" for another error
		is     error
		text   string
	}{
		"the user refuses":         {denied, 0, "access_denied", nil, `identity server: access_denied ("not \x1b[31mtoday ...")`},
		"an error beside the code": {both, 0, "server_error", nil, `server_error ("...")`},
		"a long error":             {edit(at, func(doc map[string]any) { doc["error"] = strings.Repeat("é", 9999) }), 0, strings.Repeat("é", 28) + "...", nil, ""},
		"no code":                  {remove(at, "code"), 0, "", nil, "neither a code nor an error"},
		"an empty code":            {set(at, "code", ""), 0, "", nil, "neither a code nor an error"},
		"the page fails":           {regtest.Fault{Kind: at, Status: 500}, 0, "", nil, "opening the login page"},

		"another code":            {set(at, "code", "other-code"), 400, "invalid_grant", nil, "status 400: refused by the identity server: invalid_grant (\"the code is unknown"},
		"an error with 200":       {raw(`{"error":"slow_down"}`), 200, "slow_down", nil, "identity server: slow_down"},
		"an error with controls":  {rawStatus(401, `{"error":"\u001b]0;x\u0007","error_description":"\u202e"}`), 401, `\x1b]0;x\a`, nil, ""},
		"a status":                {regtest.Fault{Kind: exchange, Status: 503}, 503, "", nil, "status 503: service unavailable"},
		"an odd status":           {regtest.Fault{Kind: exchange, Status: 599}, 599, "", nil, "unexpected status"},
		"HTML":                    {raw("<html>" + secret), 200, "", nil, "invalid answer"},
		"an empty answer":         {raw(""), 200, "", nil, "invalid answer"},
		"an array":                {raw(`["` + secret + `"]`), 200, "", nil, "invalid answer"},
		"text after the object":   {raw(`{"access_token":"` + secret + `"}{}`), 200, "", nil, "invalid answer"},
		"a number for a token":    {raw(`{"access_token":271828182845904523536028747135}`), 200, "", nil, "invalid answer"},
		"no token":                {remove(exchange, "access_token"), 200, "", nil, "invalid answer"},
		"a null token":            {set(exchange, "access_token", nil), 200, "", nil, "invalid answer"},
		"another type":            {set(exchange, "token_type", "MAC\x1b"), 200, "", nil, `unsupported token type "MAC`},
		"a token with a line end": {set(exchange, "access_token", secret+"\n"), 200, "", auth.ErrInvalidToken, ""},
		"too large":               {raw(`{"access_token":"` + strings.Repeat("a", login.MaxAnswer) + `"}`), 200, "", failure.ErrTooLarge, "65536"},
		"no end":                  {regtest.Fault{Kind: exchange, Raw: make([]byte, 9<<20)}, 200, "", failure.ErrTooLarge, ""},
		"a redirect":              {regtest.Fault{Kind: exchange, Redirect: "/"}, 302, "", nil, "refused redirect"},
		"a redirect with a post":  {regtest.Fault{Kind: exchange, Redirect: "https://elsewhere.example.net", Status: 307}, 307, "", nil, "refused redirect"},
		"a redirect to nowhere":   {regtest.Fault{Kind: exchange, Redirect: "https://%zz/" + secret, Status: 308}, 308, "", nil, "refused redirect"},
		"the connection breaks":   {regtest.Fault{Kind: exchange, Drop: true}, 0, "", nil, "connection reset"},
		"the answer breaks off":   {regtest.Fault{Kind: exchange, Break: "cut", After: 5}, 200, "", nil, "unexpected EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, kept, logged := registry(regtest.Login{}), &store{}, &lines{}
			reg.AddFault(test.fault)
			c := client(reg)
			c.Store = kept
			c.Transport.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r, err := c.Login(t.Context(), host)
			e := wantError(t, err)
			request, ok := errors.AsType[*failure.RequestError](err)
			if !ok {
				request = &failure.RequestError{}
			}
			if r != nil || len(kept.tokens) > 0 || e.Op != "log in to" || e.Subject != host.String() || request.Status != test.status {
				t.Errorf("%+v, %+v, kept %v", r, e, kept.tokens)
			}
			if asked := reg.Count(regtest.LoginToken) > 0; asked != (request.URL == "https://registry.example.com/oauth/token") {
				t.Errorf("URL %q", request.URL)
			}
			if refused, ok := errors.AsType[*login.RefusedError](err); ok != (test.code != "") || ok && refused.Code != test.code {
				t.Errorf("refused %+v", refused)
			}
			if test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) || len(err.Error()) > 700 {
				t.Errorf("error %q", err)
			}
			if reg.Count(regtest.LoginToken) > 1 {
				t.Errorf("the code was sent more than once: %v", reg.Requests())
			}
			wantNoSecrets(t, reg, err.Error()+logged.String())
		})
	}
}

// wantNoSecrets checks that text contains no secret of a login.
func wantNoSecrets(t *testing.T, reg *regtest.Registry, text string) {
	t.Helper()
	secrets := []string{secret, "271828182845904523536028747135", "other-code"}
	for _, q := range reg.Requests() {
		asked, _ := url.ParseQuery(q.Query)
		secrets = append(secrets, asked.Get("state"), asked.Get("code_challenge"), q.Form.Get("code"), q.Form.Get("code_verifier"))
	}
	for _, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("%q is in\n%s", s, text)
		}
	}
}
