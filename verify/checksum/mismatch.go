package checksum

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MismatchError says that a package is not the one that was described. No policy
// accepts it.
type MismatchError struct {
	Filename string // of the archive as stated; may be empty
	Source   string // who described it: "signed SHA256SUMS", "SHA256SUMS", "hashes stated by the source" or "accepted hashes"
	Want     []Hash // what was stated, or accepted
	Got      []Hash // what the package has
}

// Error names the file, the source and the hashes, of each at most three.
func (e *MismatchError) Error() string {
	if len(e.Want) == 0 {
		return fmt.Sprintf("%s does not match the %s: there are none", packageName(e.Filename), e.Source)
	}
	return fmt.Sprintf("%s does not match the %s: want %s, got %s", packageName(e.Filename), e.Source, some(e.Want), some(e.Got))
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

func packageName(filename string) string {
	if filename == "" {
		return "package"
	}
	return fmt.Sprintf("package %.200q", filename)
}

// some lists hashes, each once, but not a whole lock file of them.
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

// SizeError says that an archive has not the size that its source states. No
// policy accepts it.
type SizeError struct {
	Filename  string // of the archive as stated; may be empty
	Want, Got int64  // in bytes
}

// Error names the file and both sizes.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, %d are stated", packageName(e.Filename), e.Got, e.Want)
}

// Is reports whether target is [ErrMismatch].
func (e *SizeError) Is(target error) bool { return target == ErrMismatch }
