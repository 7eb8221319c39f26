package addrs_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apparentlymart/go-versions/versions"
	goversion "github.com/hashicorp/go-version"
	"golang.org/x/net/idna"

	"github.com/tofureg/tofureg/addrs"
)

func seed(f *testing.F, texts ...string) {
	for _, s := range texts {
		f.Add(s)
	}
}

func FuzzParseProvider(f *testing.F) {
	seed(f, "aws", "hashicorp/aws", "registry.example.com:8443/acme/alpha", "-/aws", "böb.example/ü/ß", "example.com/．．/．．",
		"a。b/c", "hashicorp/terraform-provider-aws", "terraform.io/builtin/terraform", "acme/ä:443", "acme/xn--bb-fka", "acme/ℵb")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := addrs.ParseProvider(s)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		for _, part := range []string{p.Namespace(), p.Type()} {
			if part == "" || strings.ContainsAny(part, "./\\:\x00 ") || strings.Contains(part, "--") || !utf8.ValidString(part) {
				t.Fatalf("ParseProvider(%q) has the part %q", s, part)
			}
		}
		if clean := path.Clean(p.String()); clean != p.String() {
			t.Fatalf("ParseProvider(%q) = %q, which is %q as a path", s, p, clean)
		}
		checkText(t, p)
		for _, form := range []string{p.Display(), strings.ToUpper(p.String())} {
			if again, err := addrs.ParseProvider(form); (err != nil || again != p) && form == p.Display() {
				t.Fatalf("ParseProvider(%q) = %q, from %q: %q, %v", s, p, form, again, err)
			}
		}
		if built, err := addrs.NewProvider(p.Host(), p.Namespace(), p.Type()); err != nil || built != p {
			t.Fatalf("NewProvider of the parts of %q = %q, %v", p, built, err)
		}
	})
}

// FuzzProviderPart compares the normal form of a part with the result of the IDNA library.
func FuzzProviderPart(f *testing.F) {
	seed(f, "aws", "AWS", "google-beta", "a--b", "-a", "a-", "xn--bb-fka", "a_b", "a.b", "", "über", "ａ", "ab-－c", "123", "ss--")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := addrs.NormalisePart(s)
		want, err := idna.Lookup.ToUnicode(s)
		wantOK := err == nil && want != "" && !strings.ContainsAny(want, ".") && !strings.Contains(want, "--") && !strings.Contains(s, "--")
		if ok && (!wantOK || got != want) {
			t.Fatalf("%q: got %q; IDNA gives %q, %v", s, got, want, err)
		}
		isASCII := !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
		if wantOK && !ok && isASCII && len(s) <= 512 {
			t.Fatalf("%q: refused; IDNA gives %q", s, want)
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	seed(f, "1.2.3", "1", "1.", "1.2.3.", "1.0.0-", "1.0.0-a+", "1.0.0-+x", "1.0.0-a..b+c-d", "01.002", "v1", "1.0.0.0", "1.x",
		"18446744073709551615", "18446744073709551616", "1..0", "1.-a", "1.0.0+a+b", "0+0+", "0-+", "000000000000000000000001", "\u00a00")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := addrs.ParseVersion(s)
		want, wantOK := noPanic(versions.ParseVersion, s) // which panics at large numbers
		if first, _ := utf8.DecodeRuneInString(s); first >= utf8.RuneSelf {
			wantOK = false // the CLI accepts leading spaces that are not ASCII
		}
		if wantOK != (err == nil) && len(s) <= 250 {
			t.Fatalf("ParseVersion(%q) = %q, %v; the engine: %v, %v", s, v, err, want, wantOK)
		}
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if v.String() != want.String() || v.IsPrerelease() != (want.Prerelease != "") {
			t.Fatalf("ParseVersion(%q) = %q; the engine: %q", s, v, want)
		}
		checkText(t, v)
		if again, err := addrs.ParseVersion(v.String()); err != nil || again != v {
			t.Fatalf("ParseVersion(%q) = %q, %v", v, again, err)
		}
	})
}

func FuzzParseModuleVersion(f *testing.F) {
	seed(f, "1.2.3", "v1", "1.2.3.4.5", "1.0.0beta", "1.0.0-beta+x", "1.0.0~a", "1.0.0-", "1.", "v01.2", "1.2.3.04",
		"9223372036854775807", "9223372036854775808", "1.0.0-1a.~", "0-.-.0", "0a"+strings.Repeat("0", 252))
	f.Fuzz(func(t *testing.T, s string) {
		v, err := addrs.ParseModuleVersion(s)
		want, wantErr := goversion.NewVersion(s)
		if (err == nil) != (wantErr == nil) && len(s) <= 250 {
			t.Fatalf("ParseModuleVersion(%q) = %q, %v; the engine: %v, %v", s, v, err, want, wantErr)
		}
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if v.String() != want.String() || v.IsPrerelease() != (want.Prerelease() != "") {
			t.Fatalf("ParseModuleVersion(%q) = %q; the engine: %q", s, v, want)
		}
		checkText(t, v)
		if p, err := addrs.ParseVersion(s); err == nil && p != v {
			// The parsers read an empty first identifier of a prerelease differently.
			if !strings.HasSuffix(s, "-") && !strings.Contains(p.String(), "-.") {
				t.Fatalf("%q: %q of a provider, %q of a module", s, p, v)
			}
		}
	})
}

func FuzzVersionCompare(f *testing.F) {
	f.Add("1.2.3", "1.2.3-a", "1.2.3.4")
	f.Add("1.0.0-01", "1.0.0-1", "1.0.0-1.a")
	f.Add("1.0.0+a", "1.0.0", "1.0.0.0")
	f.Fuzz(func(t *testing.T, s1, s2, s3 string) {
		var a, b, c addrs.Version
		if a.UnmarshalText([]byte(s1)) != nil || b.UnmarshalText([]byte(s2)) != nil || c.UnmarshalText([]byte(s3)) != nil {
			return
		}
		ab, bc, ac := a.Compare(b), b.Compare(c), a.Compare(c)
		if ab != -b.Compare(a) || (ab == 0) != (a == b) || a.Compare(a) != 0 {
			t.Fatalf("Compare of %q and %q: %d and %d, want opposite results", a, b, ab, b.Compare(a))
		}
		if ab <= 0 && bc <= 0 && ac > 0 || ab >= 0 && bc >= 0 && ac < 0 {
			t.Fatalf("Compare of %q, %q and %q: %d, %d, %d, want a transitive order", a, b, c, ab, bc, ac)
		}
	})
}

func FuzzParsePlatform(f *testing.F) {
	seed(f, "linux_amd64", "_", "a_b_c", "linux_\u00e4", "../x_y", "LINUX_386")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := addrs.ParsePlatform(s)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if p.String() != s || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Fatalf("ParsePlatform(%q) = %q", s, p)
		}
		checkText(t, p)
	})
}

func FuzzParseModuleSource(f *testing.F) {
	seed(f, "a/b/c", "example.com/a/b/c//d/../e", "a/b/c//..", "a/b/c///etc", `a/b/c//..\x`, "a/b/c//", "a/b/c//./", "a/b/c?x//y",
		"git::https://example.com/x.git", "./a", "github.com/a/b/c", "a/b/c//d//e", "böb.example/a/b/c//ü", "a/b/c//C:x",
		"a/iiiiim/m//./"+strings.Repeat("9", 4000))
	f.Fuzz(func(t *testing.T, s string) {
		src, err := addrs.ParseModuleSource(s)
		if err != nil {
			checkPrintable(t, err)
			return
		}
		if d := src.Subdir; d != "" && (path.IsAbs(d) || path.Clean(d) != d || d == ".." || strings.HasPrefix(d, "../") || strings.ContainsAny(d, "\\:\x00\n")) {
			t.Fatalf("ParseModuleSource(%q): subdirectory %q", s, d)
		}
		if p := path.Clean(src.Module.String()); p != src.Module.String() {
			t.Fatalf("ParseModuleSource(%q): module %q is %q as a path", s, src.Module, p)
		}
		checkText(t, src)
		checkText(t, src.Module)
	})
}
