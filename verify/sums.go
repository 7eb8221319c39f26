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

	"github.com/tofureg/tofureg/verify/checksum"
)

// The largest documents that this package looks at, in bytes. Whoever fetches them
// need not read further.
const (
	MaxSums      = 4 << 20  // a SHA256SUMS document
	MaxSignature = 64 << 10 // a signature
)

// maxSumsLines bounds the lines of a SHA256SUMS document.
const maxSumsLines = 10_000

// Sums is a parsed SHA256SUMS document: the digests of all files of one version of
// a provider. That a document parses says nothing about who wrote it.
type Sums struct {
	names  []string // in the order of the document
	hashes map[string]checksum.Hash
}

// ParseSums parses what the sha256sum program writes: lines of 64 hex digits, a
// space, a space or an asterisk, and a name. Digits may be in either case. Blank
// lines, CRLF line ends and a missing last line end are tolerated, as is a line that
// repeats another one.
//
// Everything else is an error, never a guess: a line of another form, a control
// character or a space at either end of a name, one name with two digests. It is a
// *SumsError, which wraps [checksum.ErrTooLarge] for more than [MaxSums] bytes or 10,000
// lines.
func ParseSums(doc []byte) (*Sums, error) {
	if len(doc) > MaxSums {
		return nil, &SumsError{Reason: fmt.Sprintf("%d bytes, %d are allowed", len(doc), MaxSums), err: checksum.ErrTooLarge}
	}
	s := &Sums{hashes: map[string]checksum.Hash{}}
	n := 0
	for line := range bytes.Lines(doc) {
		n++
		if n > maxSumsLines {
			return nil, &SumsError{Line: n, Reason: fmt.Sprintf("more than %d lines", maxSumsLines), err: checksum.ErrTooLarge}
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			continue
		}
		if reason := s.add(line); reason != "" {
			return nil, &SumsError{Line: n, Reason: reason}
		}
	}
	return s, nil
}

// add takes one line and returns what is wrong with it.
func (s *Sums) add(line []byte) string {
	var sum [32]byte
	if len(line) < 67 || line[64] != ' ' || line[65] != ' ' && line[65] != '*' {
		return "not a digest, two spaces and a name"
	}
	if _, err := hex.Decode(sum[:], line[:64]); err != nil {
		return "not a digest of 64 hex digits"
	}
	name := string(line[66:])
	switch {
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "a control character in the name"
	case strings.TrimSpace(name) != name:
		return "space at an end of the name"
	}
	h := checksum.ZHSum(sum)
	old, ok := s.hashes[name]
	switch {
	case !ok:
		s.names = append(s.names, name)
		s.hashes[name] = h
	case old != h:
		return fmt.Sprintf("a second, other digest for %.100q", name)
	}
	return ""
}

// Lookup returns the digest of the file as a zh hash. The name must be exactly that
// of the document; what a document lists with a path is not found without it.
func (s *Sums) Lookup(name string) (checksum.Hash, bool) {
	h, ok := s.hashes[name]
	return h, ok
}

// All yields name and digest of every file, in the order of the document.
func (s *Sums) All() iter.Seq2[string, checksum.Hash] {
	return func(yield func(string, checksum.Hash) bool) {
		for _, name := range s.names {
			if !yield(name, s.hashes[name]) {
				return
			}
		}
	}
}

// listed returns the hashes of all files, none if s is nil.
func (s *Sums) listed() []checksum.Hash {
	if s == nil {
		return nil
	}
	return checksum.Sorted(slices.Collect(maps.Values(s.hashes)))
}

// MarshalText returns the document in the form of the sha256sum program.
func (s *Sums) MarshalText() ([]byte, error) {
	var text []byte
	for name, h := range s.All() {
		text = fmt.Appendf(text, "%s  %s\n", h.Value(), name)
	}
	return text, nil
}

// UnmarshalText parses the text by [ParseSums].
func (s *Sums) UnmarshalText(text []byte) error {
	parsed, err := ParseSums(text)
	if err == nil {
		*s = *parsed
	}
	return err
}

// Equal reports whether both documents list the same files with the same digests.
func (s *Sums) Equal(o *Sums) bool {
	return s == o || s != nil && o != nil && maps.Equal(s.hashes, o.hashes)
}

// Len returns the number of files.
func (s *Sums) Len() int { return len(s.names) }

// SumsError is the error of [ParseSums].
type SumsError struct {
	Line   int    // counted from 1; 0: the document as a whole
	Reason string // for people
	err    error
}

// Error returns the line number and the reason.
func (e *SumsError) Error() string {
	if e.Line == 0 {
		return "SHA256SUMS: " + e.Reason
	}
	return fmt.Sprintf("SHA256SUMS line %d: %s", e.Line, e.Reason)
}

// Unwrap returns [checksum.ErrTooLarge] for a document that is too large, otherwise nil.
func (e *SumsError) Unwrap() error { return e.err }
