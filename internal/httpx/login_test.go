package httpx_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
)

const (
	password = "hunter2 hunter2"
	basic    = "Basic YWxpY2U6aHVudGVyMiBodW50ZXIy"
)

// asked is a Request.Login for all hosts that records the hosts.
type asked []string

func (a *asked) login(h svchost.Hostname) (string, auth.Password, bool) {
	*a = append(*a, h.String())
	return "alice", auth.NewPassword(password), true
}

// TestFirstURLAndTheLogin checks to which URLs user and password are sent, and for which Login is not
// called.
func TestFirstURLAndTheLogin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{ // the host that Login gets, or "" if it is not called
		"https://files.example.com/x":                                   "files.example.com",
		"https://FILES.example.com:443/x":                               "files.example.com",
		"https://files.example.com:8443/x?a=b":                          "files.example.com:8443",
		"https://xn--bcher-kva.example.com/x":                           "xn--bcher-kva.example.com",
		"https://127.0.0.1/x":                                           "127.0.0.1",
		"http://files.example.com/x":                                    "",
		"http://files.example.com:443/x":                                "",
		"https://bob:own@files.example.com/x":                           "",
		"https://bob@files.example.com/x":                               "",
		"https://bob:own@files.example.com/x?X-Amz-Signature=b":         "", // which is instead of the user
		"https://files.example.com/x?X-Amz-Signature=b":                 "",
		"https://files.example.com/x?sv=1&sig=abc":                      "",
		"https://files.example.com/x?token=opaque":                      "",
		"https://files.example.com/x?Expires=1&Signature=abc&Policy=p":  "",
		"https://files.example.com/x?a=b;access_token=opaque&c=d&e=%zz": "",
	} {
		s, a := serve(status(200, "")), asked{}
		c := &httpx.Client{HTTP: &http.Client{Transport: s}, AllowHTTP: strings.HasPrefix(address, "http:")}
		r := get(address)
		r.Login = a.login
		resp, err := c.Get(t.Context(), r)
		if err != nil || resp.HadToken {
			t.Errorf("%s: %+v, %v", address, resp, err)
			continue
		}
		got := s.seen()[0].Header.Get("Authorization")
		if sent := got == basic; sent != (want != "") || !sent && (got != "") != (strings.Contains(address, "@") && !strings.Contains(address, "Signature")) || strings.Join(a, " ") != want {
			t.Errorf("%s: sent %q, Login was called for %v, want %q", address, got, a, want)
		}
	}
}

// TestTokenBeforeLogin: if there is a token, it is sent instead of user and password.
func TestTokenBeforeLogin(t *testing.T) {
	t.Parallel()
	other := svchost.MustParse("other.example.com")
	for tokenFor, want := range map[svchost.Hostname]string{home: "Bearer " + secret, other: basic, {}: basic} {
		s, a := serve(status(401, "no, "+password+" and YWxpY2U6aHVudGVyMiBodW50ZXIy")), asked{}
		c := client(t, s)
		r := get(start)
		r.TokenFor, r.Login = tokenFor, a.login
		_, err := c.Get(t.Context(), r)
		e := asError(t, err)
		if got := s.seen()[0].Header.Get("Authorization"); got != want || e.HadToken != (tokenFor == home) || len(a) > 0 == (tokenFor == home) {
			t.Errorf("token for %q: sent %q, want %q; %+v; Login was called for %v", tokenFor, got, want, e, a)
		}
		if want == basic {
			if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "YWxp") {
				t.Errorf("error %v", err)
			}
		}
	}
}

// TestLoginOfTheURL: user and password of the URL are masked in all forms.
func TestLoginOfTheURL(t *testing.T) {
	t.Parallel()
	for login, sent := range map[string]string{
		"user:hunter2":  "dXNlcjpodW50ZXIy",
		"us%65r:p%40ss": "dXNlcjpwQHNz",
		"t0ken":         "dDBrZW46",
	} {
		s := serve(func(n int, r *http.Request) (*http.Response, error) {
			return status(400, "no: Authorization: "+r.Header.Get("Authorization"))(n, r)
		})
		_, err := client(t, s).Get(t.Context(), get("https://"+login+"@registry.example.com/x"))
		if got := s.seen()[0].Header.Get("Authorization"); got != "Basic "+sent {
			t.Errorf("%s: sent %q", login, got)
		}
		if e := asError(t, err); e.Message != "no: Authorization: Basic ..." {
			t.Errorf("%s: %v", login, err)
		}
	}
}

// TestUnknownLogin: if Login returns false, no credentials are sent.
func TestUnknownLogin(t *testing.T) {
	t.Parallel()
	s := serve(status(200, ""))
	r := get(start)
	r.Login = func(svchost.Hostname) (string, auth.Password, bool) {
		return "alice", auth.NewPassword(password), false
	}
	if _, err := client(t, s).Get(t.Context(), r); err != nil || s.seen()[0].Header.Get("Authorization") != "" {
		t.Errorf("%v, %v", s.seen()[0].Header, err)
	}
}

// TestOutside checks the functions for other packages.
func TestOutside(t *testing.T) {
	t.Parallel()
	veto := errors.New("not there")
	c := &httpx.Client{VetoHost: func(h string) error {
		if h == "files.example.com" {
			return veto
		}
		return nil
	}}
	if u, err := c.Admit(get("https://REGISTRY.example.com/#f").URL); err != nil || u.String() != "https://registry.example.com/" {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := c.Admit(get("https://files.example.com/").URL); !errors.Is(err, veto) {
		t.Error(err)
	}
	u := get("https://registry.example.com/?a=query-value").URL
	raw := errors.New("query-value \x1b " + secret)
	err := httpx.Scrub(raw, u, secret)
	leaks(t, err.Error()+httpx.Mask(raw.Error(), 100, u, secret)+httpx.Mask(secret, 100, nil, secret))
	if !errors.Is(err, raw) || httpx.Mask("abcdefgh", 6, nil) != "abc..." {
		t.Errorf("%v", err)
	}
	if got := httpx.Mask("it is "+secret, 100, nil, secret[:4], secret); got != "it is ..." {
		t.Errorf("%q", got)
	}
	if httpx.UserAgent() == "" {
		t.Error("no user agent")
	}
}
