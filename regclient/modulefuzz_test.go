package regclient_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
)

func FuzzModuleVersions(f *testing.F) {
	for _, seed := range []string{
		`{"modules":[{"versions":[{"version":"1.0.0"},{"version":"v1.1","deprecated":{"reason":"old","link":"x"}}]}]}`,
		`{"modules":[{"versions":[null,{},{"version":"1.0"},{"version":"1.0.0"},{"version":"99999999999999999999.0.0"},{"version":"\u001b[0m"}]},null]}`,
		`{"modules":[{"versions":[{"version":"1.2.3.4-beta+x","deprecated":true}],"total":9,"limit":1}],"meta":{"next_offset":1}}`,
		`{"modules":[{"versions":[{"version":"2"}]}],"total":"3","limit":1,"meta":[],"offset":-1}`,
		`{"modules":[{}]}`, `{"modules":null}`, `{"modules":[{"versions":null}]}`, `null`, `[]`, `{"Modules":[],"modules":[{}]}`, `{}{}`,
	} {
		f.Add([]byte(seed))
	}
	var doc []byte
	asked := 0
	c := answering(f, func() []byte { asked++; return doc })
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, asked = data, 0
		versions, err := c.ModuleVersions(t.Context(), network)
		if asked > 2 {
			t.Errorf("%d requests, though the answer is always the same", asked)
		}
		if err != nil {
			asError(t, err)
			return
		}
		for i, r := range versions.List {
			if i > 0 && versions.List[i-1].Version.Compare(r.Version) <= 0 {
				t.Errorf("%s comes before %s", versions.List[i-1].Version, r.Version)
			}
			if d := r.Deprecated; d != nil {
				wantPrintable(t, d.Reason)
				wantPrintable(t, d.Link)
			}
		}
		for _, w := range versions.Warnings {
			wantPrintable(t, w)
		}
		if _, err := versions.Newest(addrs.ModuleConstraint{}); err != nil {
			asError(t, err)
		}
		wantRoundTrip(t, versions)
	})
}

func FuzzModuleLocation(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"location":"https://e.example.com/a.zip"}`, ""},
		{`{"location":"./a.zip//sub?archive=zip&checksum=md5:00"}`, "/x"},
		{`{"location":"../p","use_registry_credentials":true}`, ""},
		{`{"location":"?x=y","use_registry_credentials":false}`, "https://e.example.com"},
		{`{"use_registry_credentials":null}`, "git::ssh://git@e.example.com/a.git?ref=v1&depth=1&sshkey=x"},
		{"", "github.com/acme/network//sub?ref=v1"}, {"<html>", "git@e.example.com:a/b.git"},
		{`{}`, "file:///etc"}, {`{"location":"\\\\host\\share"}`, "acme/network/aws"}, {`{"location":"//h:99999/x?y=z#f"}`, "s3::https://x"},
		{`{"location":"https://a:b@c/x","use_registry_credentials":true}`, ""}, {`null`, ""}, {`{} x`, "\x1b[0m"},
	} {
		f.Add([]byte(seed[0]), seed[1])
	}
	var doc []byte
	var header string
	c := answering(f, nil)
	c.Transport.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		resp := document(r, doc)
		resp.Header.Set("X-Terraform-Get", header)
		return resp, nil
	})}
	f.Fuzz(func(t *testing.T, data []byte, get string) {
		doc, header = data, get
		loc, err := c.ModuleLocation(t.Context(), network, v100)
		if err != nil {
			wantPrintable(t, asError(t, err).Error())
			return
		}
		u, err := url.Parse(loc.URL)
		if loc.Kind == module.KindLocal || loc.URL == "" || err == nil && u.Scheme == "file" {
			t.Errorf("ModuleLocation returned %+v, want a location on another machine", loc)
		}
		if loc.Kind == module.KindHTTP && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Fragment != "") {
			t.Errorf("URL %q, %v", loc.URL, err)
		}
		if loc.Module != network || loc.Version != v100 || loc.UseRegistryCredentials && !loc.Direct || loc.Direct && loc.Kind != module.KindHTTP {
			t.Errorf("ModuleLocation returned %+v, want consistent flags", loc)
		}
		wantPrintable(t, loc.String())
		wantRoundTrip(t, loc)
	})
}

func wantPrintable(t *testing.T, s string) {
	t.Helper()
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		t.Errorf("%q is not printable", s)
	}
}
