package mirrorclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
)

const goodZH = "zh:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// find requests a package from a mirror whose document of version 1.2.0 is body.
func find(t testing.TB, body string) (*provider.Package, error) {
	t.Helper()
	return client(mirror(map[string]string{"1.2.0.json": body})).ProviderPackage(t.Context(), alpha, v120, linux)
}

// TestArchiveURLs checks the forms of URLs that real mirrors use.
func TestArchiveURLs(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"terraform-provider-alpha_1.2.0_linux_amd64.zip": alphaURL + "terraform-provider-alpha_1.2.0_linux_amd64.zip",
		"download/alpha.zip":                             alphaURL + "download/alpha.zip",
		"./alpha.zip":                                    alphaURL + "alpha.zip",
		"../../../alpha.zip":                             baseURL + "alpha.zip",
		"/files?id=7f3c9a":                               "https://mirror.example.com/files?id=7f3c9a",
		"//cdn.example.com/alpha.zip":                    "https://cdn.example.com/alpha.zip",
		"https://cdn.example.com:8443/alpha.zip":         "https://cdn.example.com:8443/alpha.zip",
		"https://store.example.com/a.zip?X-Amz-Signature=1f&X-Amz-Date=2": "https://store.example.com/a.zip?X-Amz-Signature=1f&X-Amz-Date=2",
		"?file=alpha": alphaURL + "1.2.0.json?file=alpha", // one program may serve both
		"größe.zip":   alphaURL + "gr%C3%B6%C3%9Fe.zip",
	} {
		pkg, err := find(t, document("linux_amd64", ref, goodZH))
		if err != nil || pkg.URL != want || pkg.SumsURL != "" || pkg.SignatureURL != "" || pkg.Keys != nil || pkg.Filename != "" {
			t.Errorf("%s: %+v, %v, want %s", ref, pkg, err, want)
		}
	}
}

// TestBadPackage checks that an invalid entry for the requested archive is an error that is not
// ErrNotFound.
func TestBadPackage(t *testing.T) {
	t.Parallel()
	archive := func(members string) string { return `{"archives":{"linux_amd64":{` + members + `}}}` }
	for body, reason := range map[string]string{
		`null`:                                 "an object is wanted",
		`[]`:                                   "wanted",
		`{"archives":[]}`:                      "archives is not an object",
		`{"archives":"x"}`:                     "archives is not an object",
		`{"archives":{}} {}`:                   "JSON",
		`{"archives":{},"Archives":{}}`:        "second member",
		`{"archives":{"linux_amd64":null}}`:    "linux_amd64: JSON: an object is wanted",
		`{"archives":{"linux_amd64":[]}}`:      "linux_amd64",
		`{"archives":{"linux_amd64":"x.zip"}}`: "linux_amd64",
		`{"archives":{"linux_amd64":{"url":"a.zip"},"linux_amd64":{"url":"b.zip"}}}`: "second member",
		`{"download_url":"https://x/","shasum":"ab"}`:                                "package regclient",
		archive(``):                                  "url is missing",
		archive(`"url":""`):                          "url is missing",
		archive(`"url":null`):                        "url is missing",
		archive(`"url":"?"`):                         "url is the URL of the document itself",
		archive(`"url":"#"`):                         "url is the URL of the document itself",
		archive(`"url":"1.2.0.json"`):                "url is the URL of the document itself",
		archive(`"url":"%31.2.0.json?"`):             "url is the URL of the document itself",
		archive(`"url":1`):                           "JSON",
		archive(`"url":"a.zip","URL":"b.zip"`):       "second member",
		archive(`"url":"http://cdn.example.com/a"`):  "set AllowHTTP",
		archive(`"url":"ftp://cdn.example.com/a"`):   "is not https",
		archive(`"url":"https:a.zip"`):               "has no host",
		archive(`"url":"mailto:a@example.com"`):      "has no host",
		archive(`"url":"https://u:hunter2@h/a"`):     "user name",
		archive(`"url":"a.zip#hunter2"`):             "fragment",
		archive(`"url":"//cdn.example.com:99999/a"`): "port",
		archive(`"url":"a b.zip"`):                   "space",
		archive(`"url":"..\\a.zip"`):                 "backslash",
		archive(`"url":"%zz?hunter2"`):               "invalid URL",
		archive(`"url":"\u001b[31m"`):                "invalid URL",
		archive(`"url":"a","hashes":{}`):             "JSON",
		archive(`"url":"a","hashes":"zh:ab"`):        "JSON",
		archive(`"url":"a","hashes":[1]`):            "JSON",
		archive(`"url":"a","hashes":[null]`):         "hash",
		archive(`"url":"a","hashes":["zh:abc"]`):     "64 hex digits",
		archive(`"url":"a","hashes":["h1:abc"]`):     "Base64",
		archive(`"url":"a","hashes":["\u001b:x\n"]`): "hash",
		archive(`"url":"a","hashes":["abc"]`):        "hash",
	} {
		pkg, err := find(t, body)
		e := asError(t, err)
		if pkg != nil || e.Op != "find" || e.Status != 200 || e.URL != alphaURL+"1.2.0.json" || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%.80s: %v, %+v", body, pkg, e)
		}
		if insecure := strings.Contains(body, "http:") || strings.Contains(body, "ftp:"); errors.Is(err, provider.ErrInsecure) != insecure {
			t.Errorf("%.80s: insecure is %t", body, !insecure)
		}
		if text := err.Error(); !strings.Contains(text, reason) || strings.Contains(text, "hunter2") {
			t.Errorf("%.80s: %v, want %q in it", body, err, reason)
		}
	}
}

// TestNoPlatform checks that the error lists the available platforms.
func TestNoPlatform(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"archives":{"windows_386":{"url":"w.zip"},"darwin_arm64":null,"_":{},"linux-amd64":{}}}`: {"darwin_arm64", "windows_386"},
		`{"archives":{}}`:   nil,
		`{"archives":null}`: nil,
		`{}`:                nil,
		`{"archives":{"Linux_amd64":{"url":"x.zip"}}}`: {"Linux_amd64"},
	} {
		_, err := find(t, body)
		unavailable, ok := errors.AsType[*provider.UnavailableError](err)
		if !ok || !errors.Is(err, provider.ErrNoPlatform) || errors.Is(err, provider.ErrNoVersion) {
			t.Fatalf("%s: %v", body, err)
		}
		var got []string
		for _, p := range unavailable.Platforms {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) || unavailable.Allowed != v120 || unavailable.Need.Platforms[0] != linux || strings.Contains(err.Error(), "unusable") {
			t.Errorf("%s: %v with %q", body, err, got)
		}
	}
	_, err := find(t, `{"archives":{"plan9_arm":{}}}`)
	want := "find registry.example.com/acme/alpha 1.2.0 linux_amd64: " + alphaURL + "1.2.0.json: 1.2.0 has no package for linux_amd64, only for plan9_arm"
	if err.Error() != want {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
}

// TestStatedHashes checks that hashes for other platforms are recorded under them, and that invalid
// entries for other platforms are ignored.
func TestStatedHashes(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(goodZH, "a", "b")
	const h1 = "h1:4A07+ZFc2wgJwo8YNlQpr1rVlgUDlxXHhPJciaPY5gs="
	for body, want := range map[string]string{
		`{"linux_amd64":{"url":"a"}}`:                                                                                     "",
		`{"linux_amd64":{"url":"a","hashes":[]}}`:                                                                         "",
		`{"linux_amd64":{"url":"a","hashes":null}}`:                                                                       "",
		`{"linux_amd64":{"url":"a","hashes":["h1:","zh:"]}}`:                                                              "",
		`{"linux_amd64":{"url":"a","hashes":["` + h1 + `"]}}`:                                                             "linux_amd64 " + h1,
		`{"linux_amd64":{"url":"a","hashes":["` + goodZH + `","` + h1 + `","` + goodZH + `"]}}`:                           "linux_amd64 " + h1 + " " + goodZH,
		`{"linux_amd64":{"url":"a","hashes":["zh:` + strings.ToUpper(goodZH[3:]) + `","x9:future"]}}`:                     "linux_amd64 x9:future " + goodZH,
		`{"linux_amd64":{"url":"a"},"plan9_arm":{"url":"b","hashes":["` + other + `"]}}`:                                  "plan9_arm " + other,
		`{"linux_amd64":{"url":"a","hashes":["` + goodZH + `"]},"plan9_arm":{"hashes":["` + goodZH + `"]}}`:               "linux_amd64 " + goodZH + "; plan9_arm " + goodZH,
		`{"linux_amd64":{"url":"a","hashes":["` + goodZH + `"]},"plan9_arm":null,"x_y":7,"z_z":{"hashes":["bad"]},"":{}}`: "linux_amd64 " + goodZH,
	} {
		pkg, err := find(t, `{"archives":`+body+`}`)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		var lines []string
		for platform, hashes := range pkg.Hashes {
			lines = append(lines, platform.String()+" "+strings.Trim(fmt.Sprint(hashes), "[]"))
		}
		slices.Sort(lines)
		if got := strings.Join(lines, "; "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
		for _, h := range pkg.Evidence().Hashes {
			if !slices.Contains(pkg.Hashes[linux], h) {
				t.Errorf("%s: evidence has %s", body, h)
			}
		}
	}
}

func TestPackageLimits(t *testing.T) {
	t.Parallel()
	platforms := func(n int) string {
		list := []string{`"linux_amd64":{"url":"a"}`}
		for i := 1; i < n; i++ {
			list = append(list, fmt.Sprintf(`"os%d_arch":{}`, i))
		}
		return `{"archives":{` + strings.Join(list, ",") + `}}`
	}
	hashes := func(platform string, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("x%d:1", i)
		}
		doc := document(platform, "a", list...)
		return strings.Replace(doc, `{"archives":{`, `{"archives":{"other_one":{},`, 1)
	}
	for name, test := range map[string]struct {
		body string
		want error
	}{
		"1,000 platforms":           {platforms(1000), nil},
		"1,001 platforms":           {platforms(1001), failure.ErrTooLarge},
		"100 hashes":                {hashes("linux_amd64", 100), nil},
		"101 hashes":                {hashes("linux_amd64", 101), failure.ErrTooLarge},
		"101 hashes of another one": {strings.Replace(hashes("plan9_arm", 101), `"other_one":{}`, `"linux_amd64":{"url":"a"}`, 1), nil},
		"1 MiB":                     {document("linux_amd64", "a") + strings.Repeat(" ", 1<<20-len(document("linux_amd64", "a"))), nil},
		"1 MiB and a byte":          {strings.Repeat(" ", 1<<20) + "{", failure.ErrTooLarge},
		"150,000 members":           {`{"archives":{},"x":[` + strings.Repeat("0,", 149_997) + `0,0]}`, provider.ErrNotFound},
		"150,001 members":           {`{"archives":{},"x":[` + strings.Repeat("0,", 149_998) + `0,0]}`, failure.ErrTooLarge},
	} {
		if _, err := find(t, test.body); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestPackageIsPlainData checks that a package survives its JSON form and prints no secrets.
func TestPackageIsPlainData(t *testing.T) {
	t.Parallel()
	pkg, err := find(t, document("linux_amd64", "https://store.example.com/a.zip?X-Amz-Signature=hunter2", goodZH))
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %s", pkg, pkg); strings.Contains(text, "hunter2") {
		t.Errorf("it prints as %s", text)
	}
	data, err := json.Marshal(pkg)
	if err != nil {
		t.Fatal(err)
	}
	var back provider.Package
	if err := json.Unmarshal(data, &back); err != nil || back.URL != pkg.URL || back.Hashes[linux][0] != pkg.Hashes[linux][0] {
		t.Errorf("%s came back as %+v, %v", data, back, err)
	}
	if back.Platform != addrs.MustParsePlatform("linux_amd64") {
		t.Errorf("platform %s", back.Platform)
	}
}
