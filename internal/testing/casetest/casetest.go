// Package casetest reads cases of tests from files in testdata, so that a case can be added without Go.
//
// Each line is a case, with its fields in order and spaces between them. A field that is empty, or has a space, a quote
// or an unprintable character, is in quotes as in Go: "a\tb" or `a b`. "ab"*3 stands for ababab. Parts that touch are
// one field: https://example.com/"x"*100 is a long URL. Fields left out at the end are empty. Empty lines count for
// nothing, nor does what follows a field that starts with #.
//
// Texts of several lines are in sections, each after a line "-- NAME --", as in an archive of txtar. In them ␍ stands for a carriage
// return, and ␄ before the end of a line for no line feed.
package casetest

import (
	"encoding"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Read returns the cases of testdata/name. T is a struct with exported fields: texts, bools, integers, texts with commas
// between them ([]string), and types that read their text ([encoding.TextUnmarshaler]).
func Read[T any](t testing.TB, name string) []T {
	t.Helper()
	var all []T
	for n, line := range strings.Split(file(t, name), "\n") {
		fields, err := split(line)
		if len(fields) == 0 && err == nil {
			continue
		}
		all = append(all, *new(T))
		to := reflect.ValueOf(&all[len(all)-1]).Elem()
		if err == nil && len(fields) > to.NumField() {
			err = fmt.Errorf("%d fields, want at most %d", len(fields), to.NumField())
		}
		for i, field := range fields {
			if err == nil && field != "" {
				err = set(to.Field(i), field)
			}
		}
		if err != nil {
			t.Fatalf("testdata/%s:%d: %v", name, n+1, err)
		}
	}
	if len(all) == 0 {
		t.Fatalf("testdata/%s has no cases", name)
	}
	return all
}

// Pairs returns the cases of a file whose lines have two fields.
func Pairs(t testing.TB, name string) iter.Seq2[string, string] {
	t.Helper()
	pairs := Read[struct{ A, B string }](t, name)
	return func(yield func(string, string) bool) {
		for _, p := range pairs {
			if !yield(p.A, p.B) {
				return
			}
		}
	}
}

// Section is a part of a file with a name and lines.
type Section struct{ Name, Text string }

// Sections returns the sections of testdata/name.
func Sections(t testing.TB, name string) []Section {
	t.Helper()
	var all []Section
	for line := range strings.Lines(file(t, name)) {
		head, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		if head, end := strings.CutSuffix(head, " --"); ok && end {
			all = append(all, Section{Name: head})
		} else if len(all) > 0 {
			all[len(all)-1].Text += signs.Replace(line)
		}
	}
	if len(all) == 0 {
		t.Fatalf("testdata/%s has no sections", name)
	}
	return all
}

var signs = strings.NewReplacer("␍", "\r", "␄\n", "")

func file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// split returns the fields of a line.
func split(line string) (fields []string, err error) {
	for {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		if line == "" || line[0] == '#' {
			return fields, nil
		}
		field := ""
		for line != "" && line[0] != ' ' && line[0] != '\t' {
			if line[0] != '"' && line[0] != '`' {
				n := strings.IndexAny(line+" ", " \t\"`")
				field, line = field+line[:n], line[n:]
				continue
			}
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("no end of a quoted text: %s", line)
			}
			text, _ := strconv.Unquote(quoted)
			line = line[len(quoted):]
			if times, ok := strings.CutPrefix(line, "*"); ok {
				digits := len(times) - len(strings.TrimLeft(times, "0123456789"))
				n, err := strconv.Atoi(times[:digits])
				if err != nil || n > 1<<20 {
					return nil, fmt.Errorf("want a number after %s*", quoted)
				}
				text, line = strings.Repeat(text, n), times[digits:]
			}
			field += text
		}
		fields = append(fields, field)
	}
}

func set(to reflect.Value, field string) (err error) {
	if from, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return from.UnmarshalText([]byte(field))
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(field)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(field)
		to.SetBool(b)
	case reflect.Int, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(field, 10, 64)
		to.SetInt(n)
	case reflect.Slice:
		to.Set(reflect.ValueOf(strings.Split(field, ",")))
	default:
		err = fmt.Errorf("cannot read a %s", to.Type())
	}
	return err
}
