package weburl_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	jwt    = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://registry.example.com/v1/":                         "https://registry.example.com/v1/",
		"https://user:hunter2@registry.example.com:8443/v1?a#b":    "https://registry.example.com:8443/v1?...",
		"https://registry.example.com/?":                           "https://registry.example.com/?...",
		"https://registry.example.com/a%2Fb%20c":                   "https://registry.example.com/a%2Fb%20c",
		"https://[::1]:8443/x":                                     "https://[::1]:8443/x",
		"https://registry.example.com":                             "https://registry.example.com",
		"mailto:user@example.com?subject=hunter2":                  "mailto:...",
		"relative/path?x=hunter2":                                  "relative/path?...",
		"//registry.example.com/x":                                 "//registry.example.com/x",
		"https://registry.example.com/" + strings.Repeat("a", 600): "https://registry.example.com/" + strings.Repeat("a", 480) + "...",
		"": "",
		// Tokens in the path.
		"https://registry.example.com/d/" + jwt + "/a.zip?x":                                                  "https://registry.example.com/d/.../a.zip?...",
		"https://registry.example.com/d/x%2E" + jwt:                                                           "https://registry.example.com/d/...",
		"https://registry.example.com/d/0123456789abcDEF/":                                                    "https://registry.example.com/d/.../",
		"https://registry.example.com/d/0123456789abcDE/":                                                     "https://registry.example.com/d/0123456789abcDE/",
		"https://registry.example.com/d/glpat-0aB1cD2e-F3gH4iJ5/":                                             "https://registry.example.com/d/.../",
		"https://registry.example.com/d/0123456789abcdefghij/":                                                "https://registry.example.com/d/.../",
		"https://registry.example.com/d/0123456789abcdefghi/":                                                 "https://registry.example.com/d/0123456789abcdefghi/",
		"https://registry.example.com/d/0123456789abcdef0123456789abcdef/":                                    "https://registry.example.com/d/.../",
		"https://registry.example.com/d/0123456789abcdef0123456789abcdef01234567/":                            "https://registry.example.com/d/0123456789abcdef0123456789abcdef01234567/",
		"https://registry.example.com/a-provider-with-a-very-long-name-in-many-words_1.0.0_windows_amd64.zip": "https://registry.example.com/a-provider-with-a-very-long-name-in-many-words_1.0.0_windows_amd64.zip",
		"https://registry.example.com/x.atlasv1.0123456789abcdefGHIJ/y":                                       "https://registry.example.com/.../y",
		"https://registry.example.com/" + sha256 + "/a":                                                       "https://registry.example.com/" + sha256 + "/a",
		"https://registry.example.com/123e4567-e89b-12d3-A456-426614174000/a":                                 "https://registry.example.com/123e4567-e89b-12d3-A456-426614174000/a",
		"https://registry.example.com/Acme/terraform-provider-alpha_1.0.0_linux_amd64.zip":                    "https://registry.example.com/Acme/terraform-provider-alpha_1.0.0_linux_amd64.zip",
	} {
		u := must.Get(url.Parse(address))(t)
		if got := weburl.Redact(u); got != want {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
	}
	if got := weburl.Redact(nil); got != "" {
		t.Errorf("Redact(nil) = %q", got)
	}
	if got := weburl.Redact(&url.URL{Scheme: "https", Host: "a\x1b[31m.example.com", Path: "/\n"}); got != `https://a\x1b[31m.example.com/%0A` {
		t.Errorf("control characters: %q", got)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		max  int
		want string
	}{
		{"plain text", 100, "plain text"},
		{"caf\u00e9 \u4f8b\u3048", 100, "caf\u00e9 \u4f8b\u3048"},
		{"a\nb\tc\x00\x1b\x7f", 100, `a\nb\tc\x00\x1b\x7f`},
		{"\u0085\u009b\u202e\u200b\u2028\ufeff", 100, `\u0085\u009b\u202e\u200b\u2028\ufeff`},
		{"\xff\xfe", 100, `\xff\xfe`},
		{"\ufffd", 100, "\ufffd"},
		{`"quoted" \ 'text'`, 100, `"quoted" \ 'text'`},
		{"12345", 5, "12345"},
		{"123456", 5, "12..."},
		{"12\n456", 5, "12..."},
		{"1\u00e9\u00e9\u00e9", 6, "1\u00e9..."},
		{"abcdef", 2, ".."},
		{"ab", 2, "ab"},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"", 5, ""},
	} {
		if got := weburl.Clean(test.in, test.max); got != test.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", test.in, test.max, got, test.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("text", 3)
	f.Add("\x1b[31m\u202e\xff", 20)
	f.Fuzz(func(t *testing.T, s string, max int) {
		got := weburl.Clean(s, max)
		if len(got) > 0 && len(got) > max {
			t.Errorf("%d bytes, at most %d are allowed", len(got), max)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("Clean(%q) = %q, which is not printable", s, got)
		}
		if len(s) <= max && weburl.Clean(got, len(got)) != got {
			t.Errorf("%q is not clean", got)
		}
	})
}

// TestRedactText: valid, invalid and relative URLs in a text are redacted.
func TestRedactText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"get https://user:hunter2@example.com/" + jwt + "/x?y, https://user:hunter2@example.com/%zz/" + jwt + "#z": "get https://example.com/.../x?... https://example.com/%zz/...?...",
		`parse "HTTPS://user:hunter2@example.com/x?sig=hunter2": invalid`:                                          `parse "https://example.com/x?...": invalid`,
		`{"url":"https:\/\/user:hunter2@example.com\/x?sig=hunter2"}`:                                              `{"url":"https://example.com/x?..."}`,
		"redirect to /x?sig=hunter2 refused":                                                                       "redirect to /x?... refused",
		"redirect to //user:hunter2@example.com/x refused":                                                         "redirect to //example.com/x refused",
		"either/or? yes; a@b//c d":                                                                                 "either/or? yes; a@b//c d",
	} {
		if got := weburl.RedactText(in); got != want {
			t.Errorf("RedactText(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

// TestRedactHop: the URL of a redirect shows no path.
func TestRedactHop(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/hunter2", RawQuery: "hunter2"}
	if got, want := weburl.RedactHop(u, true), "https://example.com/..."; got != want {
		t.Errorf("RedactHop(%s, true) = %q, want %q", u, got, want)
	}
	if got, want := weburl.RedactHop(u, false), "https://example.com/hunter2?..."; got != want {
		t.Errorf("RedactHop(%s, false) = %q, want %q", u, got, want)
	}
}
