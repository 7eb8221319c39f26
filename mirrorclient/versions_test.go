package mirrorclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
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
		versions, err := client(mirror(map[string]string{"index.json": test.body})).ProviderVersions(t.Context(), alpha)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, r := range versions.List {
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
	for body, reason := range map[string]string{
		``:                                     "JSON",
		`{"versions":{"1.0.0":[]}}`:            `the value of "1.0.0" is not an object`,
		`{"versions":{"1.0.0":1}}`:             `the value of "1.0.0" is not an object`,
		`{"versions":{"\u001b[31m":true}}`:     `the value of "\x1b[31m" is not an object`,
		`{"versions":"1.0.0"}`:                 "versions is not an object",
		`{"versions":[{"version":"1.0.0"}]}`:   "package regclient",
		`{"providers.v1":"/v1/providers/"}`:    "discovery document",
		"<!DOCTYPE html><title>Log in</title>": "<!DOCTYPE html>",
	} {
		_, err := client(mirror(map[string]string{"index.json": body})).ProviderVersions(t.Context(), alpha)
		e := asError(t, err)
		if e.Status != 200 || e.URL != alphaURL+"index.json" || e.Attempts != 1 || errors.Is(err, provider.ErrNotFound) {
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
	for _, test := range []struct {
		index, version string
		document       string // there is
		want           []string
	}{
		{`"1.2":{}`, "1.2.0", "1.2.json", []string{"1.2.0.json", "index.json", "1.2.json"}},
		{`"01.02.0":{}`, "1.2.0", "01.02.0.json", []string{"1.2.0.json", "index.json", "01.02.0.json"}},
		{`"1.2":{}`, "1.2.0", "1.2.0.json", []string{"1.2.0.json"}},
		{`"1.2.0":{},"1.2":{}`, "1.2.0", "1.2.0.json", []string{"1.2.0.json"}},
		{`"1.2":{},"1.2.0":{}`, "1.2.0", "1.2.0.json", []string{"1.2.0.json"}},
		{`"1.2.0-rc.1+b.5":{}`, "1.2.0-rc.1+b.5", "1.2.0-rc.1+b.5.json", []string{"1.2.0-rc.1+b.5.json"}},
	} {
		web := mirror(map[string]string{"index.json": `{"versions":{` + test.index + `}}`, test.document: document("linux_amd64", "alpha.zip")})
		v := addrs.MustParseVersion(test.version)
		pkg, err := client(web).ProviderPackage(t.Context(), alpha, v, linux)
		if err != nil || pkg.Version != v {
			t.Errorf("%s: %v, %v", test.index, pkg, err)
		}
		var names []string
		for _, u := range web.asked() {
			names = append(names, strings.TrimPrefix(u, alphaURL))
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("%s: asked for %q, want %q", test.index, names, test.want)
		}
	}
}

// TestMediaType checks that documents with another media type than JSON are refused, as both CLIs
// do.
func TestMediaType(t *testing.T) {
	t.Parallel()
	for header, reason := range map[string]string{
		"application/json":                 "",
		"application/json; charset=utf-8":  "",
		"application/json;charset=utf-8;x": "malformed media type",
		"application/octet-stream":         `media type is "application/octet-stream", want application/json: configure`,
		"text/plain; charset=utf-8":        `media type is "text/plain", want application/json`,
		"text/html; charset=utf-8":         "got a web page (text/html; charset=utf-8): check",
		"\x1b[31m":                         `media type "\x1b[31m`,
		"":                                 "media type is missing, want application/json: configure",
	} {
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
				if err != nil {
					t.Errorf("%q: %v", header, err)
				}
				continue
			}
			if e := asError(t, err); e.Status != 200 || !strings.Contains(err.Error(), reason) || errors.Is(err, provider.ErrNotFound) {
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
	client := &mirrorclient.Client{Transport: &transport.Client{HTTP: reg.Client()}, BaseURL: reg.MirrorURL()}
	versions := must.Get(client.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/alpha")))(t)
	about := func(text string) bool {
		return strings.Contains(text, "no constraint selects the listed version 0.0.0")
	}
	if len(versions.List) != 3 || len(versions.Warnings) != 1 || !slices.ContainsFunc(versions.Warnings, about) {
		t.Errorf("ProviderVersions returned %v with the warnings %q, want three versions and a warning about 0.0.0", versions.List, versions.Warnings)
	}
}
