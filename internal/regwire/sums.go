package regwire

import (
	"bytes"
	"fmt"

	"github.com/tofureg/tofureg/verify"
)

// CheckSums returns an error if the CLIs cannot read a SHA256SUMS document that verify.ParseSums reads as sums. It is
// for publishers.
func CheckSums(doc []byte, sums *verify.Sums) error {
	seen := map[string]bool{}
	n := 0
	for line := range bytes.SplitSeq(bytes.TrimSuffix(doc, []byte("\n")), []byte("\n")) {
		n++
		words := bytes.Fields(line)
		if len(words) == 0 {
			return fmt.Errorf("SHA256SUMS line %d is blank, where clients crash", n)
		}
		if len(words) == 1 || seen[string(words[1])] {
			continue
		}
		// Clients take the first line with the name, whatever its digest is.
		name := string(words[1])
		seen[name] = true
		if h, ok := sums.Lookup(name); ok && h.Value() != string(bytes.ToLower(words[0])) {
			return fmt.Errorf("SHA256SUMS line %d: clients cannot read the digest of %.100q: %.100q", n, name, words[0])
		}
	}
	for name := range sums.All() {
		if !seen[name] {
			return fmt.Errorf("SHA256SUMS: clients do not find %.100q behind an asterisk; write two spaces", name)
		}
	}
	return nil
}
