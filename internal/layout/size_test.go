package layout_test

import (
	"go/ast"
	"strings"
	"testing"
)

// TestSizes checks that files have at most 260 lines and functions at most 50, so that they can be read.
// The test kits are exempt, and the loop that takes most of the time of an installation.
func TestSizes(t *testing.T) {
	t.Parallel()
	fset, list := packages(t)
	for _, p := range list {
		if strings.HasPrefix(p.dir, "examples/") || strings.HasPrefix(p.dir, "regclient/regtest") {
			continue
		}
		for _, file := range p.files {
			f := fset.File(file.Pos())
			if n := f.LineCount(); n > 260 {
				t.Errorf("%s has %d lines, want at most 260", f.Name(), n)
			}
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || p.dir == "internal/inflate" && fn.Name.Name == "fast" {
					continue
				}
				if n := f.Line(fn.End()) - f.Line(fn.Pos()) + 1; n > 50 {
					t.Errorf("function %s in %s has %d lines, want at most 50", fn.Name.Name, f.Name(), n)
				}
			}
		}
	}
}
