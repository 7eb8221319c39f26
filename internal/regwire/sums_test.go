package regwire_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/regwire"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

// TestCheckSums has documents that verify.ParseSums reads. cliconfig.TestRealSums gives such ones to the CLIs.
func TestCheckSums(t *testing.T) {
	t.Parallel()
	const sum = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for doc, want := range map[string]string{
		"":                                    "line 1 is blank",
		sum + "  a.zip\n" + sum + "  b.zip\n": "",
		sum + "\ta.zip \r\n# the b.zip\n" + strings.ToUpper(sum) + " b.zip": "",
		sum + "  a.zip\n" + sum + sum + "  a.zip\n":                         "",
		sum + "  a.zip\n\n":                              "line 2 is blank",
		sum + "  a.zip\n \t\r\n" + sum + "  b.zip\n":     "line 2 is blank",
		"\ufeff" + sum + "  a.zip\n":                     "line 1: clients cannot read the digest of \"a.zip\"",
		"#\n" + sum + sum + "  a.zip\n" + sum + " a.zip": "line 2: clients cannot read the digest of \"a.zip\"",
		"# a.zip\n" + sum + "  a.zip\n":                  "line 1: clients cannot read the digest of \"a.zip\"",
		sum + "  a.zip\n" + sum + " *b.zip\n":            "do not find \"b.zip\" behind an asterisk",
	} {
		sums := must.Get(verify.ParseSums([]byte(doc)))(t)
		if err := regwire.CheckSums([]byte(doc), sums); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckSums of %q: %v, want %q", doc, err, want)
		}
	}
}
