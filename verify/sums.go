package verify

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The maximum sizes of documents in bytes.
const (
	MaxSums      = 1 << 20  // a SHA256SUMS document
	MaxSignature = 64 << 10 // a signature
)

// maxSumsLines is the maximum number of lines of a SHA256SUMS document.
const maxSumsLines = 10_000

// Sums is a parsed SHA256SUMS document: the digests of archives and other files of a
// provider version.
type Sums struct {
	names  []string // in the order of the document
	hashes map[string]checksum.Hash
}

// ParseSums parses a SHA256SUMS document as both CLIs do. If the first word of a line is a digest of 64 hex digits in
// either case, the second word is the name of a file. White space separates words, and later words are ignored.
// Other lines are ignored too, such as comments, BSD lines and SHA-512 digests.
//
// Unlike the CLIs, ParseSums never chooses between two digests of one name; they are an error. It ignores names
// that are not UTF-8 or contain control characters. It permits an asterisk before a name, a byte order mark
// before the first line, and blank lines.
//
// A document with text but without files is an error. Beyond [MaxSums] bytes or 10,000 lines the error wraps
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
func ParseSums(doc []byte) (*Sums, error) {
	if len(doc) > MaxSums {
		return nil, fmt.Errorf("SHA256SUMS: %w: %d bytes, %d are allowed", failure.ErrTooLarge, len(doc), MaxSums)
	}
	s := &Sums{hashes: map[string]checksum.Hash{}}
	n, ignored := 0, 0 // ignored is the first line with text but without a file
	for line := range bytes.Lines(bytes.TrimPrefix(doc, []byte("\ufeff"))) {
		n++
		if n > maxSumsLines {
			return nil, fmt.Errorf("SHA256SUMS line %d: %w: more than %d lines", n, failure.ErrTooLarge, maxSumsLines)
		}
		name, h := parseSumsLine(line)
		old, listed := s.hashes[name]
		switch {
		case name == "":
			if ignored == 0 && len(bytes.TrimSpace(line)) > 0 {
				ignored = n
			}
		case !listed:
			s.names = append(s.names, name)
			s.hashes[name] = h
		case old != h:
			return nil, fmt.Errorf("SHA256SUMS line %d: second digest for %.100q", n, name)
		}
	}
	if len(s.names) == 0 && ignored > 0 {
		return nil, fmt.Errorf("SHA256SUMS line %d: want a digest of 64 hex digits and a name, and no other line has them", ignored)
	}
	return s, nil
}

// parseSumsLine returns the name and the digest of a file, or "" if the line has none.
func parseSumsLine(line []byte) (string, checksum.Hash) {
	var words [2][]byte
	n := 0
	for word := range bytes.FieldsSeq(line) {
		words[n] = word
		if n++; n == len(words) {
			break
		}
	}
	var sum [32]byte
	if len(words[0]) != 2*len(sum) {
		return "", checksum.Hash{}
	}
	if _, err := hex.Decode(sum[:], words[0]); err != nil {
		return "", checksum.Hash{}
	}
	name := strings.TrimLeft(string(words[1]), "*")
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", checksum.Hash{}
	}
	return name, checksum.ZHSum(sum)
}

// Lookup returns the digest of the file as a zh. name is as in the document.
func (s *Sums) Lookup(name string) (checksum.Hash, bool) {
	h, ok := s.hashes[name]
	return h, ok
}

// All yields names and digests in the order of the document.
func (s *Sums) All() iter.Seq2[string, checksum.Hash] {
	return func(yield func(string, checksum.Hash) bool) {
		for _, name := range s.names {
			if !yield(name, s.hashes[name]) {
				return
			}
		}
	}
}

// listed returns the hashes of all files, sorted. s may be nil.
func (s *Sums) listed() []checksum.Hash {
	if s == nil {
		return nil
	}
	return checksum.Sorted(slices.Collect(maps.Values(s.hashes)))
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
	return s == o || s != nil && o != nil && maps.Equal(s.hashes, o.hashes)
}
