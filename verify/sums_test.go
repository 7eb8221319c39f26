package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/verify"
)

const (
	sumA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestParseSums(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		doc  string
		want [][2]string
	}{
		"two":              {sumA + "  a.zip\n" + sumB + "  b.zip\n", [][2]string{{"a.zip", sumA}, {"b.zip", sumB}}},
		"binary mark":      {sumA + " *a.zip\n", [][2]string{{"a.zip", sumA}}},
		"CRLF":             {sumA + "  a.zip\r\n" + sumB + "  b.zip\r\n", [][2]string{{"a.zip", sumA}, {"b.zip", sumB}}},
		"no final newline": {sumA + "  a.zip", [][2]string{{"a.zip", sumA}}},
		"blank lines":      {"\n\r\n" + sumA + "  a.zip\n\n\n" + sumB + "  b.zip\n\n", [][2]string{{"a.zip", sumA}, {"b.zip", sumB}}},
		"upper case":       {strings.ToUpper(sumA) + "  a.zip\n", [][2]string{{"a.zip", sumA}}},
		"said twice":       {sumA + "  a.zip\n" + strings.ToUpper(sumA) + " *a.zip\n", [][2]string{{"a.zip", sumA}}},
		"one digest twice": {sumA + "  a.zip\n" + sumA + "  b.zip\n", [][2]string{{"a.zip", sumA}, {"b.zip", sumA}}},
		"spaces inside":    {sumA + "  a b.zip\n", [][2]string{{"a b.zip", sumA}}},
		"path":             {sumA + "  ./dist/a.zip\n", [][2]string{{"./dist/a.zip", sumA}}},
		"empty":            {"", nil},
		"only blank lines": {"\n\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sums := must.Get(verify.ParseSums([]byte(tt.doc)))(t)
			var got [][2]string
			for name, h := range sums.All() {
				got = append(got, [2]string{name, h.Value()})
				if again, ok := sums.Lookup(name); !ok || again != h || h.Scheme() != "zh" {
					t.Errorf("Lookup(%q) = %v, %v", name, again, ok)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || files(sums) != len(tt.want) {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for range sums.All() {
				break // stopping early must work
			}
			if _, ok := sums.Lookup("c.zip"); ok {
				t.Error("found what is not there")
			}
		})
	}
}

// Some of these crash the reference client, or are read as what they do not say.
func TestParseSumsRefuses(t *testing.T) {
	t.Parallel()
	good := sumA + "  a.zip\n"
	for name, tt := range map[string]struct {
		doc  string
		line int
	}{
		"short digest":        {good + sumA[1:] + "  b.zip\n", 2},
		"long digest":         {good + sumA + "a  b.zip\n", 2},
		"very long digest":    {sumA + sumA + "  b.zip\n", 1},
		"no hex":              {"g" + sumA[1:] + "  b.zip\n", 1},
		"digest only":         {sumA + "\n", 1},
		"no name":             {sumA + "  \n", 1},
		"one space":           {sumA + " a.zip\n", 1},
		"three spaces":        {sumA + "   a.zip\n", 1},
		"tab":                 {sumA + "\ta.zip\n", 1},
		"tabs":                {sumA + " \ta.zip\n", 1},
		"other mark":          {sumA + " ?a.zip\n", 1},
		"space at the end":    {sumA + "  a.zip \n", 1},
		"space before":        {"\n " + sumA + "  a.zip\n", 2},
		"two digests":         {good + "\n" + sumB + "  a.zip\n", 3},
		"right, then wrong":   {good + sumB + " *a.zip\n", 2},
		"comment":             {"# sums\n" + good, 1},
		"BSD form":            {"SHA256 (a.zip) = " + sumA + "\n", 1},
		"escaped name":        {"\\" + sumA + "  a\\n.zip\n", 1},
		"byte order mark":     {"\ufeff" + good, 1},
		"NUL in the name":     {sumA + "  a\x00.zip\n", 1},
		"NUL as separator":    {sumA + "\x00\x00a.zip\n", 1},
		"escape in the name":  {sumA + "  \x1b[31m.zip\n", 1},
		"CR in the name":      {sumA + "  a\rb.zip\n", 1},
		"not UTF-8":           {sumA + "  \xff.zip\n", 1},
		"html":                {"<html>\n", 1},
		"three fields joined": {sumA + "  a.zip\r" + sumB + "  b.zip\n", 1},
	} {
		sums, err := verify.ParseSums([]byte(tt.doc))
		if err == nil || sums != nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("SHA256SUMS line %d:", tt.line)) {
			t.Errorf("%s: %v, %v, want an error in line %d", name, sums, err, tt.line)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
			t.Errorf("%s: control character in %q", name, err)
		}
	}
}

func TestParseSumsLimits(t *testing.T) {
	t.Parallel()
	lines := func(n int) []byte {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, "%s  %d.zip\n", sumA, i)
		}
		return b.Bytes()
	}
	if sums, err := verify.ParseSums(lines(10_000)); err != nil || files(sums) != 10_000 {
		t.Errorf("10,000 lines: %v", err)
	}
	if _, err := verify.ParseSums(lines(10_001)); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("10,001 lines: error %v, want ErrTooLarge", err)
	}
	long := append([]byte(sumA+"  "), bytes.Repeat([]byte("n"), verify.MaxSums-66)...)
	if _, err := verify.ParseSums(long); err != nil {
		t.Errorf("%d bytes: %v", len(long), err)
	}
	if _, err := verify.ParseSums(append(long, 'n')); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("%d bytes: error %v, want ErrTooLarge", len(long)+1, err)
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(sumA + "  a.zip\n" + sumB + " *b.zip\r\n\n"))
	f.Add([]byte("\n" + sumA + "a  a.zip"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		sums, err := verify.ParseSums(doc)
		if err != nil {
			if sums != nil {
				t.Errorf("%v, %v", sums, err)
			}
			return
		}
		var again bytes.Buffer
		for name, h := range sums.All() {
			fmt.Fprintf(&again, "%s  %s\n", h.Value(), name)
		}
		twice, err := verify.ParseSums(again.Bytes())
		if err != nil || files(twice) != files(sums) {
			t.Errorf("what was read does not read: %v", err)
		}
	})
}

func TestSumsEqual(t *testing.T) {
	t.Parallel()
	parse := func(doc string) *verify.Sums {
		return must.Get(verify.ParseSums([]byte(doc)))(t)
	}
	a, b := sumA+"  a.zip\n", strings.Repeat("0", 64)+"  b.zip\n"
	s := parse(a + b)
	for doc, want := range map[string]bool{
		a + b: true, b + a: true, strings.ToUpper(sumA) + " *a.zip\n\n" + b: true, a: false, "": false,
		b + strings.Repeat("0", 64) + "  a.zip\n": false, a + strings.Repeat("0", 64) + "  c.zip\n": false,
	} {
		if o := parse(doc); s.Equal(o) != want || o.Equal(s) != want {
			t.Errorf("Equal of %q is %v and %v, want %v", doc, s.Equal(o), o.Equal(s), want)
		}
	}
	var none *verify.Sums
	if s.Equal(nil) || none.Equal(s) || !none.Equal(nil) || !s.Equal(s) {
		t.Error("Equal of nil, or of the same document")
	}
}
