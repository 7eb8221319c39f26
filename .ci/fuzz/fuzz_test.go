package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestMixMakesInputs(t *testing.T) {
	w := &words{words: []string{"a", "\xff", "(", "\n"}, texts: []string{`provider "x" {`, "git::https://a.example//b?ref=1"}}
	in := input("go test fuzz v1\nbyte('²')\n[]byte(\"{\\\"a\\\":1}\")\nstring(\"b\")\nint(3)\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		made := w.mix(rng, []input{in}).values()
		if len(made) != 4 || made[0].literal != "'²'" || made[3].literal != "3" {
			t.Fatalf("values = %q", made)
		}
		for _, v := range made[1:3] {
			if text, err := strconv.Unquote(v.literal); err != nil || len(text) > longest {
				t.Fatalf("literal %s: %d bytes, %v", v.literal, len(text), err)
			}
		}
	}
}

func TestCorpusSameBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".ci", 0o755); err != nil {
		t.Fatal(err)
	}
	corpus, err := readCorpus()
	if err != nil || len(corpus) != 0 {
		t.Fatalf("without a file: %v, %v", corpus, err)
	}
	for i := range 100 {
		corpus["a/FuzzA"] = append(corpus["a/FuzzA"], input(fmt.Sprintf("go test fuzz v1\nint(%d)\n", i)))
	}
	write := func() string {
		if err := writeCorpus(corpus); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(corpusFile)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := write()
	if corpus, err = readCorpus(); err != nil || len(corpus["a/FuzzA"]) != 100 {
		t.Fatalf("read %d inputs, %v", len(corpus["a/FuzzA"]), err)
	}
	slices.Reverse(corpus["a/FuzzA"])
	if write() != first {
		t.Error("the same inputs in another order make another file")
	}
}

// TestWork runs the targets of a module of its own: what reaches nothing is dropped, a hidden statement
// is found by mixing, the target falls quiet, a statement that is reached by chance counts as new though
// no input is kept for it, what fuzzes nothing is an error, and the input on which a target fails is kept.
func TestWork(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"go.mod": "module m.example\n\ngo 1.26\n",
		"p/p.go": `package p

// Known answers whether the text is a known one.
func Known(s string) bool {
	if s == "vertical" {
		return true
	}
	if s == "vertical-bar" {
		return true
	}
	return false
}
`,
		"p/p_test.go": `package p

import (
	"os"
	"testing"
)

func FuzzKnown(f *testing.F) {
	f.Add("horizontal")
	f.Fuzz(func(t *testing.T, s string) { Known(s) })
}

func FuzzOnce(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := os.Stat("second"); err == nil && s == "b" {
			os.Remove("second")
			Known("vertical")
		}
	})
}

func FuzzFails(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1 {
			t.Error("long")
		}
	})
}
`,
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := &workspace{tmp: t.TempDir(), fuzz: t.TempDir(), cover: t.TempDir(), binaries: map[string]*binary{}}
	for _, dir := range []string{w.fuzz, w.cover} {
		if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
			t.Fatal(err)
		}
	}
	targets, err := w.targets(nil)
	if err != nil || len(targets) != 3 || targets[1].name() != "p/FuzzKnown" || targets[2].name() != "p/FuzzOnce" {
		t.Fatalf("targets = %v, %v", targets, err)
	}

	known := targets[1]
	known.kept = []input{"go test fuzz v1\nstring(\"vertical\")\n", "go test fuzz v1\nstring(\"other\")\n"}
	words := &words{words: []string{"-", "bar", "x"}, texts: []string{"horizontal"}}
	if err := known.work(t.Context(), options{quiet: time.Millisecond, mix: 20000, seed: 1}, words); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, in := range known.kept {
		texts = append(texts, in.values()[0].text)
	}
	if !slices.Equal(texts, []string{"vertical", "vertical-bar"}) || known.quiet == 0 || known.cpu == 0 {
		t.Errorf("kept %q, quiet %v of %v", texts, known.quiet, known.cpu)
	}

	once := targets[2]
	if err := once.work(t.Context(), options{save: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.cover, "p", "second"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before := len(once.known)
	if err := once.minimize(t.Context(), []input{"go test fuzz v1\nstring(\"b\")\n", "go test fuzz v1\nstring(\"c\")\n"}); err != nil {
		t.Fatal(err)
	}
	if len(once.known) == before || len(once.kept) != 0 {
		t.Errorf("%d statements, %d before, kept %q", len(once.known), before, once.kept)
	}

	none := &target{workspace: w, pkg: "p", fuzz: "FuzzNone"}
	if _, err := none.run(t.Context(), time.Second); err == nil {
		t.Error("a target that does not exist was fuzzed")
	}

	if err := targets[0].work(t.Context(), options{time: time.Minute}, nil); err == nil {
		t.Error("FuzzFails did not fail")
	}
	if kept, err := readInputs("p/testdata/fuzz/FuzzFails", map[string]bool{}); err != nil || len(kept) != 1 {
		t.Errorf("%d failing inputs kept, %v", len(kept), err)
	}
}
