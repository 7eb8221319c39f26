package disco_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/disco"
)

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
	const good = `"authz":"/a","token":"/t"`
	for text, values := range map[string][]string{
		"object":                            {`"/login"`, `null`, `[]`, `[{"client":"x",` + good + `}]`, `1`},
		`"client" is missing`:               {`{}`, `{"CLIENT":"x",` + good + `}`},
		`"client"`:                          {`{"client":"",` + good + `}`, `{"client":null,` + good + `}`, `{"client":1,` + good + `}`},
		`"authz" is missing`:                {`{"client":"x","token":"/t"}`},
		`"token" is missing`:                {`{"client":"x","authz":"/a"}`, `{"client":"x","grant_types":["password"]}`},
		`"token": the URL is empty`:         {`{"client":"x","authz":"/a","token":""}`},
		`"authz": want a URL, not a number`: {`{"client":"x","authz":1,"token":"/t"}`},
		`AllowHTTP`:                         {`{"client":"x","authz":"http://h.test/","token":"/t"}`},
		`user information`:                  {`{"client":"x","authz":"/a","token":"https://u@h.test/"}`},
		`"token"`: {
			`{"client":"x","grant_types":["device"],"token":"ftp://h.test/"}`, `{"client":"x","extra":1,"extra":2,"authz":"/a","token":"file:/"}`,
		},
		`"grant_types"`:                        {`{"client":"x","grant_types":"authz_code",` + good + `}`, `{"client":"x","grant_types":null,` + good + `}`},
		`"ports" is not an array but a string`: {`{"client":"x","ports":"10000",` + good + `}`},
		`"ports" is not an array but null`:     {`{"client":"x","ports":null,` + good + `}`},
		`"ports"`: {
			`{"client":"x","ports":[],` + good + `}`, `{"client":"x","ports":[10000],` + good + `}`,
			`{"client":"x","ports":[10000,10001,10002],` + good + `}`, `{"client":"x","ports":[10001,10000],` + good + `}`,
			`{"client":"x","ports":[1023,10000],` + good + `}`, `{"client":"x","ports":[10000,65536],` + good + `}`,
			`{"client":"x","ports":[10000.5,10001],` + good + `}`, `{"client":"x","ports":["10000","10001"],` + good + `}`,
			`{"client":"x","ports":[null,null],` + good + `}`, `{"client":"x","ports":[-10000,1e300],` + good + `}`,
		},
		`"scopes"`: {
			`{"client":"x","scopes":"a",` + good + `}`, `{"client":"x","scopes":["a",1],` + good + `}`,
			`{"client":"x","scopes":[null],` + good + `}`,
		},
		`"authz" is declared twice`: {`{"client":"x","authz":"/a","authz":"/b","token":"/t"}`},
	} {
		for _, value := range values {
			s := parse(t, `{"login.v1":`+value+`,"modules.v1":"/m/"}`)
			wantURL(t, s, disco.ModulesV1, "https://example.com/m/")
			client, err := s.OAuthClient()
			var failed *disco.ServiceError
			if client != nil || !errors.As(err, &failed) || failed.Service != disco.LoginV1 || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %+v, %v, want an error with %q", value, client, err, text)
			}
		}
	}
	if _, err := parse(t, `{}`).OAuthClient(); !errors.Is(err, disco.ErrNoService) {
		t.Errorf("no login.v1: %v", err)
	}
	if _, err := parse(t, `{"login.v1":{}}`).URL(disco.LoginV1); err == nil {
		t.Error("an object was taken for a URL")
	}
}
