package login_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestEcho checks that the error does not contain the code, even if the server repeats it.
func TestEcho(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	reg.AddFault(set(regtest.LoginAuthz, "code", "other-code"))
	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Status: 400, Raw: []byte(`{"error":"bad other-code","error_description":"other-code is bad"}`)})
	_, err := client(reg).Login(t.Context(), host)
	wantError(t, err)
	if want := (login.RefusedError{Code: "bad ...", Description: "... is bad"}); *asRefused(t, err) != want {
		t.Errorf("%v", err)
	}
}

func asRefused(t *testing.T, err error) *login.RefusedError {
	t.Helper()
	refused, ok := errors.AsType[*login.RefusedError](err)
	if !ok {
		t.Fatalf("%v, want a *RefusedError", err)
	}
	return refused
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
		if wantError(t, err); !errors.Is(err, disco.ErrInsecure) || strings.Contains(err.Error(), "AllowHTTP") {
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

// TestBadCalls calls methods with missing arguments and fields.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	c := client(registry(regtest.Login{}))
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
