package regclient_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
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
		for i, r := range versions.List {
			if i > 0 && versions.List[i-1].Version.Compare(r.Version) <= 0 {
				t.Errorf("%s comes before %s", versions.List[i-1].Version, r.Version)
			}
		}
		for _, w := range versions.Warnings {
			if strings.ContainsFunc(w, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("the warning %q is not printable", w)
			}
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
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("Unmarshal(%s) returned %v, want no error", data, err)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(data) {
		t.Errorf("%s came back as %s, %v", data, again, err)
	}
}
