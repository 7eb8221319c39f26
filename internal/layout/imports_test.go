package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
)

// TestImports compares the import tables of docs/architecture.md with the code, in both directions. Of modules below
// contrib, the table has internal packages only.
func TestImports(t *testing.T) {
	t.Parallel()
	table := parseImportTable(readFile(t, "docs/architecture.md"))
	if len(table) == 0 {
		t.Fatal("docs/architecture.md has no import table")
	}
	_, list := packages(t)
	for _, r := range append(list, contrib(t)...) {
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
				case !relevant || strings.HasPrefix(r.dir, "contrib/") && !strings.HasPrefix(p, modulePath+"/internal/"):
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

// contrib parses the package at the root of each module below contrib.
func contrib(t *testing.T) (list []goPackage) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "contrib", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files below contrib: %v", err)
	}
	byDir := map[string][]*ast.File{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
		dir := "contrib/" + filepath.Base(filepath.Dir(name))
		byDir[dir] = append(byDir[dir], file)
	}
	for dir, files := range byDir {
		list = append(list, goPackage{dir: dir, files: files})
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
// net/http, no OpenPGP and no HCL.
func TestLight(t *testing.T) {
	t.Parallel()
	heavy := []string{"net/http", "github.com/ProtonMail/go-crypto", "github.com/cloudflare/circl", "github.com/hashicorp/hcl"}
	light := map[string][]string{
		"./addrs":             heavy,
		"./disco/svchost":     heavy,
		"./failure":           heavy,
		"./verify":            {"net/http", "os/exec", "github.com/hashicorp/hcl"},
		"./provider/lockfile": heavy,
		"./provider/...":      {"net/http", "github.com/hashicorp/hcl"},
		"./module":            append(heavy, "github.com/tofureg/tofureg/provider"),
		"./regclient":         {"github.com/hashicorp/hcl"},
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
