package lockfile_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomFiles does what the fuzz targets do with files that are HCL, or nearly.
func TestRandomFiles(t *testing.T) {
	t.Parallel()
	count := 1000
	if testing.Short() {
		count = 200
	}
	for seed := range uint64(count) {
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
