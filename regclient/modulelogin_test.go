package regclient_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// basicAlice is the header for the netrc entry "login alice password hunter2".
const basicAlice = "Basic YWxpY2U6aHVudGVyMg=="

// netrc returns a file with an entry for each host.
func netrc(t testing.TB, hosts ...string) *auth.Netrc {
	t.Helper()
	var text strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&text, "machine %s login alice password hunter2\n", h)
	}
	n := must(auth.ParseNetrc([]byte(text.String())))(t)
	return n
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
			reg := moduleRegistry(regtest.Module{})
			reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte("archive")})
			c := netrcClient(t, reg, test.netrc)
			c.Transport.AllowHTTP = true
			if err := fetch(t, c, test.loc); err != nil {
				t.Fatal(err)
			}
			list := reg.Requests()
			if got := list[len(list)-1]; got.Kind != regtest.Other || got.Authorization != test.want {
				t.Errorf("%s with %q, want %q", got, got.Authorization, test.want)
			}
			// Without the field there is nothing of it.
			reg.Reset()
			c = leakClient(t, reg, false)
			c.Transport.AllowHTTP = true
			if err := fetch(t, c, test.loc); err != nil {
				t.Fatal(err)
			}
			list = reg.Requests()
			if got := list[len(list)-1]; got.Authorization == basicAlice {
				t.Errorf("not asked for, but sent: %s", got)
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
		must(c.ModuleVersions(t.Context(), network))(t)
		must(module.Download(t.Context(), c, sourceOf(network), v100, t.TempDir(), module.Options{}))(t)
		walk(t, c)
		for _, q := range reg.Requests() {
			want := ""
			switch {
			case q.Kind&regtest.ModuleDownloads != 0:
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
		_, _ = module.Download(t.Context(), c, sourceOf(network), v100, t.TempDir(), module.Options{}) // there need be no package
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

// TestModuleCredentialsResume: a resumed transfer sends the password, too.
func TestModuleCredentialsResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := moduleRegistry(regtest.Module{Size: 1_000_000})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, First: 1, Break: regtest.Cut, After: 300_000})
		c := netrcClient(t, reg, host)
		c.Transport.Retries = 0
		loc := must(c.ModuleLocation(t.Context(), network, v100))(t)
		body := must(c.OpenModule(t.Context(), loc))(t)
		defer body.Close()
		if _, err := io.Copy(io.Discard, body); err != nil || body.Resumes() != 1 {
			t.Errorf("%d resumes, %v", body.Resumes(), err)
		}
		list := reg.Requests()
		for _, q := range list[len(list)-2:] {
			if q.Authorization != basicAlice {
				t.Errorf("%s with %q, want the password", q, q.Authorization)
			}
		}
	})
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
			loc, err := c.ModuleLocation(t.Context(), network, v100)
			if err != nil {
				t.Fatal(err)
			}
			err = fetch(t, c, loc)
			e := asError(t, err)
			if e.HadToken || e.Status != status || errors.Is(err, module.ErrUnauthorized) != hint ||
				strings.Contains(err.Error(), "Client.ModuleCredentials were sent") != (hint && known == host) {
				t.Errorf("status %d: error %v", status, err)
			}
			if text := err.Error() + logged.String(); known == host && (strings.Contains(text, "hunter2") || strings.Contains(text, basicAlice[6:])) {
				t.Errorf("%d: the password shows in\n%s", status, text)
			}
		}
	}
}
