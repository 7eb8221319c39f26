package httpx_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/must"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://example.com":          "https://example.com/a/b%2Fc%3F",
		"https://example.com/x%2Fy":    "https://example.com/x%2Fy/a/b%2Fc%3F",
		"https://example.com/x/?q=1#f": "https://example.com/x/a/b%2Fc%3F",
		"https://example.com/x?":       "https://example.com/x/a/b%2Fc%3F",
	} {
		u := must.Get(url.Parse(base))(t)
		if got := httpx.Endpoint(u, "a", "b/c?").String(); got != want || u.String() != base {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	base := must.Get(url.Parse("https://example.com/a/b?c=d"))(t)
	insecure := []string{"set AllowHTTP", "is not https"}
	strict, lax := &httpx.Client{}, &httpx.Client{AllowHTTP: true}
	for _, test := range []struct {
		client *httpx.Client
		base   *url.URL
		ref    string
		want   string // the URL, or after "!" a part of the error
	}{
		{strict, base, "x.zip?y=z", "https://example.com/a/x.zip?y=z"},
		{strict, base, "//files.example.com/x", "https://files.example.com/x"},
		{strict, nil, "https://example.com/x", "https://example.com/x"},
		{strict, nil, "x.zip", "!no host"},
		{strict, base, "https:x", "!no host"},
		{strict, base, "https://secret@example.com/", "!user name"},
		{strict, base, "x#secret", "!fragment"},
		{strict, base, "http://example.com/x", "!set AllowHTTP"},
		{lax, base, "http://example.com/x", "http://example.com/x"},
		{lax, base, "ftp://example.com/x", "!is not https"},
		{strict, base, "https://example.com:99999/", "!port"},
		{strict, base, "secret x", "!a space"},
		{strict, base, `\\secret`, "!backslash"},
		{strict, base, "https://secret%zz/", "!invalid URL"},
	} {
		u, err := test.client.Resolve(test.base, test.ref)
		reason, refused := strings.CutPrefix(test.want, "!")
		switch {
		case !refused && (err != nil || u.String() != test.want):
			t.Errorf("%s: %v, %v", test.ref, u, err)
		case refused && (err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, %v, want %q", test.ref, u, err, reason)
		case errors.Is(err, fault.ErrInsecure) != slices.Contains(insecure, reason):
			t.Errorf("%s: %v: errors.Is(err, ErrInsecure) is wrong", test.ref, err)
		}
	}
}
