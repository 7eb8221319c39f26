package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
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
		"one space":        {sumA + " a.zip\n", [][2]string{{"a.zip", sumA}}},
		"tab":              {sumA + "\ta.zip\n", [][2]string{{"a.zip", sumA}}},
		"many spaces":      {sumA + " \t\v\u00a0 a.zip\n", [][2]string{{"a.zip", sumA}}},
		"space at the end": {sumA + "  a.zip \t\n", [][2]string{{"a.zip", sumA}}},
		"space before":     {"\t " + sumA + "  a.zip\n", [][2]string{{"a.zip", sumA}}},
		"words behind":     {sumA + "  a.zip  # " + sumB + "  b.zip\n", [][2]string{{"a.zip", sumA}}},
		"CR inside":        {sumA + "  a.zip\r" + sumB + "  b.zip\n", [][2]string{{"a.zip", sumA}}},
		"comments":         {"# sums\n#" + sumB + "  a.zip\n# " + sumB + "  a.zip\n" + sumA + "  a.zip\n", [][2]string{{"a.zip", sumA}}},
		"BSD lines":        {"SHA256 (a.zip) = " + sumB + "\n" + sumA + "  a.zip\nSHA512 (b.zip) = " + sumB + sumB + "\n", [][2]string{{"a.zip", sumA}}},
		"SHA-512":          {sumB + sumB + "  a.zip\n" + sumA + "  a.zip\n" + sumB + sumB + "  b.zip\n", [][2]string{{"a.zip", sumA}}},
		"other digests":    {sumA[:32] + "  b.zip\n" + sumA[:40] + "  c.zip\n" + sumA + "  a.zip\n" + sumB + sumA[:32] + "  d.zip\n", [][2]string{{"a.zip", sumA}}},
		"other mark":       {sumA + " ?a.zip\n", [][2]string{{"?a.zip", sumA}}},
		"marks":            {sumA + " ***a.zip\n", [][2]string{{"a.zip", sumA}}},
		"byte order mark":  {"\ufeff" + sumA + "  a.zip\n", [][2]string{{"a.zip", sumA}}},
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

func TestParseSumsRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct {
		Name, Doc string
		Line      int
	}](t, "sums-refused.txt") {
		sums, err := verify.ParseSums([]byte(tt.Doc))
		if err == nil || sums != nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("SHA256SUMS line %d:", tt.Line)) {
			t.Errorf("%s: %v, %v, want an error in line %d", tt.Name, sums, err, tt.Line)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
			t.Errorf("%s: control character in %q", tt.Name, err)
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

// FuzzParseSums compares ParseSums with the rule of the CLIs.
func FuzzParseSums(f *testing.F) {
	f.Add([]byte(sumA + "  a.zip\n" + sumB + " *b.zip\r\n\n"))
	f.Add([]byte("\n" + sumA + "a  a.zip"))
	f.Add([]byte("\ufeff# " + sumB + "  a.zip\n" + sumA + sumA + "\tb.zip\n" + sumA + "\ta.zip # " + sumB))
	f.Add([]byte("SHA256 (a.zip) = " + sumB + "\n " + sumA + "\u00a0a.zip\r" + sumB))
	f.Fuzz(func(t *testing.T, doc []byte) {
		sums, err := verify.ParseSums(doc)
		if err != nil {
			if sums != nil {
				t.Errorf("ParseSums: %v, %v", sums, err)
			}
			return
		}
		for name, h := range sums.All() {
			if first, ok := readAsCLI(doc, name); ok && first != h {
				t.Errorf("ParseSums: %v for %q, want %v, which the CLIs read", h, name, first)
			}
		}
		for line := range bytes.SplitSeq(doc, []byte("\n")) {
			words := bytes.Fields(line)
			if len(words) < 2 || bytes.ContainsFunc(words[1], unicode.IsControl) || !utf8.Valid(words[1]) || words[1][0] == '*' {
				continue
			}
			if want, ok := readAsCLI(doc, string(words[1])); ok {
				if got, listed := sums.Lookup(string(words[1])); !listed || got != want {
					t.Errorf("Lookup(%q) = %v, %v, want %v, which the CLIs read", words[1], got, listed, want)
				}
			}
		}
		var twice verify.Sums
		if err := twice.UnmarshalText(must.Get(sums.MarshalText())(t)); err != nil || !twice.Equal(sums) {
			t.Errorf("what MarshalText returns does not read as the same: %v", err)
		}
	})
}

// readAsCLI returns the digest that both CLIs find for a file, by the first line with its name.
func readAsCLI(doc []byte, name string) (checksum.Hash, bool) {
	for line := range bytes.SplitSeq(doc, []byte("\n")) {
		if words := bytes.Fields(line); len(words) > 1 && string(words[1]) == name {
			h, err := checksum.ParseHash(checksum.SchemeZH + ":" + string(bytes.ToLower(words[0])))
			return h, err == nil && len(words[0]) == 64
		}
	}
	return checksum.Hash{}, false
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
