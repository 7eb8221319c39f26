package regtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
)

const (
	authzURL = base + "/oauth/authorization"
	tokenURL = base + "/oauth/token"
)

var verifier = strings.Repeat("v", 43)

// loginStart returns a registry with an identity server.
func loginStart(l regtest.Login) *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.Login = &l
	return reg
}

// parameters are those of a program that does it right.
func parameters() url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {"regtest"}, "redirect_uri": {"http://localhost:5000/login"}, "state": {"st&te"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
}

// form is that of a program that does it right with its code.
func form(code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"regtest"}, "redirect_uri": {"http://localhost:5000/login"},
		"code": {code}, "code_verifier": {verifier},
	}
}

// authorize asks for the page, and returns the answer and where it leads.
func authorize(t *testing.T, reg *regtest.Registry, p url.Values) (*http.Response, url.Values) {
	t.Helper()
	resp := must.Get(reg.RoundTrip(httptest.NewRequest("GET", authzURL+"?"+p.Encode(), nil)))(t)
	at, query, _ := strings.Cut(resp.Header.Get("Location"), "?")
	back, err := url.ParseQuery(query)
	if err != nil || at != "" && at != p.Get("redirect_uri") {
		t.Errorf("leads to %q: %v", at, err)
	}
	return resp, back
}

// exchange posts a form, and returns the answer and what is in it.
func exchange(t *testing.T, reg *regtest.Registry, f url.Values) (*http.Response, map[string]any) {
	t.Helper()
	resp := must.Get(reg.Client().PostForm(tokenURL, f))(t)
	defer resp.Body.Close()
	var doc map[string]any
	must.Do(t, json.NewDecoder(resp.Body).Decode(&doc))
	return resp, doc
}

// TestLoginGrant: the way of a program that does it right, with a code that is good once.
func TestLoginGrant(t *testing.T) {
	t.Parallel()
	reg := loginStart(regtest.Login{Token: "abc", ExpiresIn: time.Hour, Scopes: []string{"a", "b"}})
	p := parameters()
	p.Set("scope", "b  a c")
	resp, back := authorize(t, reg, p)
	if resp.StatusCode != 302 || back.Get("state") != "st&te" || back.Get("code") == "" || len(back) != 2 || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s, %v", resp.Status, back)
	}
	resp, doc := exchange(t, reg, form(back.Get("code")))
	want := map[string]any{"access_token": "abc", "token_type": "bearer", "expires_in": 3600.0}
	if resp.StatusCode != 200 || fmt.Sprint(doc) != fmt.Sprint(want) || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s, %v, want %v", resp.Status, doc, want)
	}
	if q := reg.Requests()[1]; q.Kind != regtest.LoginToken || q.Method != "POST" || q.Form.Get("code") != back.Get("code") {
		t.Errorf("record: %+v", q)
	}
	if resp, doc := exchange(t, reg, form(back.Get("code"))); resp.StatusCode != 400 || doc["error"] != "invalid_grant" {
		t.Errorf("once more: %s, %v", resp.Status, doc)
	}
}

// TestLoginAuthzRefuses: requests for a code that are wrong in one point. Without "back"
// the browser stays.
func TestLoginAuthzRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Name, Value string
		Back        bool
		Code        string
	}](t, "authz-refused.txt") {
		reg := loginStart(regtest.Login{MinPort: 5000, MaxPort: 5010, Scopes: []string{"a"}})
		p := parameters()
		p.Set("scope", "a")
		p.Set(test.Name, test.Value)
		resp, back := authorize(t, reg, p)
		if test.Back && (resp.StatusCode != 302 || back.Get("error") != test.Code || back.Get("error_description") == "" || back.Has("code") || back.Get("state") != p.Get("state")) ||
			!test.Back && (resp.StatusCode != 400 || len(back) > 0) {
			t.Errorf("%s=%q: %s, %v", test.Name, test.Value, resp.Status, back)
		}
	}
	if _, back := authorize(t, loginStart(regtest.Login{GrantTypes: []string{"password"}}), parameters()); back.Get("error") != "unauthorized_client" {
		t.Errorf("without the grant type: %v", back)
	}
	for _, redirect := range []string{"http://127.0.0.1:1024/login", "http://[::1]:65535/x"} {
		p := parameters()
		p.Set("redirect_uri", redirect)
		if _, back := authorize(t, loginStart(regtest.Login{}), p); back.Get("code") == "" {
			t.Errorf("%s: %v", redirect, back)
		}
	}
	if a := get(t, loginStart(regtest.Login{}).Client(), authzURL+"?%zz"); a.StatusCode != 400 {
		t.Errorf("a malformed query: %s", a.Status)
	}
}

// TestLoginTokenRefuses: a code is used up by whoever shows it, and is of no use with
// anything else than what it was asked for with.
func TestLoginTokenRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Name, Value, Code string }](t, "token-refused.txt") {
		reg := loginStart(regtest.Login{})
		_, back := authorize(t, reg, parameters())
		f := form(back.Get("code"))
		f.Set(test.Name, test.Value)
		if resp, doc := exchange(t, reg, f); resp.StatusCode != 400 || doc["error"] != test.Code || doc["access_token"] != nil {
			t.Errorf("%s=%.50q: %s, %v", test.Name, test.Value, resp.Status, doc)
		}
	}
	reg := loginStart(regtest.Login{})
	for method, status := range map[string]int{"GET": 405, "HEAD": 404, "PUT": 405, "POST": 400} {
		if a := do(t, reg.Client(), method, tokenURL); a.StatusCode != status {
			t.Errorf("%s: %s, want %d", method, a.Status, status)
		}
	}
	if a := do(t, reg.Client(), "POST", authzURL); a.StatusCode != 405 {
		t.Errorf("POST for a page: %s", a.Status)
	}
}
