package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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

// TestSnippets checks that the Go code of README.md and docs/*.md consists of functions of the files
// *_snippets_test.go, which compile and which tests run, and that no function there is left over. The code of other
// Markdown files is a part of a test beside them.
func TestSnippets(t *testing.T) {
	t.Parallel()
	functions := snippetFunctions(t)
	used := map[string]bool{}
	indent := regexp.MustCompile(`(?m)^\t+|[ \t]+(//.*)?$`)
	for _, file := range markdownFiles(t) {
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readFile(t, file), -1) {
			if dir := path.Dir(file); dir != "." && dir != "docs" {
				code := indent.ReplaceAllString(block[1], "")
				if !slices.ContainsFunc(must.Get(filepath.Glob(filepath.Join(root, dir, "*_test.go")))(t), func(name string) bool {
					return strings.Contains(indent.ReplaceAllString(string(must.Get(os.ReadFile(name))(t)), ""), "\n"+code)
				}) {
					t.Errorf("%s: this code is in no test beside it:\n%s", file, block[1])
				}
				continue
			}
			for part := range strings.SplitSeq(block[1], "\n\nfunc ") {
				code := strings.TrimSpace(part)
				if !strings.HasPrefix(code, "func ") {
					code = "func " + code
				}
				name, ok := functions[code]
				if !ok {
					t.Errorf("%s: this code is not a function of a file *_snippets_test.go:\n%s", file, code)
				}
				used[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Values(functions)) {
		if !used[name] {
			t.Errorf("function %s is in no document", name)
		}
	}
}

// snippetFunctions returns the names of the functions in the files *_snippets_test.go by their text.
func snippetFunctions(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*_snippets_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snippets: %q, %v", files, err)
	}
	for _, dir := range moduleDirs(t) {
		files = append(files, must.Get(filepath.Glob(filepath.Join(root, dir, "*_snippets_test.go")))(t)...)
	}
	functions := map[string]string{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		fset := token.NewFileSet()
		parsed := must.Get(parser.ParseFile(fset, file, text, 0))(t)
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				functions[string(text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset])] = f.Name.Name
			}
		}
	}
	return functions
}

// TestReadme checks that README.md stays short, shows the two commands of a first look, and names
// each public package.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	if lines := strings.Count(readme, "\n"); lines >= 150 {
		t.Errorf("README.md has %d lines, want fewer than 150", lines)
	}
	for _, command := range []string{"go run ./examples/quickstart\n", "go test ./...\n"} {
		if !strings.Contains(readme, "\n"+command) {
			t.Errorf("README.md does not show the command %q", command)
		}
	}
	for _, p := range publicPaths(t) {
		if name := strings.TrimPrefix(p, modulePath+"/"); !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not name package %s", name)
		}
	}
}

// TestPictures checks that the pictures are those that .ci/pictures makes of docs/performance.md, and that README.md shows
// them.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./.ci/pictures", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run ./.ci/pictures: %v\n%s", err, out)
	}
	files := must.Get(os.ReadDir(dir))(t)
	if len(files) != 2 {
		t.Errorf("%d pictures, want 2", len(files))
	}
	readme := readFile(t, "README.md")
	for _, file := range files {
		if string(must.Get(os.ReadFile(filepath.Join(dir, file.Name())))(t)) != readFile(t, "docs/"+file.Name()) {
			t.Errorf("docs/%s is not what go run ./.ci/pictures makes", file.Name())
		}
		if !strings.Contains(readme, "](docs/"+file.Name()+")") {
			t.Errorf("README.md does not show docs/%s", file.Name())
		}
	}
	names := slices.Collect(maps.Values(publicPaths(t)))
	for _, m := range regexp.MustCompile(`class="name"[^>]*>([^<]*)<`).FindAllStringSubmatch(readFile(t, "docs/way.svg"), -1) {
		if !slices.Contains(names, modulePath+"/"+m[1]) {
			t.Errorf("docs/way.svg names package %s, which does not exist", m[1])
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t))
}
