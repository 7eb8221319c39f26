package lockfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/provider/lockfile"
)

func TestMaxSize(t *testing.T) {
	t.Parallel()
	data := []byte(canonical + "#" + strings.Repeat("x", lockfile.MaxSize-len(canonical)-1))
	for name, parse := range parsers {
		if f, err := parse(data, ""); err != nil || f.Len() != 2 {
			t.Errorf("%s, n: %v", name, err)
		}
		if _, err := parse(append(data, 'x'), "a\nb"); !errors.Is(err, lockfile.ErrTooLarge) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, n+1: %v", name, err)
		}
	}
}

var parsers = map[string]func([]byte, string) (*lockfile.File, error){"strict": lockfile.Parse, "lenient": lockfile.ParseLenient}

func TestMaxDepth(t *testing.T) {
	t.Parallel()
	deep := func(n int, left, right string) string {
		return "module \"a\" {\n  x = " + strings.Repeat(left, n) + "1" + strings.Repeat(right, n) + "\n}\n"
	}
	for name, parse := range parsers {
		// The block itself is one of them.
		if _, err := parse([]byte(deep(99, "[", "]")), ""); err != nil {
			t.Errorf("%s, n: %v", name, err)
		}
		if _, err := parse([]byte(deep(100, "[", "]")), ""); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
			t.Errorf("%s, n+1: %v", name, err)
		}
		// Each has two layers: the text and what is interpolated.
		if _, err := parse([]byte(deep(50, `"${`, `}"`)), ""); err != nil {
			t.Errorf("%s, n: %v", name, err)
		}
		if _, err := parse([]byte(deep(51, `"${`, `}"`)), ""); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
			t.Errorf("%s, n+1: %v", name, err)
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
}

// TestHostile has large files that cost a careless parser its stack, time or memory. Some of
// them crash the CLI.
func TestHostile(t *testing.T) {
	t.Parallel()
	size := lockfile.MaxSize / 16
	if testing.Short() {
		size = 128 << 10
	}
	fill := func(before, unit string) string { return before + strings.Repeat(unit, (size-len(before))/len(unit)) }
	open := "provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = ["
	for name, src := range map[string]string{
		"signs":        fill("a = ", "!") + "1\n",
		"conditions":   fill("a = ", "a?b:"),
		"braces":       fill("", "a {\n"),
		"brackets":     fill("a = ", "["),
		"texts":        fill("a = ", `"${`),
		"heredocs":     fill("a = ", "<<A\n${"),
		"heredoc":      fill("a = <<A\n", "B\n"),
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
