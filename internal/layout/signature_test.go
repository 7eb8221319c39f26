package layout_test

import (
	"go/ast"
	"testing"
)

// TestSignatures checks that no exported signature has a type of another module, so that a
// dependency can be replaced without breaking callers.
func TestSignatures(t *testing.T) {
	t.Parallel()
	fset, list := packages(t)
	for _, r := range list {
		if !r.public() {
			continue
		}
		for _, file := range r.files {
			names := imports(file)
			for _, expr := range exportedTypes(file) {
				ast.Inspect(expr, func(n ast.Node) bool {
					sel, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					if x, ok := sel.X.(*ast.Ident); ok && thirdParty(names[x.Name]) {
						t.Errorf("%s: %s.%s is in an exported signature", fset.Position(sel.Pos()), x.Name, sel.Sel.Name)
					}
					return true
				})
			}
		}
	}
}

// exportedTypes returns the type expressions that other packages can use.
func exportedTypes(file *ast.File) []ast.Expr {
	var out []ast.Expr
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				out = append(out, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				out = append(out, specTypes(spec)...)
			}
		}
	}
	return out
}

func specTypes(spec ast.Spec) []ast.Expr {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		if s.Type != nil && len(s.Names) > 0 && s.Names[0].IsExported() {
			return []ast.Expr{s.Type}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		structure, ok := s.Type.(*ast.StructType)
		if !ok {
			return []ast.Expr{s.Type}
		}
		var out []ast.Expr
		for _, field := range structure.Fields.List {
			// The fields and methods of an embedded field are visible.
			if len(field.Names) == 0 || field.Names[0].IsExported() {
				out = append(out, field.Type)
			}
		}
		return out
	}
	return nil
}
