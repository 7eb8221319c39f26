package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// moduleDirs returns the directories of the modules beside the core, without those of examples.
func moduleDirs(t *testing.T) (dirs []string) {
	t.Helper()
	for _, pattern := range []string{"*/go.mod", "contrib/*/go.mod"} {
		dirs = append(dirs, must.Get(fs.Glob(os.DirFS(root), pattern))(t)...)
	}
	for i, file := range dirs {
		dirs[i] = path.Dir(file)
	}
	if len(dirs) < 7 {
		t.Fatalf("modules are in %q only", dirs)
	}
	return dirs
}

// TestModulesStandAlone checks that no module beside the core imports an internal package of the core, also in its tests:
// Go may pair it with a later core, and go mod tidy of a user loads the tests of what it imports.
func TestModulesStandAlone(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, dir := range append(moduleDirs(t), "examples/tofureg", "examples/s3mirror") {
		must.Do(t, filepath.WalkDir(filepath.Join(root, dir), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") {
				return err
			}
			checked++
			for _, p := range imports(must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)) {
				if strings.HasPrefix(p, modulePath+"/") && strings.Contains(p+"/", "/internal/") && !strings.HasPrefix(p, modulePath+"/"+dir+"/") {
					t.Errorf("%s imports %s", name, p)
				}
			}
			return nil
		}))
	}
	if checked < 80 {
		t.Errorf("checked %d files, want all of the modules", checked)
	}
}

// TestRequests compares the packages that have an HTTP client of their own with those that CONTRIBUTING.md names.
func TestRequests(t *testing.T) {
	t.Parallel()
	sentence := regexp.MustCompile(`Only [^.]*\s+makes\s+HTTP\s+requests[^.]*\.`).FindString(readFile(t, "CONTRIBUTING.md"))
	want := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(sentence, -1) {
		want[m[1]] = true
	}
	_, list := packages(t)
	got := map[string]bool{}
	for _, p := range list {
		for _, file := range p.files {
			names := imports(file)
			ast.Inspect(file, func(n ast.Node) bool {
				expr, _ := n.(ast.Expr)
				literal, made := n.(*ast.CompositeLit)
				if made {
					expr = literal.Type
				}
				if sel, ok := expr.(*ast.SelectorExpr); ok {
					x, _ := sel.X.(*ast.Ident)
					got[p.dir] = got[p.dir] || x != nil && names[x.Name] == "net/http" &&
						(sel.Sel.Name == "DefaultClient" || made && sel.Sel.Name == "Client")
				}
				return true
			})
		}
	}
	maps.DeleteFunc(got, func(_ string, has bool) bool { return !has })
	if !maps.Equal(got, want) {
		t.Errorf("HTTP clients are in %q, CONTRIBUTING.md names %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestNoWaitingOpen checks that only internal/fsx calls os.OpenRoot, os.DirFS and (*os.Root).OpenRoot, which wait if a pipe is in place of the
// directory. Other modules of the repository are checked, too; their paths end in "/.", as those of fsx do.
func TestNoWaitingOpen(t *testing.T) {
	t.Parallel()
	waits, checked := regexp.MustCompile(`(\w+)\.(OpenRoot|DirFS)\([^\n]*`), 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(p), root+"/")
		if err != nil || !strings.HasSuffix(name, ".go") || regexp.MustCompile(`_test\.go$|^internal/(fsx|[a-z]*test)/|^examples/|^\.ci/`).MatchString(name) {
			return err
		}
		checked++
		for _, m := range waits.FindAllStringSubmatch(string(must.Get(os.ReadFile(p))(t)), -1) {
			if m[1] != "fsx" && !strings.Contains(m[0], "+ asDirectory)") {
				t.Errorf("%s calls %s, which waits for a pipe: use fsx.OpenRoot, fsx.OpenRootIn or fsx.Tree", name, m[0])
			}
		}
		return nil
	})
	if err != nil || checked < 250 {
		t.Errorf("checked %d files: %v", checked, err)
	}
}

// TestExamplesCanBeCopied checks that the programs of examples import no internal package, which a copy in another
// module could not.
func TestExamplesCanBeCopied(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob(filepath.Join(root, "examples", "*", "*.go")))(t)
	if len(files) < 20 {
		t.Errorf("found %d files, want at least 20", len(files))
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
		for _, p := range imports(file) {
			if strings.HasPrefix(p, modulePath) && strings.Contains(p+"/", "/internal/") {
				t.Errorf("%s imports %s", name, p)
			}
		}
	}
}

// TestLight checks that programs which only parse names, edit lock files or unpack modules link no
// net/http and no OpenPGP, that clients of module registries link no OpenPGP, that
// only modules need xz, and that no package links a parser of HCL.
func TestLight(t *testing.T) {
	t.Parallel()
	heavy := []string{"net/http", "github.com/ProtonMail/go-crypto", "github.com/cloudflare/circl", "github.com/hashicorp/hcl"}
	light := map[string][]string{
		"./addrs":             heavy,
		"./disco/svchost":     heavy,
		"./failure":           heavy,
		"./verify":            {"net/http", "os/exec", "github.com/therootcompany/xz"},
		"./provider/lockfile": heavy,
		"./provider/...":      {"net/http", "github.com/therootcompany/xz"},
		"./module/registry":   {"github.com/ProtonMail/go-crypto", "github.com/cloudflare/circl", "github.com/tofureg/tofureg/provider"},
		"./module":            append(heavy, "github.com/tofureg/tofureg/provider"),
		"./...":               {"github.com/hashicorp/hcl/v2", "github.com/hashicorp/hcl/hcl/parser", "github.com/hashicorp/hcl/json"},
	}
	for pkg, banned := range light {
		cmd := exec.Command("go", "list", "-deps", pkg)
		cmd.Dir = root
		for dep := range strings.FieldsSeq(string(must.Get(cmd.Output())(t))) {
			for _, b := range banned {
				if dep == b || strings.HasPrefix(dep, b+"/") {
					t.Errorf("%s links %s", pkg, dep)
				}
			}
		}
	}
}
