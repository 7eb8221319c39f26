package lockfile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// seeds are files of all sorts, for the fuzz targets and the comparison with the HCL
// library.
var seeds = []string{
	"", "\n", "# only a header\n", "#", "/* */", "\ufeff" + canonical, canonical, strings.ReplaceAll(canonical, "\n", "\r\n"),
	"provider \"registry.example.com/acme/alpha\" { version = \"1.0.0\" }",
	"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  version = \"1.0.0\"\n}\n",
	"provider \"registry.example.com/acme/alpha\" { // c\n  version = \"1.0.0\"\n hashes = [ \"a:b\" # x\n , /* y */ \"c:d\", ]\n}",
	"provider \"registry.example.com/acme/alpha\" {}\n",
	"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\"a:$${\\\"\\\\b\", \"a:\\u0041\"]\n}\n",
	"provider \"acme/alpha\" {\n  version = \"1.0\"\n  constraints = \">=1\"\n hashes = []\n future = <<-EOT\n  a ${\"b\"}\n  EOT\n}\n",
	"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\" }\n",
	"provider \"registry.example.com/acme/b\" {\n  version = \"1.0.0\"\n hashes = [\"a:b\",,\"c:d\"]\n}\nprovider \"registry.example.com/acme/b\" {\n  version = \"1.0.0\"\n}\n",
	"module \"a\" {\n  x = \"${y[\"}\"]}\"\n z {\n }\n}\n", "x = 1\n", "x {\n y = { a = \"b\", c = [1, 2] }\n}\n",
	"module a {\n x = \"$$${1}%%{ $ % \\\" \"\n}\n", "module a {\n x = <<EOT\n$\nEOT\n}\n", "module a {\n x = <<EOT\n %{ if a }b%{~ endif ~}\n}\n\tEOT\n}\n",
	"module a {\n x = [for a in b: a == c ? d >= 1 : \"e\"]\n y = {for k, v in a : k => v}\n}\n", "a \"b\" c {\n}\n", "a \"b", "a = \"b\nc\"", "a = /*", "[", "}", "a = (]\n",
	"provider \"terraform.io/builtin/terraform\" {\n  version = \"1.0.0\"\n}\n", "provider \"-/aws\" {\n  version = \"1.0.0\"\n}\n",
	"provider \"registry.example.com/acme/ü\" {\n  version = \"1.0.0\" # ü\n}\n", "# \xff\na = \"\xff\"", "b{\n\u1c89v = 1\n}", "a b {\n  v\u200d = 1\n}\n", "<<<<<<< a\n", "a b {\n \"c\" = 1\n}\n",
}

// FuzzParse compares the strict parser with the HCL library and the rules of the CLI.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { checkStrict(t, src) })
}

func checkStrict(t *testing.T, src string) {
	f, err := lockfile.Parse([]byte(src), "lock.hcl")
	want := consult(src)
	if err != nil {
		checkPrintable(t, err)
		ours := strings.Contains(err.Error(), "nested more than") || strings.Contains(err.Error(), "conflict") ||
			strings.Contains(src, "module") || !ascii(src) // two texts that are equal in Unicode's normal form differ here
		if want.lock && want.literal && !ours {
			t.Fatalf("refused, but not by the CLI: %v\n%q", err, src)
		}
		return
	}
	if strings.Contains(src, "module") {
		return // the content of such a block is not read
	}
	if !want.lock {
		t.Fatalf("accepted, but not by the CLI:\n%q", src)
	}
	got := map[string]string{}
	for e := range f.All() {
		parts := []string{e.Version.String(), e.Constraints.String()}
		for _, h := range e.Hashes {
			parts = append(parts, h.String())
		}
		got[e.Provider.String()] = strings.Join(parts, "|")
	}
	if len(got) != len(want.entries) {
		t.Fatalf("read %q, the CLI %q", got, want.entries)
	}
	for p, entry := range got {
		if want.entries[p] != entry {
			t.Fatalf("%s: read %q, the CLI %q", p, entry, want.entries[p])
		}
	}
	checkCanonical(t, f)
}

// checkCanonical makes sure that what f writes is read back, and is written so again.
func checkCanonical(t *testing.T, f *lockfile.File) {
	text := f.Bytes()
	again, err := lockfile.Parse(text, "lock.hcl")
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%s", err, text)
	}
	if !f.Equal(again) || string(again.Bytes()) != string(text) {
		t.Fatalf("written %q, then %q", text, again.Bytes())
	}
}

func checkPrintable(t *testing.T, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		for _, r := range line {
			if !unicode.IsPrint(r) {
				t.Fatalf("the error has a %q: %q", r, line)
			}
		}
	}
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// ofLaterUnicode reports whether s has characters that the Unicode of the HCL library
// allows in names, but not that of package unicode, nor that of older HCL libraries.
func ofLaterUnicode(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Cn, r)
	})
}

func TestAgreesWithHCL(t *testing.T) {
	t.Parallel()
	for _, src := range seeds {
		checkStrict(t, src)
	}
}

// FuzzParseLenient edits files in every way and makes sure that nothing else changes.
func FuzzParseLenient(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	for _, s := range edited {
		f.Add(hashes.Replace(s.src))
	}
	f.Fuzz(func(t *testing.T, src string) { checkLenient(t, src) })
}

func TestLenientChangesNothingElse(t *testing.T) {
	t.Parallel()
	for _, src := range seeds {
		checkLenient(t, src)
	}
	for _, s := range edited {
		checkLenient(t, hashes.Replace(s.src))
	}
}

func checkLenient(t *testing.T, src string) {
	strict, strictErr := lockfile.Parse([]byte(src), "lock.hcl")
	want := consult(src)
	f, err := lockfile.ParseLenient([]byte(src), "lock.hcl")
	if err != nil {
		checkPrintable(t, err)
		if strictErr == nil || want.syntax && utf8.ValidString(src) && !ofLaterUnicode(src) && !strings.Contains(err.Error(), "nested more") && !strings.Contains(err.Error(), "conflict") {
			t.Fatalf("refused: %v\n%q", err, src)
		}
		return
	}
	if strictErr == nil && (!f.Equal(strict) || len(f.Warnings()) != len(strict.Warnings()) || f.Header != strict.Header) {
		t.Fatalf("lenient differs from strict:\n%q", src)
	}
	if strings.TrimSpace(src) != "" && string(f.Bytes()) != src {
		t.Fatalf("unchanged, %q was written as %q", src, f.Bytes())
	}
	isCanonical := strictErr == nil && string(strict.Bytes()) == src
	for name, edit := range edits {
		e, s := f.Clone(), &lockfile.File{}
		edit(t, e)
		if isCanonical {
			s = strict.Clone()
			edit(t, s)
			if got, want := e.Bytes(), s.Bytes(); string(got) != string(want) {
				t.Fatalf("%s: lenient wrote %q, strict %q", name, got, want)
			}
		}
		checkEdited(t, name, src, e, want.syntax)
		if name == "add a hash to each" && len(f.Warnings()) == 0 {
			checkComments(t, src, string(e.Bytes()))
		}
	}
}

// edits are changes of many kinds.
var edits = map[string]func(testing.TB, *lockfile.File){
	"add a hash to each": func(t testing.TB, f *lockfile.File) {
		for e := range f.All() {
			if !e.Version.IsZero() {
				mergeOrSet(t, f, e.Provider, e.Version, e.Constraints, zh3)
			}
		}
	},
	"change the version of each": func(t testing.TB, f *lockfile.File) {
		for e := range f.All() {
			mergeOrSet(t, f, e.Provider, addrs.MustParseVersion("7.7.7"), constraint("~> 7.0"), zh1, zh2)
		}
	},
	"keep only the version": func(t testing.TB, f *lockfile.File) {
		for e := range f.All() {
			mergeOrSet(t, f, e.Provider, addrs.MustParseVersion("7.7.7"), addrs.ProviderConstraint{})
		}
	},
	"delete each": func(_ testing.TB, f *lockfile.File) {
		for e := range f.All() {
			f.Delete(e.Provider)
		}
	},
	"add three": func(t testing.TB, f *lockfile.File) {
		for _, p := range []string{"a.example.com/a/a", "registry.example.com/acme/beta", "registry.opentofu.org/z/z"} {
			mergeOrSet(t, f, addrs.MustParseProvider(p), v1, addrs.ProviderConstraint{}, zh1)
		}
	},
	"replace one": func(t testing.TB, f *lockfile.File) {
		for e := range f.All() {
			f.Delete(e.Provider)
			break
		}
		mergeOrSet(t, f, addrs.MustParseProvider("a.example.com/a/a"), v1, constraint("1.0.0"), zh1)
		f.Header = "by hand"
	},
}

// mergeOrSet replaces an entry that is unreadable.
func mergeOrSet(t testing.TB, f *lockfile.File, p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, hashes ...checksum.Hash) {
	t.Helper()
	err := f.Merge(p, v, c, report(hashes...))
	if errors.Is(err, lockfile.ErrUnreadable) {
		err = f.Set(lockfile.Entry{Provider: p, Version: v, Constraints: c, Hashes: hashes})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func merge(t testing.TB, f *lockfile.File, p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, hashes ...checksum.Hash) {
	t.Helper()
	if err := f.Merge(p, v, c, report(hashes...)); err != nil {
		t.Fatal(err)
	}
}

// checkEdited makes sure that what f writes says what f says, and still is HCL.
func checkEdited(t *testing.T, name, src string, f *lockfile.File, syntax bool) {
	text := f.Bytes()
	if syntax && !consult(string(text)).syntax {
		t.Fatalf("%s: %q became %q, which is invalid HCL", name, src, text)
	}
	for _, part := range unrelated(src) {
		if !strings.Contains(string(text), part) {
			t.Fatalf("%s: %q became %q, where %q is lost", name, src, text, part)
		}
	}
	again, err := lockfile.ParseLenient(text, "lock.hcl")
	if err != nil {
		t.Fatalf("%s: %q became %q: %v", name, src, text, err)
	}
	if again.Covers(addrs.MustParseProvider("not.example.com/not/there"), v1) {
		return // unknown content outside of the entries stays
	}
	if diff := cmp.Diff(slices.Collect(f.All()), slices.Collect(again.All()), equalValues); diff != "" {
		t.Fatalf("%s: %q became %q: %s", name, src, text, diff)
	}
}

// equalValues compares names and hashes with ==.
var equalValues = cmp.Options{
	cmp.Comparer(func(a, b addrs.Provider) bool { return a == b }),
	cmp.Comparer(func(a, b addrs.Version) bool { return a == b }),
	cmp.Comparer(func(a, b addrs.ProviderConstraint) bool { return a == b }),
	cmp.Comparer(func(a, b checksum.Hash) bool { return a == b }),
	cmpopts.EquateEmpty(),
}

// checkComments makes sure that the comments of a outside of provider blocks are in b.
func checkComments(t *testing.T, a, b string) {
	left := comments(b)
	for _, c := range comments(a) {
		i := slices.Index(left, c)
		if i < 0 {
			t.Fatalf("comment %q is lost:\n%s\nbecame\n%s", c, a, b)
		}
		left = slices.Delete(left, i, i+1)
	}
}

func comments(src string) []string {
	var out []string
	file, _ := hclsyntax.ParseConfig([]byte(src), "", hcl.InitialPos)
	within := func(r hcl.Range) bool {
		return slices.ContainsFunc(file.Body.(*hclsyntax.Body).Blocks, func(b *hclsyntax.Block) bool {
			return b.TypeRange.Start.Byte <= r.Start.Byte && r.End.Byte <= b.CloseBraceRange.End.Byte
		})
	}
	tokens, _ := hclsyntax.LexConfig([]byte(src), "", hcl.InitialPos)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment && !within(t.Range) {
			out = append(out, strings.TrimRight(string(t.Bytes), "\r\n"))
		}
	}
	return out
}

// unrelated returns the parts of src that no change of an entry may touch.
func unrelated(src string) []string {
	file, diags := hclsyntax.ParseConfig([]byte(src), "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	var out []string
	body := file.Body.(*hclsyntax.Body)
	for _, a := range body.Attributes {
		out = append(out, string(a.SrcRange.SliceBytes([]byte(src))))
	}
	for _, b := range body.Blocks {
		if b.Type != "provider" {
			out = append(out, src[b.TypeRange.Start.Byte:b.CloseBraceRange.End.Byte])
		}
	}
	return out
}
