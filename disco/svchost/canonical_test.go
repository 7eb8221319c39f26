package svchost_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestCanonical: all spellings of 127.0.0.1 and [::1] have the same canonical host or are invalid.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Address, Host, Dialled string }](t, "canonical.txt") {
		u := must.Get(url.Parse(test.Address))(t)
		if test.Dialled == "" {
			test.Dialled = test.Host
		}
		if host, dialled, err := svchost.Canonical(u); host != test.Host || dialled != test.Dialled || err != nil {
			t.Errorf("Canonical(%s) = %q, %q, %v, want %q, %q", test.Address, host, dialled, err, test.Host, test.Dialled)
		}
	}
	for address, want := range map[string]string{
		"https:///x": "no host", "mailto:a@example.com": "no host", "https://example.com.": "dot",
		"https://127.1": "IPv4", "https://2130706433": "IPv4", "https://0X7F000001/": "IPv4", "https://127.0.0.01": "IPv4",
		"https://example.com:0/": "port", "https://example.com:65536/": "port", "https://a<b/": "character", "https://\u3002/": "host",
	} {
		u := must.Get(url.Parse(address))(t)
		if host, _, err := svchost.Canonical(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Canonical(%s) = %q, %v, want an error with %q", address, host, err, want)
		}
	}
}
