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

// ParseSums parses the format of sha256sum: 64 hex digits in either case, a space, a space or an asterisk,
// and a name. It accepts an empty document, blank lines, CRLF, a missing last line end, and repeated equal
// lines.
//
// Everything else is an error, which wraps [github.com/tofureg/tofureg/failure.ErrTooLarge]
// beyond [MaxSums] bytes or 10,000 lines.
func ParseSums(doc []byte) (*Sums, error) {
	if len(doc) > MaxSums {
		return nil, fmt.Errorf("SHA256SUMS: %w: %d bytes, %d are allowed", failure.ErrTooLarge, len(doc), MaxSums)
	}
	s := &Sums{hashes: map[string]checksum.Hash{}}
	n := 0
	for line := range bytes.Lines(doc) {
		n++
		if n > maxSumsLines {
			return nil, fmt.Errorf("SHA256SUMS line %d: %w: more than %d lines", n, failure.ErrTooLarge, maxSumsLines)
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			continue
		}
		if problem := s.add(line); problem != "" {
			return nil, fmt.Errorf("SHA256SUMS line %d: %s", n, problem)
		}
	}
	return s, nil
}

// add adds one line. It returns what is wrong with the line, or "".
func (s *Sums) add(line []byte) string {
	var sum [32]byte
	if len(line) < 67 || line[64] != ' ' || line[65] != ' ' && line[65] != '*' {
		return "want a digest, two spaces and a name"
	}
	if _, err := hex.Decode(sum[:], line[:64]); err != nil {
		return "want a digest of 64 hex digits"
	}
	name := string(line[66:])
	switch {
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name has a control character"
	case strings.TrimSpace(name) != name:
		return "the name starts or ends with a space"
	}
	h := checksum.ZHSum(sum)
	old, ok := s.hashes[name]
	switch {
	case !ok:
		s.names = append(s.names, name)
		s.hashes[name] = h
	case old != h:
		return fmt.Sprintf("second digest for %.100q", name)
	}
	return ""
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
