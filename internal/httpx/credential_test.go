package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

// source is an auth.Source that counts lookups and invalidations.
type source struct {
	token       string
	err         error
	lookups     int
	invalidated []svchost.Hostname
}

func (s *source) Token(_ context.Context, h svchost.Hostname) (auth.Token, error) {
	s.lookups++
	if s.err != nil || s.token == "" {
		return auth.Token{}, s.err
	}
	return auth.NewToken(s.token)
}

func (s *source) Invalidate(h svchost.Hostname) { s.invalidated = append(s.invalidated, h) }

func (s *source) String() string { return "test source" }

func TestFailingSourceIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("helper exited with status 1")
	s := serve(status(200, ""))
	c := client(t, s)
	c.Credentials = &source{err: broken}
	r := withToken(start)
	_, err := c.Document(t.Context(), r)
	e := asError(t, err)
	named, ok := errors.AsType[*auth.SourceError](err)
	if !ok || named.Host != home || named.Source != "test source" || !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if len(s.Requests()) != 0 || e.HadToken || e.Attempts != 0 {
		t.Errorf("%d requests, %+v", len(s.Requests()), e)
	}
	r.TokenFor = svchost.Hostname{}
	if _, err := c.Document(t.Context(), r); err != nil {
		t.Errorf("without TokenFor: error %v, want no lookup", err)
	}
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		source      *source
		steps       []handler
		address     string
		had         bool
		invalidated bool
	}{
		{"401 with a token", &source{token: secret}, []handler{status(401, "")}, start, true, true},
		{"401 without one", &source{}, []handler{status(401, "")}, start, false, true},
		{"403 with a token", &source{token: secret}, []handler{status(403, "")}, start, true, false},
		{"401 over http", &source{token: secret}, []handler{status(401, "")}, "http://registry.example.com/", false, false},
		{"401 where the token did not follow", &source{token: secret}, []handler{redirect("https://cdn.example.com/"), status(401, "")}, start, true, false},
		{"401 where it did", &source{token: secret}, []handler{redirect("/next"), status(401, "")}, start, true, true},
		{"no source", nil, []handler{status(401, "")}, start, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &httpx.Client{HTTP: &http.Client{Transport: serve(test.steps...)}, AllowHTTP: true}
			if test.source != nil {
				c.Credentials = test.source
			}
			_, err := c.Document(t.Context(), withToken(test.address))
			e := asError(t, err)
			if !errors.Is(err, failure.ErrUnauthorized) || e.HadToken != test.had {
				t.Errorf("%+v", e)
			}
			if says := map[bool]string{true: "(a token was sent)", false: "(no token was sent)"}[test.had]; !strings.HasSuffix(err.Error(), says) {
				t.Errorf("text %q, want %q", err, says)
			}
			if test.source == nil {
				return
			}
			if got := slices.Contains(test.source.invalidated, home); got != test.invalidated {
				t.Errorf("invalidated %v, want %v", got, test.invalidated)
			}
			if test.address != start && test.source.lookups > 0 {
				t.Error("a token was looked up for a request without credentials")
			}
		})
	}
}

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
	for address, want := range casetest.Pairs(t, "first-urls-login.txt") {
		s, a := serve(status(200, "")), asked{}
		c := &httpx.Client{HTTP: &http.Client{Transport: s}, AllowHTTP: strings.HasPrefix(address, "http:")}
		r := get(address)
		r.Login = a.login
		resp, err := c.Document(t.Context(), r)
		if err != nil || resp.HadToken {
			t.Errorf("%s: %+v, %v", address, resp, err)
			continue
		}
		got := s.Requests()[0].Header.Get("Authorization")
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
		_, err := c.Document(t.Context(), r)
		e := asError(t, err)
		if got := s.Requests()[0].Header.Get("Authorization"); got != want || e.HadToken != (tokenFor == home) || len(a) > 0 == (tokenFor == home) {
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
		_, err := client(t, s).Document(t.Context(), get("https://"+login+"@registry.example.com/x"))
		if got := s.Requests()[0].Header.Get("Authorization"); got != "Basic "+sent {
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
	if _, err := client(t, s).Document(t.Context(), r); err != nil || s.Requests()[0].Header.Get("Authorization") != "" {
		t.Errorf("%v, %v", s.Requests()[0].Header, err)
	}
}

// TestOutside checks the functions for other packages.
func TestOutside(t *testing.T) {
	t.Parallel()
	c := &httpx.Client{VetoHost: vetoPrivate}
	if u, err := c.Admit(get("https://REGISTRY.example.com/#f").URL); err != nil || u.String() != "https://registry.example.com/" {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := c.Admit(get("https://localhost/").URL); !errors.Is(err, errVeto) {
		t.Error(err)
	}
	u := get("https://registry.example.com/?a=query-value").URL
	mayGo := &httpx.Client{PackageCredentials: func(svchost.Hostname, *url.URL) bool { return true }}
	if c.MayGoTo(u, home) || mayGo.MayGoTo(u, svchost.Hostname{}) || !mayGo.MayGoTo(u, home) {
		t.Error("MayGoTo does not need both a host and PackageCredentials")
	}
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
