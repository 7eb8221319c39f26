package regtest_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

func TestRequire(t *testing.T) {
	t.Parallel()
	const files = base + "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	urls := map[regtest.Kind]string{
		regtest.Discovery: base + "/.well-known/terraform.json",
		regtest.Versions:  listURL,
		regtest.Package:   metadataURL("1.0.0", "linux_amd64"),
		regtest.Sums:      files + "_SHA256SUMS",
		regtest.Signature: files + "_SHA256SUMS.sig",
		regtest.Archive:   files + "_linux_amd64.zip",
	}
	for _, on := range []regtest.Kind{regtest.Discovery, regtest.Metadata, regtest.Downloads, regtest.Signature, 0} {
		reg, _ := start()
		reg.Require("secret", on)
		for kind, url := range urls {
			for token, status := range map[string]int{"": 401, "Bearer other": 403, "secret": 403, "Bearer secret": 200} {
				if on != 0 && on&kind == 0 {
					status = 200
				}
				if a := get(t, reg.Client(), url, "Authorization", token); a.StatusCode != status {
					t.Errorf("required on %v: %v with %q: %s, want %d", on, kind, token, a.Status, status)
				}
			}
		}
		reg.Require("", 0)
		if a := get(t, reg.Client(), listURL); a.StatusCode != 200 {
			t.Errorf("when it is taken back: %s", a.Status)
		}
	}
}

// TestRequireRedirected: who is redirected need not show a token again.
func TestRequireRedirected(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.Require("secret", 0)
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Redirect: "https://other.example.net"})
	if a := get(t, reg.Client(), listURL, "Authorization", "Bearer secret"); a.StatusCode != 200 {
		t.Errorf("in the end: %s", a.Status)
	}
	list := reg.Requests()
	if list[0].Authorization != "Bearer secret" || list[1].Authorization != "" {
		t.Errorf("record: %v", list)
	}
}

// TestRequireBeforeRedirect: who has no token is refused, and not redirected to what needs
// none.
func TestRequireBeforeRedirect(t *testing.T) {
	t.Parallel()
	for _, fault := range []regtest.Fault{{Redirect: "/"}, {Redirect: "https://other.example.net", Status: 307}, {Hops: 2}, {Hops: -1}} {
		reg, _ := start()
		reg.Require("secret", regtest.Versions)
		fault.Kind = regtest.Versions
		reg.AddFault(fault)
		for token, status := range map[string]int{"": 401, "Bearer other": 403} {
			if a := get(t, reg.Client(), listURL, "Authorization", token); a.StatusCode != status {
				t.Errorf("%q, %d hops: with %q: %s, want %d", fault.Redirect, fault.Hops, token, a.Status, status)
			}
		}
	}
}

func TestRefuseToken(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, RefuseToken: true})
	for token, status := range map[string]int{"": 200, "Bearer x": 400} {
		if a := get(t, reg.Client(), listURL, "Authorization", token); a.StatusCode != status {
			t.Errorf("with %q: %s", token, a.Status)
		}
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	get(t, reg.Client(), listURL+"?x=%20", "Authorization", "Bearer secret", "Range", "bytes=0-", "Referer", "https://example.com/", "User-Agent", "test/1", "X-Other", "1")
	get(t, reg.Client(), "http://other.example.com:80/a%2fb")
	list := reg.Requests()
	if len(list) != 2 {
		t.Fatalf("%d requests", len(list))
	}
	q := list[0]
	if q.Time.IsZero() || q.Header.Get("X-Other") != "1" {
		t.Errorf("record: %+v", q)
	}
	for got, want := range map[string]string{
		q.Method: "GET", q.Scheme: "https", q.Host: "registry.example.com", q.Path: "/v1/providers/acme/alpha/versions", q.Query: "x=%20",
		q.Authorization: "Bearer secret", q.Range: "bytes=0-", q.Referer: "https://example.com/", q.UserAgent: "test/1",
		q.String():    "GET " + listURL + "?x=%20: 200 (versions, with Authorization, bytes=0-)",
		list[1].URL(): "http://other.example.com/a%2fb",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// What is handed out is the caller's own.
	q.Header.Set("X-Other", "2")
	if reg.Requests()[0].Header.Get("X-Other") != "1" {
		t.Error("the record can be changed from outside")
	}
	if reg.Count(regtest.Metadata) != 1 || reg.Count(regtest.Other) != 1 || reg.Count(0) != 2 || reg.Count(regtest.Downloads) != 0 {
		t.Errorf("counts are wrong: %v", list)
	}
	if !strings.Contains(list[1].String(), "404 (other)") {
		t.Errorf("record: %v", list[1])
	}
	reg.Reset()
	if len(reg.Requests()) != 0 || reg.Count(0) != 0 {
		t.Error("the record is not empty after Reset")
	}
}
