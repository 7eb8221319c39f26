package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestNoConcreteTypes checks that no code but tests asserts, or finds with a function As, a type of ours that is not an
// interface: a wrapper would lose what the code does for that type. Errors may be asserted, and what a context or a pool has.
func TestNoConcreteTypes(t *testing.T) {
	t.Parallel()
	fset, list := parse(t, func(string) bool { return false }) // with the modules below contrib
	own := concreteTypes(list)
	asserted := 0
	for _, p := range list {
		for _, file := range p.files {
			asserted += checkAssertions(file, p.dir, own, func(at ast.Node, name string) {
				t.Errorf("%s: %s is asserted behind an interface, so a wrapper loses it; assert an interface", fset.Position(at.Pos()), name)
			})
		}
	}
	if asserted == 0 {
		t.Error("no assertion was found at all")
	}
}

// TestFindsConcreteTypes checks that each way to assert a concrete type is found.
func TestFindsConcreteTypes(t *testing.T) {
	t.Parallel()
	const declarations = `package a
		import "github.com/tofureg/tofureg/b"
		type S struct{}; type N int; type I interface{ M() }; type E struct{}; func (*E) Error() string { return "" }
		type SA = b.B; type EA = E
		type G[T any] struct{}
		func f(v I, err error, ctx C) {`
	for code, want := range map[string]int{
		`_ = v.(*S)`: 1, `_ = v.(*SA)`: 1, `_ = v.(*EA)`: 0, `_ = v.(N)`: 1, `_ = v.(*b.B)`: 1, `_ = v.(*G[int])`: 1, `switch v.(type) { case nil, *S: case N: case I: }`: 2,
		`_, _ = b.As[*b.B](v)`: 1, `_, _ = As[S](v)`: 1, `_, _ = wrap.As[*S, I](v)`: 1,
		`_ = v.(I)`: 0, `_ = err.(*E)`: 0, `_ = ctx.Value(k).(*S)`: 0, `_ = pool.Get().(*S)`: 0, `_ = v.(*http.Transport)`: 0,
		`_ = v.(interface{ M() })`: 0, `_, _ = b.As[I](v)`: 0, `_ = v.(b.J)`: 0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "a.go", declarations+code+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		other, err := parser.ParseFile(fset, "b.go", "package b; type B struct{}; type J interface{}", 0)
		if err != nil {
			t.Fatal(err)
		}
		own := concreteTypes([]goPackage{{"a", "a", []*ast.File{file}}, {"b", "b", []*ast.File{other}}})
		found := 0
		checkAssertions(file, "a", own, func(ast.Node, string) { found++ })
		if found != want {
			t.Errorf("%s: %d assertions of concrete types are found, want %d", code, found, want)
		}
	}
}

// concreteTypes returns the types that are neither interfaces nor errors, as PATH.NAME.
func concreteTypes(list []goPackage) map[string]bool {
	types, aliases := map[string]bool{}, map[string]string{}
	for _, p := range list {
		errors := map[string]bool{}
		for _, file := range p.files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "Error" && f.Recv != nil {
					errors[typeName(f.Recv.List[0].Type, p.dir, nil)] = true
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					_, isInterface := spec.Type.(*ast.InterfaceType)
					name := p.dir + "." + spec.Name.Name
					if types[name] = !isInterface; spec.Assign.IsValid() {
						aliases[name] = typeName(spec.Type, p.dir, imports(file))
					}
				}
				return true
			})
		}
		for name := range errors {
			delete(types, name)
		}
	}
	for name, of := range aliases {
		types[name] = types[of]
	}
	return types
}

// typeName returns a type of ours, without pointers and arguments, as PATH.NAME, or "".
func typeName(e ast.Expr, dir string, imported map[string]string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X, dir, imported)
	case *ast.ParenExpr:
		return typeName(e.X, dir, imported)
	case *ast.IndexExpr:
		return typeName(e.X, dir, imported)
	case *ast.IndexListExpr:
		return typeName(e.X, dir, imported)
	case *ast.Ident:
		return dir + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if p, ours := strings.CutPrefix(imported[x.Name], modulePath+"/"); ours {
				return p + "." + e.Sel.Name
			}
		}
	}
	return ""
}

// checkAssertions reports assertions of concrete types, and returns how many assertions there are.
func checkAssertions(file *ast.File, dir string, own map[string]bool, report func(ast.Node, string)) (n int) {
	imported := imports(file)
	check := func(e ast.Expr) {
		n++
		if name := typeName(e, dir, imported); own[name] {
			report(e, path.Base(name))
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TypeAssertExpr:
			if node.Type != nil && !isKept(node.X) {
				check(node.Type)
			}
		case *ast.TypeSwitchStmt:
			for _, c := range node.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					check(e)
				}
			}
		case *ast.CallExpr:
			switch fun := node.Fun.(type) {
			case *ast.IndexExpr:
				if calledName(fun.X) == "As" {
					check(fun.Index)
				}
			case *ast.IndexListExpr:
				if calledName(fun.X) == "As" {
					check(fun.Indices[0])
				}
			}
		}
		return true
	})
	return n
}

// isKept reports whether e is what a context or a pool has. Only the code that has put it there knows the key or the pool.
func isKept(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	name := calledName(call.Fun)
	return name == "Value" && len(call.Args) == 1 || name == "Get" && len(call.Args) == 0
}

// calledName returns the name of a function or method without its package.
func calledName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
