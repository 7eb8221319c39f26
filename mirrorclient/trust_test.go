package mirrorclient_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
	lock := verify.Policy{Accept: []checksum.Hash{checksum.MustParseHash(packedH1)}}
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
		"lock of something else":       {[]string{rightZH}, verify.Policy{Accept: []checksum.Hash{checksum.MustParseHash(wrongZH)}}, verify.ErrNotAccepted, "", 0},
		"pins":                         {[]string{rightZH}, verify.Policy{Fingerprints: []string{}, AllowUnsigned: true}, verify.ErrUnsigned, "requires one", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := mirror(map[string]string{"1.2.0.json": document("linux_amd64", "alpha.zip", test.stated...), "alpha.zip": string(archive)})
			c := client(web)
			pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), pkg.ArchiveName())
			report, err := provider.Download(t.Context(), c, pkg, path, provider.Options{Policy: test.policy})
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
				_, ok := errors.AsType[*checksum.MismatchError](err)
				if !ok {
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
			o := provider.Options{Policy: verify.Policy{AllowUnsigned: true}}
			if report, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "a.zip"), o); err == nil {
				t.Errorf("accepted as %s", report.Trust)
			}
		}
	}
}

// TestHashesOfOtherPlatforms checks that a platform without hashes is refused under AllowUnchecked
// if other platforms have hashes, and accepted with TrustAllHashes, as in the CLI.
func TestHashesOfOtherPlatforms(t *testing.T) {
	t.Parallel()
	archive := packed(t)
	packedH1, _ := h1(t, archive)
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
			pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
			if err != nil {
				t.Fatal(err)
			}
			o := provider.Options{Policy: verify.Policy{AllowUnchecked: true}}
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
		if _, err := c.Evidence(t.Context(), foreign); asError(t, err) == nil {
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
		"http://mirror.example.com/a.zip":   provider.ErrInsecure,
		"ftp://mirror.example.com/a.zip":    provider.ErrInsecure,
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
	if _, err := c.Open(t.Context(), nil); asError(t, err) == nil || len(web.asked()) != 0 {
		t.Errorf("%v, asked %q", err, web.asked())
	}
}
