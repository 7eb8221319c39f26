package weburl_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/weburl"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for address, want := range casetest.Pairs(t, "redacted.txt") {
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
	for _, test := range casetest.Read[struct {
		In   string
		Max  int
		Want string
	}](t, "cleaned.txt") {
		if got := weburl.Clean(test.In, test.Max); got != test.Want {
			t.Errorf("Clean(%q, %d) = %q, want %q", test.In, test.Max, got, test.Want)
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
	for in, want := range casetest.Pairs(t, "redacted-texts.txt") {
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
