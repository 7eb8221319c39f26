package main

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// words are the words that inputs are combined from.
type words struct {
	words []string
	texts []string
}

var word = regexp.MustCompile(`(?s)[A-Za-z0-9]+|.`)

// longest is the maximum length of a text to split or combine.
const longest = 16 << 10

// collectWords splits the inputs of all targets, the strings in the source and the vectors.
func collectWords(corpus map[string][]input) (*words, error) {
	texts, known := map[string]bool{}, map[string]bool{}
	add := func(text string) {
		if text == "" || len(text) > longest {
			return
		}
		texts[text] = true
		for _, w := range word.FindAllString(text, -1) {
			known[w] = true
		}
	}
	for _, inputs := range corpus {
		for _, in := range inputs {
			for _, v := range in.values() {
				add(v.text)
			}
		}
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") && !strings.Contains(name, "/vectors/") {
			return err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, text := range stringsIn(name, source) {
			add(text)
		}
		return nil
	})
	w := &words{}
	for text := range texts {
		w.texts = append(w.texts, text)
	}
	for text := range known {
		w.words = append(w.words, text)
	}
	slices.Sort(w.texts) // the order of a map would make -seed worthless
	slices.Sort(w.words)
	return w, err
}

// stringsIn returns the string literals of a source file. JSON has the same ones, nearly.
func stringsIn(name string, source []byte) []string {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(name, -1, len(source)), source, func(token.Position, string) {}, 0)
	var list []string
	for {
		switch _, tok, lit := s.Scan(); tok {
		case token.EOF:
			return list
		case token.STRING:
			if text, err := strconv.Unquote(lit); err == nil {
				list = append(list, text)
			}
		}
	}
}

// A value is one argument of a fuzz function: kind(literal), and the text that a string or []byte has.
type value struct {
	kind, literal, text string
}

func (v value) textual() bool { return v.kind == "string" || v.kind == "[]byte" }

// values returns the arguments of the input.
func (in input) values() []value {
	var list []value
	for line := range strings.SplitSeq(string(in), "\n") {
		kind, rest, ok := strings.Cut(line, "(")
		literal, closed := strings.CutSuffix(rest, ")")
		if !ok || !closed {
			continue
		}
		v := value{kind: kind, literal: literal}
		if v.textual() {
			v.text, _ = strconv.Unquote(literal)
		}
		list = append(list, v)
	}
	return list
}

// mix returns one of the inputs, some of its arguments taken from others, and some words of one
// argument replaced, added, removed and repeated.
func (w *words) mix(rng *rand.Rand, inputs []input) input {
	values := inputs[rng.IntN(len(inputs))].values()
	var textual []int
	for i, v := range values {
		if v.textual() {
			textual = append(textual, i)
		}
		if other := inputs[rng.IntN(len(inputs))].values(); rng.IntN(4) == 0 && len(other) == len(values) {
			values[i] = other[i]
		}
	}
	if len(textual) > 0 {
		i := textual[rng.IntN(len(textual))]
		values[i].literal = strconv.Quote(w.change(rng, values[i].text))
	}
	b := []byte("go test fuzz v1\n")
	for _, v := range values {
		b = append(b, v.kind+"("+v.literal+")\n"...)
	}
	return input(b)
}

func (w *words) change(rng *rand.Rand, text string) string {
	if rng.IntN(4) == 0 {
		text = pick(rng, w.texts)
	}
	list := word.FindAllString(text, -1)
	for range rng.IntN(7) {
		i := rng.IntN(len(list) + 1)
		j := min(len(list), i+1+rng.IntN(6))
		switch rng.IntN(6) {
		case 0, 1:
			list = slices.Replace(list, i, min(i+1, len(list)), pick(rng, w.words))
		case 2:
			list = slices.Insert(list, i, pick(rng, w.words))
		case 3:
			list = slices.Insert(list, i, word.FindAllString(span(rng, pick(rng, w.texts)), -1)...)
		case 4:
			list = slices.Delete(list, i, j)
		case 5:
			list = slices.Insert(list, j, slices.Clone(list[i:j])...)
		}
	}
	made := strings.Join(list, "")
	return made[:min(len(made), longest)]
}

// span returns a part of the text.
func span(rng *rand.Rand, text string) string {
	i := rng.IntN(len(text) + 1)
	j := i + rng.IntN(len(text)+1-i)
	return text[i:j]
}

func pick(rng *rand.Rand, list []string) string { return list[rng.IntN(len(list))] }
