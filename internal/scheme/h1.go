package scheme

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// H1 returns the value of the h1 of files: slash-separated names and SHA-256 sums in any order. Repeated names,
// backslashes and newlines are errors.
func H1(files iter.Seq2[string, [32]byte]) (string, error) {
	type file struct {
		name string
		sum  [32]byte
	}
	var list []file
	for name, sum := range files {
		if strings.ContainsAny(name, "\n\\") {
			return "", fmt.Errorf("h1: name %.100q has a newline or a backslash", name)
		}
		list = append(list, file{name, sum})
	}
	slices.SortFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var line bytes.Buffer
	h := sha256.New()
	for i, f := range list {
		if i > 0 && f.name == list[i-1].name {
			return "", fmt.Errorf("h1: duplicate name %.100q", f.name)
		}
		line.Reset()
		fmt.Fprintf(&line, "%x  %s\n", f.sum, f.name)
		h.Write(line.Bytes())
	}
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}
