package regtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/regclient/regtest"
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
	resp, err := reg.RoundTrip(httptest.NewRequest("GET", authzURL+"?"+p.Encode(), nil))
	if err != nil {
		t.Fatal(err)
	}
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
	resp, err := reg.Client().PostForm(tokenURL, f)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil {
		t.Error(err)
	}
	return resp, doc
}

func TestLoginDeclared(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]regtest.Login{
		`{"authz":"/oauth/authorization","client":"regtest","token":"/oauth/token"}`: {},
		`{"authz":"/oauth/authorization","client":"cli","grant_types":["authz_code"],"ports":[10000,10010],"scopes":["a"],"token":"/oauth/token"}`: {
			ClientID: "cli", GrantTypes: []string{"authz_code"}, MinPort: 10000, MaxPort: 10010, Scopes: []string{"a"},
		},
	} {
		doc := object(t, loginStart(l).Client(), base+"/.well-known/terraform.json")
		got, err := json.Marshal(doc["login.v1"])
		if err != nil || string(got) != want || doc["providers.v1"] == nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	reg, _ := start()
	if doc := object(t, reg.Client(), base+"/.well-known/terraform.json"); doc["login.v1"] != nil {
		t.Errorf("declared without Login: %v", doc)
	}
	for _, u := range []string{authzURL, tokenURL} {
		if a := get(t, reg.Client(), u); a.StatusCode != 404 {
			t.Errorf("%s without Login: %s", u, a.Status)
		}
	}
	reg = loginStart(regtest.Login{})
	reg.Services = map[string]any{}
	if doc := object(t, reg.Client(), base+"/.well-known/terraform.json"); len(doc) > 0 {
		t.Errorf("declared beside Services: %v", doc)
	}
}

// TestLoginGrant: the way of a program that does it right.
func TestLoginGrant(t *testing.T) {
	t.Parallel()
	for _, l := range []regtest.Login{{}, {Token: "abc", ExpiresIn: time.Hour, Scopes: []string{"a", "b"}}} {
		reg := loginStart(l)
		p := parameters()
		p.Set("scope", "b  a c")
		resp, back := authorize(t, reg, p)
		if resp.StatusCode != 302 || back.Get("state") != "st&te" || back.Get("code") == "" || len(back) != 2 || resp.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s, %v", resp.Status, back)
		}
		resp, doc := exchange(t, reg, form(back.Get("code")))
		want := map[string]any{"access_token": "regtest-token", "token_type": "bearer"}
		if l.Token != "" {
			want["access_token"], want["expires_in"] = "abc", 3600.0
		}
		if resp.StatusCode != 200 || fmt.Sprint(doc) != fmt.Sprint(want) || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s, %v, want %v", resp.Status, doc, want)
		}
		q := reg.Requests()[1]
		if q.Kind != regtest.LoginToken || q.Method != "POST" || q.Form.Get("code") != back.Get("code") {
			t.Errorf("record: %+v", q)
		}
		q.Form.Set("code", "other")
		if reg.Requests()[1].Form.Get("code") == "other" {
			t.Error("the record can be changed from outside")
		}
		if resp, doc := exchange(t, reg, form(back.Get("code"))); resp.StatusCode != 400 || doc["error"] != "invalid_grant" {
			t.Errorf("once more: %s, %v", resp.Status, doc)
		}
	}
}

// TestLoginAuthzRefuses: requests for a code that are wrong in one point. Without "back"
// the browser stays.
func TestLoginAuthzRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, value string
		back        bool
		code        string
	}{
		{"client_id", "other", false, "unauthorized_client"},
		{"client_id", "", false, "unauthorized_client"},
		{"redirect_uri", "", false, "invalid_request"},
		{"redirect_uri", "http://evil.example.com:5000/login", false, "invalid_request"},
		{"redirect_uri", "https://localhost:5000/login", false, "invalid_request"},
		{"redirect_uri", "http://localhost/login", false, "invalid_request"},
		{"redirect_uri", "http://localhost:4999/login", false, "invalid_request"},
		{"redirect_uri", "http://localhost:5011/login", false, "invalid_request"},
		{"redirect_uri", "http://user@localhost:5000/login", false, "invalid_request"},
		{"redirect_uri", "http://localhost:5000/login?x", false, "invalid_request"},
		{"redirect_uri", "http://[::1", false, "invalid_request"},
		{"response_type", "token", true, "unsupported_response_type"},
		{"state", "", true, "invalid_request"},
		{"code_challenge", "", true, "invalid_request"},
		{"code_challenge_method", "plain", true, "invalid_request"},
		{"scope", "b", true, "invalid_scope"},
	} {
		reg := loginStart(regtest.Login{MinPort: 5000, MaxPort: 5010, Scopes: []string{"a"}})
		p := parameters()
		p.Set("scope", "a")
		p.Set(test.name, test.value)
		resp, back := authorize(t, reg, p)
		if test.back && (resp.StatusCode != 302 || back.Get("error") != test.code || back.Get("error_description") == "" || back.Has("code") || back.Get("state") != p.Get("state")) ||
			!test.back && (resp.StatusCode != 400 || len(back) > 0) {
			t.Errorf("%s=%q: %s, %v", test.name, test.value, resp.Status, back)
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
	for _, test := range []struct{ name, value, code string }{
		{"grant_type", "password", "unsupported_grant_type"},
		{"client_id", "other", "invalid_client"},
		{"code", "other", "invalid_grant"},
		{"redirect_uri", "http://localhost:5001/login", "invalid_grant"},
		{"code_verifier", strings.Repeat("w", 43), "invalid_grant"},
		{"code_verifier", "", "invalid_grant"},
		{"padding", strings.Repeat("x", 64<<10), "unsupported_grant_type"}, // too long to be read
	} {
		reg := loginStart(regtest.Login{})
		_, back := authorize(t, reg, parameters())
		f := form(back.Get("code"))
		f.Set(test.name, test.value)
		if resp, doc := exchange(t, reg, f); resp.StatusCode != 400 || doc["error"] != test.code || doc["access_token"] != nil {
			t.Errorf("%s=%.50q: %s, %v", test.name, test.value, resp.Status, doc)
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

// TestLoginFormLimit: a form may have 64 KiB.
func TestLoginFormLimit(t *testing.T) {
	t.Parallel()
	for extra, status := range map[int]int{0: 200, 1: 400} {
		reg := loginStart(regtest.Login{})
		_, back := authorize(t, reg, parameters())
		f := form(back.Get("code"))
		f.Set("padding", "")
		f.Set("padding", strings.Repeat("x", 64<<10-len(f.Encode())+extra))
		if resp, _ := exchange(t, reg, f); resp.StatusCode != status {
			t.Errorf("%d bytes: %s, want %d", len(f.Encode()), resp.Status, status)
		}
	}
}

// TestLoginFaults: the faults of the package work on both endpoints.
func TestLoginFaults(t *testing.T) {
	t.Parallel()
	reg := loginStart(regtest.Login{})
	reg.AddFault(regtest.Fault{Kind: regtest.LoginAuthz, First: 1, Edit: func(doc map[string]any) {
		delete(doc, "code")
		doc["error"], doc["state"] = "access_denied", "other"
	}})
	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, First: 1, Status: 307, Redirect: "https://elsewhere.example.com"})
	reg.AddFault(regtest.Fault{Kind: regtest.LoginToken, Edit: func(doc map[string]any) { doc["expires_in"] = "soon" }})
	if resp, back := authorize(t, reg, parameters()); resp.StatusCode != 302 || back.Encode() != "error=access_denied&state=other" {
		t.Errorf("%s, %v", resp.Status, back)
	}
	_, back := authorize(t, reg, parameters())
	// A client that takes the code elsewhere gets the token all the same: the record
	// shows it.
	resp, doc := exchange(t, reg, form(back.Get("code")))
	if resp.StatusCode != 200 || doc["expires_in"] != "soon" {
		t.Errorf("%s, %v", resp.Status, doc)
	}
	if list := reg.Requests(); list[len(list)-1].Host != "elsewhere.example.com" || list[len(list)-1].Form.Get("code") == "" {
		t.Errorf("record: %v", list)
	}
}

// TestBrowse: the last page counts, wherever it is.
func TestBrowse(t *testing.T) {
	t.Parallel()
	reg := loginStart(regtest.Login{})
	got := make(chan url.Values, 10)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.Query()
		if r.URL.Query().Has("error") {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer program.Close()
	srv, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	p := parameters()
	p.Set("redirect_uri", program.URL+"/login")
	for at, open := range map[string]func(string) error{base: reg.Browse, srv.URL: srv.Browse} {
		if err := open(at + "/oauth/authorization?" + p.Encode()); err != nil {
			t.Error(err)
		}
		if back := <-got; back.Get("code") == "" || back.Get("state") != "st&te" {
			t.Errorf("%s: the program got %v", at, back)
		}
		refused := maps.Clone(p)
		refused.Set("response_type", "x")
		for address, text := range map[string]string{
			at + "/oauth/authorization?" + refused.Encode(): "403 Forbidden",
			at + "/oauth/authorization":                     "400 Bad Request",
			at + "/nothing":                                 "404 Not Found",
			"mailto:x":                                      "unsupported protocol",
		} {
			if err := open(address); err == nil || !strings.Contains(err.Error(), text) || !strings.HasPrefix(err.Error(), "regtest: Browse: ") {
				t.Errorf("%s: %v, want %s", address, err, text)
			}
		}
		<-got
	}
}
