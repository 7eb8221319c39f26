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
	"github.com/tofureg/tofureg/internal/scheme"
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
	for _, tt := range casetest.Read[struct {
		Name, Doc string
		Want      []string
	}](t, "sums.txt") {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			sums := must.Get(verify.ParseSums([]byte(tt.Doc)))(t)
			var got []string
			for name, h := range sums.All() {
				digit := h.Value()[:1]
				if h.Value() != strings.Repeat(digit, 64) {
					t.Errorf("the sum of %q is %s", name, h.Value())
				}
				got = append(got, name+":"+digit)
				if again, ok := sums.Lookup(name); !ok || again != h || h.Scheme() != "zh" {
					t.Errorf("Lookup(%q) = %v, %v", name, again, ok)
				}
			}
			if diff := cmp.Diff(tt.Want, got); diff != "" || files(sums) != len(tt.Want) {
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
	long := append([]byte(sumA+"  "), bytes.Repeat([]byte("n"), scheme.MaxSums-66)...)
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
