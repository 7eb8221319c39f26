package cliconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"

	"github.com/tofureg/tofureg/cliconfig"
)

// oracle reads a file with the HCL library, as the CLI does, and returns the expected
// result of cliconfig.ParseFile. It returns false if the library refuses the file or
// panics.
func oracle(src string) (result string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	file, err := hcl.Parse(src)
	if err != nil {
		return "", false
	}
	return oracleItems(file.Node.(*ast.ObjectList)), true
}

func oracleItems(list *ast.ObjectList) string {
	s := "{"
	for _, it := range list.Items {
		for _, k := range it.Keys {
			s += fmt.Sprintf("%q ", k.Token.Value())
		}
		s += oracleValue(it.Val) + ";"
	}
	return s + "}"
}

func oracleValue(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ObjectType:
		return oracleItems(n.List)
	case *ast.ListType:
		s := "["
		for _, e := range n.List {
			s += oracleValue(e) + ","
		}
		return s + "]"
	case *ast.LiteralType:
		switch n.Token.Type {
		case token.STRING, token.HEREDOC:
			return fmt.Sprintf("%q", n.Token.Value())
		}
		return n.Token.Text
	}
	return fmt.Sprintf("%T", n)
}

var nativeSeeds = []string{
	"", "a = 1", "a = -1.5e3\nb=0x1F c=017", "a b \"c d\" { e = true, f = [1, \"x\", [2], {g = 1},] }",
	"# c\n// d\n/* e */ a = \"\\u00e9\\x41\\101\\n\\\"\\\\\"", `a = "${b("c") {"}"}} d"`, "a = \"${x\ny}\"",
	"a = <<E\n x\ny\nE\n", "a = <<-E\n  x\n   y\n  E\n", "a = <<-E\n  x\n y\n  E\n", "a = <<E\nx\n  E\nb = 1",
	"a = <<-E\n  x \ny\n \vE\n", "a = <<-E\n  x\ny\n\v\vE\n",
	"a.b-c = 1", "é = \"ü\"", "a {} b {}", "a = [1,,2,]", "a = .5", "a = {} b = []", "\"a\" \"b\" {}",
	"a = \"\r\n\"", "a\r\n=\r\n1\r\n", "a = <<E\r\nx\r\nE\r\n", "a = 1,b = 2", "a = [[1] [2]]", "a = [{} {}]",
	`a = "\400"`, `a = "\q"`, "a =", "a", "= 1", "}", "a {", "[", "a = 99999999999999999999", "a = \"\\ud800\"",
	"a = 1.", "a = 1e", "a = 08", "a = 0x", "a = 1abc = 2", "a = 1ebc = 2", "a = tru", "true = 1", "a = <<\nx\n\n", "a = <<-\n\n", "a = \"\\U00110000\"",
}

// TestNative compares the parser with the HCL library, which the CLI uses.
func TestNative(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, src := range nativeSeeds {
		if compareNative(t, src) {
			accepted++
		}
	}
	if accepted < 20 {
		t.Errorf("only %d sources were compared", accepted)
	}
}

// compareNative reports whether both accept src.
func compareNative(t *testing.T, src string) bool {
	t.Helper()
	got, err := cliconfig.ParseFile(strings.ReplaceAll(src, "\r\n", "\n"), false)
	want, ok := oracle(src)
	if ok && err == nil && got != want {
		t.Errorf("%q:\n got %s\nwant %s", src, got, want)
	}
	return ok && err == nil
}

// TestNativeDeviations has sources that only the parser or only the library accepts.
func TestNativeDeviations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src  string
		ours bool
	}{
		{"a =", false},        // an empty file for the library
		{`a = "\400"`, false}, // the library panics
		{`a = "\q"`, false},
		{"a {", false},
		{"a = 99999999999999999999", true}, // refused where a number is expected
		{"a = 08", true},
		{"a = 1abc = 2", false}, // the library reads a = 1 and abc = 2,
		{"a = 1ebc = 2", false}, // and a = 1eb and c = 2
	} {
		if _, err := cliconfig.ParseFile(c.src, false); (err == nil) != c.ours {
			t.Errorf("%q: %v", c.src, err)
		}
	}
}

// TestDepth checks the limit of nesting at n and n+1, in both syntaxes.
func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, open, middle, shut string
		json                             bool
		atTop                            int // levels that the file has by itself
	}{
		{name: "blocks", open: "a {", shut: "}"},
		{name: "lists", before: "a = ", open: "[", shut: "]"},
		{name: "JSON objects", open: `{"a":`, middle: "1", shut: "}", json: true},
		{name: "JSON lists", before: `{"a":`, open: "[", shut: "]", json: true, atTop: 1},
	} {
		for _, extra := range []int{0, 1} {
			n := 64 - c.atTop + extra
			src := c.before + strings.Repeat(c.open, n) + c.middle + strings.Repeat(c.shut, n)
			if c.atTop > 0 {
				src += "}"
			}
			_, err := cliconfig.ParseFile(src, c.json)
			if (err != nil) != (extra == 1) || err != nil && !strings.Contains(err.Error(), "nested too deeply") {
				t.Errorf("%s, %d levels: %v", c.name, n, err)
			}
		}
	}
}

// FuzzNative compares the parser with the HCL library for sources that both accept.
func FuzzNative(f *testing.F) {
	for _, src := range nativeSeeds {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 4096 || strings.ContainsAny(src, "\x00\ue123\ufffd") || strings.Contains(strings.ReplaceAll(src, "\r\n", ""), "\r") {
			return // refused earlier, reserved by the library, or with unusual line ends
		}
		if strings.HasPrefix(strings.TrimSpace(src), "{") || !compareNative(t, src) {
			return
		}
	})
}
