package disco_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tofureg/tofureg/disco"
)

// FuzzDocument checks that documents do not cause panics, invalid URLs or unprintable errors.
func FuzzDocument(f *testing.F) {
	for _, document := range []string{
		`{"modules.v1":"https://api.example.com/v1/","providers.v1":"/p/"}`,
		`{"login.v1":{"client":"x","authz":"/a","token":"/t","ports":[10000,10010],"scopes":["a"],"grant_types":["authz_code","password"]}}`,
		`{"modules.v1":"https:foo","providers.v1":"https:///x","modules.v2":"//u@h/","x":"#f","y":"?q","z":"\\h"}`,
		`{"modules.v1":"a","modules.v1":"b"}`, `null`, `[]`, `{}{}`, "\ufeff{}", `{"a":"\ud800","":null}`, `{"a.v1":"http://[::1]:99999/%zz"}`,
	} {
		f.Add([]byte(document), "https://example.com/.well-known/terraform.json")
		f.Add([]byte(document), "https://user:pw@cdn.test:8443/a/b?c#d")
	}
	f.Fuzz(func(t *testing.T, document []byte, final string) {
		base, err := url.Parse(final)
		if err != nil {
			return
		}
		s, err := disco.ParseServices(example, base, document)
		if err != nil {
			printable(t, err)
			return
		}
		ids := s.IDs()
		if !slices.IsSorted(ids) {
			t.Errorf("IDs = %q", ids)
		}
		var urls []*url.URL
		for _, id := range append(ids, disco.LoginV1, disco.ModulesV1, "modules.v9") {
			u, err := s.URL(id)
			if err != nil {
				printable(t, err)
				continue
			}
			urls = append(urls, u)
		}
		if client, err := s.OAuthClient(); err != nil {
			printable(t, err)
		} else {
			urls = append(urls, client.AuthorizationURL, client.TokenURL)
			if client.ID == "" || client.MinPort < 1024 || client.MaxPort > 65535 || client.MinPort > client.MaxPort {
				t.Errorf("OAuthClient = %+v", client)
			}
		}
		for _, u := range urls {
			if u != nil {
				usable(t, u)
			}
		}
	})
}

func usable(t *testing.T, u *url.URL) {
	if u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		t.Errorf("URL %q: %#v", u, u)
	}
	if again, err := url.Parse(u.String()); err != nil || again.Host != u.Host || strings.ContainsFunc(u.String(), unicode.IsControl) {
		t.Errorf("URL %q does not survive: %v", u, err)
	}
}

func printable(t *testing.T, err error) {
	if text := err.Error(); text == "" || len(text) > 4096 || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("text %q", text)
	}
}
