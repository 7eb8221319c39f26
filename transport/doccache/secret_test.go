package doccache_test

import (
	"fmt"
	"testing"

	"github.com/tofureg/tofureg/transport/doccache"
)

// TestNeverMixed: answers to different credentials are separate. Headers that are not credentials make
// no difference.
func TestNeverMixed(t *testing.T) {
	t.Parallel()
	o := numbered("Cache-Control", "max-age=60")
	dir := t.TempDir()
	ask := func(list ...string) string {
		_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, doc, list...))
		return body
	}
	different := [][]string{
		nil,
		{"Authorization", "Bearer s3cr3t-a"},
		{"Authorization", "Bearer s3cr3t-b"},
		{"Authorization", "Basic s3cr3t-a"},
		{"Cookie", "s3cr3t-a"},
		{"X-Api-Key", "s3cr3t-a"},
		{"Private-Token", "s3cr3t-a"},
		{"Authorization", "Bearer s3cr3t-a", "Cookie", "s3cr3t-a"},
		{"Accept", "application/json"},
		{"Accept", "text/plain"},
	}
	for round := range 2 {
		for i, list := range different {
			if got, want := ask(list...), fmt.Sprintf(`{"n":%d}`, i+1); got != want {
				t.Errorf("round %d, %q: %s, want %s", round, list, got, want)
			}
		}
	}
	for _, list := range [][]string{{"Referer", "x"}, {"Traceparent", "x"}, {"X-Request-Id", "x"}} {
		if got := ask(list...); got != `{"n":1}` {
			t.Errorf("%q: %s, want the shared answer", list, got)
		}
	}
	for i, u := range []string{
		"https://user:s3cr3t-a@registry.example.com/v1/providers/acme/alpha/versions",
		"https://registry.example.com:8/v1/providers/acme/alpha/versions",
		"https://registry.example.com:8443/v1/providers/acme/alpha/versions",
		"https://registry.example.com/v1/providers/acme/alpha/versions/",
		"https://registry.example.com/v1/providers/acme/alpha/versions?page=2",
		"https://registry.example.com/v1/providers/acme/%61lpha/versions",
	} {
		_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, u))
		if want := fmt.Sprintf(`{"n":%d}`, len(different)+i+1); body != want {
			t.Errorf("%s: %s, want %s", u, body, want)
		}
	}
	_, body := get(t, &doccache.Transport{Base: o, Dir: dir}, request(t, "https://Registry.Example.com:443/v1/providers/acme/alpha/versions"))
	if body != `{"n":1}` {
		t.Errorf("another spelling of the host: %s", body)
	}
	for _, secret := range []string{"s3cr3t", "user", "registry.example.com", "acme"} {
		if containsText(t, dir, secret) {
			t.Errorf("%q is in the directory", secret)
		}
	}
	checkFiles(t, dir)
}

// TestVary: an answer that varies by a header is used for requests with the same header.
func TestVary(t *testing.T) {
	t.Parallel()
	o := numbered("Cache-Control", "max-age=60", "Vary", "user-agent, X-None", "Set-Cookie", "session=s3cr3t")
	dir := t.TempDir()
	tr := &doccache.Transport{Base: o, Dir: dir}
	want(t, tr, doc, `{"n":1}`, 1, "User-Agent", "one-s3cr3t")
	resp := want(t, tr, doc, `{"n":1}`, 1, "User-Agent", "one-s3cr3t")
	if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Vary") == "" {
		t.Errorf("headers %v", resp.Header)
	}
	want(t, tr, doc, `{"n":2}`, 2, "User-Agent", "two")
	want(t, tr, doc, `{"n":2}`, 2, "User-Agent", "two")
	want(t, tr, doc, `{"n":3}`, 3)
	if containsText(t, dir, "s3cr3t") {
		t.Error("a header of the request or a cookie is in the directory")
	}
}
