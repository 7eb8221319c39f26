package checksum

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/failure"
)

var (
	ErrMismatch  = errors.New("checksum mismatch") // such as [*MismatchError] and [*SizeError]
	ErrEmptyHash = errors.New("hash has no value") // such as "h1:"
	ErrIrregular = errors.New("irregular file")    // such as a link in a directory
	ErrArchive   = failure.ErrArchive              // an archive is damaged, or must not be unpacked
)

// HashError is the error of [ParseHash].
type HashError struct {
	Input  string // unchecked; Error quotes it
	Reason string // for people
	err    error
}

func (e *HashError) Error() string { return fmt.Sprintf("hash %.80q: %s", e.Input, e.Reason) }

// Unwrap returns [ErrEmptyHash] or nil.
func (e *HashError) Unwrap() error { return e.err }

// MismatchError means that a package is not as described.
type MismatchError struct {
	Filename string // of the archive as stated; may be empty
	Source   string // of Want, for people, such as "accepted hashes"
	Want     []Hash // stated or accepted
	Got      []Hash // of the package, or as stated if it was not read
}

func (e *MismatchError) Error() string {
	if len(e.Want) == 0 {
		return fmt.Sprintf("%s does not match the %s: the list is empty", packageName(e.Filename), e.Source)
	}
	return fmt.Sprintf("%s does not match the %s: want %s, got %s", packageName(e.Filename), e.Source, some(e.Want), some(e.Got))
}

func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

func packageName(filename string) string {
	if filename == "" {
		return "package"
	}
	return fmt.Sprintf("package %.200q", filename)
}

// some returns at most three different hashes and the number of others.
func some(hashes []Hash) string {
	const most = 3
	var texts []string
	for _, h := range hashes {
		if !slices.Contains(texts, h.String()) {
			texts = append(texts, h.String())
		}
	}
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most], fmt.Sprintf("%d more", more))
	}
	return cmp.Or(strings.Join(texts, " or "), "none")
}

// SizeError means that an archive does not have the stated size.
type SizeError struct {
	Filename  string // as in [MismatchError]
	Want, Got int64  // in bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is %d bytes, want %d", packageName(e.Filename), e.Got, e.Want)
}

func (e *SizeError) Is(target error) bool { return target == ErrMismatch }
