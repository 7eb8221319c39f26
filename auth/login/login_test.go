package login_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestLogin checks the requests and the result of a login.
func TestLogin(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]regtest.Login{
		"plain":  {},
		"all":    {ClientID: "cli & co", GrantTypes: []string{"password", "authz_code", "other"}, Scopes: []string{"read", "app:write"}, MinPort: 20000, MaxPort: 29999, ExpiresIn: time.Hour},
		"scopes": {Scopes: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, kept := registry(server), &store{}
			c := client(reg)
			c.Store, c.Transport.UserAgent = kept, "test/1"
			before := time.Now()
			r := mustLogin(t, c)
			if r.Host != host || r.Token.Reveal() != secret || kept.tokens[host] != secret {
				t.Errorf("result %+v, kept %q", r, kept.tokens)
			}
			if end := before.Add(server.ExpiresIn); server.ExpiresIn == 0 && !r.Expires.IsZero() || server.ExpiresIn != 0 && (r.Expires.Before(end) || r.Expires.After(end.Add(time.Minute))) {
				t.Errorf("expires %v", r.Expires)
			}
			checkRequests(t, reg, server)
			if err := c.Logout(t.Context(), host); err != nil || len(kept.tokens) > 0 || reg.Count(0) != 3 {
				t.Errorf("Logout: %v, %d tokens, %d requests; want no token and no request", err, len(kept.tokens), reg.Count(0)-3)
			}
		})
	}
}

// checkRequests checks the requests of a successful login.
func checkRequests(t *testing.T, reg *regtest.Registry, server regtest.Login) {
	t.Helper()
	if n := reg.Count(0); n != 3 {
		t.Errorf("%d requests, want 3: %v", n, reg.Requests())
	}
	page, exchange := one(t, reg, regtest.LoginAuthz), one(t, reg, regtest.LoginToken)
	asked := must.Get(url.ParseQuery(page.Query))(t)
	back := must.Get(url.Parse(asked.Get("redirect_uri")))(t)
	first, last := 1024, 65535
	if server.MinPort != 0 {
		first, last = server.MinPort, server.MaxPort
	}
	port, err := strconv.Atoi(back.Port())
	if back.String() != "http://localhost:"+back.Port()+"/login" || err != nil || port < first || port > last {
		t.Errorf("redirect to %s", back)
	}
	id := "regtest"
	if server.ClientID != "" {
		id = server.ClientID
	}
	sum := sha256.Sum256([]byte(exchange.Form.Get("code_verifier")))
	want := url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {back.String()}, "state": asked["state"],
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if len(server.Scopes) > 0 {
		want.Set("scope", strings.Join(server.Scopes, " "))
	}
	if asked.Encode() != want.Encode() || len(asked.Get("state")) < 26 || len(exchange.Form.Get("code_verifier")) < 43 {
		t.Errorf("asked for the page with\n%v, want\n%v", asked, want)
	}
	want = url.Values{
		"grant_type": {"authorization_code"}, "client_id": {id}, "redirect_uri": {back.String()},
		"code": exchange.Form["code"], "code_verifier": exchange.Form["code_verifier"],
	}
	if exchange.Form.Encode() != want.Encode() || exchange.Form.Get("code") == "" {
		t.Errorf("asked for the token with\n%v, want\n%v", exchange.Form, want)
	}
	if exchange.Authorization != "" || exchange.UserAgent != "test/1" || exchange.Header.Get("Accept") != "application/json" || exchange.Referer != "" {
		t.Errorf("the header of the exchange is %v", exchange.Header)
	}
}

// TestFresh checks that no random value is used in two logins.
func TestFresh(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	seen := map[string]bool{}
	for range 3 {
		reg.Reset()
		mustLogin(t, client(reg))
		asked, _ := url.ParseQuery(one(t, reg, regtest.LoginAuthz).Query)
		for _, s := range []string{asked.Get("state"), asked.Get("code_challenge"), one(t, reg, regtest.LoginToken).Form.Get("code_verifier")} {
			if seen[s] {
				t.Errorf("%q is used twice", s)
			}
			seen[s] = true
		}
	}
}

// TestAlias logs in to an alias, and gets the token of the host that it stands for.
func TestAlias(t *testing.T) {
	t.Parallel()
	reg, kept := registry(regtest.Login{}), &store{}
	alias := svchost.MustParse("alias.example.net")
	c := client(reg)
	c.Store = kept
	c.Hosts = &disco.Hosts{Aliases: map[svchost.Hostname]svchost.Hostname{alias: host}}
	r, err := c.Login(t.Context(), alias)
	if err != nil || r.Host != host || kept.tokens[host] != secret || len(kept.tokens) != 1 {
		t.Errorf("%+v, %v, kept %v", r, err, kept.tokens)
	}
}

// TestStoreFails checks that Login returns a token that cannot be saved, and that the error
// does not contain it.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, err := range []error{full, errors.Join(full, errors.New("writing "+secret))} {
		c := client(registry(regtest.Login{}))
		c.Store = &store{err: err}
		r, got := c.Login(t.Context(), host)
		e := wantError(t, got)
		if r == nil || r.Token.Reveal() != secret || !errors.Is(got, full) || e.Op != "log in to" || e.Subject != host.String() {
			t.Errorf("%+v, %v", r, got)
		}
		if strings.Contains(got.Error(), secret) || !strings.Contains(got.Error(), "disk full") {
			t.Errorf("error %q", got)
		}
		c.Store = &store{err: full}
		got = c.Logout(t.Context(), host)
		if e := wantError(t, got); !errors.Is(got, full) || e.Op != "log out of" || e.Subject != host.String() {
			t.Errorf("%v", got)
		}
	}
}

// TestConcurrently logs in to several hosts at the same time with one client.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	reg, kept := registry(regtest.Login{}), &store{}
	var hosts []svchost.Hostname
	for _, name := range []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com"} {
		reg.AddProvider(regtest.Provider{Address: name + "/acme/alpha"}) // which makes it a registry
		hosts = append(hosts, svchost.MustParse(name))
	}
	c := client(reg)
	c.Store = kept
	results := make(chan error)
	for _, h := range hosts {
		go func() {
			r, err := c.Login(t.Context(), h)
			if err == nil && r.Host != h {
				err = errors.New("the token of " + r.Host.String() + " for " + h.String())
			}
			results <- err
		}()
	}
	for range hosts {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(kept.tokens) != len(hosts) {
		t.Errorf("kept %v", kept.tokens)
	}
}
