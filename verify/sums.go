package verify

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/verify/checksum"
)

// maxSumsLines is the maximum number of lines of a SHA256SUMS document.
const maxSumsLines = 10_000

// Sums is a parsed SHA256SUMS document: digests of the files of a version.
type Sums struct {
	names  []string                   // in the order of the document
	hashes map[string][]checksum.Hash // one of each scheme
}

// ParseSums parses a SHA256SUMS document. As for both CLIs, the first word of a line is a digest of 64 hex digits in
// either case, and the second is the name of a file, which may follow an asterisk. Later words, blank lines, lines that
// start with #, BSD lines, digests of other algorithms and a byte order mark at the start are ignored.
//
// Unlike in the CLIs, any other line is an error, and so are two digests of a name. Names must be UTF-8 without control
// characters. The error wraps [github.com/tofureg/tofureg/failure.ErrTooLarge] beyond 1 MiB or 10,000 lines.
func ParseSums(doc []byte) (*Sums, error) {
	if len(doc) > scheme.MaxSums {
		return nil, fmt.Errorf("SHA256SUMS: %w: %d bytes, %d are allowed", failure.ErrTooLarge, len(doc), scheme.MaxSums)
	}
	s := &Sums{hashes: map[string][]checksum.Hash{}}
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(doc, []byte("\ufeff"))) {
		n++
		if n > maxSumsLines {
			return nil, fmt.Errorf("SHA256SUMS line %d: %w: more than %d lines", n, failure.ErrTooLarge, maxSumsLines)
		}
		if problem := s.add(line); problem != "" {
			return nil, fmt.Errorf("SHA256SUMS line %d: %s", n, problem)
		}
	}
	return s, nil
}

// bsdLine is a line of the BSD tools, such as "SHA512 (a.zip) = 0123".
var bsdLine = regexp.MustCompile(`^\s*[A-Z][0-9A-Z/-]* ?\(.*\) ?= ?[0-9A-Fa-f]+\s*$`)

// add adds one line. It returns what is wrong with the line, or "".
func (s *Sums) add(line []byte) string {
	var words [2][]byte
	n := 0
	for word := range bytes.FieldsSeq(line) {
		words[n] = word
		if n++; n == len(words) {
			break
		}
	}
	if n == 0 || words[0][0] == '#' {
		return ""
	}
	name := strings.TrimLeft(string(words[1]), "*")
	sum, err := hex.DecodeString(string(words[0]))
	of, known := scheme.Sized(len(sum))
	switch {
	case err != nil && bsdLine.Match(line):
		return ""
	case err != nil || name == "":
		return "want a digest of 64 hex digits and a name"
	case !known && slices.Contains([]int{16, 20, 28, 48, 64}, len(sum)):
		return "" // of MD5, SHA-1, SHA-224, SHA-384 or SHA-512
	case !known:
		return "want a digest of 64 hex digits"
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name has a control character"
	}
	h, err := checksum.ParseHash(of.Name + ":" + string(words[0]))
	if err != nil {
		return err.Error()
	}
	old := s.hashes[name]
	switch {
	case slices.Contains(old, h):
		return ""
	case hashlist.Has(old, of.Name):
		return fmt.Sprintf("second digest for %.100q", name)
	case len(old) == 0:
		s.names = append(s.names, name)
	}
	s.hashes[name] = append(old, h)
	return ""
}

// Lookup returns the zh of the file with this name.
func (s *Sums) Lookup(name string) (checksum.Hash, bool) {
	for _, h := range s.hashes[name] {
		if h.Scheme() == checksum.SchemeZH {
			return h, true
		}
	}
	return checksum.Hash{}, false
}

// All yields names and digests in the order of the document.
func (s *Sums) All() iter.Seq2[string, checksum.Hash] {
	return func(yield func(string, checksum.Hash) bool) {
		for _, name := range s.names {
			for _, h := range s.hashes[name] {
				if !yield(name, h) {
					return
				}
			}
		}
	}
}

// listed returns the hashes of all files, sorted. s may be nil.
func (s *Sums) listed() []checksum.Hash {
	if s == nil {
		return nil
	}
	return hashlist.Sorted(slices.Collect(maps.Values(s.hashes))...)
}

// MarshalText formats s like sha256sum.
func (s *Sums) MarshalText() ([]byte, error) {
	var text []byte
	for name, h := range s.All() {
		text = fmt.Appendf(text, "%s  %s\n", h.Value(), name)
	}
	return text, nil
}

func (s *Sums) UnmarshalText(text []byte) error {
	parsed, err := ParseSums(text)
	if err == nil {
		*s = *parsed
	}
	return err
}

// Equal reports whether s and o list the same files and digests, or are both nil.
func (s *Sums) Equal(o *Sums) bool {
	return s == o || s != nil && o != nil && maps.EqualFunc(s.hashes, o.hashes, slices.Equal)
}
