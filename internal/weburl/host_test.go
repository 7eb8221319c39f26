package weburl_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/weburl"
)

// TestHost: all spellings of 127.0.0.1 and [::1] have the same canonical host or are invalid.
func TestHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ address, host, dialled string }{
		{"https://A.example.com/", "a.example.com", ""},
		{"https://b\u00fccher.example.com/", "xn--bcher-kva.example.com", ""},
		{"http://b\u00fccher.example.com:443/", "xn--bcher-kva.example.com:443", ""},
		{"https://b\u00fccher.example.com:8443/", "xn--bcher-kva.example.com:8443", ""},
		{"https://example.com:443/", "example.com", ""},
		{"HTTPS://example.com:0443/", "example.com", ""},
		{"https://example.com:80/", "example.com:80", ""},
		{"http://example.com:80/", "example.com", ""},
		{"ssh://git@example.com:22/", "example.com", ""},
		{"git://example.com:9418/", "example.com", ""},
		{"https://example.com:/", "example.com", ""},
		{"https://example.com:08443/", "example.com:8443", ""},
		{"https://127.0.0.1:443/", "127.0.0.1", ""},
		{"https://[::ffff:127.0.0.1]/", "127.0.0.1", ""},
		{"https://[::FFFF:7f00:1]:8443/", "127.0.0.1:8443", ""},
		{"https://[0:0:0:0:0:0:0:1]/", "[::1]", ""},
		{"https://[::1]:443/", "[::1]", ""},
		{"https://[::1%25lo]/", "[::1]", "[::1%lo]"},
		{"https://[FE80::1%25en0]:8443/", "[fe80::1]:8443", "[fe80::1%en0]:8443"},
		{"https://0xy.x0/", "0xy.x0", ""},
	} {
		u := must.Get(url.Parse(test.address))(t)
		if test.dialled == "" {
			test.dialled = test.host
		}
		if host, dialled, err := weburl.Host(u); host != test.host || dialled != test.dialled || err != nil {
			t.Errorf("Host(%s) = %q, %q, %v, want %q, %q", test.address, host, dialled, err, test.host, test.dialled)
		}
	}
	for address, want := range map[string]string{
		"https:///x": "no host", "mailto:a@example.com": "no host", "https://example.com.": "dot",
		"https://127.1": "IPv4", "https://2130706433": "IPv4", "https://0X7F000001/": "IPv4", "https://127.0.0.01": "IPv4",
		"https://example.com:0/": "port", "https://example.com:65536/": "port", "https://a<b/": "character", "https://\u3002/": "host",
	} {
		u := must.Get(url.Parse(address))(t)
		if host, _, err := weburl.Host(u); err == nil || !strings.Contains(err.Error(), want) || weburl.CheckHost(u) == nil {
			t.Errorf("Host(%s) = %q, %v, want an error with %q", address, host, err, want)
		}
	}
}
