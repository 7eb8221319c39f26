package regclient_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

func FuzzVersions(f *testing.F) {
	for _, seed := range []string{
		`{"versions":[{"version":"1.0.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}],"warnings":["w"]}`,
		`{"versions":[{"version":"1.0"},{"version":"1.0.0"},{"version":"99999999999999999999.0.0"},null],"warnings":[null,"\u001b[0m"]}`,
		`{"versions":[{"version":"1.0.0-beta+x","protocols":[""],"platforms":[null,{"os":"a_b","arch":""}]}]}`,
		`{"versions":null}`, `null`, `[]`, `{"Versions":[],"versions":[{}]}`, `{"versions":[{"version":1}]}`, `{}{}`,
	} {
		f.Add([]byte(seed))
	}
	var doc []byte
	c := answering(f, func() []byte { return doc })
	f.Fuzz(func(t *testing.T, data []byte) {
		doc = data
		versions, err := c.ProviderVersions(t.Context(), alpha)
		if err != nil {
			asError(t, err)
			return
		}
		for i, r := range versions.Versions {
			if i > 0 && versions.Versions[i-1].Version.Compare(r.Version) <= 0 {
				t.Errorf("%s comes before %s", versions.Versions[i-1].Version, r.Version)
			}
		}
		for _, w := range versions.Warnings {
			wantPrintable(t, w)
		}
		if _, err := versions.NewestFor(addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}}); err != nil {
			asError(t, err)
		}
		wantRoundTrip(t, versions)
	})
}

func FuzzPackage(f *testing.F) {
	const start = `{"os":"linux","arch":"amd64","shasum":"` + goodSum + `",`
	for _, seed := range []string{
		start + `"protocols":["5.0"],"filename":"f.zip","download_url":"/f.zip","shasums_url":"sums","shasums_signature_url":"../sig",` +
			`"signing_keys":{"gpg_public_keys":[null,{"key_id":"A","ascii_armor":"-----BEGIN"}]},` +
			`"packages":{"linux_amd64":{"hashes":["zh:` + goodSum + `","h1:"],"package_size":0},"plan9_arm":{"hashes":["zh:` + goodSum + `"]}}}`,
		start + `"download_url":"https://a:b@c/x#y"}`, start + `"download_url":"https:x"}`, start + `"download_url":"//h:99999/x?y=z"}`,
		start + `"download_url":"x","packages":{"linux_amd64":{"package_size":99999999999999999999}}}`,
		start + `"download_url":"x","signing_keys":null,"packages":null}`,
		`null`, `[]`, `{}`, start + `"download_url":"x"} x`,
	} {
		f.Add([]byte(seed))
	}
	var doc []byte
	c := answering(f, func() []byte { return doc })
	f.Fuzz(func(t *testing.T, data []byte) {
		doc = data
		pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
		if err != nil {
			asError(t, err)
			return
		}
		for i, ref := range []string{pkg.URL, pkg.SumsURL, pkg.SignatureURL} {
			u, err := url.Parse(ref)
			if ref == "" && i > 0 {
				continue
			}
			if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
				t.Errorf("URL %q, %v", ref, err)
			}
		}
		if strings.ContainsAny(pkg.Filename, `/\`) || pkg.Size < 0 || pkg.SHA256.Scheme() != "zh" {
			t.Errorf("filename %q, size %d, hash %q", pkg.Filename, pkg.Size, pkg.SHA256)
		}
		for _, h := range pkg.Hashes[linux] {
			if h.Scheme() == "zh" && h != pkg.SHA256 {
				t.Errorf("%s is stated beside %s", h, pkg.SHA256)
			}
		}
		if pkg.Evidence().Requested == "" || pkg.Clone().String() != pkg.String() {
			t.Errorf("odd package %v", pkg)
		}
		wantRoundTrip(t, pkg)
	})
}

// wantRoundTrip fails unless the JSON form of v can be read back.
func wantRoundTrip[T any](t *testing.T, v *T) {
	t.Helper()
	data := must.Get(json.Marshal(v))(t)
	var back T
	must.Do(t, json.Unmarshal(data, &back))
	if again, err := json.Marshal(back); err != nil || string(again) != string(data) {
		t.Errorf("%s came back as %s, %v", data, again, err)
	}
}

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
		for i, r := range versions.Versions {
			if i > 0 && versions.Versions[i-1].Version.Compare(r.Version) <= 0 {
				t.Errorf("%s comes before %s", versions.Versions[i-1].Version, r.Version)
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
			wantPrintable(t, err.Error())
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
