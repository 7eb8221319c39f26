package layout_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestDocumented checks that each package and each exported name of a public package has a comment,
// that a package comment has at most 55 lines, and that the comment of a function or type starts with
// its name.
func TestDocumented(t *testing.T) {
	t.Parallel()
	fset, list := packages(t)
	checked := 0
	for _, r := range list {
		if r.name == "main" {
			continue
		}
		c := &docCheck{t: t, fset: fset}
		hasPackageComment := false
		for _, file := range r.files {
			hasPackageComment = hasPackageComment || file.Doc != nil
			if lines := strings.Count(file.Doc.Text(), "\n"); lines > 55 {
				t.Errorf("%s: the package comment has %d lines, want at most 55", r.dir, lines)
			}
			if r.public() {
				c.file(file)
			}
		}
		if !hasPackageComment {
			t.Errorf("%s has no package comment", r.dir)
		}
		checked += c.names
	}
	if checked == 0 {
		t.Fatal("no exported name was found")
	}
	t.Logf("%d exported names checked", checked)
}

// TestExamples checks that each public package, of all modules, has an Example that runs.
func TestExamples(t *testing.T) {
	t.Parallel()
	_, list := parse(t, func(dir string) bool { return regexp.MustCompile(`(^|/)(examples|bench|internal)$`).MatchString(dir) })
	if len(list) < 38 {
		t.Errorf("found %d public packages, want at least 38", len(list))
	}
	for _, p := range list {
		if !slices.ContainsFunc(must.Get(filepath.Glob(filepath.Join(root, p.dir, "*_test.go")))(t), func(name string) bool {
			text := must.Get(os.ReadFile(name))(t)
			if !bytes.Contains(text, []byte("\nfunc Example")) {
				return false
			}
			file := must.Get(parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments))(t)
			return slices.ContainsFunc(doc.Examples(file), func(e *doc.Example) bool { return e.Output != "" })
		}) {
			t.Errorf("package %s has no Example with an output", p.dir)
		}
	}
}

// known are methods of well-known interfaces, which need a comment only if they do more than the
// interface says.
var known = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "MarshalText": true, "UnmarshalText": true, "LogValue": true, "ServeHTTP": true,
}

type docCheck struct {
	t     *testing.T
	fset  *token.FileSet
	names int
}

func (c *docCheck) file(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) && !(d.Recv != nil && d.Doc == nil && known[d.Name.Name]) {
				c.sentence(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.spec(d, spec)
			}
		}
	}
}

func (c *docCheck) spec(d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		doc := s.Doc
		if doc == nil {
			doc = d.Doc
		}
		c.sentence(s.Name, doc)
		switch typ := s.Type.(type) {
		case *ast.StructType:
			c.fields(s.Name.Name, typ.Fields)
		case *ast.InterfaceType:
			c.fields(s.Name.Name, typ.Methods)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil && (d.Doc == nil || d.Lparen.IsValid() && len(d.Specs) > 12) {
				c.names++
				c.t.Errorf("%s: %s has no comment", c.fset.Position(name.Pos()), name)
			}
		}
	}
}

func (c *docCheck) fields(owner string, list *ast.FieldList) {
	for i, field := range list.List {
		for _, name := range field.Names {
			if !name.IsExported() {
				continue
			}
			c.names++
			// A comment also covers the fields that follow its field without a blank line.
			documented := field.Doc != nil || field.Comment != nil || i > 0 && c.adjacent(list.List[i-1], field)
			if !documented {
				c.t.Errorf("%s: %s.%s has no comment", c.fset.Position(name.Pos()), owner, name)
			}
		}
	}
}

func (c *docCheck) adjacent(before, field *ast.Field) bool {
	return before.Doc != nil && c.fset.Position(before.End()).Line+1 == c.fset.Position(field.Pos()).Line
}

func (c *docCheck) sentence(name *ast.Ident, doc *ast.CommentGroup) {
	c.names++
	if doc == nil {
		c.t.Errorf("%s: %s has no comment", c.fset.Position(name.Pos()), name)
		return
	}
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if !strings.HasPrefix(text, name.Name) {
		c.t.Errorf("%s: the comment of %s does not start with its name", c.fset.Position(name.Pos()), name)
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

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

// TestClosedLists checks that the constants of an exported type of text are exported.
func TestClosedLists(t *testing.T) {
	t.Parallel()
	_, list := packages(t)
	checked := 0
	for _, r := range list {
		for _, file := range r.files {
			for _, decl := range file.Decls {
				d, ok := decl.(*ast.GenDecl)
				if !ok || d.Tok != token.CONST || !r.public() {
					continue
				}
				for _, spec := range d.Specs {
					s := spec.(*ast.ValueSpec)
					typ, named := s.Type.(*ast.Ident)
					if !named || !typ.IsExported() {
						continue
					}
					if checked++; !s.Names[0].IsExported() {
						t.Errorf("%s: constant %s of type %s is not exported", r.dir, s.Names[0], typ)
					}
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("checked %d constants, want at least 30", checked)
	}
}
