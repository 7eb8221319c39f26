package mirrorclient_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
)

func TestBase(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://mirror.example.com/providers/":       "https://mirror.example.com/providers/",
		"https://mirror.example.com/providers":        "https://mirror.example.com/providers/",
		"https://mirror.example.com":                  "https://mirror.example.com/",
		"https://mirror.example.com:8443/a/b":         "https://mirror.example.com:8443/a/b/",
		"HTTPS://mirror.example.com/":                 "https://mirror.example.com/",
		"https://mirror.example.com/a%2Fb":            "https://mirror.example.com/a%2Fb/",
		"https://127.0.0.1:8443/":                     "https://127.0.0.1:8443/",
		"https://[::1]:8443/":                         "https://[::1]:8443/",
		"https://my_mirror.example.com/":              "https://my_mirror.example.com/",
		"https://xn--bb-eka.example.com/":             "https://xn--bb-eka.example.com/",
		"https://mirror.example.com/repository/tofu/": "https://mirror.example.com/repository/tofu/",
	} {
		base, err := (&mirrorclient.Client{BaseURL: in}).Base()
		if err != nil || base.String() != want {
			t.Errorf("%s: %v, %v, want %s", in, base, err, want)
		}
	}
}

// TestBaseIsTheCallersOwn checks that a caller may change the URL that Base returns.
func TestBaseIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	c := client(mirror(nil))
	base, err := c.Base()
	if err != nil {
		t.Fatal(err)
	}
	base.Host = "elsewhere.example.com"
	if again, err := c.Base(); err != nil || again.String() != baseURL {
		t.Errorf("%v, %v", again, err)
	}
}

func TestBaseRefused(t *testing.T) {
	t.Parallel()
	for in, reason := range map[string]string{
		"":                                    "BaseURL is empty",
		"mirror.example.com/providers/":       "does not start with https://",
		"/srv/mirror":                         "does not start with https://",
		"//mirror.example.com/":               "does not start with https://",
		"https:mirror.example.com":            "has no host",
		"https:///providers/":                 "has no host",
		"https://:8443/":                      "has no host",
		"http://mirror.example.com/":          "set AllowHTTP",
		"ftp://mirror.example.com/":           "is not https",
		"file:///srv/mirror/":                 "has no host",
		"https://user:hunter2@m.example.com/": "user name",
		"https://m.example.com/?key=hunter2":  "query",
		"https://m.example.com/?":             "query",
		"https://m.example.com/#hunter2":      "fragment",
		`https://m.example.com\providers\`:    "backslash",
		" https://m.example.com/":             "space",
		"https://m.example.com/\x1b[31m":      "invalid URL",
		"https://m.example.com:0/":            "port",
		"https://m.example.com:99999/":        "port",
		"https://-bad-.example.com/":          "hyphen",
		"https://m.example.com./":             "dot",
	} {
		web := mirror(nil)
		c := client(web)
		c.BaseURL = in
		_, baseErr := c.Base()
		_, listErr := c.ProviderVersions(t.Context(), alpha)
		_, findErr := c.ProviderPackage(t.Context(), alpha, v120, linux)
		_, openErr := c.Open(t.Context(), &provider.Package{URL: "https://files.example.com/x.zip"})
		for _, err := range []error{baseErr, listErr, findErr, openErr} {
			asError(t, err)
			if text := err.Error(); !strings.Contains(text, reason) || strings.Contains(text, "hunter2") || !strings.Contains(text, "BaseURL") {
				t.Errorf("%q: %v, want %q in it", in, err, reason)
			}
			if insecure := strings.HasPrefix(in, "http:") || strings.HasPrefix(in, "ftp:"); errors.Is(err, provider.ErrInsecure) != insecure {
				t.Errorf("%q: insecure is %t: %v", in, !insecure, err)
			}
		}
		if n := len(web.asked()); n != 0 {
			t.Errorf("%q: %d requests", in, n)
		}
	}
}

// TestPaths checks that each part of an address is one segment of the path, also a host with a
// port.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ base, provider, dir string }{
		{"https://m.example.com/p/", "registry.example.com/acme/alpha", "https://m.example.com/p/registry.example.com/acme/alpha/"},
		{"https://m.example.com/p", "registry.example.com/acme/alpha", "https://m.example.com/p/registry.example.com/acme/alpha/"},
		{"https://m.example.com", "hashicorp/random", "https://m.example.com/registry.opentofu.org/hashicorp/random/"},
		{"https://m.example.com:8443/p", "example.com:8080/acme/alpha", "https://m.example.com:8443/p/example.com:8080/acme/alpha/"},
		{"https://m.example.com/p", "example.com:443/acme/alpha", "https://m.example.com/p/example.com/acme/alpha/"},
		{"https://m.example.com/p", "böb.example.com/acme/alpha", "https://m.example.com/p/xn--bb-fka.example.com/acme/alpha/"},
		{"https://m.example.com/p", "böb.example.com:8080/acme/alpha", "https://m.example.com/p/xn--bb-fka.example.com:8080/acme/alpha/"},
		{"https://m.example.com/p", "example.com/bücher/größe", "https://m.example.com/p/example.com/b%C3%BCcher/gr%C3%B6%C3%9Fe/"},
		{"https://m.example.com/a%2Fb", "EXAMPLE.com/Acme/Alpha", "https://m.example.com/a%2Fb/example.com/acme/alpha/"},
	} {
		p := addrs.MustParseProvider(test.provider)
		web := &site{pages: map[string]page{
			test.dir + "index.json": {body: `{"versions":{"1.2.0":{}}}`},
			test.dir + "1.2.0.json": {body: document("linux_amd64", "alpha.zip")},
		}}
		c := client(web)
		c.BaseURL = test.base
		versions, err := c.ProviderVersions(t.Context(), p)
		if err != nil || len(versions.List) != 1 || versions.Provider != p {
			t.Errorf("%s: %v, %v", test.provider, versions, err)
		}
		pkg, err := c.ProviderPackage(t.Context(), p, v120, linux)
		if err != nil || pkg.URL != test.dir+"alpha.zip" {
			t.Errorf("%s: %v, %v", test.provider, pkg, err)
		}
		if got, want := web.asked(), []string{test.dir + "index.json", test.dir + "1.2.0.json"}; !slices.Equal(got, want) {
			t.Errorf("%s: asked %q, want %q", test.provider, got, want)
		}
	}
}

// TestAllowHTTP checks that AllowHTTP permits mirrors without TLS, which never get a token.
func TestAllowHTTP(t *testing.T) {
	t.Parallel()
	const dir = "http://mirror.test:8080/registry.example.com/acme/alpha/"
	web := &site{pages: map[string]page{
		dir + "1.2.0.json": {body: document("linux_amd64", "alpha.zip")},
		dir + "alpha.zip":  {body: "zip"},
	}}
	c := client(web)
	c.BaseURL, c.Transport.AllowHTTP, c.Transport.Credentials = "http://mirror.test:8080", true, tokens(t, "s3cr3t", "mirror.test:8080")
	c.Transport.PackageCredentials = grant
	pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.Open(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
	for _, r := range web.seen {
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("%s got %q", r.URL, got)
		}
	}
}

// TestNothingAsked checks that invalid arguments cause no request.
func TestNothingAsked(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	c := client(web)
	for name, find := range map[string]func() (*provider.Package, error){
		"no provider": func() (*provider.Package, error) {
			return c.ProviderPackage(t.Context(), addrs.Provider{}, v120, linux)
		},
		"no version": func() (*provider.Package, error) {
			return c.ProviderPackage(t.Context(), alpha, addrs.Version{}, linux)
		},
		"no platform": func() (*provider.Package, error) {
			return c.ProviderPackage(t.Context(), alpha, v120, addrs.Platform{})
		},
	} {
		if _, err := find(); asError(t, err) == nil || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	builtIn := addrs.MustParseProvider("terraform.io/builtin/terraform")
	if _, err := c.ProviderVersions(t.Context(), builtIn); !errors.Is(err, provider.ErrNotFound) {
		t.Error(err)
	}
	if got := web.asked(); len(got) != 0 {
		t.Errorf("asked %q", got)
	}
}

// TestVeto checks that VetoHost decides which hosts are contacted, also for redirects.
func TestVeto(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	web.pages[alphaURL+"index.json"] = page{status: http.StatusFound, header: http.Header{"Location": {"https://elsewhere.example.com/index.json"}}}
	c := client(web)
	veto := errors.New("not this one")
	c.Transport.VetoHost = func(host string) error {
		if host != mirrorHost {
			return veto
		}
		return nil
	}
	if _, err := c.ProviderVersions(t.Context(), alpha); !errors.Is(err, veto) || len(web.asked()) != 1 {
		t.Errorf("%v, asked %q", err, web.asked())
	}
}
