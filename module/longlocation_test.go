package module_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/module"
)

// TestLongLocations: a location may have 16 KiB, and not one byte more, with what had to
// be escaped in it and with the base that it is relative to, so that what is parsed can
// be written and parsed again.
func TestLongLocations(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	base, err := url.Parse("https://registry.example.com/v1/modules/")
	if err != nil {
		t.Fatal(err)
	}
	fill := func(start string, n int) string { return start + strings.Repeat("x", n-len(start)) }
	for name, parse := range map[string]func(n int) error{
		"absolute": func(n int) error {
			_, err := module.ParseLocation(fill("https://files.example.com/", n))
			return err
		},
		"of the registry": func(n int) error {
			_, err := module.DirectLocation(base, "./"+fill(base.String(), n)[len(base.String()):])
			return err
		},
		"escaped": func(n int) error { // file:///a%5B%5B…
			_, err := module.ParseLocation("/" + strings.Repeat("a", (n-8)%3) + strings.Repeat("[", (n-8)/3))
			return err
		},
		"relative and escaped": func(n int) error {
			n -= len(base.String())
			_, err := module.ResolveLocation(base, "./"+strings.Repeat("a", n%3)+strings.Repeat("<", n/3))
			return err
		},
	} {
		if err := parse(limit); err != nil {
			t.Errorf("%s, of %d bytes: %.200v", name, limit, err)
		}
		if err := parse(limit + 1); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s, of a byte more: %.200v", name, err)
		}
	}
}
