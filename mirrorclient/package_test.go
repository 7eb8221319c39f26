package mirrorclient_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
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
	for ref, want := range casetest.Pairs(t, "archive-urls.txt") {
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
		`{"archives":{"linux_amd64":null}}`:                                          "linux_amd64: JSON: an object is wanted",
		`{"archives":{"linux_amd64":{"url":"a.zip"},"linux_amd64":{"url":"b.zip"}}}`: "second member",
		`{"download_url":"https://x/","shasum":"ab"}`:                                "package regclient",
		archive(`"url":""`):                          "url is missing",
		archive(`"url":"1.2.0.json"`):                "url is the URL of the document itself",
		archive(`"url":"%31.2.0.json?"`):             "url is the URL of the document itself",
		archive(`"url":"http://cdn.example.com/a"`):  "set AllowHTTP",
		archive(`"url":"https://u:hunter2@h/a"`):     "user name",
		archive(`"url":"a.zip#hunter2"`):             "fragment",
		archive(`"url":"..\\a.zip"`):                 "backslash",
		archive(`"url":"%zz?hunter2"`):               "invalid URL",
		archive(`"url":"a","hashes":[null]`):         "hash",
		archive(`"url":"a","hashes":["zh:abc"]`):     "64 hex digits",
		archive(`"url":"a","hashes":["\u001b:x\n"]`): "hash",
	} {
		pkg, err := find(t, body)
		e := asError(t, err)
		if pkg != nil || e.Op != "find" || e.Status != 200 || e.URL != alphaURL+"1.2.0.json" || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%.80s: %v, %+v", body, pkg, e)
		}
		if insecure := strings.Contains(body, "http:") || strings.Contains(body, "ftp:"); errors.Is(err, failure.ErrInsecure) != insecure {
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
		`{}`: nil,
		`{"archives":{"Linux_amd64":{"url":"x.zip"}}}`: {"Linux_amd64"},
	} {
		_, err := find(t, body)
		unavailable, ok := errors.AsType[*provider.UnavailableError](err)
		if !ok || !errors.Is(err, provider.ErrNoPlatform) || errors.Is(err, failure.ErrNoVersion) {
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
		must.Do(t, err)
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
		"150,000 members":           {`{"archives":{},"x":[` + strings.Repeat("0,", 149_997) + `0,0]}`, failure.ErrNotFound},
		"150,001 members":           {`{"archives":{},"x":[` + strings.Repeat("0,", 149_998) + `0,0]}`, failure.ErrTooLarge},
	} {
		if _, err := find(t, test.body); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestTrust downloads a package from a mirror that states some hashes and checks the result of a
// policy.
func TestTrust(t *testing.T) {
	t.Parallel()
	archive := packed(t)
	rightZH, wrongZH := zh(archive), goodZH
	packedH1, treeH1 := h1(t, archive)
	if packedH1 == treeH1 {
		t.Fatal("the archive has only one h1")
	}
	const wrongH1 = "h1:4A07+ZFc2wgJwo8YNlQpr1rVlgUDlxXHhPJciaPY5gs="
	unsigned := verify.Policy{AllowUnsigned: true}
	unchecked := verify.Policy{AllowUnchecked: true}
	lock := verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash(packedH1))}
	mismatch := new(checksum.MismatchError)
	for name, test := range map[string]struct {
		stated []string
		policy verify.Policy
		want   any    // nil, an error, or mismatch
		text   string // in the error
		trust  verify.Trust
	}{
		"zh":                           {[]string{rightZH}, unsigned, nil, "", verify.Checked},
		"h1 of the archive":            {[]string{packedH1}, unsigned, nil, "", verify.Checked},
		"h1 of the tree":               {[]string{treeH1}, unsigned, nil, "", verify.Checked},
		"both":                         {[]string{rightZH, packedH1}, unsigned, nil, "", verify.Checked},
		"zh comes before h1":           {[]string{rightZH, wrongH1}, unsigned, nil, "", verify.Checked},
		"a wrong zh before a right h1": {[]string{wrongZH, packedH1}, unsigned, mismatch, "does not match", 0},
		"any of the same scheme":       {[]string{wrongZH, rightZH}, unsigned, nil, "", verify.Checked},
		"any h1":                       {[]string{wrongH1, treeH1}, unsigned, nil, "", verify.Checked},
		"wrong zh":                     {[]string{wrongZH}, unsigned, mismatch, "does not match", 0},
		"wrong h1":                     {[]string{wrongH1}, unsigned, mismatch, "does not match", 0},
		"wrong zh, all allowed":        {[]string{wrongZH}, unchecked, mismatch, "does not match", 0},
		"a future scheme beside":       {[]string{"x9:future", rightZH}, unsigned, nil, "", verify.Checked},
		"only a future scheme":         {[]string{"x9:future"}, unsigned, verify.ErrUnchecked, "only hashes of unknown schemes", 0},
		"a future scheme, all allowed": {[]string{"x9:future"}, unchecked, verify.ErrUnchecked, "only hashes of unknown schemes", 0},
		"none":                         {nil, unsigned, verify.ErrUnchecked, "Policy.AllowUnchecked", 0},
		"none, allowed":                {nil, unchecked, nil, "", verify.Unchecked},
		"zero policy":                  {[]string{rightZH, packedH1}, verify.Policy{}, verify.ErrUnsigned, "Policy.AllowUnsigned", 0},
		"zero policy, none":            {nil, verify.Policy{}, verify.ErrUnchecked, "Policy.AllowUnchecked", 0},
		"lock":                         {[]string{rightZH}, lock, nil, "", verify.Accepted},
		"lock, none stated":            {nil, lock, nil, "", verify.Accepted},
		"lock, wrong stated":           {[]string{wrongZH}, lock, mismatch, "does not match", 0},
		"lock of something else":       {[]string{rightZH}, verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash(wrongZH))}, verify.ErrNotAccepted, "", 0},
		"pins":                         {[]string{rightZH}, verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints())(t)}, verify.ErrUnsigned, "requires one", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "alpha.zip", test.stated...), "alpha.zip": string(archive)})
			c := client(web)
			pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
			path := filepath.Join(t.TempDir(), pkg.ArchiveName())
			report, err := provider.Download(t.Context(), c, pkg, path, provider.DownloadOptions{Policy: test.policy})
			if _, statErr := os.Stat(path); (statErr == nil) != (test.want == nil) {
				t.Errorf("the file: %v", statErr)
			}
			// An archive that the document excludes is not downloaded.
			ruledOut := slices.Contains([]string{"zero policy", "zero policy, none", "none", "pins", "lock of something else", "only a future scheme", "a future scheme, all allowed"}, name)
			fetched := slices.ContainsFunc(web.asked(), func(url string) bool { return strings.HasSuffix(url, "alpha.zip") })
			if fetched == ruledOut {
				t.Errorf("asked for %q, want the archive among it: %v", web.asked(), !ruledOut)
			}
			switch want := test.want.(type) {
			case nil:
				if err != nil || report.Trust != test.trust || report.SignedBy != nil {
					t.Errorf("%+v, %v, want %s", report, err, test.trust)
				}
				return
			case *checksum.MismatchError:
				if _, ok := errors.AsType[*checksum.MismatchError](err); !ok {
					t.Errorf("%v, want a mismatch", err)
				}
			case error:
				if !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			if asError(t, err); !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v, want %q in it", err, test.text)
			}
		})
	}
}

// TestOtherPlatformsHash checks that a hash for another platform does not accept an archive.
func TestOtherPlatformsHash(t *testing.T) {
	t.Parallel()
	archive := packed(t)
	packedH1, _ := h1(t, archive)
	for _, stated := range []string{zh(archive), packedH1} {
		for _, own := range []string{"", `"` + goodZH + `"`} {
			web := mirror(map[string]string{
				"1.2.0.json": `{"archives":{"linux_amd64":{"url":"alpha.zip","hashes":[` + own + `]},"plan9_arm":{"url":"alpha.zip","hashes":["` + stated + `"]}}}`,
				"alpha.zip":  string(archive),
			})
			c := client(web)
			pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			if err != nil || !slices.Contains(pkg.Hashes[plan9], checksum.MustParseHash(stated)) {
				t.Fatalf("%v, %v", pkg, err)
			}
			o := provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}}
			if report, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "a.zip"), o); err == nil {
				t.Errorf("accepted as %s", report.Trust)
			}
		}
	}
}

// TestHashesOfOtherPlatforms checks that a platform without hashes is refused under AllowUnchecked
// if other platforms have hashes, and accepted with TrustAllHashes, as in the CLI. Under this policy
// TrustAllHashes refuses nothing that is accepted without it.
func TestHashesOfOtherPlatforms(t *testing.T) {
	t.Parallel()
	archive := packed(t)
	packedH1, _ := h1(t, archive)
	wrongH1 := "h1:" + strings.Repeat("A", 43) + "="
	mismatch := checksum.ErrMismatch
	for name, test := range map[string]struct {
		own, other  string
		plain, with error // without and with TrustAllHashes
	}{
		"none for this platform, others differ":  {"", goodZH, verify.ErrUnchecked, mismatch},
		"none for this platform, another has it": {"", zh(archive), verify.ErrUnchecked, nil},
		"none for this platform, h1 of another":  {"", packedH1, verify.ErrUnchecked, nil},
		"wrong, another has it":                  {goodZH, zh(archive), mismatch, nil},
		"right, others differ":                   {zh(archive), goodZH, nil, nil},
		"wrong, others differ":                   {goodZH, "zh:" + strings.Repeat("0", 64), mismatch, mismatch},
		"right, others have another scheme":      {packedH1, goodZH, nil, nil},
		"wrong, another scheme has it":           {wrongH1, zh(archive), mismatch, mismatch},
		"unknown, another has it":                {"x9:future", zh(archive), verify.ErrUnchecked, nil},
		"none for any platform":                  {"", "", nil, nil},
	} {
		quoted := func(h string) string {
			if h == "" {
				return ""
			}
			return `"` + h + `"`
		}
		web := mirror(map[string]string{
			"1.2.0.json": `{"archives":{"linux_amd64":{"url":"alpha.zip","hashes":[` + quoted(test.own) + `]},"plan9_arm":{"url":"alpha.zip","hashes":[` + quoted(test.other) + `]}}}`,
			"alpha.zip":  string(archive),
		})
		for _, all := range []bool{false, true} {
			c := client(web)
			c.TrustAllHashes = all
			want := test.plain
			if all {
				want = test.with
			}
			pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
			o := provider.DownloadOptions{Policy: verify.Policy{AllowUnchecked: true}}
			if _, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "a.zip"), o); !errors.Is(err, want) {
				t.Errorf("%s, TrustAllHashes %v: %v, want %v", name, all, err, want)
			}
		}
	}
}

// TestEvidence checks that Evidence makes no request and refuses a package of a registry.
func TestEvidence(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	c := client(web)
	pkg := &provider.Package{Provider: alpha, Version: v120, Platform: linux, URL: alphaURL + "a.zip"}
	ev, err := c.Evidence(t.Context(), pkg)
	if err != nil || ev.Sums != nil || ev.Signature != nil || ev.Requested != "alpha_1.2.0_linux_amd64" {
		t.Errorf("%+v, %v", ev, err)
	}
	for _, foreign := range []*provider.Package{nil, {SumsURL: "https://x.example.com/s"}, {SignatureURL: "https://x.example.com/s"}} {
		if _, err := c.Evidence(t.Context(), foreign); asError(t, err).Op == "" {
			t.Errorf("%v: no error", foreign)
		}
	}
	if n := len(web.asked()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestOpenRefuses checks that Open validates the URL of a package.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	web := mirror(nil)
	c := client(web)
	for ref, want := range map[string]error{
		"":                                  provider.ErrUnpacked,
		"http://mirror.example.com/a.zip":   failure.ErrInsecure,
		"ftp://mirror.example.com/a.zip":    failure.ErrInsecure,
		"https://u:hunter2@m.example.com/a": nil,
		"a.zip":                             nil,
		"https://m.example.com/a#hunter2":   nil,
		"https://m.example.com/%zzhunter2":  nil,
	} {
		_, err := c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v120, Platform: linux, URL: ref})
		if asError(t, err); want != nil && !errors.Is(err, want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := c.Open(t.Context(), nil); asError(t, err).Op == "" || len(web.asked()) != 0 {
		t.Errorf("%v, asked %q", err, web.asked())
	}
}
