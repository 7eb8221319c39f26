package mirrorclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

const secret = "hunter2-hunter2"

// grant is a PackageCredentials that permits every URL.
func grant(svchost.Hostname, *url.URL) bool { return true }

// TestToken checks that only a token for the mirror's host and port is sent, not one for the
// provider's host.
func TestToken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base string
		host string // that there is a token for
		sent bool
	}{
		{"https://mirror.example.com/p/", "mirror.example.com", true},
		{"https://mirror.example.com:443/p/", "mirror.example.com", true},
		{"https://MIRROR.example.com/p/", "mirror.example.com", true},
		{"https://mirror.example.com:8443/p/", "mirror.example.com:8443", true},
		{"https://böb.example.com/p/", "böb.example.com", true},
		{"https://xn--bb-fka.example.com/p/", "böb.example.com", true},
		{"https://127.0.0.1:8443/p/", "127.0.0.1:8443", true},
		{"https://mirror.example.com:8443/p/", "mirror.example.com", false},
		{"https://mirror.example.com/p/", "mirror.example.com:8443", false},
		{"https://mirror.example.com/p/", "example.com", false},
		{"https://example.com/p/", "mirror.example.com", false},
		{"https://mirror.example.com/p/", "registry.example.com", false}, // the provider's
		{"https://[::1]:8443/p/", "mirror.example.com", false},
		{"https://my_mirror.example.com/p/", "mirror.example.com", false},
	} {
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
		c := &mirrorclient.Client{BaseURL: test.base, Transport: &transport.Client{HTTP: &http.Client{Transport: web}, Retries: -1, Credentials: tokens(t, secret, test.host)}}
		if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
			t.Fatalf("%s: %v", test.base, err)
		}
		pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
		if err != nil {
			t.Fatal(err)
		}
		body, err := c.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		body.Close()
		want := []string{"", "", ""}
		if test.sent {
			want = []string{"Bearer " + secret, "Bearer " + secret, ""}
		}
		if fmt.Sprint(saw) != fmt.Sprint(want) {
			t.Errorf("%s with a token for %s: saw %q, want %q", test.base, test.host, saw, want)
		}
	}
}

// TestTokenOnRedirect checks that a token is sent after a redirect only to the same scheme, host
// and port, and with archives only if PackageCredentials permits it.
func TestTokenOnRedirect(t *testing.T) {
	t.Parallel()
	for place, same := range map[string]bool{
		"https://mirror.example.com":      true,
		"https://mirror.example.com:443":  true,
		"https://mirror.example.com:8443": false,
		"https://eu.mirror.example.com":   false,
		"https://example.com":             false,
		"https://registry.example.com":    false,
		"http://mirror.example.com":       false,
	} {
		for _, kind := range []string{"index.json", "1.2.0.json", "alpha.zip"} {
			for _, packages := range []bool{false, true} {
				web := mirror(map[string]string{"index.json": `{"versions":{}}`, "1.2.0.json": document("linux_amd64", alphaURL+"alpha.zip"), "alpha.zip": "zip"})
				target := place + "/elsewhere"
				web.pages[strings.Replace(target, ":443", "", 1)] = web.pages[alphaURL+kind]
				web.pages[alphaURL+kind] = page{status: 302, header: http.Header{"Location": {target}}}
				c := client(web)
				c.Transport.Credentials, c.Transport.AllowHTTP = tokens(t, secret, mirrorHost), true
				if packages {
					c.Transport.PackageCredentials = grant
				}
				walk(t, c)
				if len(web.seen) != 4 {
					t.Errorf("%s of %s: %d requests", kind, place, len(web.seen))
				}
				for _, r := range web.seen {
					want := ""
					isArchive := strings.HasSuffix(r.URL.Path, ".zip") || r.URL.Path == "/elsewhere" && kind == "alpha.zip"
					if (same || r.URL.Path != "/elsewhere") && (!isArchive || packages) {
						want = "Bearer " + secret
					}
					if got := r.Header.Get("Authorization"); got != want || r.Header.Get("Referer") != "" {
						t.Errorf("%s of %s, packages %t: %s saw %q, want %q", kind, place, packages, r.URL, got, want)
					}
				}
			}
		}
	}
}

// walk calls all methods of a mirror.
func walk(t *testing.T, c *mirrorclient.Client) {
	t.Helper()
	if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
		t.Fatal(err)
	}
	pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.Open(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	body.Close()
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
		body, err := c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v120, Platform: linux, URL: ref})
		if err != nil {
			t.Fatal(err)
		}
		body.Close()
		if got := web.seen[0].Header.Get("Authorization"); got != want {
			t.Errorf("%s saw %q, want %q", ref, got, want)
		}
	}
}

// failing is a source of tokens that fails.
type failing struct{ err error }

func (f failing) Token(context.Context, svchost.Hostname) (auth.Token, error) {
	return auth.Token{}, f.err
}

// TestFailingCredentials checks that no request is sent if the token cannot be read.
func TestFailingCredentials(t *testing.T) {
	t.Parallel()
	web := mirror(map[string]string{"index.json": `{"versions":{}}`})
	c := client(web)
	broken := errors.New("helper is gone")
	c.Transport.Credentials = failing{broken}
	_, err := c.ProviderVersions(t.Context(), alpha)
	if asError(t, err); !errors.Is(err, broken) || len(web.asked()) != 0 {
		t.Errorf("%v, asked %q", err, web.asked())
	}
	if s, ok := errors.AsType[*auth.SourceError](err); !ok || s.Host.String() != mirrorHost {
		t.Errorf("%v", err)
	}
	// FirstOf does not use another mirror instead.
	other := client(mirror(map[string]string{"index.json": `{"versions":{}}`}))
	first := &provider.FirstOf{Sources: []provider.NamedSource{{Name: "a", Source: c}, {Name: "b", Source: other}}}
	if _, err := first.ProviderVersions(t.Context(), alpha); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestNoSecretsInErrors checks that no error contains a signed query or a token.
func TestNoSecretsInErrors(t *testing.T) {
	t.Parallel()
	web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "https://store.example.com/a.zip?X-Amz-Signature="+secret)})
	web.pages["https://store.example.com/a.zip?X-Amz-Signature="+secret] = page{status: 403, body: "bad signature " + secret}
	c := client(web)
	c.Transport.Credentials, c.Transport.PackageCredentials = tokens(t, secret, mirrorHost), grant
	pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Open(t.Context(), pkg)
	if text := fmt.Sprintf("%v %+v", err, asError(t, err)); strings.Contains(text, secret) || !errors.Is(err, provider.ErrUnauthorized) {
		t.Error(text)
	}
}
