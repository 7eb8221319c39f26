package casetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

type row struct {
	Text    string
	List    []string
	N       int
	Yes     bool
	Version addrs.Version
}

// failed is a test that ends at an error.
type failed struct {
	testing.TB
	text string
}

func (f *failed) Helper() {}

func (f *failed) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

func TestRead(t *testing.T) {
	t.Parallel()
	v := addrs.MustParseVersion("1.0.0")
	want := []row{
		{Text: "plain", List: []string{"a", "b c"}, N: 3, Yes: true, Version: v},
		{},
		{Text: "a\tb`c#d", N: 4},
		{Text: "https://example.com/" + strings.Repeat("xy", 100) + "/z", N: -1},
		{Text: `C:\a "b"`, List: []string{"#"}},
	}
	if diff := cmp.Diff(want, casetest.Read[row](t, "rows.txt"), cmp.Comparer(func(a, b addrs.Version) bool { return a == b })); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
	if got := slices.Collect(func(yield func(string) bool) {
		for a, b := range casetest.Pairs(t, "pairs.txt") {
			if !yield(a + "=" + b) {
				return
			}
		}
	}); !slices.Equal(got, []string{"a=b", "c="}) {
		t.Errorf("Pairs: %q", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, s := range casetest.Sections(t, "refused.txt") {
		_, want, _ := strings.Cut(s.Text, "want: ")
		f := &failed{TB: t}
		func() {
			defer func() { _ = recover() }()
			casetest.Read[row](f, "refused/"+s.Name)
		}()
		if want = strings.TrimSpace(want); want == "" || !strings.Contains(f.text, want) {
			t.Errorf("Read of %s: %q, want %q in it", s.Name, f.text, want)
		}
	}
}
