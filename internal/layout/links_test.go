package layout_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestDocLinks checks the doc comments of the public packages, read as pkg.go.dev reads them: each
// link leads to an exported name, and the first mention of a package of this module, as "package NAME",
// or of a name in one, is a link. Comments of fields, interface methods and members of a const or var group are
// shown as they are, so only their links are checked.
func TestDocLinks(t *testing.T) {
	t.Parallel()
	paths := publicPaths(t)
	dirs := []string{}
	for _, p := range paths {
		dirs = append(dirs, strings.TrimPrefix(p, modulePath+"/"))
	}
	dirs = append(dirs, moduleDirs(t)...)
	slices.Sort(dirs)
	symbols := map[string]*comment.Parser{}
	links := 0
	for _, dir := range dirs {
		for _, problem := range docLinks(t, dir, paths, symbols, &links) {
			t.Error(problem)
		}
	}
	if links < 200 {
		t.Errorf("%d links were checked, want at least 200", links)
	}
}

// publicPaths returns the import paths of the public packages by their names.
func publicPaths(t *testing.T) map[string]string {
	t.Helper()
	_, list := packages(t)
	paths := map[string]string{}
	for _, p := range list {
		if p.public() {
			paths[p.name] = path.Join(modulePath, p.dir)
		}
	}
	return paths
}

// docLinks returns what is wrong with the links of one package.
func docLinks(t *testing.T, dir string, paths map[string]string, symbols map[string]*comment.Parser, links *int) []string {
	t.Helper()
	fset, files := parseDir(t, filepath.Join(root, filepath.FromSlash(dir)))
	comments := docComments(files)
	own := must.Get(doc.NewFromFiles(fset, files, path.Join(modulePath, dir)))(t)
	l := &linkCheck{t: t, links: links, own: own.Name, paths: paths, symbols: symbols}
	if first, _, _ := strings.Cut(strings.Join(strings.Fields(own.Doc), " ")+" ", ". "); strings.Contains(first, "[") {
		l.problem("the first sentence of package " + own.Name + " has a link, which lists of packages show as brackets")
	}
	for _, c := range comments {
		l.at, l.linked, l.rendered = fset.Position(c.text.Pos()).String(), map[string]bool{}, c.rendered
		for _, block := range own.Parser().Parse(c.text.Text()).Content {
			l.block(block)
		}
	}
	return l.problems
}

// A docComment is the comment of a package or of an exported name.
type docComment struct {
	text     *ast.CommentGroup
	rendered bool // shown as text with links; other comments are shown as code
}

func docComments(files []*ast.File) []docComment {
	var out []docComment
	add := func(rendered bool, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if g != nil {
				out = append(out, docComment{g, rendered})
			}
		}
	}
	for _, file := range files {
		add(true, file.Doc)
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					add(true, d.Doc)
				}
			case *ast.GenDecl:
				if exportsAny(d) {
					add(true, d.Doc)
					ast.Inspect(d, func(n ast.Node) bool {
						switch n := n.(type) {
						case *ast.TypeSpec:
							if n.Name.IsExported() {
								add(true, n.Doc)
							}
						case *ast.ValueSpec:
							add(false, n.Doc, n.Comment)
						case *ast.Field:
							if len(n.Names) == 0 || n.Names[0].IsExported() {
								add(false, n.Doc, n.Comment)
							}
						}
						return true
					})
				}
			}
		}
	}
	return out
}

// exportsAny reports whether the declaration has an exported constant, variable or type.
func exportsAny(d *ast.GenDecl) bool {
	return slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			return s.Name.IsExported()
		case *ast.ValueSpec:
			return slices.ContainsFunc(s.Names, (*ast.Ident).IsExported)
		}
		return false
	})
}

type linkCheck struct {
	t       *testing.T
	own     string                     // name of the package whose comments are read
	paths   map[string]string          // import paths by package name
	symbols map[string]*comment.Parser // parsers of other packages, which know their names
	links   *int                       // links that were checked

	at       string          // position of the comment
	rendered bool            // as docComment has it
	linked   map[string]bool // import paths and "path.Name" that the comment has linked so far
	problems []string
}

func (l *linkCheck) problem(text string) { l.problems = append(l.problems, l.at+": "+text) }

func (l *linkCheck) block(b comment.Block) {
	switch b := b.(type) {
	case *comment.Paragraph:
		l.text(b.Text)
	case *comment.List:
		for _, item := range b.Items {
			for _, block := range item.Content {
				l.block(block)
			}
		}
	}
}

func (l *linkCheck) text(texts []comment.Text) {
	for _, text := range texts {
		switch x := text.(type) {
		case comment.Plain:
			l.plain(string(x))
		case *comment.DocLink:
			l.docLink(x)
		case *comment.Link:
			l.webLink(x)
		}
	}
}

var (
	bracketed   = regexp.MustCompile(`\[\*?((?:[\w.-]+/)*[A-Za-z_][\w.]*)\]`)
	qualified   = regexp.MustCompile(`\b([a-z]\w+)\.([A-Z]\w*)`)
	placeholder = regexp.MustCompile(`^https?://[A-Z]`)
	spelled     = regexp.MustCompile(`\b[Pp]ackages?\s+([a-z]\w+)`)
)

// plain reports links that were not resolved, and mentions that are not links.
func (l *linkCheck) plain(text string) {
	for _, m := range bracketed.FindAllStringSubmatch(text, -1) {
		last := m[1][strings.LastIndexAny(m[1], "./")+1:]
		if strings.ContainsAny(m[1], "./") || ast.IsExported(last) || l.paths[last] != "" {
			l.problem(m[0] + " is not resolved: use an exported name, an imported package or a full import path")
		}
	}
	if !l.rendered {
		return
	}
	for _, m := range qualified.FindAllStringSubmatch(text, -1) {
		if p := l.paths[m[1]]; p != "" && m[1] != l.own && !l.linked[p+"."+m[2]] {
			l.problem("the first mention of " + m[0] + " is not a link")
			l.linked[p+"."+m[2]], l.linked[p] = true, true
		}
	}
	for _, m := range spelled.FindAllStringSubmatch(text, -1) {
		if p := l.paths[m[1]]; p != "" && m[1] != l.own && !l.linked[p] {
			l.problem("the first mention of package " + m[1] + " is not a link")
			l.linked[p] = true
		}
	}
}

func (l *linkCheck) docLink(x *comment.DocLink) {
	*l.links++
	if x.ImportPath == "" {
		return // the parser has looked the name up
	}
	first := x.Name
	if x.Recv != "" {
		first = strings.TrimPrefix(x.Recv, "*")
	}
	l.linked[x.ImportPath], l.linked[x.ImportPath+"."+first] = true, true
	if thirdParty(x.ImportPath) || x.ImportPath == modulePath {
		return // modulePath is the page of the module
	}
	if names := l.names(x.ImportPath); names == nil {
		l.problem("link to package " + x.ImportPath + ", which does not exist")
	} else if x.Name != "" && !names.LookupSym(strings.TrimPrefix(x.Recv, "*"), x.Name) {
		l.problem("link to " + path.Base(x.ImportPath) + "." + strings.Trim(x.Recv+"."+x.Name, ".") + ", which does not exist")
	}
}

// webLink checks a link to a page of pkg.go.dev about this module, which a definition such as
// "[provider.Package]: https://pkg.go.dev/…/provider#Package" makes, and a link to a document of this repository.
func (l *linkCheck) webLink(x *comment.Link) {
	if placeholder.MatchString(x.URL) {
		l.problem(x.URL + " is a placeholder, which pages show as a link")
	}
	if page, ok := strings.CutPrefix(x.URL, "https://"+modulePath+"/blob/main/"); ok {
		if problem := followLink(l.t, "README.md", page); problem != "" {
			l.problem("link to " + page + ": " + problem)
		}
		return
	}
	p, ok := strings.CutPrefix(x.URL, "https://pkg.go.dev/"+modulePath+"/")
	if !ok {
		return
	}
	p, name, _ := strings.Cut(p, "#")
	recv, method, found := strings.Cut(name, ".")
	if !found {
		recv, method = "", name
	}
	l.docLink(&comment.DocLink{ImportPath: path.Join(modulePath, p), Recv: recv, Name: method})
}

// names returns a parser that knows the exported names of the package, or nil.
func (l *linkCheck) names(importPath string) *comment.Parser {
	if p, ok := l.symbols[importPath]; ok {
		return p
	}
	dir := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(importPath))
	if own, ok := strings.CutPrefix(importPath, modulePath+"/"); ok {
		dir = filepath.Join(root, filepath.FromSlash(own))
	}
	l.symbols[importPath] = nil
	if _, err := build.ImportDir(dir, 0); err == nil {
		fset, files := parseDir(l.t, dir)
		if p, err := doc.NewFromFiles(fset, files, importPath); err == nil {
			l.symbols[importPath] = p.Parser()
		}
	}
	return l.symbols[importPath]
}

// parseDir parses the files of a package that are built on this system, tests left out.
func parseDir(t *testing.T, dir string) (*token.FileSet, []*ast.File) {
	t.Helper()
	pkg := must.Get(build.ImportDir(dir, 0))(t)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file := must.Get(parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments))(t)
		files = append(files, file)
	}
	return fset, files
}

// TestMarkdownLinks checks that each relative link of a Markdown file leads to a file or directory of
// the repository, and each anchor to a heading.
func TestMarkdownLinks(t *testing.T) {
	t.Parallel()
	files := markdownFiles(t)
	for _, want := range []string{"README.md", "docs/architecture.md", ".github/pull_request_template.md"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is missing in the files that were found: %q", want, files)
		}
	}
	links := 0
	for _, file := range files {
		for _, target := range markdownLinks(readFile(t, file)) {
			if strings.Contains(target, ":") {
				continue // another site, or mailto:
			}
			links++
			if problem := followLink(t, file, target); problem != "" {
				t.Errorf("%s: link to %s: %s", file, target, problem)
			}
		}
	}
	if links == 0 {
		t.Error("no relative link was found")
	}
}

// markdownFiles returns the Markdown files of the repository, as slash paths below its root.
func markdownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(p, ".md") {
			files = append(files, p)
		}
		return err
	})
	must.Do(t, err)
	return files
}

// followLink returns what is wrong with a relative link, or "".
func followLink(t *testing.T, file, target string) string {
	t.Helper()
	name, anchor, _ := strings.Cut(target, "#")
	name, err := url.PathUnescape(name)
	if err != nil {
		return err.Error()
	}
	to := file
	if name != "" {
		to = path.Join(path.Dir(file), name)
	}
	if !fs.ValidPath(to) {
		return "outside the repository"
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
		return err.Error()
	}
	if anchor != "" && !slices.Contains(anchors(readFile(t, to)), anchor) {
		return "no heading of " + to + " has this anchor"
	}
	return ""
}

var (
	fenced     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?)[ #]*$`)
)

func markdownLinks(text string) []string {
	text = inlineCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	var targets []string
	for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// anchors returns the anchors of the headings as GitHub makes them: in lower case, with hyphens for
// spaces, without punctuation, and with a number if the page has had the same one before.
func anchors(text string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := linkText.ReplaceAllString(m[1], "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		if n := seen[anchor]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			out = append(out, anchor)
		}
		seen[anchor]++
	}
	return out
}

// TestWine checks that docs/windows.md names the packages and programs whose tests .ci/windows does not run, and that
// other documents refer to it and do not say that all tests have run.
func TestWine(t *testing.T) {
	t.Parallel()
	windows := readFile(t, "docs/windows.md")
	missing := []string{"git", "gpg", "tofu", "terraform"}
	for _, m := range regexp.MustCompile(`= "\$root/([a-z/]+)"`).FindAllStringSubmatch(readFile(t, ".ci/windows"), -1) {
		missing = append(missing, m[1])
	}
	if len(missing) < 5 {
		t.Error("found no package that .ci/windows leaves out")
	}
	for _, name := range missing {
		if !strings.Contains(windows, "`"+name+"`") {
			t.Errorf("docs/windows.md does not name %s", name)
		}
	}
	for _, file := range markdownFiles(t) {
		for paragraph := range strings.SplitSeq(readFile(t, file), "\n\n") {
			if !strings.Contains(paragraph, "Wine 10") || file == "docs/windows.md" {
				continue
			}
			if !strings.Contains(paragraph, "windows.md") && !strings.Contains(paragraph, "skipped") || strings.Contains(paragraph, "all tests have") {
				t.Errorf("%s must refer to docs/windows.md and not speak of all tests:\n%s", file, paragraph)
			}
		}
	}
}

// TestMarkdownNames checks that qualified names in inline code of Markdown files, such as
// `provider.Find`, exist. In docs/migrating.md the first column of a table has names of other modules.
func TestMarkdownNames(t *testing.T) {
	t.Parallel()
	paths := publicPaths(t)
	for _, dir := range moduleDirs(t) {
		paths[path.Base(dir)] = path.Join(modulePath, dir)
	}
	l := &linkCheck{t: t, symbols: map[string]*comment.Parser{}}
	name := regexp.MustCompile(`\b([a-z]\w+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	checked := 0
	for _, file := range markdownFiles(t) {
		for line := range strings.Lines(fenced.ReplaceAllString(readFile(t, file), "")) {
			if file == "docs/migrating.md" && strings.HasPrefix(line, "| ") {
				_, line, _ = strings.Cut(line[2:], " | ")
			}
			for _, code := range inlineCode.FindAllString(line, -1) {
				for _, m := range name.FindAllStringSubmatch(code, -1) {
					if paths[m[1]] == "" || strings.HasPrefix(m[2], "Test") || strings.HasPrefix(m[2], "Fuzz") {
						continue // TestThreats checks names of tests
					}
					checked++
					recv, last := m[2], m[3]
					if last == "" {
						recv, last = "", m[2]
					}
					if !l.names(paths[m[1]]).LookupSym(recv, last) {
						t.Errorf("%s names %s, which does not exist", file, m[0])
					}
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d names were checked, want at least 30", checked)
	}
}

// TestTasks checks that each row of the tables by task, in README.md and docs/architecture.md, names a package with a call or
// type of it. TestMarkdownNames checks that they exist.
func TestTasks(t *testing.T) {
	t.Parallel()
	rows := 0
	for file, head := range map[string]string{"README.md": "| you write |", "docs/architecture.md": "| to | call |"} {
		_, table, _ := strings.Cut(readFile(t, file), "\n"+head)
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range strings.Split(table, "\n")[2:] {
			rows++
			if !regexp.MustCompile("^\\| .* \\| .*`[a-z0-9]+\\.[A-Z]").MatchString(row) {
				t.Errorf("%s names no call in the row %s", file, row)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d tasks, want at least 20", rows)
	}
}

// TestMarkdownExamples checks that each Example that a Markdown file names exists.
func TestMarkdownExamples(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	_, list := packages(t)
	for _, p := range list {
		for _, file := range must.Get(filepath.Glob(filepath.Join(root, filepath.FromSlash(p.dir), "example*_test.go")))(t) {
			for _, m := range regexp.MustCompile(`(?m)^func (Example\w*)\(`).FindAllStringSubmatch(string(must.Get(os.ReadFile(file))(t)), -1) {
				declared[m[1]] = true
			}
		}
	}
	checked := 0
	for _, file := range markdownFiles(t) {
		for _, name := range regexp.MustCompile("`Example[A-Z]\\w*`").FindAllString(readFile(t, file), -1) {
			checked++
			if name = strings.Trim(name, "`"); !declared[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d names were checked, want at least 10", checked)
	}
}
