package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

const modulePath = "github.com/tofureg/tofureg"

// root is the path of the directory with go.mod.
const root = "../.."

// A goPackage is a package with its parsed files, without tests.
type goPackage struct {
	dir   string // slash path below the module's root
	name  string // package name
	files []*ast.File
}

// packages parses every package of the module.
func packages(t *testing.T) (*token.FileSet, []goPackage) {
	t.Helper()
	return parse(t, ownModule)
}

// parse parses every package in a directory that is not skipped.
func parse(t *testing.T, skip func(dir string) bool) (*token.FileSet, []goPackage) {
	t.Helper()
	fset := token.NewFileSet()
	byDir := map[string]*goPackage{}
	var order []string
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); p != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || skip(p)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, filepath.FromSlash(p)), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(p)
		if byDir[dir] == nil {
			byDir[dir] = &goPackage{dir: dir, name: file.Name.Name}
			order = append(order, dir)
		}
		byDir[dir].files = append(byDir[dir].files, file)
		return nil
	})
	must.Do(t, err)
	list := make([]goPackage, len(order))
	for i, dir := range order {
		list[i] = *byDir[dir]
	}
	return fset, list
}

// ownModule reports whether the directory is the root of another Go module.
func ownModule(dir string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir), "go.mod"))
	return err == nil
}

// imports returns the import paths of a file by the name they have in it.
func imports(file *ast.File) map[string]string {
	m := map[string]string{}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		m[name] = p
	}
	return m
}

// thirdParty reports whether the import path belongs to another module.
func thirdParty(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return strings.Contains(first, ".") && p != modulePath && !strings.HasPrefix(p, modulePath+"/")
}

// public reports whether the package is meant for other modules.
func (r goPackage) public() bool {
	return r.name != "main" && !strings.Contains("/"+r.dir+"/", "/internal/") && !strings.HasPrefix(r.dir, "examples/")
}
