package checksum

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	ErrMismatch  = errors.New("checksum mismatch") // such as [*MismatchError], or another size
	ErrEmptyHash = errors.New("hash has no value") // such as "h1:"
	ErrIrregular = errors.New("irregular file")    // such as a link in a directory
)

// MismatchError means that a package is not as described.
type MismatchError struct {
	Filename string // as stated; may be empty
	Source   string // of Want, for people, such as "accepted hashes"
	Want     []Hash // stated or accepted
	Got      []Hash // of the package, or stated if it was not read
}

func (e *MismatchError) Error() string {
	name := "package"
	if e.Filename != "" {
		name = fmt.Sprintf("package %.200q", e.Filename)
	}
	if len(e.Want) == 0 {
		return fmt.Sprintf("%s does not match the %s: the list is empty", name, e.Source)
	}
	return fmt.Sprintf("%s does not match the %s: want %s, got %s", name, e.Source, some(e.Want), some(e.Got))
}

func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

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
