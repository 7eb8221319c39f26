package layout_test

import (
	"fmt"
	"go/doc/comment"
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
)

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
	if err != nil {
		t.Fatal(err)
	}
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

// TestMarkdownNames checks that qualified names in inline code of Markdown files, such as
// `provider.Find`, exist. In docs/migrating.md the first column of a table has names of other modules.
func TestMarkdownNames(t *testing.T) {
	t.Parallel()
	paths := publicPaths(t)
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
