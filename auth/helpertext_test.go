package auth_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tofureg/tofureg/auth"
)

func TestCleanStderr(t *testing.T) {
	t.Parallel()
	none := auth.Token{}
	const short = "abcd-efgh" // does not look like a secret
	answer := `{"token":"` + short + `"}`
	for _, tt := range []struct {
		name, stderr string
		token        auth.Token
		answer, want string
	}{
		{"nothing", "", none, "", ""},
		{"one line", "a\tb\r\n\n  c\n", none, "", "a b c"},
		{"control characters", "\x1b[2Jx\x00\u202ey\xff", none, "", "\uFFFD[2Jx\uFFFD\uFFFDy\uFFFD"},
		{"plain words", "invalid token: permission denied; see https://example.com/help", none, "",
			"invalid token: permission denied; see https://example.com/help"},
		{"names and versions", "terraform-credentials-vault 1.2.3-beta1+linux in /usr/lib/python3/x1 of registry-2.eu.example.com", none, "",
			"terraform-credentials-vault 1.2.3-beta1+linux in /usr/lib/python3/x1 of registry-2.eu.example.com"},
		{"token it was told", "got " + short + "!", auth.MustNewToken(short), "", "got [redacted]!"},
		{"token it answered", "got '" + short + "'", none, answer, "got '[redacted]'"},
		{"token with a line break", "got ab\ncd", none, `{"token":"ab\ncd"}`, "got [redacted]"},
		{"escaped for JSON", `got "\u003cab\u003e" or "a\"<b"`, auth.MustNewToken(`<ab>`), "", `got "[redacted]" or "a\"<b"`},
		{"escaped for a URL", "got %26a%3Db", auth.MustNewToken("&a=b"), "", "got [redacted]"},
		{"in base64", "got " + base64.StdEncoding.EncodeToString([]byte(short)), auth.MustNewToken(short), "", "got [redacted]"},
		{"cut off", "got abcd-e", auth.MustNewToken(short), "", "got [redacted]"},
		{"too short to matter", "got abc", auth.MustNewToken("abc"), "", "got abc"},
		{"word of another answer", "secretly hunter2hunter2", none, "hunter2hunter2 secretly", "secretly [redacted]"},
		{"unknown, random", "for s3cr3t-T0ken.value and 0123456789abcdef0123456789abcdef", none, "", "for [redacted] and [redacted]"},
		{"header", "> Authorization: Basic YWxpY2U6cGFzcw==", none, "", "> Authorization: Basic [redacted]"},
		{"bearer", "sent bearer abcdef123", none, "", "sent bearer [redacted]"},
		{"named", `VAULT_TOKEN=abcdef123 "password": "hunter2hunter2" api-key x`, none, "",
			`VAULT_TOKEN=[redacted] "password": "[redacted]" api-key x`},
		{"URL", "GET https://alice:pass@vault.test/v1?token=x#y failed", none, "", "GET https://vault.test/v1?... failed"},
		{"URL with a bad host", "GET https://al ice:pass@vault.test", none, "", "GET https://al ice:pass@vault.test"},
	} {
		if got := auth.CleanStderr(tt.stderr, false, tt.token, tt.answer); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCleanStderrLength(t *testing.T) {
	t.Parallel()
	const limit = 512
	for _, filler := range []string{"a", "é", "€", "😀"} {
		for n := limit - 8; n <= limit+8; n++ {
			text := strings.Repeat("x", n%5) + strings.Repeat(filler, n/len(filler)) + "THE END"
			got := auth.CleanStderr(text, false, auth.Token{}, "")
			if len(got) > limit || !utf8.ValidString(got) || len(got) < limit-10 || !strings.HasSuffix(got, "THE END") {
				t.Errorf("%d bytes of %q became %d: %q", len(text), filler, len(got), got)
			}
			if len(text) <= limit && got != text {
				t.Errorf("%q was changed to %q", text, got)
			}
		}
	}
	if got := auth.CleanStderr("one two thr", true, auth.Token{}, ""); got != "one two" {
		t.Errorf("with an incomplete last word: %q, want it removed", got)
	}
}

// FuzzComplaint checks that error outputs do not panic, do not show the token, and become one
// line.
func FuzzComplaint(f *testing.F) {
	for _, s := range []string{"", secret, "x" + secret[:9], "Authorization: Bearer ", "://@?#", "\xff\u2028", strings.Repeat("€", 400)} {
		f.Add(s, secret, "")
		f.Add(s, secret, `{"token":"`+secret+`"}`)
	}
	f.Fuzz(func(t *testing.T, stderr, told, answer string) {
		tok, err := auth.NewToken(told)
		if err != nil {
			return
		}
		got := auth.CleanStderr(stderr, false, tok, answer)
		if len(got) > 512 || strings.ContainsAny(got, "\n\r\x1b\x00") || !utf8.ValidString(got) {
			t.Fatalf("unfit: %q", got)
		}
		if len(told) > len("[redacted] ... ") && strings.Contains(got, told) {
			t.Fatalf("%q shows %q", got, told)
		}
	})
}
