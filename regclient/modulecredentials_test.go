package regclient_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// moduleKinds are in the order of a cold download.
var moduleKinds = []regtest.Kind{regtest.Discovery, regtest.ModuleVersions, regtest.ModuleLocation, regtest.ModulePackage}

// walkModule finds and fetches a module, from discovery to the package.
func walkModule(t *testing.T, c *regclient.Client) {
	t.Helper()
	must.Get(c.ModuleVersions(t.Context(), network))(t)
	loc := must.Get(c.ModuleLocation(t.Context(), network, v100))(t)
	must.Do(t, fetch(t, c, loc))
}

// fetch reads the package at loc.
func fetch(t *testing.T, c *regclient.Client, loc *module.Location) error {
	t.Helper()
	body, err := c.OpenModule(t.Context(), loc)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// TestTokenForModulePackage: the package is at each place, with each use_registry_credentials.
func TestTokenForModulePackage(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, place := range places {
		for name, use := range map[string]*bool{"absent": nil, "false": &no, "true": &yes} {
			for _, packages := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, use_registry_credentials %s, PackageCredentials %t", place.name, name, packages), func(t *testing.T) {
					t.Parallel()
					reg := moduleRegistry(regtest.Module{Origin: place.origin, UseRegistryCredentials: use})
					walkModule(t, leakClient(t, reg, packages))
					wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
						if r.Kind != regtest.ModulePackage {
							return true
						}
						return use == &yes && place.private && (packages || plain(place.origin) == "https://"+host)
					})
				})
			}
		}
	}
}

// TestTokenBesidePlainService: if the registry is served over http, its host gets no token over https
// either.
func TestTokenBesidePlainService(t *testing.T) {
	t.Parallel()
	yes := true
	reg := moduleRegistry(regtest.Module{Origin: "https://api.example.net", UseRegistryCredentials: &yes})
	reg.Services = map[string]any{"modules.v1": "http://api.example.net/v1/modules"}
	walkModule(t, leakClient(t, reg, false))
	wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool { return r.Kind == regtest.Discovery })
}

// TestNoTokenForIndirectPackage: a package that is not served by the registry itself gets no token,
// and neither do the pages before it.
func TestNoTokenForIndirectPackage(t *testing.T) {
	t.Parallel()
	for _, tag := range []bool{false, true} {
		reg := moduleRegistry(regtest.Module{Pages: 2, MetaTag: tag})
		c := leakClient(t, reg, true)
		must.Get(module.Download(t.Context(), c, module.Request{Source: sourceOf(network), Version: v100, Dir: t.TempDir()}, module.Options{}))(t)
		all := []regtest.Kind{regtest.Discovery, regtest.ModuleLocation, regtest.ModulePage, regtest.ModulePackage}
		wantTokensFor(t, reg, all, func(r regtest.Request) bool {
			return r.Kind != regtest.ModulePage && r.Kind != regtest.ModulePackage
		})
	}
}

// authorization fetches the package at loc, which is not of the registry, and returns the Authorization of the request.
func authorization(t *testing.T, loc *module.Location, client func(reg *regtest.Registry) *regclient.Client) string {
	t.Helper()
	reg := moduleRegistry(regtest.Module{})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte("archive")})
	must.Do(t, fetch(t, client(reg), loc))
	list := reg.Requests()
	last := list[len(list)-1]
	if last.Kind != regtest.Other {
		t.Errorf("the last request is %s, want one for the package", last)
	}
	return last.Authorization
}

// TestTokenNeedsBothFlags: a location may come from a file, so each flag alone is not enough.
func TestTokenNeedsBothFlags(t *testing.T) {
	t.Parallel()
	const here = "https://" + host + "/packages/a.zip"
	tests := map[string]struct {
		loc  module.Location
		want string
	}{
		"both":          {*at(module.Location{URL: here, Direct: true, UseRegistryCredentials: true}), "Bearer " + secret},
		"upper case":    {*at(module.Location{URL: strings.Replace(here, host, strings.ToUpper(host), 1), Direct: true, UseRegistryCredentials: true}), "Bearer " + secret},
		"not direct":    {*at(module.Location{URL: here, UseRegistryCredentials: true}), ""},
		"not asked for": {*at(module.Location{URL: here, Direct: true}), ""},
		"no module":     {module.Location{Kind: module.KindHTTP, URL: here, Direct: true, UseRegistryCredentials: true}, ""},
		"presigned":     {*at(module.Location{URL: here + "?X-Amz-Signature=abc", Direct: true, UseRegistryCredentials: true}), ""},
		"own password":  {*at(module.Location{URL: "https://user:pass@" + host + "/a.zip", Direct: true, UseRegistryCredentials: true}), "Basic dXNlcjpwYXNz"},
	}
	for name, test := range tests {
		got := authorization(t, &test.loc, func(reg *regtest.Registry) *regclient.Client { return leakClient(t, reg, true) })
		if got != test.want {
			t.Errorf("%s: Authorization %q, want %q", name, got, test.want)
		}
	}
}

// TestModulePackageCredentials: it is called for other hosts than the registry's, with the host of the
// address, and cannot change the URL.
func TestModulePackageCredentials(t *testing.T) {
	t.Parallel()
	yes := true
	for at, want := range map[string]int{"https://" + host: 0, "https://files.example.com": 1, "http://files.example.com": 0} {
		reg := moduleRegistry(regtest.Module{Origin: at, UseRegistryCredentials: &yes})
		c := leakClient(t, reg, false)
		asked := 0
		c.Transport.PackageCredentials = func(h svchost.Hostname, u *url.URL) bool {
			asked++
			if h.String() != host || u.Host != "files.example.com" || !strings.HasPrefix(u.Path, "/packages/") {
				t.Errorf("asked about %s for %s", h, u)
			}
			u.Host = "changed.example.com"
			return false
		}
		walkModule(t, c)
		if asked != want {
			t.Errorf("%s: asked %d times, want %d", at, asked, want)
		}
		wantTokensFor(t, reg, moduleKinds, func(r regtest.Request) bool {
			return r.Kind != regtest.ModulePackage || at == "https://"+host
		})
	}
}

// TestWithheldTokenIsExplained: if the token is not sent, the error for a 401 names the remedy.
func TestWithheldTokenIsExplained(t *testing.T) {
	t.Parallel()
	yes := true
	for _, test := range []struct {
		at   string
		want bool
	}{{"https://files.example.com", true}, {"https://" + host, false}} {
		reg := moduleRegistry(regtest.Module{Origin: test.at, UseRegistryCredentials: &yes})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Status: http.StatusUnauthorized})
		c := leakClient(t, reg, false)
		loc := must.Get(c.ModuleLocation(t.Context(), network, v100))(t)
		err := fetch(t, c, loc)
		if e := asError(t, err); e.Status != 401 || e.HadToken == test.want || strings.Contains(err.Error(), "Settings.PackageCredentials") != test.want {
			t.Errorf("%s: error %v, want a 401 with the remedy: %t", test.at, err, test.want)
		}
	}
}

// basicAlice is the header for the netrc entry "login alice password hunter2".
const basicAlice = "Basic YWxpY2U6aHVudGVyMg=="

// netrc returns a file with an entry for each host.
func netrc(t testing.TB, hosts ...string) *auth.Netrc {
	t.Helper()
	var text strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&text, "machine %s login alice password hunter2\n", h)
	}
	return auth.ParseNetrc([]byte(text.String()))
}

// netrcClient returns a client with entries for these hosts, and a token for the registry.
func netrcClient(t *testing.T, reg *regtest.Registry, hosts ...string) *regclient.Client {
	c := leakClient(t, reg, false)
	c.ModuleCredentials = netrc(t, hosts...).Lookup
	return c
}

// TestModuleCredentials: each rule, and its opposite.
func TestModuleCredentials(t *testing.T) {
	t.Parallel()
	direct := func(u string, token bool) *module.Location {
		return at(module.Location{URL: u, Direct: true, UseRegistryCredentials: token})
	}
	archive := func(u string) *module.Location { return at(module.Location{URL: u}) }
	const files = "https://files.example.com/a.zip"
	tests := map[string]struct {
		loc *module.Location
		netrc,
		want string
	}{
		"archive":                 {archive(files), "files.example.com", basicAlice},
		"page":                    {archive("https://files.example.com/a"), "files.example.com", basicAlice},
		"no module":               {&module.Location{Kind: module.KindHTTP, URL: files}, "files.example.com", basicAlice},
		"other host":              {archive(files), "example.com", ""},
		"subdomain":               {archive("https://files.example.com.evil.example.net/a.zip"), "files.example.com", ""},
		"port missing in netrc":   {archive("https://files.example.com:8443/a.zip"), "files.example.com", ""},
		"port missing in the URL": {archive(files), "files.example.com:8443", ""},
		"the port":                {archive("https://files.example.com:8443/a.zip"), "files.example.com:8443", basicAlice},
		"the usual port":          {archive("https://files.example.com:443/a.zip"), "files.example.com", basicAlice},
		"case":                    {archive("https://FILES.example.com/a.zip"), "files.Example.com", basicAlice},
		"http":                    {archive("http://files.example.com/a.zip"), "files.example.com", ""},
		"http on port 443":        {archive("http://files.example.com:443/a.zip"), "files.example.com", ""},
		"presigned":               {archive(files + "?X-Amz-Signature=abc"), "files.example.com", ""},
		"a token in the query":    {archive(files + "?token=abc"), "files.example.com", ""},
		"own password":            {archive("https://bob:own@files.example.com/a.zip"), "files.example.com", "Basic Ym9iOm93bg=="},
		"the registry's token":    {direct("https://"+host+"/a.zip", true), host, "Bearer " + secret},
		"no token is asked for":   {direct("https://"+host+"/a.zip", false), host, basicAlice},
		"the token is withheld":   {direct(files, true), "files.example.com", basicAlice},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := authorization(t, test.loc, func(reg *regtest.Registry) *regclient.Client { return netrcClient(t, reg, test.netrc) })
			if got != test.want {
				t.Errorf("Authorization %q, want %q", got, test.want)
			}
			// Without the field there is nothing of it.
			got = authorization(t, test.loc, func(reg *regtest.Registry) *regclient.Client { return leakClient(t, reg, false) })
			if got == basicAlice {
				t.Error("the password was sent without ModuleCredentials")
			}
		})
	}
}

// TestModuleCredentialsAreNoTokens: registries and providers get no passwords.
func TestModuleCredentialsAreNoTokens(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		reg := moduleRegistry(regtest.Module{Origin: "https://files.example.com", Pages: 1})
		reg.AddProvider(alphaAt("1.2.0"))
		c := netrcClient(t, reg, host, "files.example.com")
		if !known {
			c.Transport.Credentials = nil
		}
		must.Get(c.ModuleVersions(t.Context(), network))(t)
		must.Get(module.Download(t.Context(), c, module.Request{Source: sourceOf(network), Version: v100, Dir: t.TempDir()}, module.Options{}))(t)
		walk(t, c)
		for _, q := range reg.Requests() {
			want := ""
			switch {
			case q.Kind&(regtest.ModulePage|regtest.ModulePackage) != 0:
				want = basicAlice
			case known && !isFile(q.Kind):
				want = "Bearer " + secret
			}
			if q.Authorization != want {
				t.Errorf("%s with %q, want %q", q, q.Authorization, want)
			}
		}
	}
}

// TestModuleCredentialsOnRedirect: a password is sent to the same scheme, host and port only, and
// other passwords are not looked up.
func TestModuleCredentialsOnRedirect(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		reg := moduleRegistry(regtest.Module{})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Redirect: place.origin})
		c := netrcClient(t, reg, host, "other.example.net", "files."+host, host+":8443", "example.com")
		c.Transport.AllowHTTP = true
		walkModule(t, c)
		list := reg.Requests()
		first, last := list[len(list)-2], list[len(list)-1]
		if stays := plain(place.origin) == "https://"+host; first.Authorization != basicAlice || (last.Authorization == basicAlice) != stays || !stays && last.Authorization != "" {
			t.Errorf("%s: %q, then %q", place.name, first.Authorization, last.Authorization)
		}
	}
}

// TestModuleCredentialsOfNextLocation: the next location of a page gets the password of its own host.
func TestModuleCredentialsOfNextLocation(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		const next = "https://other.example.net/packages/" + host + "/acme/network/aws/1.0.0/network-1.0.0.tar.gz"
		reg := moduleRegistry(regtest.Module{Location: "https://files.example.com/page"})
		reg.AddFault(regtest.Fault{Kind: regtest.Other, Host: "files.example.com", Status: 200, Raw: []byte{}, Header: map[string][]string{"X-Terraform-Get": {next}}})
		hosts := []string{"files.example.com"}
		if second {
			hosts = append(hosts, "other.example.net")
		}
		c := netrcClient(t, reg, hosts...)
		_, _ = module.Download(t.Context(), c, module.Request{Source: sourceOf(network), Version: v100, Dir: t.TempDir()}, module.Options{}) // there need be no package
		list := reg.Requests()
		last := list[len(list)-1]
		if last.Host != "other.example.net" || (last.Authorization == basicAlice) != second || !second && last.Authorization != "" {
			t.Errorf("known %t: %s with %q", second, last, last.Authorization)
		}
	}
}

// TestModuleCredentialsNotForGit: git gets no password.
func TestModuleCredentialsNotForGit(t *testing.T) {
	t.Parallel()
	c := client(moduleRegistry(regtest.Module{}))
	c.ModuleCredentials = func(h svchost.Hostname) (string, auth.Password, bool) {
		t.Errorf("asked about %s", h)
		return "", auth.Password{}, false
	}
	for _, kind := range []module.Kind{module.KindGit, module.KindLocal} {
		if err := fetch(t, c, at(module.Location{Kind: kind, URL: "https://files.example.com/a.git"})); err == nil {
			t.Errorf("%s: OpenModule returned no error", kind)
		}
	}
}

// TestModuleCredentialsRefused: the error says that a password was sent. Error and log do not contain
// it.
func TestModuleCredentialsRefused(t *testing.T) {
	t.Parallel()
	for status, hint := range map[int]bool{401: true, 403: true, 404: false} {
		for _, known := range []string{host, "other.example.net"} {
			reg := moduleRegistry(regtest.Module{})
			reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Status: status, Raw: []byte("no: hunter2 " + basicAlice)})
			c := netrcClient(t, reg, known)
			var logged strings.Builder
			c.Transport.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
			loc := must.Get(c.ModuleLocation(t.Context(), network, v100))(t)
			err := fetch(t, c, loc)
			e := asError(t, err)
			if e.HadToken || e.Status != status || errors.Is(err, failure.ErrUnauthorized) != hint ||
				strings.Contains(err.Error(), "Client.ModuleCredentials were sent") != (hint && known == host) {
				t.Errorf("status %d: error %v", status, err)
			}
			if text := err.Error() + logged.String(); known == host && (strings.Contains(text, "hunter2") || strings.Contains(text, basicAlice[6:])) {
				t.Errorf("%d: the password shows in\n%s", status, text)
			}
		}
	}
}

// hostileNet answers for every host and records the requests.
type hostileNet struct {
	mu     sync.Mutex
	sent   []string // "scheme://host", with a + if a password went along
	answer func(n int, req *http.Request) (status int, body io.Reader, header http.Header)
}

func (h *hostileNet) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := req.URL.Scheme + "://" + req.URL.Host
	if a := req.Header.Get("Authorization"); a == basicAlice {
		at += "+"
	} else if a != "" {
		return nil, fmt.Errorf("Authorization: %s", a)
	}
	h.sent = append(h.sent, at)
	status, body, header := h.answer(len(h.sent), req)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{Status: fmt.Sprint(status), StatusCode: status, Header: header, Body: io.NopCloser(body), ContentLength: -1, Request: req}, nil
}

// client knows a password for two hosts.
func (h *hostileNet) client(t *testing.T) *regclient.Client {
	return &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: h}, AllowHTTP: true}, ModuleCredentials: netrc(t, "files.example.com", "other.example.net").Lookup}
}

// reply is an answer.
type reply func() (status int, body io.Reader, header http.Header)

// TestModuleCredentialsAfterPage: an HTML page may name a next location, which gets the password of
// its own host, by the same rules.
func TestModuleCredentialsAfterPage(t *testing.T) {
	t.Parallel()
	for next, want := range casetest.Pairs(t, "pages-after-credentials.txt") {
		h := &hostileNet{answer: func(n int, _ *http.Request) (int, io.Reader, http.Header) {
			return 200, strings.NewReader(`<html><head><meta name="terraform-get" content="` + next + `"></head>`), nil
		}}
		loc := must.Get(module.ParseLocation("https://files.example.com/a"))(t)
		if _, err := module.Download(t.Context(), h.client(t), module.Request{Location: loc, Dir: t.TempDir() + "/module"}, module.Options{}); err == nil {
			t.Errorf("%s: Download returned no error", next)
		}
		if got := strings.Join(h.sent, " "); got != strings.TrimSpace("https://files.example.com+ "+want) {
			t.Errorf("%s: sent %s, want %s", next, got, want)
		}
	}
}

// TestModuleCredentialsResumeElsewhere: a server that breaks off and then redirects cannot get the
// password sent elsewhere.
func TestModuleCredentialsResumeElsewhere(t *testing.T) {
	t.Parallel()
	const size, half = 200_000, 100_000
	rest := func() (int, io.Reader, http.Header) {
		return 206, strings.NewReader(strings.Repeat("x", size-half)),
			http.Header{"Etag": {`"a"`}, "Content-Range": {fmt.Sprintf("bytes %d-%d/%d", half, size-1, size)}}
	}
	broken := func() (int, io.Reader, http.Header) {
		return 200, io.MultiReader(strings.NewReader(strings.Repeat("x", half)), iotest.ErrReader(io.ErrUnexpectedEOF)), http.Header{"Etag": {`"a"`}}
	}
	redirect := func(to string) reply {
		return func() (int, io.Reader, http.Header) {
			return 302, strings.NewReader(""), http.Header{"Location": {to}}
		}
	}
	const first, port, other = "https://files.example.com/a.zip", "https://files.example.com:8443/a.zip", "https://other.example.net/a.zip"
	tests := map[string]struct {
		answers []reply
		want    []string
	}{
		"stays":          {[]reply{broken, rest}, []string{"https://files.example.com+", "https://files.example.com+"}},
		"goes elsewhere": {[]reply{broken, redirect(port), rest}, []string{"https://files.example.com+", "https://files.example.com+", "https://files.example.com:8443"}},
		"was elsewhere": {[]reply{redirect(other), broken, redirect(other), rest},
			[]string{"https://files.example.com+", "https://other.example.net", "https://files.example.com+", "https://other.example.net"}},
	}
	for name, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := &hostileNet{answer: func(n int, _ *http.Request) (int, io.Reader, http.Header) { return test.answers[n-1]() }}
			body := must.Get(h.client(t).OpenModule(t.Context(), &module.Location{Kind: module.KindHTTP, URL: first}))(t)
			defer body.Close()
			if n, err := io.Copy(io.Discard, body); n != size || err != nil || !slices.Equal(h.sent, test.want) {
				t.Errorf("%s: %d bytes, %v, sent %q, want %q", name, n, err, h.sent, test.want)
			}
		})
	}
}
