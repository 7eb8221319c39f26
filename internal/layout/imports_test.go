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

// TestImports compares the import tables of docs/architecture.md with the code, in both directions. Of modules below
// the core, the table has internal packages only.
func TestImports(t *testing.T) {
	t.Parallel()
	table := parseImportTable(readFile(t, "docs/architecture.md"))
	if len(table) == 0 {
		t.Fatal("docs/architecture.md has no import table")
	}
	_, list := packages(t)
	dirs := moduleDirs(t)
	for _, r := range append(list, besides(t)...) {
		if strings.HasPrefix(r.dir, "examples/") || r.dir == "internal/layout" {
			continue
		}
		allowed, ok := table[r.dir]
		if !ok {
			t.Errorf("%s is not in the import table of docs/architecture.md", r.dir)
			continue
		}
		delete(table, r.dir)
		used := map[string]bool{}
		for _, file := range r.files {
			for _, p := range imports(file) {
				entry, relevant := tableEntry(p, allowed)
				switch {
				case !relevant || slices.Contains(dirs, r.dir) && !strings.HasPrefix(p, modulePath+"/internal/"):
				case entry == "":
					t.Errorf("%s imports %s, which the table does not allow", r.dir, p)
				default:
					used[entry] = true
				}
			}
		}
		for _, entry := range allowed {
			if !used[entry] {
				t.Errorf("the table lists the import %[2]s of %[1]s, which does not import it", r.dir, entry)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(table)) {
		t.Errorf("the table has package %s, which does not exist", dir)
	}
}

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

// besides parses the package at the root of each module beside the core.
func besides(t *testing.T) (list []goPackage) {
	t.Helper()
	for _, dir := range moduleDirs(t) {
		p := goPackage{dir: dir}
		for _, name := range must.Get(filepath.Glob(filepath.Join(root, dir, "*.go")))(t) {
			if !strings.HasSuffix(name, "_test.go") {
				p.files = append(p.files, must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t))
			}
		}
		list = append(list, p)
	}
	return list
}

// TestGeneral checks that the internal packages which docs/architecture.md lists as without knowledge of
// registries and hosts import only each other, the errors of package failure, and other modules.
func TestGeneral(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/architecture.md")
	_, text, found := strings.Cut(text, "Internal packages without knowledge of them:\n")
	text, _, ended := strings.Cut(text, "For tests only:\n")
	if !found || !ended {
		t.Fatal("docs/architecture.md has no table of general packages")
	}
	general := parseImportTable(text)
	if len(general) < 5 {
		t.Errorf("the table of general packages has %d rows, want at least 5", len(general))
	}
	for dir, allowed := range general {
		for _, entry := range allowed {
			if _, ok := general[entry]; !ok && entry != "failure" && !strings.Contains(entry, ".") {
				t.Errorf("%s imports %s, which knows registries and hosts", dir, entry)
			}
		}
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

// tableEntry returns the element of allowed that covers the import path p, or "". The path is
// relevant if it is outside the standard library.
func tableEntry(p string, allowed []string) (entry string, relevant bool) {
	own, isOwn := strings.CutPrefix(p, modulePath+"/")
	if !isOwn && !thirdParty(p) {
		return "", false
	}
	for _, a := range allowed {
		if isOwn && a == own || !isOwn && (a == p || strings.HasPrefix(p, a+"/")) {
			return a, true
		}
	}
	return "", true
}

// parseImportTable reads the rows "| `package` | what | `import`, `import` |".
func parseImportTable(text string) map[string][]string {
	quoted := regexp.MustCompile("`([^`]+)`")
	table := map[string][]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name := quoted.FindStringSubmatch(cells[1])[1]
		table[name] = []string{}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			table[name] = append(table[name], m[1])
		}
	}
	return table
}

// TestLight checks that programs which only parse names, edit lock files or unpack modules link no
// net/http and no OpenPGP, and that no package links a parser of HCL.
func TestLight(t *testing.T) {
	t.Parallel()
	heavy := []string{"net/http", "github.com/ProtonMail/go-crypto", "github.com/cloudflare/circl", "github.com/hashicorp/hcl"}
	light := map[string][]string{
		"./addrs":             heavy,
		"./disco/svchost":     heavy,
		"./failure":           heavy,
		"./verify":            {"net/http", "os/exec"},
		"./provider/lockfile": heavy,
		"./provider/...":      {"net/http"},
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
