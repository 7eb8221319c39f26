package lockfile_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
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
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
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
	"provider \"acme/alpha\" {\n  version = \"1.0\"\n  constraints = \">=1\"\n hashes = []\n future = [\"a\"]\n}\n",
	"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\" }\n",
	"provider \"registry.example.com/acme/b\" {\n  version = \"1.0.0\"\n hashes = [\"a:b\",,\"c:d\"]\n}\nprovider \"registry.example.com/acme/b\" {\n  version = \"1.0.0\"\n}\n",
	"module \"a\" {\n  x = \"$${\"\n z {\n }\n}\n", "x = 1\n", "x {\n y = { a = \"b\", c = [1, 2] }\n}\n",
	"module a {\n x = \"$$$${1}%%{ $ % \\\" \"\n}\n",
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
	for _, s := range casetest.Sections(f, "edited.txt") {
		f.Add(hashes.Replace(s.Text))
	}
	f.Fuzz(func(t *testing.T, src string) { checkLenient(t, src) })
}

func TestLenientChangesNothingElse(t *testing.T) {
	t.Parallel()
	for _, src := range seeds {
		checkLenient(t, src)
	}
	for _, s := range casetest.Sections(t, "edited.txt") {
		checkLenient(t, hashes.Replace(s.Text))
	}
}

func checkLenient(t *testing.T, src string) {
	strict, strictErr := lockfile.Parse([]byte(src), "lock.hcl")
	want := consult(src)
	f, err := lockfile.ParseLenient([]byte(src), "lock.hcl")
	if err != nil {
		checkPrintable(t, err)
		if strictErr == nil || want.syntax && utf8.ValidString(src) && !ofLaterUnicode(src) && !strings.Contains(err.Error(), "nested more") && !strings.Contains(err.Error(), "conflict") && !strings.Contains(err.Error(), "not allowed in a lock file") {
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
			for _, c := range comments(src) {
				if !strings.Contains(string(e.Bytes()), c) {
					t.Fatalf("comment %q is lost:\n%s\nbecame\n%s", c, src, e.Bytes())
				}
			}
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
	err := f.Merge(p, v, c, hashes)
	if errors.Is(err, lockfile.ErrUnreadable) {
		err = f.Set(lockfile.Entry{Provider: p, Version: v, Constraints: c, Hashes: hashes})
	}
	must.Do(t, err)
}

func merge(t testing.TB, f *lockfile.File, p addrs.Provider, v addrs.Version, c addrs.ProviderConstraint, hashes ...checksum.Hash) {
	t.Helper()
	must.Do(t, f.Merge(p, v, c, hashes))
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
	if diff := cmp.Diff(slices.Collect(f.All()), slices.Collect(again.All()), cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Fatalf("%s: %q became %q: %s", name, src, text, diff)
	}
}

// comments returns the comments outside of blocks.
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

// verdict is the result of the HCL library and the rules of the CLI for a file.
type verdict struct {
	syntax  bool // it is HCL
	lock    bool // it is a lock file for the CLI
	literal bool // it has no expressions but texts and lists of them
	entries map[string]string
}

// consult parses src with the HCL library, without evaluating it.
func consult(src string) verdict {
	var v verdict
	file, diags := hclsyntax.ParseConfig([]byte(src), "", hcl.InitialPos)
	v.syntax = !diags.HasErrors()
	v.entries = map[string]string{}
	if !v.syntax {
		return v
	}
	body := file.Body.(*hclsyntax.Body)
	v.lock, v.literal = len(body.Attributes) == 0, true
	for _, b := range body.Blocks {
		if b.Type == "module" {
			v.lock = v.lock && len(b.Labels) == 1
			continue
		}
		if b.Type != "provider" || len(b.Labels) != 1 {
			v.lock = false
			continue
		}
		if _, twice := v.entries[b.Labels[0]]; twice {
			v.lock = false
		}
		v.provider(b)
	}
	return v
}

func (v *verdict) provider(b *hclsyntax.Block) {
	p, err := addrs.ParseProvider(b.Labels[0])
	if err != nil || p.String() != b.Labels[0] || p.IsBuiltIn() || p.IsLegacy() || len(b.Body.Blocks) > 0 {
		v.lock = false
	}
	var parts []string
	for _, name := range []string{"version", "constraints"} {
		text := ""
		if a := b.Body.Attributes[name]; a != nil {
			var ok bool
			if text, ok = v.text(a.Expr); !ok {
				v.lock = false
			}
		}
		parts = append(parts, text)
	}
	version, err := addrs.ParseVersion(parts[0])
	if err != nil || version.String() != parts[0] {
		v.lock = false
	}
	c, err := addrs.ParseProviderConstraint(parts[1])
	if err != nil || c.String() != parts[1] {
		v.lock = false
	}
	for name, a := range b.Body.Attributes {
		switch name {
		case "version", "constraints":
		case "hashes":
			hashes := v.hashes(a.Expr)
			slices.Sort(hashes)
			parts = append(parts, slices.Compact(hashes)...)
		default:
			v.lock = false
		}
	}
	v.entries[b.Labels[0]] = strings.Join(parts, "|")
}

func (v *verdict) hashes(e hclsyntax.Expression) []string {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		v.lock = false
		if _, ok := v.text(e); !ok {
			v.literal = false
		}
		return nil
	}
	var out []string
	for _, e := range list.Exprs {
		text, ok := v.text(e)
		h, err := checksum.ParseHash(text)
		if !ok || err != nil || h.String() != text {
			v.lock = false
		}
		out = append(out, text)
	}
	v.lock = v.lock && len(out) > 0
	return out
}

// text returns what e says if it is nothing but a text in quotes.
func (v *verdict) text(e hclsyntax.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok {
		v.literal = false
		return "", false
	}
	out := ""
	for _, part := range t.Parts {
		lit, ok := part.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.Type().FriendlyName() != "string" {
			v.literal = false
			return "", false
		}
		out += lit.Val.AsString()
	}
	return out, true
}

// TestRandomFiles does what the fuzz targets do with files that are HCL, or nearly.
func TestRandomFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		src := generator{rand.New(rand.NewPCG(seed, 1))}.file()
		checkStrict(t, src)
		checkLenient(t, src)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, src)
		}
	}
}

// A generator writes files with blanks, comments and unknown content in all places.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

// most returns usual nine times of ten.
func (g generator) most(usual string, of ...string) string {
	if g.IntN(10) > 0 {
		return usual
	}
	return g.one(of...)
}

func (g generator) repeat(upTo int, f func() string) string {
	var b strings.Builder
	for range g.IntN(upTo + 1) {
		b.WriteString(f())
	}
	return b.String()
}

// gap is what may stand between the tokens of a line.
func (g generator) gap() string { return g.most(" ", "", "\t", " /* c */ ", "/**/", "   ") }

// eol ends a line.
func (g generator) eol() string {
	return g.most("\n", " # c\n", "\r\n", "// c ${ \"\n", "\n\n", "\n  /* a\n b */\n", "\n# c\n", " ", "")
}

// fill is what may stand between the elements of a list.
func (g generator) fill() string { return g.gap() + g.most("\n", "", "# c\n", "\n// d \"\n\n") }

func (g generator) file() string {
	src := g.most("", "\ufeff", "\n", "# a\n#b\n\n", "/* a */\n\n", "# a\n") + g.repeat(4, func() string {
		if g.IntN(8) == 0 {
			return g.unknown()
		}
		return g.provider()
	}) + g.most("", "# the end", "\n", "}", " ")
	if g.IntN(3) == 0 { // something is missing, or too much
		i, j := g.IntN(len(src)+1), g.IntN(3)
		src = src[:i] + g.one("", "", "\"", "{", "}", "[", "]", ",", "\n", "=", "#", "${", "<<A\n", "/*", "*/", "\\", "\x00", "é") + src[min(i+j, len(src)):]
	}
	return src
}

func (g generator) provider() string {
	label := g.most("registry.example.com/acme/"+g.one("alpha", "beta", "gamma", "delta"), "acme/alpha", "Registry.example.com/a/b", "terraform.io/builtin/x", "", "a b")
	head := g.one("", "", "# above\n", "/* x */ ", "\n") + "provider" + g.most(" ", "\t", " /* c */") + `"` + label + `"` + g.most(" ", "", " \"x\" ")
	if g.IntN(8) == 0 {
		return head + "{" + g.gap() + g.most(g.version(), "", g.hashes(), "x = 1") + g.gap() + "}" + g.eol()
	}
	return head + "{" + g.eol() + g.most(g.version()+g.eol(), "", g.hashes()+g.eol()) +
		g.repeat(1, func() string { return g.constraints() + g.eol() }) +
		g.repeat(1, func() string { return g.one("# own\n", "\n", g.most("", g.unknown())) }) +
		g.repeat(1, func() string { return g.hashes() + g.eol() }) +
		g.most("", g.version()+g.eol()) + g.most("", "  ", "/* end */ ") + "}" + g.eol()
}

func (g generator) version() string {
	return g.most("  ", "") + "version" + g.gap() + "=" + g.gap() + g.most(`"1.0.0"`, `"1.0"`, `"2.0.0-rc.1"`, `1.0`, `""`, `"\u0031.0.0"`, `"${1}"`, `"x"`)
}

func (g generator) constraints() string {
	return "  constraints" + g.gap() + "=" + g.gap() + g.most(`"~> 1.0"`, `""`, `">=1"`, `["x"]`, `"< 2.0.0, > 1.0.0"`, `null`)
}

func (g generator) hashes() string {
	return "  hashes" + g.gap() + "=" + g.gap() + g.most("["+g.fill()+g.repeat(5, func() string {
		return g.most(g.one(`"a:b"`, `"b:$${c"`, `"`+zh1.String()+`"`, `"`+zh3.String()+`"`, `"`+h1a.String()+`"`), `"h1:"`, `"b"`, `null`, `(1 + 2)`, `"${x}"`, `"`+strings.ToUpper(zh2.String())+`"`) +
			g.fill() + g.most(",", "", ",,") + g.fill()
	})+"]", `"a:b"`, "null", `["a:b"][0]`, "[]")
}

func (g generator) unknown() string {
	value := g.one("1", `"a"`, `"a${b("c")}\""`, "{\n a = 1\n}", "[for a in b : a]", "<<EOT\n a ${b}\nEOT", "<<-X\n\t%{if a}${\"}\"}%{endif}\n\t X", "a ? b : -c", `"$${%%{$ % "`)
	return g.one(
		"x = "+value+g.eol(),
		"module \"a\" {\n  x = "+value+"\n  y {\n  }\n}"+g.eol(),
		"future \"a\" b {"+g.eol()+"}"+g.eol(),
	)
}
