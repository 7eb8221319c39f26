package lockfile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// block is a provider block around lines.
func block(lines ...string) string {
	return "provider \"registry.example.com/acme/alpha\" {\n" + strings.Join(append(lines, "}\n"), "\n")
}

// inBlock is a block with a version and lines.
func inBlock(lines ...string) string {
	return block(append([]string{`version = "1.0.0"`}, lines...)...)
}

func TestParse(t *testing.T) {
	t.Parallel()
	f := parse(t, canonical)
	if f.Header != lockfile.HeaderTerraform || f.Len() != 2 || len(f.Warnings()) != 0 {
		t.Errorf("header %q, %d entries, warnings %v", f.Header, f.Len(), f.Warnings())
	}
	e, ok := f.Get(alpha)
	if !ok || e.Provider != alpha || e.Version != v1 || e.Constraints != constraint(">= 0.9, < 2") || !slices.Equal(e.Hashes, []checksum.Hash{h1a, new1, zh1}) {
		t.Errorf("%v, %v", e, ok)
	}
	e, ok = f.Get(gamma)
	if !ok || e.Version != v2 || !e.Constraints.IsZero() || !slices.Equal(e.Hashes, []checksum.Hash{zh2}) {
		t.Errorf("%v, %v", e, ok)
	}
	if e, ok := f.Get(beta); ok {
		t.Errorf("got %v, which is not locked", e)
	}
	if got := string(f.Bytes()); got != canonical {
		t.Errorf("wrote\n%s", got)
	}
}

// TestUnderscore: Terraform 1.16 locks providers whose namespace has an underscore.
func TestUnderscore(t *testing.T) {
	t.Parallel()
	f := parse(t, "provider \"registry.terraform.io/a_b/c\" {\n  version = \"1.0.0\"\n}\n")
	if again := parse(t, string(f.Bytes())); f.Len() != 1 || !again.Equal(f) {
		t.Errorf("Parse: %d entries, and other ones of Bytes, want one", f.Len())
	}
}

// TestParseForms has what is accepted beside the form in which the CLI writes, and what
// is made of it.
func TestParseForms(t *testing.T) {
	t.Parallel()
	for tt := range slices.Chunk(casetest.Sections(t, "forms.txt"), 2) {
		if got := string(parse(t, tt[0].Text).Bytes()); got != tt[1].Text {
			t.Errorf("%s: %q\nwas written\n%s\nwant\n%s", tt[0].Name, tt[0].Text, got, tt[1].Text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := casetest.Sections(t, "refused.txt")
	for text, want := range casetest.Pairs(t, "refused-bytes.txt") {
		cases = append(cases, casetest.Section{Name: want, Text: text})
	}
	for _, tt := range cases {
		f, err := lockfile.Parse([]byte(tt.Text), "")
		if _, ok := errors.AsType[*lockfile.ParseError](err); !ok || f != nil {
			t.Errorf("%q: %v, %v", tt.Text, f, err)
			continue
		}
		// What follows a syntax error is not read, so it is the last one.
		lines := strings.Split(err.Error(), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, tt.Name) {
			t.Errorf("%q: got\n%v\nwant\n%s", tt.Text, err, tt.Name)
		}
		_, err = lockfile.ParseLenient([]byte(tt.Text), "")
		if e, ok := err.(*lockfile.ParseError); err != nil && (!ok || !strings.HasPrefix(e.Error(), tt.Name)) {
			t.Errorf("%q: ParseLenient returned the %T\n%v\nwant a ParseError\n%s", tt.Text, err, err, tt.Name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	src := "provider \"terraform.io/builtin/x\" {\n  version = \"1\"\n}\nprovider \"a.example.com/b/c\" {\n  version = \"x\"\n  hashes = [\"h1:\"]\n}\nx {\n"
	_, err := lockfile.Parse([]byte(src), "dir/lock.hcl")
	want := []string{
		"dir/lock.hcl:1:10: provider cannot be locked",
		"dir/lock.hcl:5:13: invalid provider version",
		"dir/lock.hcl:6:13: hash \"h1:\"",
		"dir/lock.hcl:8:1: block \"x\" is not expected",
		"dir/lock.hcl:9:1: unclosed bracket at the end of the file",
	}
	got := strings.Split(err.Error(), "\n")
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != len(want) {
		t.Errorf("%T does not unwrap to %d problems", err, len(want))
	}
	var version *addrs.ParseError
	if !errors.Is(err, lockfile.ErrNotLockable) || !errors.Is(err, checksum.ErrEmptyHash) || !errors.As(err, &version) {
		t.Errorf("the causes are lost: %v", err)
	}
	second := joined.Unwrap()[1].(*lockfile.ParseError)
	if second.Filename != "dir/lock.hcl" || second.Line != 5 || second.Column != 13 || second.Err == nil {
		t.Errorf("%#v", second)
	}
	_, err = lockfile.Parse([]byte("x"), "a\nb")
	if err == nil || !strings.HasPrefix(err.Error(), `"a\nb":1:2: `) {
		t.Errorf("%v, want the name quoted", err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	src := "module \"a\" {\n}\nmodule \"b\" {\n}\n"
	for _, f := range []*lockfile.File{parse(t, src), parseLenient(t, src)} {
		if w := f.Warnings(); len(w) != 2 || w[1].Line != 3 || w[1].Error() != "test.hcl:3:1: locks for modules are ignored, as in the CLI" {
			t.Errorf("%v", w)
		}
	}
	upper := "zh:" + strings.Repeat("AB", 32)
	f := parseLenient(t, block(`version = "1.0"`, `hashes = ["x", "`+upper+`"]`, "x = 1")+"y = 2\n"+inBlock())
	var got []string
	for _, w := range f.Warnings() {
		got = append(got, fmt.Sprint(w.Line, ":", w.Column))
	}
	if want := []string{"2:11", "3:11", "3:16", "4:1", "6:1", "7:10"}; !slices.Equal(got, want) {
		t.Errorf("warnings at %q, want %q:\n%v", got, want, f.Warnings())
	}
	if e, _ := f.Get(alpha); !e.Unreadable || len(e.Hashes) > 0 {
		t.Errorf("%v", e)
	}
	f = parseLenient(t, block(`version = "1.0"`, `constraints = "^1"`, `hashes = ["`+upper+`"]`))
	e, _ := f.Get(alpha)
	if want := checksum.MustParseHash("zh:" + strings.Repeat("ab", 32)); len(f.Warnings()) != 3 || e.Unreadable || e.Version != v1 || !slices.Equal(e.Hashes, []checksum.Hash{want}) {
		t.Errorf("%v", e)
	}
}

// Parts of lock files that many tests use.
var (
	alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")
	beta  = addrs.MustParseProvider("registry.example.com/acme/beta")
	gamma = addrs.MustParseProvider("registry.example.com/acme/gamma")

	v1 = addrs.MustParseVersion("1.0.0")
	v2 = addrs.MustParseVersion("2.0.0-rc.1+meta")

	h1a  = checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	zh1  = zh(1)
	zh2  = zh(2)
	zh3  = zh(3)
	new1 = checksum.MustParseHash("h9:of-a-later-scheme")
)

func zh(n int) checksum.Hash { return checksum.MustParseHash(fmt.Sprintf("zh:%064x", n)) }

func constraint(s string) addrs.ProviderConstraint { return addrs.MustParseProviderConstraint(s) }

// canonical is a file as the CLI writes it.
var canonical = strings.Join([]string{
	lockfile.HeaderTerraform,
	``,
	`provider "registry.example.com/acme/alpha" {`,
	`  version     = "1.0.0"`,
	`  constraints = ">= 0.9.0, < 2.0.0"`,
	`  hashes = [`,
	`    "` + h1a.String() + `",`,
	`    "` + new1.String() + `",`,
	`    "` + zh1.String() + `",`,
	`  ]`,
	`}`,
	``,
	`provider "registry.example.com/acme/gamma" {`,
	`  version = "2.0.0-rc.1+meta"`,
	`  hashes = [`,
	`    "` + zh2.String() + `",`,
	`  ]`,
	`}`,
	``,
}, "\n")

func parse(t testing.TB, src string) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse([]byte(src), "test.hcl")
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}

func parseLenient(t testing.TB, src string) *lockfile.File {
	t.Helper()
	f, err := lockfile.ParseLenient([]byte(src), "test.hcl")
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return f
}

var parsers = map[string]func([]byte, string) (*lockfile.File, error){"strict": lockfile.Parse, "lenient": lockfile.ParseLenient}

func TestLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return canonical + "#" + strings.Repeat("x", n-len(canonical)-1) }
	deep := func(n int) string { // the block itself is one of them
		return "module \"a\" {\n  x = " + strings.Repeat("[", n-1) + "1" + strings.Repeat("]", n-1) + "\n}\n"
	}
	for name, parse := range parsers {
		if f, err := parse([]byte(long(4<<20)), ""); err != nil || f.Len() != 2 {
			t.Errorf("%s, 4 MiB: %v", name, err)
		}
		if _, err := parse([]byte(long(4<<20+1)), "a\nb"); !errors.Is(err, failure.ErrTooLarge) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, 4 MiB and one byte: %v", name, err)
		}
		if _, err := parse([]byte(deep(100)), ""); err != nil {
			t.Errorf("%s, 100 deep: %v", name, err)
		}
		if _, err := parse([]byte(deep(101)), ""); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
			t.Errorf("%s, 101 deep: %v", name, err)
		}
	}
}

func TestMaxProblems(t *testing.T) {
	t.Parallel()
	for _, n := range []int{50, 51, 1000} {
		src := strings.Repeat("x {\n}\n", n)
		_, err := lockfile.Parse([]byte(src), "")
		if got := len(strings.Split(err.Error(), "\n")); got != 50 {
			t.Errorf("%d problems, %d reported", n, got)
		}
		if got := len(parseLenient(t, src).Warnings()); got != 50 {
			t.Errorf("%d problems, %d warnings", n, got)
		}
	}
	twice := strings.Repeat("module \"a\" {\n}\n", 51) + inBlock() + inBlock()
	if _, err := lockfile.Parse([]byte(twice), ""); err == nil || !strings.Contains(err.Error(), "is locked in line 103 already") {
		t.Errorf("after 51 warnings: %v, want an error for the second block", err)
	}
	if e, _ := parseLenient(t, twice).Get(alpha); !e.Unreadable {
		t.Errorf("after 51 warnings: %+v, want Unreadable", e)
	}
}

// TestHostile has large files that cost a careless parser its stack, time or memory. Some of
// them crash the CLI.
func TestHostile(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	fill := func(before, unit string) string { return before + strings.Repeat(unit, (size-len(before))/len(unit)) }
	open := "provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = ["
	for name, src := range map[string]string{
		"signs":        fill("a = ", "!") + "1\n",
		"conditions":   fill("a = ", "a?b:"),
		"braces":       fill("", "a {\n"),
		"brackets":     fill("a = ", "["),
		"texts":        fill("a = ", `"$${`),
		"comments":     fill("", "#\n"),
		"open comment": fill("/*", "/*"),
		"newlines":     fill("", "\n"),
		"in a line":    fill("provider \"registry.example.com/acme/alpha\" { ", "/**/") + "version = \"1.0.0\" }\n",
		"commas":       fill(open, ",") + "]\n}\n",
		"hashes":       fill(open, `"a:b",`) + "]\n}\n",
		"bad hashes":   fill(open, `"a",`) + "]\n}\n",
		"one hash":     fill(open+`"`, `a`) + "\"]\n}\n",
		"escapes":      fill(open+`"`, `\u0041`) + "\"]\n}\n",
		"twice":        fill("", "provider \"a.example.com/b/c\" {\nversion=\"1.0.0\"\n}\n"),
		"no label":     fill("provider ", `"" `) + "{\n}\n",
		"arguments":    fill(open+"]\n", "version=1\n") + "}\n",
		"a line":       fill("", " ") + "x",
		"not UTF-8":    fill("", "\xff"),
	} {
		start := time.Now()
		for how, parse := range parsers {
			f, err := parse([]byte(src), "")
			if err != nil {
				continue
			}
			_ = f.Bytes()
			if how == "lenient" {
				mergeOrSet(t, f, alpha, v1, constraint(""), zh1)
				_ = f.Bytes()
			}
		}
		t.Logf("%s: %v", name, time.Since(start).Round(time.Millisecond))
	}
}
