package module_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	m := addrs.MustParseModule("example.com/acme/network/aws")
	for text, want := range map[string]bool{
		"example.com/acme/network/aws": true, "example.com/acme/network/*": true, "example.com/acme/*/*": true,
		"example.com/*/*/*": true, "EXAMPLE.com/*/*/*": true, "*/*/*/*": true,
		"example.com/acme/network/azure": false, "example.com/acme/other/*": false, "example.com/Acme/*/*": false, "example.org/*/*/*": false,
	} {
		p, err := module.ParsePattern(text)
		if err != nil || p.Matches(m) != want || p.Matches(addrs.Module{}) {
			t.Errorf("ParsePattern(%q) = %v, %v; matches %v, want %v", text, p, err, p.Matches(m), want)
		}
		if p.String() != strings.ToLower(text[:4])+text[4:] && !strings.HasPrefix(text, "EXAMPLE") {
			t.Errorf("%q is printed as %q", text, p)
		}
		var again module.Pattern
		if b, err := p.MarshalText(); err != nil || again.UnmarshalText(b) != nil || again != p {
			t.Errorf("%q in text is %q, which is %q", text, b, again)
		}
	}
	var none module.Pattern
	if none.Matches(m) || none.String() != "" || none.UnmarshalText(nil) != nil {
		t.Errorf("the zero Pattern is %q", none)
	}
	for _, text := range []string{"", "*", "*/*/*", "acme/network/aws", "*/acme/*/*", "example.com/*/network/aws", "example.com/*/network/*", "example.com/acme/*/aws", "example.com/acme/network/aws/x",
		"localhost/*/*/*", "example.com//*/*", "example.com/a b/*/*", "github.com/*/*/*", strings.Repeat("a", 4090) + "/*/*/*"} {
		p, err := module.ParsePattern(text)
		if e, ok := errors.AsType[*addrs.ParseError](err); !ok || p != none || e.Kind != "module pattern" || len(e.Input) > 210 {
			t.Errorf("ParsePattern(%.50q) = %q, %v; want a ParseError", text, p, err)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add("example.com/acme/*/*")
	f.Add("*/*/*/*")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := module.ParsePattern(text)
		if err != nil {
			return
		}
		if again, err := module.ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q is %q, which is %q, %v", text, p, again, err)
		}
	})
}
