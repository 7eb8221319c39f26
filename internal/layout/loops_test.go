package layout_test

import (
	"go/ast"
	"strings"
	"testing"
)

// fileCalls are the names of functions and methods that call the system about a file by its name.
var fileCalls = func() map[string]bool {
	calls := map[string]bool{}
	for name := range strings.FieldsSeq(`Chmod Create CreateTemp EvalSymlinks Link Lstat Mkdir MkdirAll MkdirTemp Open OpenFile OpenRoot
		ReadDir ReadFile ReadLink Readdirnames Readlink Remove RemoveAll Rename Rmdir Stat Symlink WriteFile`) {
		calls[name] = true
	}
	return calls
}()

// TestLoopsEnd checks that every loop that calls the system about files looks at a context, or passes it on, or has a bound that
// boundedLoops names: a loop over names or elements that another party chose may be long. It goes by names, also of the
// functions of a package that such a loop calls. The configuration that cliconfig reads is the user's own.
func TestLoopsEnd(t *testing.T) {
	t.Parallel()
	fset, list := packages(t)
	seen := map[string]bool{}
	for _, p := range list {
		if strings.HasPrefix(p.dir, ".") || strings.HasPrefix(p.dir, "examples/") || strings.HasSuffix(p.dir, "test") || p.dir == "cliconfig" {
			continue
		}
		callers, lookers := callersOfSystem(p), lookersAtContext(p)
		for _, file := range p.files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				name := p.dir + nameOf(f)
				ast.Inspect(f.Body, func(n ast.Node) bool {
					var loop ast.Node
					switch n := n.(type) {
					case *ast.ForStmt:
						loop = n
					case *ast.RangeStmt:
						loop = n.Body
					default:
						return true
					}
					call := systemCall(loop, callers)
					switch {
					case call == "" || looksAtContext(loop, lookers):
					case boundedLoops[name] == "":
						t.Errorf("%s: the loop in %s calls %s and looks at no context; name its bound in boundedLoops if it has one", fset.Position(n.Pos()), name, call)
					default:
						seen[name] = true
					}
					return true
				})
			}
		}
	}
	for name := range boundedLoops {
		if !seen[name] {
			t.Errorf("boundedLoops has %s, which has no such loop", name)
		}
	}
}

// callersOfSystem returns the names of the functions and methods of a package that make calls of fileCalls, also by way of each other.
func callersOfSystem(p goPackage) map[string]bool {
	callers := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, file := range p.files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if ok && f.Body != nil && !f.Name.IsExported() && !callers[f.Name.Name] && systemCall(f.Body, callers) != "" {
					callers[f.Name.Name], grown = true, true
				}
			}
		}
	}
	return callers
}

// systemCall returns the name of a call in n that is in fileCalls or callers, or "".
func systemCall(n ast.Node, callers map[string]bool) (found string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if fileCalls[f.Sel.Name] || callers[f.Sel.Name] {
					found = f.Sel.Name
				}
			case *ast.Ident:
				if callers[f.Name] {
					found = f.Name
				}
			}
		}
		return found == ""
	})
	return found
}

// lookersAtContext returns the names of the functions and methods of a package that look at a context themselves.
func lookersAtContext(p goPackage) map[string]bool {
	lookers := map[string]bool{}
	for _, file := range p.files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil && looksAtContext(f.Body, nil) {
				lookers[f.Name.Name] = true
			}
		}
	}
	return lookers
}

// looksAtContext reports whether n mentions a variable or field that is named as contexts are, or one of lookers.
func looksAtContext(n ast.Node, lookers map[string]bool) (looks bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "ctx" || id.Name == "inner" || lookers[id.Name]) {
			looks = true
		}
		return !looks
	})
	return looks
}

// boundedLoops has the loops that look at no context, by their function, and why they end soon.
var boundedLoops = map[string]string{
	"internal/archive.UnpackAhead":        "at most 1,000 files, and reading fails after the end of the context",
	"internal/fsx.newPart":                "at most 100 attempts",
	"internal/fsx.PartDir.put":            "at most 100 attempts",
	"internal/stamp.System.place":         "the parents of a directory that the caller names",
	"module.Cache.open":                   "three directories",
	"module.staging.checkOutside":         "the parents of a directory that the caller names",
	"provider/install.location.acquire":   "the parents of a directory in a plugin directory",
	"provider/install.location.installed": "the parents of a directory in a plugin directory",
}
