package regclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
)

const secret = "s3cr3t-t0ken"

// places are origins that a request may lead to, from the view of the host with the token.
var places = []struct {
	name, origin string
	private      bool // https
}{
	{"same host", "https://" + host, true},
	{"same host, port spelled out", "https://" + host + ":443", true},
	{"other port", "https://" + host + ":8443", true},
	{"subdomain", "https://files." + host, true},
	{"parent domain", "https://example.com", true},
	{"other host", "https://other.example.net", true},
	{"http", "http://" + host, false},
	{"http, port 443", "http://" + host + ":443", false},
}

// kinds are in the order of a cold download.
var kinds = []regtest.Kind{regtest.Discovery, regtest.Versions, regtest.Package, regtest.Sums, regtest.Signature, regtest.Archive}

// isFile reports whether the kind is a file of a package, not a document.
func isFile(k regtest.Kind) bool {
	return k == regtest.Sums || k == regtest.Signature || k == regtest.Archive
}

// walk finds and fetches a package, from discovery to the archive.
func walk(t *testing.T, c *regclient.Client) {
	t.Helper()
	versions := must.Get(c.ProviderVersions(t.Context(), alpha))(t)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, versions.Versions[0].Version, linux))(t)
	must.Get(c.Evidence(t.Context(), pkg))(t)
	body := must.Get(c.Open(t.Context(), pkg))(t)
	defer body.Close()
	must.Get(io.Copy(io.Discard, body))(t)
}

// origin returns the scheme and host of a request, like places.
func origin(r regtest.Request) string { return r.Scheme + "://" + r.Host }

// plain returns origin without the default port.
func plain(origin string) string {
	if scheme, rest, _ := strings.Cut(origin, "://"); scheme == "https" {
		return scheme + "://" + strings.TrimSuffix(rest, ":443")
	}
	return origin
}

// wantTokens fails unless the requests for a provider have the token as the rule says.
func wantTokens(t *testing.T, reg *regtest.Registry, rule func(r regtest.Request) bool) {
	t.Helper()
	wantTokensFor(t, reg, kinds, rule)
}

// wantTokensFor fails unless the requests have the token as the rule says, and nowhere else.
func wantTokensFor(t *testing.T, reg *regtest.Registry, kinds []regtest.Kind, rule func(r regtest.Request) bool) {
	t.Helper()
	seen := map[regtest.Kind]bool{}
	for _, r := range reg.Requests() {
		seen[r.Kind] = true
		want := ""
		if rule(r) {
			want = "Bearer " + secret
		}
		if r.Authorization != want {
			t.Errorf("%s: got Authorization %q, want %q", r, r.Authorization, want)
		}
		r.Header.Del("Authorization")
		if strings.Contains(fmt.Sprint(r.URL(), r.Header), secret) || r.Referer != "" {
			t.Errorf("%s: leaks in the URL or in %v", r, r.Header)
		}
	}
	for _, kind := range kinds {
		if !seen[kind] {
			t.Errorf("nothing was asked of kind %v", kind)
		}
	}
}

// grant returns a PackageCredentials that returns true, or nil.
func grant(yes bool) func(svchost.Hostname, *url.URL) bool {
	if !yes {
		return nil
	}
	return func(svchost.Hostname, *url.URL) bool { return true }
}

func leakClient(t *testing.T, reg *regtest.Registry, packages bool) *regclient.Client {
	c := client(reg)
	c.Transport.Credentials, c.Transport.AllowHTTP, c.Transport.PackageCredentials = tokens(secret), true, grant(packages)
	return c
}

// TestTokenOnRedirect: each kind of request is redirected to each place.
func TestTokenOnRedirect(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		for _, kind := range kinds {
			for _, packages := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v to %s, PackageCredentials %t", kind, place.name, packages), func(t *testing.T) {
					t.Parallel()
					reg := registry()
					reg.AddFault(regtest.Fault{Kind: kind, Redirect: place.origin})
					walk(t, leakClient(t, reg, packages))
					wantTokens(t, reg, func(r regtest.Request) bool {
						switch {
						case plain(origin(r)) != "https://"+host:
							// Relative URLs of a redirected document lead to where it was, and
							// are then the registry's own word.
							return kind == regtest.Discovery && place.private && r.Kind != regtest.Discovery && (packages || !isFile(r.Kind)) ||
								kind == regtest.Package && place.private && isFile(r.Kind) && packages
						default:
							return packages || !isFile(r.Kind)
						}
					})
				})
			}
		}
	}
}

// TestTokenForDeclaredService: the discovery document declares a registry at each place.
func TestTokenForDeclaredService(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			reg := registry()
			reg.Services = map[string]any{"providers.v1": place.origin + "/v1/providers/"}
			walk(t, leakClient(t, reg, false))
			wantTokens(t, reg, func(r regtest.Request) bool {
				return r.Scheme == "https" && !isFile(r.Kind)
			})
		})
	}
}

// TestNoTokenForServicesOverHTTP: if the list of services came over http, the token is sent to none
// of them, whatever their scheme.
func TestNoTokenForServicesOverHTTP(t *testing.T) {
	t.Parallel()
	yes := true
	for scheme, private := range map[string]bool{"http": false, "https": true} {
		reg := moduleRegistry(regtest.Module{UseRegistryCredentials: &yes, Origin: "https://api.example.com"})
		reg.AddProvider(alphaAt("1.2.0"))
		reg.Services = map[string]any{"providers.v1": "https://api.example.com/p/", "modules.v1": "https://api.example.com/m/"}
		reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Redirect: scheme + "://plain.example.com"})
		c := leakClient(t, reg, false)
		walk(t, c)
		walkModule(t, c)
		wantTokensFor(t, reg, slices.Concat(moduleKinds, kinds), func(r regtest.Request) bool {
			return r.Kind == regtest.Discovery && r.Host == host || r.Kind != regtest.Discovery && private && !isFile(r.Kind)
		})
	}
}

// TestTokenForFiles: the package has files at each place.
func TestTokenForFiles(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		for _, packages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, PackageCredentials %t", place.name, packages), func(t *testing.T) {
				t.Parallel()
				reg := regtest.New(host)
				p := alphaAt("1.2.0")
				p.Origin = place.origin
				reg.AddProvider(p)
				walk(t, leakClient(t, reg, packages))
				wantTokens(t, reg, func(r regtest.Request) bool {
					return !isFile(r.Kind) || packages && place.private
				})
			})
		}
	}
}

// TestPackageCredentials: it is called for each URL, with the host of the address, and cannot change
// the URL.
func TestPackageCredentials(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := leakClient(t, reg, false)
	asked := make(chan string, 10)
	c.Transport.PackageCredentials = func(h svchost.Hostname, u *url.URL) bool {
		if h.String() != host {
			t.Errorf("asked about the token of %s", h)
		}
		asked <- u.String()
		sums := strings.HasSuffix(u.Path, "_SHA256SUMS")
		u.Host = "changed.example.com"
		return sums
	}
	walk(t, c)
	if len(asked) != 3 {
		t.Errorf("asked %d times, want once for each file", len(asked))
	}
	wantTokens(t, reg, func(r regtest.Request) bool { return !isFile(r.Kind) || r.Kind == regtest.Sums })
}

// TestNoTokenBesidePresignedQuery: a presigned URL gets no token, even if PackageCredentials allows
// it.
func TestNoTokenBesidePresignedQuery(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(edit(func(doc map[string]any) {
		doc["download_url"] = doc["download_url"].(string) + "?X-Amz-Signature=abc"
	}))
	walk(t, leakClient(t, reg, true))
	wantTokens(t, reg, func(r regtest.Request) bool { return r.Kind != regtest.Archive })
}

// TestTokenOfProviderAlias: the token of the real host is sent, not the token of its alias.
func TestTokenOfProviderAlias(t *testing.T) {
	t.Parallel()
	reg := registry()
	named, real := svchost.MustParse(host), svchost.MustParse("real.example.net")
	services := disco.NewServices(real, map[disco.Service]any{disco.ProvidersV1: "https://" + host + "/v1/providers/"})
	c := leakClient(t, reg, true)
	c.Transport.Credentials = auth.MustNewToken(secret).For(real)
	c.Hosts = &disco.Hosts{
		Overrides: map[svchost.Hostname]*disco.Services{real: services},
		Aliases:   map[svchost.Hostname]svchost.Hostname{named: real},
	}
	walk(t, c)
	wantTokensFor(t, reg, kinds[1:], func(regtest.Request) bool { return true })
}

// TestNotShared: requests with tokens of different hosts, or with different limits, are not shared.
func TestNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := registry()
		pkg := must.Get(client(reg).ProviderPackage(t.Context(), alpha, v120, linux))(t)
		pkg.SignatureURL = ""
		other := pkg.Clone()
		other.Provider = addrs.MustParseProvider("other.example.net/acme/alpha")
		reg.Latency = time.Second
		c := leakClient(t, reg, true)
		var wg sync.WaitGroup
		for _, p := range []*provider.Package{pkg, other} {
			wg.Go(func() {
				if _, err := c.Evidence(t.Context(), p); err != nil {
					t.Errorf("Evidence returned %v, want no error", err)
				}
			})
		}
		wg.Wait()
		sent := map[string]int{}
		for _, r := range reg.Requests() {
			if r.Kind == regtest.Sums {
				sent[r.Authorization]++
			}
		}
		if len(sent) != 2 || sent[""] != 1 || sent["Bearer "+secret] != 1 {
			t.Errorf("the checksums were fetched with %v", sent)
		}

		pkg.SignatureURL = pkg.SumsURL
		reg.AddFault(regtest.Fault{Kind: regtest.Sums, PadTo: scheme.MaxSignature + 1})
		if _, err := c.Evidence(t.Context(), pkg); !errors.Is(err, failure.ErrTooLarge) || reg.Count(regtest.Sums) != 4 {
			t.Errorf("%v after %d requests in all", err, reg.Count(regtest.Sums))
		}
	})
}

// TestNoSecretsInErrors: errors contain no presigned queries and no tokens.
func TestNoSecretsInErrors(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(regtest.Fault{Kind: regtest.Sums | regtest.Signature | regtest.Archive, Status: 403})
	reg.AddFault(edit(func(doc map[string]any) {
		for _, member := range []string{"download_url", "shasums_url", "shasums_signature_url"} {
			doc[member] = doc[member].(string) + "?X-Signature=" + secret
		}
	}))
	c := leakClient(t, reg, true)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	_, openErr := c.Open(t.Context(), pkg)
	_, evidenceErr := c.Evidence(t.Context(), pkg)
	for _, err := range []error{openErr, evidenceErr, fmt.Errorf("%v %+v", asError(t, openErr), asError(t, evidenceErr))} {
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err.Error()), secret) {
			t.Errorf("got %v", err)
		}
	}
	if text := fmt.Sprintf("%v %+v", pkg, pkg); strings.Contains(text, secret) {
		t.Errorf("the package prints as %s", text)
	}
}

var _ provider.Opener = (*regclient.Client)(nil)

// TestTokenWithSharedHosts: a client that shares the Hosts of a client without tokens sends its own
// token to discovery.
func TestTokenWithSharedHosts(t *testing.T) {
	t.Parallel()
	hosts := new(disco.Hosts)
	reg := registry()
	reg.Require(secret, regtest.Discovery)
	anonymous, known := client(reg), client(reg)
	anonymous.Hosts, known.Hosts = hosts, hosts
	known.Transport.Credentials = tokens(secret)
	if _, err := anonymous.ProviderVersions(t.Context(), alpha); !errors.Is(err, failure.ErrUnauthorized) {
		t.Errorf("without a token: %v", err)
	}
	must.Get(known.ProviderVersions(t.Context(), alpha))(t)
	for _, r := range reg.Requests()[1:] {
		if r.Authorization != "Bearer "+secret {
			t.Errorf("%v of %s had no token", r.Kind, r.URL())
		}
	}
}
