package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
)

// TestThreats checks that each row of docs/threats.md names a test, and that each named test exists.
func TestThreats(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`")
	rows := 0
	for line := range strings.Lines(readFile(t, "docs/threats.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(strings.TrimSpace(line), "shown by |") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test is named in: %s", line)
		}
		for _, test := range tests {
			if !hasTest(t, test[1], test[2]) {
				t.Errorf("package %s has no %s", test[1], test[2])
			}
		}
	}
	if rows < 20 {
		t.Errorf("found %d rows in docs/threats.md, want at least 20", rows)
	}
}

// hasTest reports whether a test file in the directory of a package declares the function.
func hasTest(t *testing.T, pkg, function string) bool {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")))(t)
	for _, file := range files {
		code := must.Get(os.ReadFile(file))(t)
		if strings.Contains(string(code), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}
