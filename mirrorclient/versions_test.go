package mirrorclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body     string
		versions string // newest first
		warnings []string
	}{
		"odd values":       {`{"versions":{"1.0.0":{"\"}":"{","x":{"2.0.0":{}}},"\u0031.1.0":{"y":[{},"]"]} , "1.2.0" : {}}}`, "1.2.0 1.1.0 1.0.0", nil},
		"white space":      {"\n { \"versions\" :\n { \"2.0.0\" : { } , \"10.0.0\" :\t{\"x\":[1]} } }\n", "10.0.0 2.0.0", nil},
		"prereleases":      {`{"versions":{"1.0.0-rc.1":{},"1.0.0":{},"1.0.0+build":{}}}`, "1.0.0+build 1.0.0 1.0.0-rc.1", nil},
		"no version":       {`{"versions":{"1.0.0":{},"latest":{},"v1.1.0":{}}}`, "1.0.0", []string{`ignored invalid version "latest"`, `ignored invalid version "v1.1.0"`}},
		"path":             {`{"versions":{"../../x":{},"":{}}}`, "", []string{`ignored invalid version "../../x"`, `ignored invalid version ""`}},
		"control":          {`{"versions":{"\u001b[31m":{}}}`, "", []string{`ignored invalid version "\x1b[31m"`}},
		"twice":            {`{"versions":{"1.0":{},"1.0.0":{},"1":{}}}`, "1.0.0", []string{"version 1.0.0 is listed more than once", "version 1.0.0 is listed more than once"}},
		"the same name":    {`{"versions":{"1.0.0":{},"1.0.0":{}}}`, "1.0.0", []string{"version 1.0.0 is listed more than once"}},
		"name of 10000 xs": {`{"versions":{"` + strings.Repeat("x", 10_000) + `":{}}}`, "", []string{fmt.Sprintf("ignored invalid version %q", strings.Repeat("x", 100))}},
	} {
		versions := must.Get(client(mirror(map[string]string{"index.json": test.body})).ProviderVersions(t.Context(), alpha))(t)
		var got []string
		for _, r := range versions.Versions {
			got = append(got, r.Version.String())
			if r.Protocols != nil || r.Platforms != nil {
				t.Errorf("%s: %v knows protocols or platforms", name, r)
			}
		}
		if strings.Join(got, " ") != test.versions || !slices.Equal(versions.Warnings, test.warnings) || versions.Provider != alpha {
			t.Errorf("%s: %q, warnings %q", name, got, versions.Warnings)
		}
	}
}

// TestBadIndex checks that an invalid document is an error that is not ErrNotFound, and never an
// empty list.
func TestBadIndex(t *testing.T) {
	t.Parallel()
	for body, reason := range casetest.Pairs(t, "index-refused.txt") {
		_, err := client(mirror(map[string]string{"index.json": body})).ProviderVersions(t.Context(), alpha)
		e := asError(t, err)
		if e.Status != 200 || e.URL != alphaURL+"index.json" || e.Attempts != 1 || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%.60q: %+v", body, e)
		}
		if !strings.Contains(err.Error(), reason) || len(err.Error()) > 1000 {
			t.Errorf("%.60q: %v, want %q in it", body, err, reason)
		}
	}
}

func TestIndexLimits(t *testing.T) {
	t.Parallel()
	many := func(n int, value string) string {
		var b bytes.Buffer
		b.WriteString(`{"versions":{`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%d.%d.0":%s`, i/1000, i%1000, value)
		}
		b.WriteString(`}}`)
		return b.String()
	}
	members := func(n int) string { return `{"versions":{},"x":[0` + strings.Repeat(",0", n-1) + `]}` }
	padded := func(n int) string {
		doc := `{"versions":{}}`
		return doc + strings.Repeat(" ", n-len(doc))
	}
	for name, test := range map[string]struct {
		body string
		ok   bool
	}{
		"100,000 versions":  {many(100_000, "{}"), true},
		"100,001 versions":  {many(100_001, "{}"), false},
		"499,999 members":   {members(499_999), true},
		"500,000 members":   {members(500_000), false},
		"16 MiB":            {padded(16 << 20), true},
		"16 MiB and a byte": {padded(16<<20 + 1), false},
	} {
		_, err := client(mirror(map[string]string{"index.json": test.body})).ProviderVersions(t.Context(), alpha)
		if (err == nil) != test.ok || err != nil && !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSpelling checks that a package is requested in the canonical spelling of its version, then in
// the listed one.
func TestSpelling(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Index, Version, Document string
		Want                     []string
	}](t, "spellings.txt") {
		web := mirror(map[string]string{"index.json": `{"versions":{` + test.Index + `}}`, test.Document: document("linux_amd64", "alpha.zip")})
		v := addrs.MustParseVersion(test.Version)
		pkg, err := client(web).ProviderPackage(t.Context(), alpha, v, linux)
		if err != nil || pkg.Version != v {
			t.Errorf("%s: %v, %v", test.Index, pkg, err)
		}
		var names []string
		for _, u := range web.asked() {
			names = append(names, strings.TrimPrefix(u, alphaURL))
		}
		if !slices.Equal(names, test.Want) {
			t.Errorf("%s: asked for %q, want %q", test.Index, names, test.Want)
		}
	}
}

// TestMediaType checks that documents with another media type than JSON are refused, as both CLIs
// do.
func TestMediaType(t *testing.T) {
	t.Parallel()
	for header, reason := range casetest.Pairs(t, "media-types.txt") {
		web := mirror(nil)
		sent := http.Header{"Content-Type": {header}}
		if header == "" {
			sent["Content-Type"] = nil
		}
		web.pages[alphaURL+"index.json"] = page{header: sent, body: `{"versions":{"1.2.0":{}}}`}
		web.pages[alphaURL+"1.2.0.json"] = page{header: sent, body: document("linux_amd64", "alpha.zip")}
		_, listErr := client(web).ProviderVersions(t.Context(), alpha)
		_, findErr := client(web).ProviderPackage(t.Context(), alpha, v120, linux)
		for _, err := range []error{listErr, findErr} {
			if reason == "" {
				must.Do(t, err)
				continue
			}
			if e := asError(t, err); e.Status != 200 || !strings.Contains(err.Error(), reason) || errors.Is(err, failure.ErrNotFound) {
				t.Errorf("%q: %v, want %q in it", header, err, reason)
			}
		}
	}
}

// TestUnselectableVersion checks that a list with version 0.0.0 has one warning.
func TestUnselectableVersion(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"0.0.0", "0.0.1", "0.0.0-beta"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64"}})
	}
	client := &mirrorclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}, BaseURL: reg.MirrorURL()}
	versions := must.Get(client.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/alpha")))(t)
	about := func(text string) bool {
		return strings.Contains(text, "no constraint selects the listed version 0.0.0")
	}
	if len(versions.Versions) != 3 || len(versions.Warnings) != 1 || !slices.ContainsFunc(versions.Warnings, about) {
		t.Errorf("ProviderVersions returned %v with the warnings %q, want three versions and a warning about 0.0.0", versions.Versions, versions.Warnings)
	}
}

// TestIndexStatus checks the kind of error for each status.
func TestIndexStatus(t *testing.T) {
	t.Parallel()
	kinds := []error{failure.ErrNotFound, failure.ErrUnauthorized, failure.ErrNoVersion}
	for status, kind := range map[int]error{
		404: failure.ErrNotFound, 410: failure.ErrNotFound,
		401: failure.ErrUnauthorized, 403: failure.ErrUnauthorized,
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
		if !errors.Is(err, failure.ErrNotFound) || !strings.Contains(err.Error(), hint) || hint == "" && strings.Contains(err.Error(), "regclient") {
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
		{404, others, failure.ErrNoVersion, `no version matches "1.2.0", the newest is 2.0.0`},
		{410, others, failure.ErrNoVersion, "the newest is 2.0.0"},
		{400, others, failure.ErrNoVersion, "the newest is 2.0.0"},
		{500, others, failure.ErrNoVersion, "the newest is 2.0.0"},
		{404, this, nil, "the mirror lists the version, but its document is missing"},
		{500, this, nil, "internal server error"},
		{400, this, nil, "bad request"},
		{404, page{status: 404}, failure.ErrNotFound, "the mirror does not have the provider"},
		{404, page{status: 502}, failure.ErrNoVersion, "its versions cannot be listed"},
		{404, page{body: "[]"}, failure.ErrNoVersion, ""},
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
		if errors.Is(err, failure.ErrNotFound) != (test.want != nil) || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%d with an index of %v: %v, want %v", test.status, test.index, err, test.want)
		}
		both := &provider.Multi{Sources: []provider.NamedSource{{Name: "mirror", Source: c}, {Name: "other", Source: client(mirror(nil))}}}
		if _, err := both.ProviderPackage(t.Context(), alpha, v120, linux); test.want == nil && errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%d with an index of %v: passed over: %v", test.status, test.index, err)
		}
	}
}

// TestMissingProvider500 checks a mirror that sends status 500 for a missing provider: Failover
// continues with the next mirror.
func TestMissingProvider500(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	web.pages[alphaURL+"index.json"] = page{status: 500, header: http.Header{"Content-Type": {"text/html"}}, body: "<html>oops</html>"}
	_, err := client(web).ProviderVersions(t.Context(), alpha)
	if e := asError(t, err); e.Status != 500 || errors.Is(err, failure.ErrNotFound) ||
		!strings.Contains(err.Error(), "some servers answer 500 for an unknown provider") {
		t.Errorf("%+v", e)
	}
	other := client(mirror(map[string]string{"index.json": `{"versions":{"1.2.0":{}}}`}))
	first := &provider.Multi{Failover: true, Sources: []provider.NamedSource{{Name: "mirror", Source: client(web)}, {Name: "other", Source: other}}}
	if versions, err := first.ProviderVersions(t.Context(), alpha); err != nil || len(versions.Versions) != 1 {
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
				if err != nil || versions.Versions[0].Version != v120 || versions.Warnings[0] == "" {
					t.Errorf("%v, %v", versions, err)
					return
				}
				versions.Versions[0], versions.Warnings[0] = provider.Release{}, ""
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
	return reg, &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
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
				report, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), pkg.ArchiveName()), provider.DownloadOptions{Policy: policy})
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
		o := provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}}
		must.Get(provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "alpha.zip"), o))(t)
		if took := time.Since(begin); took != 3*time.Second || reg.Count(0) != 3 {
			t.Errorf("%v and %d requests, want 3s and 3", took, reg.Count(0))
		}
	})
}
