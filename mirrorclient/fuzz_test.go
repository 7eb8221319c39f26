package mirrorclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/verify/checksum"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func jsonAnswer(r *http.Request, body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// answering is a client that gets the content of doc for every request.
func answering(doc *string) *mirrorclient.Client {
	return client(roundTripper(func(r *http.Request) (*http.Response, error) { return jsonAnswer(r, *doc), nil }))
}

func FuzzIndex(f *testing.F) {
	for _, seed := range []string{
		`{"versions":{"2.0.0":{},"2.0.1":{}}}`, `{"versions":{"1.0":{},"1.0.0":null,"v1":{},"99999999999999999999.0.0":{}}}`,
		`{"versions":null}`, `{"versions":[]}`, `{"versions":{"1.0.0":[]}}`, `{"Versions":{},"versions":{}}`, `null`, `[]`, `{}{}`,
		`{"versions":{"1.0.0":{"\"}":"{","x":{"2.0.0":{}}},"\u0031.1.0":{"y":[{},"]"]} , "1.2.0" : {}}}`, `{"versions":{"\ud800":null,"1.0.0":{}}}`,
		`{"providers.v1":"/"}`, `{"versions":{"\u001b[31m":{},"1.0.0-rc.1+x":{"a":[{}]}}}`,
	} {
		f.Add(seed)
	}
	var doc string
	f.Fuzz(func(t *testing.T, body string) {
		doc = body
		versions, err := answering(&doc).ProviderVersions(t.Context(), alpha)
		if err != nil {
			asError(t, err)
			return
		}
		// Compare with encoding/json.
		var plain struct {
			Versions map[string]json.RawMessage `json:"versions"`
		}
		must.Do(t, json.Unmarshal([]byte(body), &plain))
		want := map[addrs.Version]bool{}
		for name := range plain.Versions {
			if v, err := addrs.ParseVersion(name); err == nil {
				want[v] = true
			}
		}
		if len(want) != len(versions.Versions) {
			t.Errorf("%d versions, want %d", len(versions.Versions), len(want))
		}
		for i, r := range versions.Versions {
			if !want[r.Version] {
				t.Errorf("version %s comes from nowhere", r.Version)
			}
			if i > 0 && versions.Versions[i-1].Version.Compare(r.Version) <= 0 {
				t.Errorf("%s comes before %s", versions.Versions[i-1].Version, r.Version)
			}
		}
		for _, w := range versions.Warnings {
			if strings.ContainsFunc(w, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("the warning %q is not printable", w)
			}
		}
	})
}

func FuzzVersionDocument(f *testing.F) {
	for _, seed := range []string{
		document("linux_amd64", "alpha.zip", goodZH, "h1:4A07+ZFc2wgJwo8YNlQpr1rVlgUDlxXHhPJciaPY5gs="),
		`{"archives":{"linux_amd64":null}}`, `{"archives":{"linux_amd64":{"url":"","hashes":[null]},"plan9_arm":null}}`,
		`{"archives":{"linux_amd64":{"url":"//h:99999/x?y=z","hashes":["h1:","x:y"]},"_":{}}}`,
		`{"archives":{"linux_amd64":{"url":"https://a:b@c/x#y"}}}`, `{"archives":{"linux_amd64":{"url":"https:x"}}}`,
		`{"archives":null}`, `{"archives":[]}`, `null`, `{"download_url":"x"}`, `{"archives":{}} x`,
	} {
		f.Add(seed)
	}
	var doc string
	f.Fuzz(func(t *testing.T, body string) {
		doc = body
		pkg, err := answering(&doc).ProviderPackage(t.Context(), alpha, v120, linux)
		if err != nil {
			asError(t, err)
			return
		}
		u, err := url.Parse(pkg.URL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
			t.Errorf("URL %q, %v", pkg.URL, err)
		}
		for platform, hashes := range pkg.Hashes {
			if len(hashes) == 0 || platform.IsZero() || !slices.IsSortedFunc(hashes, checksum.Hash.Compare) {
				t.Errorf("%s: %v", platform, hashes)
			}
		}
		if ev := pkg.Evidence(); !slices.Equal(ev.Hashes, pkg.Hashes[linux]) || ev.Requested == "" {
			t.Errorf("evidence %v of %v", ev, pkg.Hashes)
		}
	})
}

func FuzzBaseURL(f *testing.F) {
	for _, seed := range []string{baseURL, "https://h", "https://h:1/a%2Fb", "https://[::1]/", "http://h/", "https://u@h/", "https://h/?q", "//h", "https://böb.test/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		base, err := (&mirrorclient.Client{BaseURL: text}).Base()
		if err != nil {
			asError(t, err)
			return
		}
		if base.Scheme != "https" || base.Hostname() == "" || !strings.HasSuffix(base.Path, "/") || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
			t.Errorf("%q became %s", text, base)
		}
		if again, err := (&mirrorclient.Client{BaseURL: base.String()}).Base(); err != nil || again.String() != base.String() {
			t.Errorf("%s became %v, %v", base, again, err)
		}
	})
}

// manyVersions returns an index with many versions.
func manyVersions(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"%d.%d.%d": {}`, i/200, i/10%20, i%10)
	}
	return "{\n  \"versions\": {\n    " + strings.Join(names, ",\n    ") + "\n  }\n}\n"
}

// BenchmarkIndex lists 2,000 versions. It also reports the time as a multiple of json.Unmarshal for
// the same document.
func BenchmarkIndex(b *testing.B) {
	doc := manyVersions(2000)
	c := answering(&doc)
	var plain, whole time.Duration
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		var wire struct{ Versions map[string]struct{} }
		must.Do(b, json.Unmarshal([]byte(doc), &wire))
		decoded := time.Now()
		versions, err := c.ProviderVersions(b.Context(), alpha)
		if err != nil || len(versions.Versions) != 2000 {
			b.Fatal(len(versions.Versions), err)
		}
		plain += decoded.Sub(start)
		whole += time.Since(decoded)
	}
	b.ReportMetric(float64(whole)/float64(plain), "x-json")
}

// BenchmarkPackage finds a package in a document with 12 platforms.
func BenchmarkPackage(b *testing.B) {
	var archives []string
	for i := range 12 {
		platform := []string{"darwin", "freebsd", "linux", "windows"}[i%4] + "_" + []string{"386", "amd64", "arm"}[i/4]
		archives = append(archives, fmt.Sprintf(`%q:{"url":"alpha_%s.zip","hashes":["h1:4A07+ZFc2wgJwo8YNlQpr1rVlgUDlxXHhPJciaPY5gs=",%q]}`, platform, platform, goodZH))
	}
	doc := `{"archives":{` + strings.Join(archives, ",") + `}}`
	c := answering(&doc)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if pkg, err := c.ProviderPackage(b.Context(), alpha, v120, linux); err != nil || len(pkg.Hashes) != 12 {
			b.Fatal(pkg, err)
		}
	}
}
