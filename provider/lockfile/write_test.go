package lockfile_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestQuoting compares the texts in quotes with those of the library that the CLI
// writes with.
func TestQuoting(t *testing.T) {
	t.Parallel()
	hashes := []string{`a:"`, `a:\`, `a:\n`, `a:${x}`, `a:%{x}`, `a:$${x`, `a:%%{`, `a:$`, `a:$%{`, `a:{`, `$:{`, `a:$$`}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		s := []byte("a:")
		for range 1 + random.IntN(6) {
			s = append(s, `"\${}%:nua!~`[random.IntN(12)])
		}
		hashes = append(hashes, string(s))
	}
	for _, s := range hashes {
		h := checksum.MustParseHash(s)
		f := &lockfile.File{}
		merge(t, f, alpha, v1, addrs.ProviderConstraint{}, h)
		text := string(f.Bytes())
		if !strings.Contains(text, "\n    "+quotedByHCL(s)+",\n") {
			t.Errorf("%s is not %s in\n%s", s, quotedByHCL(s), text)
		}
		if got := parse(t, text).Accept(alpha, v1); len(got) != 1 || got[0] != h {
			t.Errorf("%s was read back as %v", s, got)
		}
	}
	for _, s := range []string{"über.example.com/acme/alpha", "registry.example.com:8443/ß/日本"} {
		p, f := addrs.MustParseProvider(s), &lockfile.File{}
		merge(t, f, p, v1, addrs.ProviderConstraint{})
		text := string(f.Bytes())
		if !strings.Contains(text, "\nprovider "+quotedByHCL(p.String())+" {\n") {
			t.Errorf("%s is not %s in\n%s", p, quotedByHCL(p.String()), text)
		}
		if !parse(t, text).Equal(f) {
			t.Errorf("%s was not read back from\n%s", p, text)
		}
	}
}

// quotedByHCL returns s as the label of a block.
func quotedByHCL(s string) string {
	f := hclwrite.NewEmptyFile()
	f.Body().AppendNewBlock("x", []string{s})
	return strings.TrimSuffix(strings.TrimPrefix(string(f.Bytes()), "x "), " {\n}\n")
}
