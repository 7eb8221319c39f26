package login_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestAuthorizationURL checks which authorization URLs are refused, and the parameters that
// Login adds to the others.
func TestAuthorizationURL(t *testing.T) {
	t.Parallel()
	errSeen := errors.New("seen")
	for address, want := range map[string]string{ // "" means refused
		"http://sso.example.net/a":                             "",
		"javascript:alert(1)":                                  "",
		"file:///etc/passwd":                                   "",
		"data:text/html,x":                                     "",
		"https://accounts.example.com@example.net/a":           "",
		"https://a:b@sso.example.net/a":                        "",
		"https:///a":                                           "",
		"https://sso.example.net:0/a":                          "",
		"https://127.1/a":                                      "",
		`https://sso"onload=x.example.net/a`:                   "",
		"https://sso<b>.example.net/a":                         "",
		"https://sso'$(x);.example.net/a":                      "",
		"https://[fe80::1%25$(x)]/a":                           "",
		"//sso.example.net/a":                                  "https://sso.example.net/a?",
		"https://sso.example.net/a?x=1&x=2":                    "https://sso.example.net/a?x=1&x=2&",
		"https://sso.example.net/a?state=x&y=%2F&z":            "https://sso.example.net/a?y=%2F&z=&",
		"/a?redirect_uri=https://x.test&response_typ%65=token": "https://registry.example.com/a?",
		"https://SSO.example.net/ä b?x=\u202e'$(a)&y=%2F#f":    "https://sso.example.net/%C3%A4%20b?x=%E2%80%AE%27%24%28a%29&y=%2F&client_id=x&",
		"/a?scope=x&code_challenge_method=plain":               "https://registry.example.com/a?scope=x&",
	} {
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
