package mirrorclient_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestIndexStatus checks the kind of error for each status.
func TestIndexStatus(t *testing.T) {
	t.Parallel()
	kinds := []error{provider.ErrNotFound, provider.ErrUnauthorized, provider.ErrNoVersion}
	for status, kind := range map[int]error{
		404: provider.ErrNotFound, 410: provider.ErrNotFound,
		401: provider.ErrUnauthorized, 403: provider.ErrUnauthorized,
		400: nil, 418: nil, 429: nil, 500: nil, 501: nil, 503: nil,
		201: nil, 203: nil, 204: nil, 206: nil,
	} {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{status: status, body: `{"versions":{}}`}
		_, err := client(web).ProviderVersions(t.Context(), alpha)
		e := asError(t, err)
		if e.Status != status || e.Op != "list versions of" || e.Subject != alpha.String() || e.HadToken || e.Attempts != 1 {
			t.Errorf("%d: %+v", status, e)
		}
		for _, k := range kinds {
			if errors.Is(err, k) != (k == kind) {
				t.Errorf("%d: %v is %v: %t", status, err, k, k != kind)
			}
		}
	}
}

// TestRegistryInstead checks that the error has a hint if the base URL is the URL of a registry.
func TestRegistryInstead(t *testing.T) {
	t.Parallel()
	for base, hint := range map[string]string{
		"https://registry.example.com/":               "if registry.example.com is the provider's registry, use package regclient",
		"https://registry.example.com:443":            "if registry.example.com is the provider's registry, use",
		"https://registry.opentofu.org/v1/providers/": "looks like a provider registry",
		"https://mirror.example.com/":                 "",
		"https://registry.example.com/mirror/":        "",
	} {
		c := client(mirror(nil))
		c.BaseURL = base
		_, err := c.ProviderVersions(t.Context(), alpha)
		if !errors.Is(err, provider.ErrNotFound) || !strings.Contains(err.Error(), hint) || hint == "" && strings.Contains(err.Error(), "regclient") {
			t.Errorf("%s: %v, want %q in it", base, err, hint)
		}
	}
}

// TestMissing checks the error for a version without a document: an unlisted version is ErrNoVersion,
// with the listed ones. A listed one is a fault of the mirror, so that no other source is used instead.
// Without an index, the status decides.
func TestMissing(t *testing.T) {
	t.Parallel()
	others, this := page{body: `{"versions":{"1.1.0":{},"2.0.0":{}}}`}, page{body: `{"versions":{"1.2.0":{}}}`}
	for _, test := range []struct {
		status int
		index  page
		want   error // nil: not ErrNotFound
		text   string
	}{
		{404, others, provider.ErrNoVersion, `no version matches "1.2.0", the newest is 2.0.0`},
		{410, others, provider.ErrNoVersion, "the newest is 2.0.0"},
		{400, others, provider.ErrNoVersion, "the newest is 2.0.0"},
		{500, others, provider.ErrNoVersion, "the newest is 2.0.0"},
		{404, this, nil, "the mirror lists the version, but its document is missing"},
		{500, this, nil, "internal server error"},
		{400, this, nil, "bad request"},
		{404, page{status: 404}, provider.ErrNotFound, "the mirror does not have the provider"},
		{404, page{status: 502}, provider.ErrNoVersion, "its versions cannot be listed"},
		{404, page{body: "[]"}, provider.ErrNoVersion, ""},
		{500, page{status: 502}, nil, ""},
		{500, page{status: 403}, nil, ""},
	} {
		web := mirror(nil)
		web.pages[alphaURL+"1.2.0.json"], web.pages[alphaURL+"index.json"] = page{status: test.status}, test.index
		c := client(web)
		_, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
		if e := asError(t, err); e.Status != test.status || e.URL != alphaURL+"1.2.0.json" || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%d with an index of %v: %v, want %q in it", test.status, test.index, err, test.text)
		}
		if errors.Is(err, provider.ErrNotFound) != (test.want != nil) || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%d with an index of %v: %v, want %v", test.status, test.index, err, test.want)
		}
		both := &provider.Multi{Sources: []provider.NamedSource{{Name: "mirror", Source: c}, {Name: "other", Source: client(mirror(nil))}}}
		if _, err := both.ProviderPackage(t.Context(), alpha, v120, linux); test.want == nil && errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%d with an index of %v: passed over: %v", test.status, test.index, err)
		}
	}
}

// TestMissingProvider500 checks a mirror that sends status 500 for a missing provider: FirstOf
// continues with the next mirror.
func TestMissingProvider500(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	web.pages[alphaURL+"index.json"] = page{status: 500, header: http.Header{"Content-Type": {"text/html"}}, body: "<html>oops</html>"}
	_, err := client(web).ProviderVersions(t.Context(), alpha)
	if e := asError(t, err); e.Status != 500 || errors.Is(err, provider.ErrNotFound) ||
		!strings.Contains(err.Error(), "some servers answer 500 for an unknown provider") {
		t.Errorf("%+v", e)
	}
	other := client(mirror(map[string]string{"index.json": `{"versions":{"1.2.0":{}}}`}))
	first := &provider.FirstOf{Sources: []provider.NamedSource{{Name: "mirror", Source: client(web)}, {Name: "other", Source: other}}}
	if versions, err := first.ProviderVersions(t.Context(), alpha); err != nil || len(versions.List) != 1 {
		t.Errorf("%v, %v", versions, err)
	}
}

// TestMirrorThatIgnoresTheHost checks that the package has the requested address if the mirror
// ignores the host.
func TestMirrorThatIgnoresTheHost(t *testing.T) {
	t.Parallel()
	web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "/files/alpha?id=7f3c")})
	other := addrs.MustParseProvider("other.example.com/acme/alpha")
	web.pages[baseURL+"other.example.com/acme/alpha/1.2.0.json"] = web.pages[alphaURL+"1.2.0.json"]
	for _, p := range []addrs.Provider{alpha, other} {
		pkg, err := client(web).ProviderPackage(t.Context(), p, v120, linux)
		if err != nil || pkg.Provider != p || pkg.URL != "https://mirror.example.com/files/alpha?id=7f3c" {
			t.Errorf("%v, %v", pkg, err)
		}
	}
}

// TestSharedRequests checks that concurrent calls share requests, that one document serves all
// platforms, and that each caller gets a copy.
func TestSharedRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web := mirror(nil)
		web.pages[alphaURL+"index.json"] = page{delay: time.Second, body: `{"versions":{"1.2.0":{},"x":{}}}`}
		web.pages[alphaURL+"1.2.0.json"] = page{delay: time.Second, body: `{"archives":{` +
			`"linux_amd64":{"url":"l.zip","hashes":["zh:` + strings.Repeat("a", 64) + `"]},"plan9_arm":{"url":"p.zip"}}}`}
		c := client(web)
		done := make(chan bool)
		const callers = 20
		for i := range callers {
			go func() {
				defer func() { done <- true }()
				versions, err := c.ProviderVersions(t.Context(), alpha)
				if err != nil || versions.List[0].Version != v120 || versions.Warnings[0] == "" {
					t.Errorf("%v, %v", versions, err)
					return
				}
				versions.List[0], versions.Warnings[0] = provider.Release{}, ""
				platform := []addrs.Platform{linux, plan9}[i%2]
				pkg, err := c.ProviderPackage(t.Context(), alpha, v120, platform)
				if err != nil || pkg.Platform != platform || pkg.URL == "" || pkg.Hashes[linux][0].IsZero() {
					t.Errorf("%v, %v", pkg, err)
					return
				}
				pkg.Hashes[linux][0], pkg.URL = checksum.Hash{}, ""
			}()
		}
		for range callers {
			<-done
		}
		if got, want := web.asked(), []string{alphaURL + "index.json", alphaURL + "1.2.0.json"}; !slices.Equal(got, want) {
			t.Errorf("asked %q, want %q", got, want)
		}
	})
}

// mirrored returns a client of the network mirror of a registry.
func mirrored(m regtest.Mirror) (*regtest.Registry, *mirrorclient.Client) {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.Mirror = m
	return reg, &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Client{HTTP: reg.Client(), Retries: -1}}
}

// TestHabits downloads real archives from each form of mirror seen in practice: each form of URL
// with each choice of hashes.
func TestHabits(t *testing.T) {
	t.Parallel()
	for urls, form := range map[string]string{
		"bare name": "name", "download/": "download", "root-relative": "root-relative",
		"relative": "relative", "absolute": "absolute", "opaque query without .zip": "opaque",
	} {
		for _, test := range []struct {
			name      string
			hashes    []string
			presign   bool
			elsewhere bool
			trust     verify.Trust
		}{
			{"zh only", []string{"zh"}, false, false, verify.Checked},
			{"h1 only", []string{"h1"}, false, false, verify.Checked},
			{"both", []string{"h1", "zh"}, false, true, verify.Checked},
			{"both, presigned", nil, true, true, verify.Checked},
			{"and a future scheme", []string{"x9", "zh"}, true, false, verify.Checked},
			{"none", []string{}, false, false, verify.Unchecked},
		} {
			t.Run(urls+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				habits := regtest.Mirror{URLs: form, Hashes: test.hashes, IgnoreHost: true}
				if test.presign {
					habits.Query = "X-Amz-Signature=ab12"
				}
				if test.elsewhere && form != "name" && form != "download" {
					habits.Origin = "https://files.example.com"
				}
				_, c := mirrored(habits)
				pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
				policy := verify.Policy{AllowUnsigned: true, AllowUnchecked: test.trust == verify.Unchecked}
				report, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), pkg.ArchiveName()), provider.Options{Policy: policy})
				if err != nil || report.Trust != test.trust {
					t.Errorf("%+v, %v", report, err)
				}
			})
		}
	}
}

// TestColdInstall checks that a download takes three requests.
func TestColdInstall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, c := mirrored(regtest.Mirror{})
		reg.Latency = time.Second
		begin := time.Now()
		versions := must.Get(c.ProviderVersions(t.Context(), alpha))(t)
		version := must.Get(versions.NewestFor(addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}}))(t)
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, version, linux))(t)
		o := provider.Options{Policy: verify.Policy{AllowUnsigned: true}}
		must.Get(provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "alpha.zip"), o))(t)
		if took := time.Since(begin); took != 3*time.Second || reg.Count(0) != 3 {
			t.Errorf("%v and %d requests, want 3s and 3", took, reg.Count(0))
		}
	})
}
