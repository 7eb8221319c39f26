package disco_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
)

func parse(t testing.TB, document string) *disco.Services {
	t.Helper()
	s, err := disco.ParseServices(example, nil, []byte(document))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return s
}

func TestDocument(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{}`,
		" \r\n\t{ } \n",
		`{"modules.v1":"/m/"}`,
		`{"login.v1":{"client":"x"},"oci.v1":["a",{"b":null}],"x":null,"":1,"motd.v1":true,"deep":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		parse(t, document)
	}
	for _, document := range []string{
		``, ` `, `null`, `true`, `1`, `"modules.v1"`, `[]`, `[{"modules.v1":"/m/"}]`,
		"\ufeff{}",
		`{}{}`, `{} null`, `{},`, `{}}`, `{} // text`, `<html></html>`,
		`{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a" "b"}`, `{a:1}`, `{'a':1}`, `{"a":01}`, "{\"a\":\"\n\"}",
		`{"deep":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"{\"a\":1}\x00", "{\"a\":\"\xff\"}", "{\"\xff\":1}",
	} {
		s, err := disco.ParseServices(example, nil, []byte(document))
		if subject, request, _ := failed(err); s != nil || subject != "example.com" || request.URL != "https://example.com"+path {
			t.Errorf("%.40q: %v, %v", document, s, err)
		}
	}
}

func TestDocumentLimits(t *testing.T) {
	t.Parallel()
	services := func(n int) []byte {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("service%d.v1", i)] = "/"
		}
		return must.Get(json.Marshal(all))(t)
	}
	s, err := disco.ParseServices(example, nil, services(1000))
	if err != nil || len(s.IDs()) != 1000 {
		t.Errorf("1000 services: %v", err)
	}
	if _, err := disco.ParseServices(example, nil, services(1001)); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("1001 services: %v", err)
	}
	padded := func(n int) []byte { return []byte("{}" + strings.Repeat(" ", n-2)) }
	if _, err := disco.ParseServices(example, nil, padded(1<<20)); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if _, err := disco.ParseServices(example, nil, padded(1<<20+1)); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("1 MiB and a byte: %v", err)
	}
}

func TestServiceURL(t *testing.T) {
	t.Parallel()
	const final = "https://cdn.test:8443/a/b/terraform.json?sig=1#x"
	for value, want := range casetest.Pairs(t, "service-urls.txt") {
		document := must.Get(json.Marshal(map[string]string{"modules.v1": value, "providers.v1": "/p/"}))(t)
		s, err := disco.ParseServices(example, must.Get(url.Parse(final))(t), document)
		if err != nil {
			t.Errorf("%q spoils the document: %v", value, err)
			continue
		}
		wantURL(t, s, disco.ProvidersV1, "https://cdn.test:8443/p/")
		u, err := s.URL(disco.ModulesV1)
		if want != "" {
			if err != nil || u.String() != want {
				t.Errorf("%q: %v, %v, want %s", value, u, err, want)
			}
			continue
		}
		var failed *disco.ServiceError
		if !errors.As(err, &failed) || failed.Service != disco.ModulesV1 || failed.Host != example || len(failed.Offered) != 0 {
			t.Errorf("%q: %v, %v, want a refusal", value, u, err)
			continue
		}
		if errors.Is(err, disco.ErrNoService) || errors.Is(err, disco.ErrServiceVersion) {
			t.Errorf("%q: looks as if the service were not offered: %v", value, err)
		}
		if insecure := strings.HasPrefix(value, "http://"); errors.Is(err, failure.ErrInsecure) != insecure || insecure && !strings.Contains(err.Error(), "AllowHTTP") {
			t.Errorf("%q: %v", value, err)
		}
		if text := err.Error(); strings.Contains(text, "password") || strings.ContainsAny(text, "\x00\x1b\x7f\n") {
			t.Errorf("%q: text %q", value, text)
		}
	}
}

func TestErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"https://user:hunter2@api.test/", "https://user:hunter2%zz@api.test/", "https://us er:hunter2@api.test/",
		"ftp://api.test/?token=hunter2", "http://api.test/?token=hunter2#hunter2", "https://user:hunter2@api.test:99999/\x7f",
	} {
		document, _ := json.Marshal(map[string]string{"modules.v1": value})
		if _, err := parse(t, string(document)).URL(disco.ModulesV1); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", value, err)
		}
	}
	base := &url.URL{Scheme: "https", User: url.UserPassword("user", "hunter2"), Host: "cdn.test", Path: "/d", RawQuery: "token=hunter2"}
	if _, err := disco.ParseServices(example, base, []byte("[]")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
	s := must.Get(disco.ParseServices(example, base, []byte(`{"modules.v1":"m/"}`)))(t)
	wantURL(t, s, disco.ModulesV1, "https://cdn.test/m/")
}

func TestServiceValues(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`null`, `{}`, `{"url":"/m/"}`, `[]`, `["/m/"]`, `1`, `true`, `false`, `-0.5e3`,
		`"\ud800"`, `"` + "\ufffd" + `"`, `"\u0000"`,
	} {
		s := parse(t, `{"modules.v1":`+raw+`,"providers.v1":"/p/"}`)
		if u, err := s.URL(disco.ModulesV1); err == nil || errors.Is(err, disco.ErrNoService) || errors.Is(err, disco.ErrServiceVersion) {
			t.Errorf("%s: %v, %v", raw, u, err)
		}
		wantURL(t, s, disco.ProvidersV1, "https://example.com/p/")
	}
}

func TestDuplicateServices(t *testing.T) {
	t.Parallel()
	s := parse(t, `{"modules.v1":"/a/","providers.v1":"/p/","modules.v1":"/b/","providers.v1": "/p/","login.v1":{"client":"a","client":"b"}}`)
	if _, err := s.URL(disco.ModulesV1); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("two values: %v", err)
	}
	wantURL(t, s, disco.ProvidersV1, "https://example.com/p/") // the same value twice is no harm
	if _, err := s.OAuthClient(); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("two client identifiers: %v", err)
	}
	if got := s.IDs(); !slices.Equal(got, []disco.Service{"login.v1", "modules.v1", "providers.v1"}) {
		t.Errorf("IDs = %q", got)
	}
	// The first value again does not heal it.
	if _, err := parse(t, `{"modules.v1":"/a/","modules.v1":"/b/","modules.v1":"/a/"}`).URL(disco.ModulesV1); err == nil {
		t.Error("three values: no error")
	}
}

func TestNotOffered(t *testing.T) {
	t.Parallel()
	type ids = []disco.Service
	for _, tt := range []struct {
		document string
		id       disco.Service
		cause    error
		offered  ids
		offers   string // in the text
	}{
		{`{}`, "modules.v1", disco.ErrNoService, nil, "no services at all"},
		{`{"providers.v1":"/p/","login.v1":{}}`, "modules.v1", disco.ErrNoService, ids{"login.v1", "providers.v1"}, "login.v1, providers.v1"},
		{`{"modules.v2":"/2/","modules.v3":null,"x.v1":"/x/"}`, "modules.v1", disco.ErrServiceVersion, ids{"modules.v2", "modules.v3"}, "modules.v2, modules.v3"},
		{`{"modules.v01":"/m/"}`, "modules.v1", disco.ErrServiceVersion, ids{"modules.v01"}, "modules.v01"},
		{`{"tfe.v2":"/2/","tfe.v2.1":"/21/"}`, "tfe.v2.2", disco.ErrServiceVersion, ids{"tfe.v2", "tfe.v2.1"}, "tfe.v2, tfe.v2.1"},
		{`{"Modules.v1":"/m/"}`, "modules.v1", disco.ErrNoService, ids{"Modules.v1"}, "Modules.v1"},
		{`{"modules.v1":"/m/"}`, "module.v1", disco.ErrNoService, ids{"modules.v1"}, "modules.v1"},
		{`{"modules":"/m/"}`, "modules.v1", disco.ErrNoService, ids{"modules"}, "modules"},
		{`{"\u001b[2J.v1":"/m/"}`, "a.v1", disco.ErrNoService, ids{"\x1b[2J.v1"}, `\x1b[2J.v1`},
		{`{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1}`, "b.v1", disco.ErrNoService,
			ids{"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"}, `a1, a2, a3, a4, a5, a6, a7, a8 and 1 more`},
	} {
		_, err := parse(t, tt.document).URL(tt.id)
		var failed *disco.ServiceError
		if !errors.As(err, &failed) || !errors.Is(err, tt.cause) {
			t.Errorf("%s in %s: %v", tt.id, tt.document, err)
			continue
		}
		text := fmt.Sprintf("%s at example.com: %v; the host offers %s", tt.id, tt.cause, tt.offers)
		if failed.Host != example || failed.Service != tt.id || !slices.Equal(failed.Offered, tt.offered) || err.Error() != text {
			t.Errorf("%s in %s: %+v, %q", tt.id, tt.document, failed, err)
		}
		if errors.Is(err, disco.ErrNoService) && errors.Is(err, disco.ErrServiceVersion) {
			t.Errorf("%s in %s: both sentinels match", tt.id, tt.document)
		}
	}
	for _, id := range []disco.Service{"", ".v1", "modules", "modules.", "modules.v", "modules.1", "modules.v1.1", "modules.V1", "modules.v-1", "a.b.v1", "tfe.v", "tfe.v2.", "tfe.v2.x"} {
		_, err := parse(t, `{"modules.v1":"/m/","tfe.v2":"/t/"}`).URL(id)
		if failed, ok := errors.AsType[*disco.ServiceError](err); !ok || failed.Service != id || !errors.Is(err, disco.ErrServiceID) ||
			errors.Is(err, disco.ErrServiceVersion) || errors.Is(err, disco.ErrNoService) {
			t.Errorf("URL(%q): %v, want ErrServiceID", id, err)
		}
	}
	if _, err := parse(t, `{"login.v2":{}}`).OAuthClient(); !errors.Is(err, disco.ErrServiceVersion) {
		t.Errorf("OAuthClient: %v", err)
	}
}

func TestServicesDoNotChange(t *testing.T) {
	t.Parallel()
	s := parse(t, `{"modules.v1":"/m/","login.v1":{"client":"x","authz":"/a","token":"/t","scopes":["s"]}}`)
	webtest.Together(4, func(int) {
		for range 50 {
			u, err := s.URL(disco.ModulesV1)
			if err != nil || u.Path != "/m/" {
				t.Errorf("URL = %v, %v", u, err)
				return
			}
			u.Path, u.Host = "/changed", "changed.test"
			ids := s.IDs()
			ids[0] = "changed"
			client, err := s.OAuthClient()
			if err != nil || client.AuthorizationURL.Path != "/a" || client.Scopes[0] != "s" || client.GrantTypes[0] != disco.GrantAuthzCode {
				t.Errorf("OAuthClient = %+v, %v", client, err)
				return
			}
			client.AuthorizationURL.Path, client.Scopes[0], client.GrantTypes[0] = "/changed", "changed", "changed"
		}
	})
	if got := s.IDs(); got[0] != "login.v1" {
		t.Errorf("IDs = %q", got)
	}
}

func TestZeroServices(t *testing.T) {
	t.Parallel()
	var s disco.Services
	if _, err := s.URL(disco.ModulesV1); !errors.Is(err, disco.ErrNoService) || len(s.IDs()) != 0 || !hostOf(&s).IsZero() {
		t.Errorf("%v, %v, %v", err, s.IDs(), hostOf(&s))
	}
}

func TestNewServices(t *testing.T) {
	t.Parallel()
	s := disco.NewServices(svchost.MustParse("Bücher.example:8443"), map[disco.Service]any{
		"modules.v1":   "https://api.test/m",
		"providers.v1": "/p/",
		"relative.v1":  "r/",
		"number.v1":    1,
		"null.v1":      nil,
		"plain.v1":     "http://api.test/",
		"invalid.v1":   "/\xff",
		"login.v1":     []map[string]any{{"client": "x", "authz": "/a", "token": "/t", "ports": []any{10000, 10010}}},
	})
	wantURL(t, s, "modules.v1", "https://api.test/m")
	wantURL(t, s, "providers.v1", "https://xn--bcher-kva.example:8443/p/")
	wantURL(t, s, "relative.v1", "https://xn--bcher-kva.example:8443/.well-known/r/")
	for _, id := range []disco.Service{"number.v1", "null.v1", "plain.v1", "invalid.v1"} {
		wantURL(t, s, id, "")
	}
	client, err := s.OAuthClient()
	if err != nil || client.MinPort != 10000 || client.TokenURL.String() != "https://xn--bcher-kva.example:8443/t" {
		t.Errorf("OAuthClient = %+v, %v", client, err)
	}
	for _, value := range []any{make(chan int), math.NaN(), func() {}} {
		_, err := disco.NewServices(example, map[disco.Service]any{"modules.v1": value}).URL("modules.v1")
		if err == nil || !strings.Contains(err.Error(), "modules.v1 at example.com") {
			t.Errorf("%T: %v", value, err)
		}
	}
	if s := disco.NewServices(example, nil); len(s.IDs()) != 0 {
		t.Errorf("no services: %v", s.IDs())
	}
}

func TestOAuthClient(t *testing.T) {
	t.Parallel()
	at := func(path string) *url.URL { return &url.URL{Scheme: "https", Host: "example.com", Path: path} }
	code := []string{"authz_code"}
	for value, want := range map[string]disco.OAuthClient{
		`{"client":"x","authz":"/a","token":"/t"}`:                                        {ID: "x", GrantTypes: code, AuthorizationURL: at("/a"), TokenURL: at("/t")},
		`{"client":"x","authz":"https://example.com/a#f","token":"/t","extra":[{}]}`:      {ID: "x", GrantTypes: code, AuthorizationURL: at("/a"), TokenURL: at("/t")},
		`{"client":"x","grant_types":["password"],"token":"/t"}`:                          {ID: "x", GrantTypes: []string{"password"}, TokenURL: at("/t")},
		`{"client":"x","grant_types":["password","authz_code"],"token":"/t","authz":"a"}`: {ID: "x", GrantTypes: []string{"password", "authz_code"}, AuthorizationURL: at("/.well-known/a"), TokenURL: at("/t")},
		`{"client":"x","grant_types":["device",1,null,{}]}`:                               {ID: "x", GrantTypes: []string{"device"}},
		`{"client":"x","grant_types":[]}`:                                                 {ID: "x"},
		`{"client":"x","grant_types":["device"],"authz":"/a"}`:                            {ID: "x", GrantTypes: []string{"device"}, AuthorizationURL: at("/a")},
		`{"client":"x","grant_types":[],"scopes":["a","b c"]}`:                            {ID: "x", Scopes: []string{"a", "b c"}},
		`{"client":"x","grant_types":[],"scopes":null}`:                                   {ID: "x"},
		`{"client":"x","grant_types":[],"ports":[1024,65535]}`:                            {ID: "x"},
		`{"client":"x","grant_types":[],"ports":[1e4,10000.0]}`:                           {ID: "x", MinPort: 10000, MaxPort: 10000},
		`{"client":"x","grant_types":[],"CLIENT":"y","Ports":[1,2]}`:                      {ID: "x"},
	} {
		if want.MinPort == 0 {
			want.MinPort, want.MaxPort = 1024, 65535
		}
		got, err := parse(t, `{"login.v1":`+value+`}`).OAuthClient()
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", value, diff)
		}
	}
}

func TestOAuthClientRefused(t *testing.T) {
	t.Parallel()
	for value, want := range casetest.Pairs(t, "oauth-clients-refused.txt") {
		s := parse(t, `{"login.v1":`+value+`,"modules.v1":"/m/"}`)
		wantURL(t, s, disco.ModulesV1, "https://example.com/m/")
		client, err := s.OAuthClient()
		var failed *disco.ServiceError
		if client != nil || !errors.As(err, &failed) || failed.Service != disco.LoginV1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want an error with %q", value, client, err, want)
		}
	}
	if _, err := parse(t, `{}`).OAuthClient(); !errors.Is(err, disco.ErrNoService) {
		t.Errorf("no login.v1: %v", err)
	}
	if _, err := parse(t, `{"login.v1":{}}`).URL(disco.LoginV1); err == nil {
		t.Error("an object was taken for a URL")
	}
}

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
