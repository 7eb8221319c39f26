package mirrorclient_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

func TestBase(t *testing.T) {
	t.Parallel()
	for in, want := range casetest.Pairs(t, "bases.txt") {
		base, err := (&mirrorclient.Client{BaseURL: in}).Base()
		if err != nil || base.String() != want {
			t.Errorf("%s: %v, %v, want %s", in, base, err, want)
		}
	}
	c := client(mirror(nil))
	base, _ := c.Base()
	base.Host = "elsewhere.example.com" // the URL is the caller's own
	if again, err := c.Base(); err != nil || again.String() != baseURL {
		t.Errorf("after a change of the result: %v, %v", again, err)
	}
}

func TestBaseRefused(t *testing.T) {
	t.Parallel()
	for in, reason := range casetest.Pairs(t, "bases-refused.txt") {
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
			if insecure := strings.HasPrefix(in, "http:") || strings.HasPrefix(in, "ftp:"); errors.Is(err, failure.ErrInsecure) != insecure {
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
	for _, test := range casetest.Read[struct{ Base, Provider, Dir string }](t, "paths.txt") {
		p := addrs.MustParseProvider(test.Provider)
		web := &site{pages: map[string]page{
			test.Dir + "index.json": {body: `{"versions":{"1.2.0":{}}}`},
			test.Dir + "1.2.0.json": {body: document("linux_amd64", "alpha.zip")},
		}}
		c := client(web)
		c.BaseURL = test.Base
		versions, err := c.ProviderVersions(t.Context(), p)
		if err != nil || len(versions.Versions) != 1 || versions.Provider != p {
			t.Errorf("%s: %v, %v", test.Provider, versions, err)
		}
		pkg, err := c.ProviderPackage(t.Context(), p, v120, linux)
		if err != nil || pkg.URL != test.Dir+"alpha.zip" {
			t.Errorf("%s: %v, %v", test.Provider, pkg, err)
		}
		if got, want := web.asked(), []string{test.Dir + "index.json", test.Dir + "1.2.0.json"}; !slices.Equal(got, want) {
			t.Errorf("%s: asked %q, want %q", test.Provider, got, want)
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
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	must.Get(c.Open(t.Context(), pkg))(t).Close()
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
	_, noProvider := c.ProviderPackage(t.Context(), addrs.Provider{}, v120, linux)
	_, noVersion := c.ProviderPackage(t.Context(), alpha, addrs.Version{}, linux)
	_, noPlatform := c.ProviderPackage(t.Context(), alpha, v120, addrs.Platform{})
	for name, err := range map[string]error{"provider": noProvider, "version": noVersion, "platform": noPlatform} {
		if asError(t, err).Op == "" || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("no %s: %v", name, err)
		}
	}
	builtIn := addrs.MustParseProvider("terraform.io/builtin/terraform")
	if _, err := c.ProviderVersions(t.Context(), builtIn); !errors.Is(err, failure.ErrNotFound) {
		t.Error(err)
	}
	if got := web.asked(); len(got) != 0 {
		t.Errorf("asked %q", got)
	}
}

const secret = "hunter2-hunter2"

// grant is a PackageCredentials that permits every URL.
func grant(svchost.Hostname, *url.URL) bool { return true }

// TestToken checks that only a token for the mirror's host and port is sent, not one for the
// provider's host.
func TestToken(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Base, Host string
		Sent       bool
	}](t, "tokens.txt") {
		var saw []string
		web := roundTripper(func(r *http.Request) (*http.Response, error) {
			saw = append(saw, r.Header.Get("Authorization"))
			if strings.Contains(fmt.Sprint(r.URL, r.Header["Referer"]), secret) {
				t.Errorf("%s leaks", r.URL)
			}
			body := `{"versions":{}}`
			if strings.HasSuffix(r.URL.Path, "1.2.0.json") {
				body = document("linux_amd64", "alpha.zip")
			}
			return jsonAnswer(r, body), nil
		})
		c := &mirrorclient.Client{BaseURL: test.Base, Transport: &transport.Settings{HTTP: &http.Client{Transport: web}, Retries: -1, Credentials: tokens(t, secret, test.Host)}}
		walk(t, c)
		want := []string{"", "", ""}
		if test.Sent {
			want = []string{"Bearer " + secret, "Bearer " + secret, ""}
		}
		if fmt.Sprint(saw) != fmt.Sprint(want) {
			t.Errorf("%s with a token for %s: saw %q, want %q", test.Base, test.Host, saw, want)
		}
	}
}

// TestTokenOnRedirect checks that a token is sent after a redirect only to the same scheme, host
// and port, and with archives only if PackageCredentials permits it.
func TestTokenOnRedirect(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Place string
		Same  bool
	}](t, "tokens-redirected.txt") {
		for _, kind := range []string{"index.json", "1.2.0.json", "alpha.zip"} {
			for _, packages := range []bool{false, true} {
				web := mirror(map[string]string{"index.json": `{"versions":{}}`, "1.2.0.json": document("linux_amd64", alphaURL+"alpha.zip"), "alpha.zip": "zip"})
				target := test.Place + "/elsewhere"
				web.pages[strings.Replace(target, ":443", "", 1)] = web.pages[alphaURL+kind]
				web.pages[alphaURL+kind] = page{status: 302, header: http.Header{"Location": {target}}}
				c := client(web)
				c.Transport.Credentials, c.Transport.AllowHTTP = tokens(t, secret, mirrorHost), true
				if packages {
					c.Transport.PackageCredentials = grant
				}
				walk(t, c)
				if len(web.seen) != 4 {
					t.Errorf("%s of %s: %d requests", kind, test.Place, len(web.seen))
				}
				for _, r := range web.seen {
					want := ""
					isArchive := strings.HasSuffix(r.URL.Path, ".zip") || r.URL.Path == "/elsewhere" && kind == "alpha.zip"
					if (test.Same || r.URL.Path != "/elsewhere") && (!isArchive || packages) {
						want = "Bearer " + secret
					}
					if got := r.Header.Get("Authorization"); got != want || r.Header.Get("Referer") != "" {
						t.Errorf("%s of %s, packages %t: %s saw %q, want %q", kind, test.Place, packages, r.URL, got, want)
					}
				}
			}
		}
	}
}

// walk calls all methods of a mirror.
func walk(t *testing.T, c *mirrorclient.Client) {
	t.Helper()
	must.Get(c.ProviderVersions(t.Context(), alpha))(t)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	must.Get(c.Open(t.Context(), pkg))(t).Close()
}

// TestPackageCredentials checks that PackageCredentials is called for each archive, with the
// mirror's host.
func TestPackageCredentials(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		alphaURL + "alpha.zip":                                "Bearer " + secret,
		"https://cdn.example.com/alpha.zip":                   "",
		"https://mirror.example.com:8443/alpha.zip":           "",
		"https://mirror.example.com/alpha.zip?token=x":        "Bearer " + secret, // at home, a token is only a parameter
		"https://mirror.example.com/a.zip?X-Amz-Signature=ab": "",                 // authorised already
	} {
		web := &site{pages: map[string]page{ref: {body: "zip"}}}
		c := client(web)
		c.Transport.Credentials = tokens(t, secret, mirrorHost)
		c.Transport.PackageCredentials = func(host svchost.Hostname, pkg *url.URL) bool {
			ok := pkg.Host == host.String()
			pkg.Host = "changed.example.com"
			return ok
		}
		must.Get(c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v120, Platform: linux, URL: ref}))(t).Close()
		if got := web.seen[0].Header.Get("Authorization"); got != want {
			t.Errorf("%s saw %q, want %q", ref, got, want)
		}
	}
}

// TestNoSecretsInErrors checks that no error contains a signed query or a token.
func TestNoSecretsInErrors(t *testing.T) {
	t.Parallel()
	web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "https://store.example.com/a.zip?X-Amz-Signature="+secret)})
	web.pages["https://store.example.com/a.zip?X-Amz-Signature="+secret] = page{status: 403, body: "bad signature " + secret}
	c := client(web)
	c.Transport.Credentials, c.Transport.PackageCredentials = tokens(t, secret, mirrorHost), grant
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	_, err := c.Open(t.Context(), pkg)
	if text := fmt.Sprintf("%v %+v", err, asError(t, err)); strings.Contains(text, secret) || !errors.Is(err, failure.ErrUnauthorized) {
		t.Error(text)
	}
}
