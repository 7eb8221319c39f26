package login_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
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
	alias := svchost.MustParse("alias.example.net")
	_, c := server(regtest.Login{})
	kept := &store{}
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
		_, c := server(regtest.Login{})
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

// TestUnsupported logs in to hosts without a supported login service.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	type services = map[string]any
	password := services{"client": "x", "token": "/token", "grant_types": []string{"password", "\x1b[31m"}}
	tests := map[string]struct {
		services services
		want     error // of package disco, or nil
		grants   []string
		tokens   string
		text     string
	}{
		"no services":        {services{}, disco.ErrNoService, nil, "", "create an API token on a page of the host and store it"},
		"another service":    {services{"modules.v1": "/m/"}, disco.ErrNoService, nil, "", "service not offered"},
		"another version":    {services{"login.v2": services{}}, disco.ErrServiceVersion, nil, "", "login.v2"},
		"HCP":                {services{"tfe.v2": "/api/v2/"}, disco.ErrNoService, nil, "https://registry.example.com/app/settings/tokens", " (https://registry.example.com/app/settings/tokens) and"},
		"Enterprise":         {services{"tfe.v2": "https://tfe.example.com:8443/api/v2/?q"}, disco.ErrNoService, nil, "https://tfe.example.com:8443/app/settings/tokens", "login.v1"},
		"password":           {services{"login.v1": password}, nil, []string{"password", `\x1b[31m`}, "", `only ["password"`},
		"password at HCP":    {services{"login.v1": password, "tfe.v2": "/api"}, nil, []string{"password", `\x1b[31m`}, "https://registry.example.com/app/settings/tokens", "authz_code"},
		"no grants":          {services{"login.v1": services{"client": "x", "grant_types": []string{}}}, nil, nil, "", "authz_code"},
		"tfe.v2 is nonsense": {services{"tfe.v2": 7}, disco.ErrNoService, nil, "", "of the host and store"},
	}
	for name, test := range tests {
		reg := regtest.New(host.String())
		reg.Services = test.services
		r, err := client(reg).Login(t.Context(), host)
		wantError(t, err)
		u, ok := errors.AsType[*login.UnsupportedError](err)
		if !ok || r != nil {
			t.Errorf("%s: %v, want an *UnsupportedError", name, err)
			continue
		}
		if u.Host != host || u.TokensURL != test.tokens || !slices.Equal(u.GrantTypes, test.grants) || (u.Err == nil) != (test.want == nil) ||
			test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %+v: %v", name, u, err)
		}
	}
}

// TestDiscoveryFails logs in to hosts whose services are unknown or invalid.
func TestDiscoveryFails(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Status: http.StatusForbidden})
	_, err := client(reg).Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*failure.RequestError](err); !ok || e.Status != 403 || !errors.Is(err, failure.ErrUnauthorized) {
		t.Error(err)
	}
	if _, ok := errors.AsType[*login.UnsupportedError](err); ok {
		t.Errorf("%v: an *UnsupportedError, although discovery failed", err)
	}
	reg = regtest.New(host.String())
	reg.Services = map[string]any{"login.v1": map[string]any{"client": 7}}
	_, err = client(reg).Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*disco.ServiceError](err); !ok || e.Service != disco.LoginV1 || errors.Is(err, disco.ErrNoService) {
		t.Error(err)
	}
}

// TestAuthorizationURL checks which authorization URLs are refused, and the parameters that
// Login adds to the others.
func TestAuthorizationURL(t *testing.T) {
	t.Parallel()
	errSeen := errors.New("seen")
	for address, want := range casetest.Pairs(t, "authorization-urls.txt") {
		reg := regtest.New(host.String())
		reg.Services = map[string]any{"login.v1": map[string]any{"client": "x", "authz": address, "token": "/t"}}
		c := client(reg)
		c.Open = func(page string) error {
			if want == "" || !strings.HasPrefix(page, want) || strings.ContainsFunc(page, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
				t.Errorf("%s: opened %q", address, page)
			}
			for name, values := range query(t, page) {
				if len(values) != 1 && name != "x" {
					t.Errorf("%s: %s is %q", address, name, values)
				}
			}
			return errSeen
		}
		_, err := c.Login(t.Context(), host)
		if wantError(t, err); errors.Is(err, errSeen) != (want != "") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// FuzzPage checks that the login page is https, has only characters of URLs, and has each
// parameter of the login once.
func FuzzPage(f *testing.F) {
	f.Add("https://sso.example.net/a?x=1&state=2#f", "client", "openid")
	f.Add("a?scope=1;2&%73tate=x&&=", "a&b", "")
	f.Add("https://[fe80::1%25$]/", "\x1b", "a b")
	f.Fuzz(func(t *testing.T, authz, id, scope string) {
		if !utf8.ValidString(authz + " " + id + " " + scope) {
			return // invalid in JSON
		}
		declared := map[string]any{"client": id, "authz": authz, "token": "/t"}
		if scope != "" {
			declared["scopes"] = []string{scope}
		}
		page, err := (&login.Client{Hosts: disco.NewHosts(host, map[disco.Service]any{disco.LoginV1: declared})}).Page(t.Context(), host)
		if err != nil {
			return
		}
		u, err := url.Parse(page)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" ||
			strings.ContainsFunc(page, func(r rune) bool {
				return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'<>\\^`{|}", r) && !strings.ContainsRune(u.EscapedPath(), r)
			}) {
			t.Fatalf("page %q, %v", page, err)
		}
		got := map[string][]string{} // url.Values loses parameters with a semicolon
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			name, value, _ := strings.Cut(part, "=")
			name, _ = url.QueryUnescape(name)
			value, _ = url.QueryUnescape(value)
			got[name] = append(got[name], value)
		}
		for name, want := range map[string]string{"response_type": "code", "client_id": id, "redirect_uri": "http://localhost:1024/login", "code_challenge_method": "S256", "scope": scope} {
			if list := got[name]; (name != "scope" || scope != "") && (len(list) != 1 || list[0] != want) {
				t.Errorf("%s is %q in %s", name, list, page)
			}
		}
		if len(got["state"]) != 1 || len(got["code_challenge"]) != 1 {
			t.Errorf("page %s", page)
		}
	})
}
