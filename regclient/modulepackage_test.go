package regclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// at returns a location of network 1.0.0.
func at(loc module.Location) *module.Location {
	loc.Module, loc.Version = network, v100
	if loc.Kind == "" {
		loc.Kind = module.KindHTTP
	}
	return &loc
}

// locate requests the location of network 1.0.0.
func locate(t *testing.T, reg *regtest.Registry) (*module.Location, error) {
	t.Helper()
	return client(reg).ModuleLocation(t.Context(), network, v100)
}

// wantLocation fails if the locations differ.
func wantLocation(t *testing.T, got, want *module.Location) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b addrs.Module) bool { return a == b }), cmp.Comparer(func(a, b addrs.Version) bool { return a == b })); diff != "" {
		t.Errorf("location, -want +got:\n%s", diff)
	}
}

// TestLocationBodies: bodies, with and without the header.
func TestLocationBodies(t *testing.T) {
	t.Parallel()
	const header, body = "https://header.example.com/a.zip", "https://body.example.com/a.zip"
	tests := casetest.Read[struct{ Name, Doc, Beside, Bare string }](t, "location-bodies.txt")
	for _, test := range tests {
		for _, h := range []string{header, ""} {
			reg := moduleRegistry(regtest.Module{})
			f := raw(regtest.ModuleLocation, test.Doc)
			f.Header = http.Header{"X-Terraform-Get": {h}}
			reg.AddFault(f)
			want := test.Beside
			if h == "" {
				want = test.Bare
			}
			loc, err := locate(t, reg)
			switch {
			case want == "" && err == nil:
				t.Errorf("%s, header %q: %s, want an error", test.Name, h, loc)
			case want == "":
				if e := asError(t, err); e.Status != 200 || e.Op != "find" || errors.Is(err, failure.ErrNotFound) {
					t.Errorf("%s, header %q: %v", test.Name, h, err)
				}
			case err != nil:
				t.Errorf("%s, header %q: %v", test.Name, h, err)
			default:
				wantLocation(t, loc, at(module.Location{URL: want, Archive: "zip"}))
			}
		}
	}
}

// TestLocationForms: forms of locations that servers send.
func TestLocationForms(t *testing.T) {
	t.Parallel()
	tests := map[string]*module.Location{
		"https://files.example.com/a.zip?token=abc":         at(module.Location{URL: "https://files.example.com/a.zip?token=abc", Archive: "zip"}),
		"http://store.example.com/a.zip?X-Amz-Signature=ab": at(module.Location{URL: "http://store.example.com/a.zip?X-Amz-Signature=ab", Archive: "zip"}),
		"/get?id=7f&archive=tar.gz":                         at(module.Location{URL: "https://" + host + "/get?id=7f", Archive: "tar.gz"}),
		"./a.tar.gz":                                        at(module.Location{URL: modulesURL + "acme/network/aws/1.0.0/a.tar.gz", Archive: "tar.gz"}),
		"../a.zip//modules/x":                               at(module.Location{URL: modulesURL + "acme/network/aws/a.zip", Archive: "zip", Subdir: "modules/x"}),
		"//files.example.com/a.tgz":                         at(module.Location{URL: "https://files.example.com/a.tgz", Archive: "tar.gz"}),
		"/etc/passwd":                                       at(module.Location{URL: "https://" + host + "/etc/passwd"}),
		"s3::https://s3.amazonaws.com/bucket/a.zip":         at(module.Location{Kind: module.KindS3, URL: "https://s3.amazonaws.com/bucket/a.zip", Archive: "zip"}),
		"git::https://git.example.com/net.git//sub?ref=v1":  at(module.Location{Kind: module.KindGit, URL: "https://git.example.com/net.git", Ref: "v1", Subdir: "sub"}),
		"github.com/acme/network?ref=v1.0.0&depth=1":        at(module.Location{Kind: module.KindGit, URL: "https://github.com/acme/network.git?depth=1", Ref: "v1.0.0"}),
		"git@git.example.com:acme/network.git":              at(module.Location{Kind: module.KindGit, URL: "ssh://git@git.example.com/acme/network.git"}),
		"oci://registry.example.com/acme/network?tag=1.0.0": at(module.Location{Kind: module.KindOCI, URL: "oci://registry.example.com/acme/network", Tag: "1.0.0"}),
	}
	for answer, want := range tests {
		for _, how := range []string{"header", "body"} {
			wantLocation(t, must.Get(locate(t, moduleRegistry(regtest.Module{Answer: how, Location: answer})))(t), want)
		}
	}
}

func TestLocationRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want error
		text string
	}{
		"file:///etc":                                        {module.ErrLocal, "a registry must not send the location file:///etc"},
		`C:\modules`:                                         {module.ErrLocal, ""},
		"registry.opentofu.org/acme/other/aws":               {nil, "must not be the address of a module in a registry"},
		"https://files.example.com/a.zip#frag":               {nil, "fragment"},
		"https://user:" + secret + "@e.example.com/a.zip#f":  {nil, "fragment"},
		"https://e.example.com/a.zip?token=" + secret + "#f": {nil, "fragment"},
		"\x1b[31m":        {nil, ""},
		"somewhere over.": {nil, ""},
	}
	for answer, test := range tests {
		_, err := locate(t, moduleRegistry(regtest.Module{Answer: "body", Location: answer}))
		if err == nil {
			t.Errorf("%q is accepted", answer)
			continue
		}
		e := asError(t, err)
		parse, ok := errors.AsType[*addrs.ParseError](err)
		if test.want != nil && !errors.Is(err, test.want) || test.want == nil && (!ok || parse.Kind != "module location") {
			t.Errorf("%q: ModuleLocation returned %v, want %v or a *ParseError", answer, err, test.want)
		}
		if e.Status != 200 || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v, want %q in it", answer, err, test.text)
		}
	}
}

// TestDirectLocation: with use_registry_credentials, the location is a plain URL.
func TestDirectLocation(t *testing.T) {
	t.Parallel()
	tests := casetest.Pairs(t, "direct-locations.txt")
	for answer, want := range tests {
		for _, use := range []bool{true, false} {
			loc, err := locate(t, moduleRegistry(regtest.Module{Location: answer, UseRegistryCredentials: &use}))
			if want == "" {
				if asError(t, err); loc != nil {
					t.Errorf("%s: ModuleLocation returned %s, want an error", answer, loc)
				}
				continue
			}
			must.Do(t, err)
			if loc.URL != want || !loc.Direct || loc.UseRegistryCredentials != use || loc.Kind != module.KindHTTP || loc.Subdir != "" || loc.Module != network || loc.Version != v100 {
				t.Errorf("%s: %+v, want %s", answer, loc, want)
			}
		}
	}
}

// TestLocationAfterRedirect: it is relative to the requested URL.
func TestLocationAfterRedirect(t *testing.T) {
	t.Parallel()
	yes := true
	for _, m := range []regtest.Module{
		{Location: "./a.zip"}, {Location: "./a.zip", Answer: "body"}, {Location: "a.zip", UseRegistryCredentials: &yes},
	} {
		reg := moduleRegistry(m)
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Redirect: "https://elsewhere.example.com", Hops: 2})
		loc := must.Get(locate(t, reg))(t)
		if want := modulesURL + "acme/network/aws/1.0.0/a.zip"; loc.URL != want {
			t.Errorf("ModuleLocation returned %s, want %s", loc.URL, want)
		}
	}
}

// TestRefusedLocation: for each refusal, the list of versions shows what is missing.
func TestRefusedLocation(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 410, 400, 500} {
		reg := listing("1.0.0", "1.2.0", "2.0.0-beta1")
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Status: status})
		c := client(reg)
		v9 := addrs.MustParseModuleVersion("9.0.0")
		_, err := c.ModuleLocation(t.Context(), network, v9)
		e := asError(t, err)
		unavailable, ok := errors.AsType[*module.UnavailableError](err)
		if !ok || !errors.Is(err, failure.ErrNoVersion) || e.Status != status || unavailable.Newest.String() != "1.2.0" || unavailable.Module != network {
			t.Errorf("status %d: ModuleLocation returned %v, want an *UnavailableError", status, err)
		}
		if want := `no version matches "9.0.0", the newest is 1.2.0`; !strings.Contains(err.Error(), want) {
			t.Errorf("text %q, want %q in it", err, want)
		}
		if n := reg.Count(regtest.ModuleVersions); n != 1 || reg.Count(0) != 3 {
			t.Errorf("%d: %d requests, %d for versions; want 3 and 1", status, reg.Count(0), n)
		}
		_, err = c.ModuleLocation(t.Context(), network, v100)
		_, ok = errors.AsType[*module.UnavailableError](err)
		if missing := status == 404 || status == 410; ok != missing || strings.Contains(err.Error(), "listed, but has no location") != missing {
			t.Errorf("status %d for a listed version: %v, want an *UnavailableError: %t", status, err, missing)
		}
	}
}

// answers returns a registry whose packages are elsewhere and have this body and header.
func answers(body string, header http.Header) *regtest.Registry {
	reg := moduleRegistry(regtest.Module{})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte(body), Header: header})
	return reg
}

// TestModuleRequest: requests for locations.
func TestModuleRequest(t *testing.T) {
	t.Parallel()
	tests := casetest.Read[struct {
		Location    string
		Direct      bool
		Url, Accept string
	}](t, "module-requests.txt")
	for _, test := range tests {
		reg := moduleRegistry(regtest.Module{Location: test.Location})
		if test.Direct {
			reg = moduleRegistry(regtest.Module{Location: test.Location, UseRegistryCredentials: new(bool)})
		}
		reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte("archive")})
		c := client(reg)
		loc := must.Get(c.ModuleLocation(t.Context(), network, v100))(t)
		must.Do(t, fetch(t, c, loc))
		r := reg.Requests()
		if got := r[len(r)-1]; got.URL() != test.Url || got.Header.Get("Accept") != test.Accept || got.Header.Get("Accept-Encoding") != "identity" || got.Method != http.MethodGet {
			t.Errorf("%s: %s, Accept %q", test.Location, got, got.Header.Get("Accept"))
		}
	}
}

// TestModuleNext: only a page can name another location.
func TestModuleNext(t *testing.T) {
	t.Parallel()
	const next = "git::https://git.example.com/a.git?ref=v1"
	tests := []struct {
		name   string
		loc    module.Location
		header string
		want   string
	}{
		{"page", module.Location{}, next, next},
		{"page without", module.Location{}, "", ""},
		{"no archive", module.Location{Archive: "none"}, next, next},
		{"archive", module.Location{Archive: "zip"}, next, ""},
		{"direct", module.Location{Direct: true}, next, ""},
	}
	for _, test := range tests {
		reg := answers("body", http.Header{"X-Terraform-Get": {test.header}, "Etag": {`"tag"`}})
		test.loc.URL = "https://e.example.com/a"
		body := must.Get(client(reg).OpenModule(t.Context(), at(test.loc)))(t)
		data, err := io.ReadAll(body)
		body.Close()
		if body.Next != test.want || body.ETag != `"tag"` || string(data) != "body" || err != nil || body.Size != 4 || body.Resumes() != 0 {
			t.Errorf("%s: next %q, want %q; %q, %v", test.name, body.Next, test.want, data, err)
		}
	}
	// The header alone, without any body.
	reg := moduleRegistry(regtest.Module{})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Status: 204, Raw: []byte{}, Header: http.Header{"X-Terraform-Get": {next}}})
	body, err := client(reg).OpenModule(t.Context(), at(module.Location{URL: "https://e.example.com/a"}))
	if err != nil || body.Next != next {
		t.Errorf("OpenModule returned %v, %v, want the next location %s", body, err, next)
	}
}

func TestOpenModuleRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		loc  *module.Location
		want error
		text string
	}{
		"nil":         {nil, nil, "the location is nil"},
		"git":         {at(module.Location{Kind: module.KindGit, URL: "https://e.example.com/a.git"}), nil, "unsupported location kind git"},
		"local":       {at(module.Location{Kind: module.KindLocal, URL: "file:///etc"}), nil, "kind local"},
		"http":        {at(module.Location{URL: "http://e.example.com/a.zip"}), failure.ErrInsecure, "AllowHTTP"},
		"scheme":      {at(module.Location{URL: "ftp://e.example.com/a.zip"}), failure.ErrInsecure, ""},
		"no host":     {at(module.Location{URL: "https:///a.zip"}), nil, "host"},
		"no URL":      {at(module.Location{URL: "https://e.example.com/%zz?token=" + secret}), nil, "invalid URL"},
		"a backslash": {at(module.Location{URL: `https://e.example.com\a.zip`}), nil, "backslash"},
		"zero":        {&module.Location{}, nil, "kind"},
	}
	for name, test := range tests {
		reg := answers("body", nil)
		_, err := client(reg).OpenModule(t.Context(), test.loc)
		e := asError(t, err)
		if e.Op != "fetch" || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: OpenModule returned %v, want %v with %q", name, err, test.want, test.text)
		}
		if reg.Count(0) != 0 {
			t.Errorf("%s: %d requests", name, reg.Count(0))
		}
	}
}

// TestModulePackageStatus: only 200 and 203 come with a package; 202 means that it is not ready.
func TestModulePackageStatus(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{200: true, 201: false, 202: false, 203: true, 204: false, 205: false, 206: false, 207: false, 226: false, 299: false} {
		for name, loc := range map[string]module.Location{"archive": {Archive: "zip"}, "direct": {Direct: true}, "page": {}} {
			reg := moduleRegistry(regtest.Module{})
			reg.AddFault(regtest.Fault{Kind: regtest.Other, Status: status, Raw: []byte("body")})
			loc.URL = "https://e.example.com/a"
			err := fetch(t, client(reg), at(loc))
			if (err == nil) != ok {
				t.Errorf("OpenModule of a location (%s), status %d: %v; want success %v", name, status, err, ok)
			}
			if err == nil {
				continue
			}
			if e := asError(t, err); e.Status != status || e.URL == "" {
				t.Errorf("OpenModule of a location (%s): status %d, URL %q in the error, want %d", name, e.Status, e.URL, status)
			}
		}
	}
}

// TestOpenModuleErrors: errors have the location and no secrets.
func TestOpenModuleErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{404: failure.ErrNotFound, 401: failure.ErrUnauthorized, 403: failure.ErrUnauthorized, 500: nil, 400: nil} {
		reg := moduleRegistry(regtest.Module{Query: "token=" + secret, Format: "zip"})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Status: status})
		c := leakClient(t, reg, true)
		loc := must.Get(c.ModuleLocation(t.Context(), network, v100))(t)
		err := fetch(t, c, loc)
		e := asError(t, err)
		if e.Status != status || e.Subject != host+"/acme/network/aws 1.0.0" || want != nil && !errors.Is(err, want) || strings.Contains(fmt.Sprintf("%v %+v", err, e), secret) {
			t.Errorf("status %d: OpenModule returned %v, want %v", status, err, want)
		}
		loc.Module = addrs.Module{}
		if e := asError(t, fetch(t, c, loc)); e.Subject != loc.String() || strings.Contains(e.Subject, secret) {
			t.Errorf("%d: subject %q", status, e.Subject)
		}
	}
}

// TestOpenModuleResumes: a broken transfer goes on where it broke.
