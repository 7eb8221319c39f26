package layout_test

import (
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFloors compares the picture of docs/architecture.md with the packages of all modules: each is there with the first sentence of
// its comment, or the part before a comma or colon, unless it is for tests or internal, and imports between folders go down, but for those in the table below it.
func TestFloors(t *testing.T) {
	t.Parallel()
	_, picture, _ := strings.Cut(readFile(t, "docs/architecture.md"), "```text\n")
	picture, table, _ := strings.Cut(picture, "```\n")
	floor, says := map[string]int{}, map[string]string{}
	for i, part := range strings.Split(picture, "\n\n") { // from the top
		if strings.HasPrefix(part, "tests") {
			i = -1
		}
		for _, m := range regexp.MustCompile(`(?m)^  (\S+) *(.*)$`).FindAllStringSubmatch(part, -1) {
			floor[m[1]], says[m[1]] = i, m[2]
		}
	}
	reasons := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` → (`.*`) \\|").FindAllStringSubmatch(table, -1) {
		for to := range strings.SplitSeq(row[2], ", ") {
			reasons[row[1]+" → "+strings.Trim(to, "`")] = true
		}
	}
	room := func(dir string) string { r, _, _ := strings.Cut(dir, "/"); return r }
	ups := map[string]bool{}
	_, list := parse(t, func(dir string) bool {
		return regexp.MustCompile(`(^|/)examples$|/bench$|^(contrib/.*|workdir)/internal$`).MatchString(dir)
	})
	for _, p := range list {
		for _, file := range p.files {
			if text := new(doc.Package).Synopsis(file.Doc.Text()); text != "" {
				sentence := strings.TrimSuffix(strings.TrimPrefix(text, "Package "+p.name+" "), ".")
				if _, listed := says[p.dir]; !listed {
					t.Errorf("the picture of docs/architecture.md lacks %s", p.dir)
				}
				if rest, ok := strings.CutPrefix(sentence, says[p.dir]); !ok || says[p.dir] == "" && p.public() || says[p.dir] != "" && rest != "" && !strings.ContainsAny(rest[:1], ",:") {
					t.Errorf("the picture of docs/architecture.md says of %s %q, its comment %q", p.dir, says[p.dir], sentence)
				}
				delete(says, p.dir)
			}
			for _, to := range imports(file) {
				to, own := strings.CutPrefix(to, modulePath+"/")
				if own && room(to) != room(p.dir) && floor[to] < floor[p.dir] {
					ups[room(p.dir)+" → "+room(to)] = true
				}
			}
		}
	}
	for dir := range says {
		t.Errorf("the picture has package %s, which has no comment or does not exist", dir)
	}
	if !maps.Equal(ups, reasons) || len(ups) > 9 {
		t.Errorf("imports go up:\n got %q\nwant those with a reason, at most 9: %q", slices.Sorted(maps.Keys(ups)), slices.Sorted(maps.Keys(reasons)))
	}
}

// TestStability checks that the comment of each public package says in its first paragraph whether it is meant for 1.0, as docs/stability.md
// does.
func TestStability(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/stability.md")
	_, meant, _ := strings.Cut(text, "\nMeant for 1.0: ")
	meant, experimental, _ := strings.Cut(meant, "\nExperimental, ")
	experimental, _, _ = strings.Cut(experimental, ".\n")
	_, list := parse(t, func(dir string) bool { return regexp.MustCompile(`(^|/)(examples|bench|internal)$`).MatchString(dir) })
	if len(list) < 38 {
		t.Errorf("found %d public packages, want at least 38", len(list))
	}
	for _, p := range list {
		var first string
		for _, file := range p.files {
			paragraph, _, _ := strings.Cut(file.Doc.Text(), "\n\n")
			first += strings.Join(strings.Fields(paragraph), " ")
		}
		for sentence, names := range map[string]string{"It is meant for 1.0.": meant, "It is experimental.": experimental} {
			if says, listed := strings.Contains(first, sentence), strings.Contains(names, "`"+p.dir+"`"); says != listed {
				t.Errorf("%s: the comment says %q: %t; docs/stability.md: %t", p.dir, sentence, says, listed)
			}
		}
		if !strings.Contains(meant+experimental, "`"+p.dir+"`") {
			t.Errorf("docs/stability.md does not say what package %s is meant for", p.dir)
		}
	}
}

// TestWalks checks that the walks through the code in docs/architecture.md name files and directories that exist, and
// functions, types and tests that are declared in one of these directories.
func TestWalks(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/architecture.md")
	known := map[string]bool{"h1": true, "zh": true, "SHA256SUMS": true}
	declared := map[string]string{} // the functions and types of a directory, each between spaces
	_, list := packages(t)
	for _, p := range list {
		known[p.name] = true
		for _, file := range p.files {
			for _, decl := range file.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					declared[p.dir] += " " + d.Name.Name + " "
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						if s, ok := spec.(*ast.TypeSpec); ok {
							declared[p.dir] += " " + s.Name.Name + " "
						}
					}
				}
			}
		}
	}
	for _, title := range []string{"A download", "A publication", "How a cache serves an archive that it does not have"} {
		_, walk, _ := strings.Cut(text, "\n## "+title+"\n")
		walk, _, _ = strings.Cut(walk, "\n## ")
		var dirs, names []string
		for _, m := range regexp.MustCompile("`([\\w./]+)`").FindAllStringSubmatch(walk, -1) {
			at := m[1]
			if strings.HasSuffix(at, ".go") && !strings.Contains(at, "/") {
				at = path.Join(dirs[len(dirs)-1], at)
			}
			if !strings.Contains(at, "/") {
				names = append(names, at)
				continue
			}
			info, err := os.Stat(filepath.Join(root, at))
			if err != nil {
				t.Errorf("%s: %v", title, err)
			} else if !info.IsDir() {
				at = path.Dir(at)
			}
			dirs = append(dirs, at)
		}
		for _, name := range names {
			if first, _, _ := strings.Cut(name, "."); known[first] {
				continue // TestMarkdownNames checks provider.Source
			}
			name = name[strings.LastIndex(name, ".")+1:]
			if !slices.ContainsFunc(dirs, func(dir string) bool {
				return strings.Contains(declared[dir], " "+name+" ") || strings.HasPrefix(name, "Test") && hasTest(t, dir, name)
			}) {
				t.Errorf("%s names %s, which is in none of %q", title, name, dirs)
			}
		}
		if len(names) < 8 {
			t.Errorf("%s names %q only", title, names)
		}
	}
}
