package workdir

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Place is a line of a configuration.
type Place struct {
	File string `json:"file"`           // relative to [Dir.Path], or absolute
	Line int    `json:"line,omitempty"` // from 1, or 0 for the whole file or directory
}

// String returns FILE:LINE, or FILE if Line is 0.
func (p Place) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s:%d", p.File, p.Line), ":0")
}

func (p Place) compare(o Place) int {
	return cmp.Or(strings.Compare(p.File, o.File), p.Line-o.Line)
}

func place(at hcl.Range) Place { return Place{at.Filename, at.Start.Line} }

// ConfigError is an error in a configuration.
type ConfigError struct {
	Place Place  `json:"place"`
	Text  string `json:"text"` // one line
}

// Error returns printable text with the place.
func (e *ConfigError) Error() string { return weburl.Clean(e.Place.String()+": "+e.Text, 2000) }

func wrong(at hcl.Range, format string, args ...any) error {
	return &ConfigError{place(at), fmt.Sprintf(format, args...)}
}

// in adds the names of a provider and its argument to an error.
func in(provider, argument string, err error) error {
	if e, ok := errors.AsType[*ConfigError](err); ok {
		return &ConfigError{e.Place, fmt.Sprintf("%s of provider %.100q: %s", argument, provider, e.Text)}
	}
	return err
}

// Problems are what [Dir.Read] cannot read in a configuration, sorted by place. [Dir.Prepare] and [Dir.Plan] refuse
// a module with a problem.
type Problems []*ConfigError

// Error returns the first problem and the number of the others.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Error()
	}
	return fmt.Sprintf("%v; and %d more problems", p[0], len(p)-1)
}

// Unwrap returns the problems.
func (p Problems) Unwrap() []error {
	all := make([]error, len(p))
	for i, e := range p {
		all[i] = e
	}
	return all
}

// maxProblems is the maximum number of problems of a module that are told.
const maxProblems = 100

// add adds an error.
func (p *Problems) add(err error) {
	e, ok := errors.AsType[*ConfigError](err)
	if err != nil && !ok {
		e = &ConfigError{Place{File: "configuration"}, err.Error()}
	}
	if err != nil && len(*p) < maxProblems {
		*p = append(*p, e)
	}
}

// diagnosed adds the errors in diags.
func (p *Problems) diagnosed(diags hcl.Diagnostics) {
	for i := range diags {
		p.add(diagnosed(diags[i:i+1], true))
	}
}

// diagnosed returns the first error, or nil. Details may have values.
func diagnosed(diags hcl.Diagnostics, details bool) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			if !details {
				return wrong(*d.Subject, "%s", d.Summary)
			}
			return wrong(*d.Subject, "%s; %s", d.Summary, d.Detail)
		}
	}
	return nil
}

// files are the files of one directory with a module.
type files struct {
	root *os.Root // the package, which limits what links lead to; nil for the user's own files
	dir  string   // in root, or absolute
	name string   // for people and for the manifest: relative to the working directory, or absolute
}

// list returns the names in the directory, and which of them are not directories. It does not wait for a pipe.
func (f files) list() (map[string]bool, error) {
	var entries []fs.DirEntry
	var err error
	if f.root == nil {
		entries, err = os.ReadDir(f.dir)
	} else {
		entries, err = fs.ReadDir(fsx.Tree(context.Background(), f.root), filepath.ToSlash(f.dir))
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = !e.IsDir()
	}
	return names, err
}

// fileName matches the name of a configuration file: the part before the suffix, the program, and the syntax.
var fileName = regexp.MustCompile(`(?s)^([^.].*?)\.(tf|tofu)(|\.json|test\.hcl|test\.json)$`)

// names returns the names of the configuration files: primary files, override files and tests, each sorted. The root
// has tests below too; if these cannot be read, the error is a ConfigError. OpenTofu reads a.tofu instead of a.tf.
func (f files) names(terraform, root bool) (primary, overrides, tests []string, err error) {
	present, err := f.list()
	if err != nil {
		return nil, nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		m := fileName.FindStringSubmatch(name)
		switch {
		case m == nil || !present[name] || terraform && m[2] == "tofu":
		case !terraform && m[2] == "tf" && present[m[1]+".tofu"+m[3]]:
		case strings.HasPrefix(m[3], "test"):
			tests = append(tests, name)
		case m[1] == "override" || strings.HasSuffix(m[1], "_override"):
			overrides = append(overrides, name)
		default:
			primary = append(primary, name)
		}
	}
	if _, ok := present["tests"]; ok && root {
		var below []string
		if _, _, below, err = (files{dir: filepath.Join(f.dir, "tests")}).names(terraform, false); errors.Is(err, fs.ErrNotExist) {
			err = nil // a link, as for the CLI
		} else if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = &ConfigError{Place{File: "tests"}, fmt.Sprintf("must be a directory with tests: %v", e.Err)}
		}
		for _, name := range below {
			tests = append(tests, "tests/"+name)
		}
	}
	return primary, overrides, tests, err
}

// A file is a file of a configuration.
type file struct {
	name  string // for people
	text  []byte
	count int // of words and symbols

	overrides bool
}

// parse parses a text that has been looked at. Beside errors, the body has what could be parsed.
func (f file) parse() (hcl.Body, hcl.Diagnostics) {
	parsed, diags := (*hcl.File)(nil), hcl.Diagnostics(nil)
	if strings.HasSuffix(f.name, ".json") {
		parsed, diags = json.Parse(f.text, f.name)
	} else {
		parsed, diags = hclsyntax.ParseConfig(f.text, f.name, hcl.InitialPos)
	}
	if parsed == nil || parsed.Body == nil {
		return hcl.EmptyBody(), diags
	}
	return parsed.Body, diags
}

// read reads a regular file. Of a file with more than max bytes, it reads one more.
func (f files) read(name string, max int64) ([]byte, error) {
	open := fsx.OpenRegular
	if f.root != nil {
		open = func(name string) (*os.File, error) { return fsx.OpenRegularIn(f.root, name) }
	}
	file, err := open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, max+1))
}

// links are the steps of paths that were resolved, so that each is looked at once.
type links struct {
	mu    sync.Mutex
	known map[step]string
}

// A step is a path below a directory without links, or absolute.
type step struct{ base, path string }

// The limits of links: of one in the target of another, and of all steps.
const (
	maxLinks = 255
	maxSteps = 1_000_000
)

// resolve returns the path to which name leads from the directory base: each element that is a symbolic link is
// replaced by its target before the next is looked at, as [filepath.EvalSymlinks] does. Below a package the path
// must not leave it.
func (l *links) resolve(ctx context.Context, base, name string, inside bool) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.follow(ctx, base, ".", filepath.Clean(name), inside, 0)
}

func (l *links) follow(ctx context.Context, base, at, name string, inside bool, depth int) (string, error) {
	if depth > maxLinks || len(l.known) > maxSteps {
		return "", fmt.Errorf("%s: too many links", abs(base, at))
	}
	if filepath.IsAbs(name) {
		at = filepath.VolumeName(name) + string(filepath.Separator)
		name = name[len(filepath.VolumeName(name)):]
	}
	for elem := range strings.SplitSeq(name, string(filepath.Separator)) {
		next := filepath.Join(at, elem)
		if inside && !filepath.IsLocal(next) {
			return "", errOutside
		}
		to, known := l.known[step{base, next}]
		if !known {
			full := abs(base, next)
			info, err := os.Lstat(full)
			if to = next; err == nil && info.Mode()&fs.ModeSymlink != 0 {
				var target string
				if target, err = os.Readlink(full); err == nil {
					to, err = l.follow(ctx, base, at, target, inside, depth+1)
				}
			}
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return "", err
			}
			if l.known == nil {
				l.known = map[step]string{}
			}
			l.known[step{base, next}] = to
		}
		at = to
	}
	return at, nil
}

// abs returns the absolute path of a path that may be relative to base.
func abs(base, dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(base, dir)
}

// Limits are the limits of what is read. If a field is zero, its default is used.
type Limits struct {
	// Module is the maximum size of the files of one module in bytes. The default is 16 MiB.
	Module int

	// Words is the maximum number of words and symbols in these files. A string of JSON counts as one. hcl/v2
	// needs about 700 bytes for each. The default is 600,000.
	Words int

	// Files is the maximum size of the files of all modules in bytes. The default is 256 MiB.
	Files int

	// Packages is the maximum size of all module packages on disk in bytes, each copy counted. Up to 16 packages are
	// fetched at the same time, each with what is left at its start. The default is 16 GiB.
	Packages int64
}

// orDefault returns the limits with the defaults of zero fields.
func (l Limits) orDefault() Limits {
	return Limits{cmp.Or(l.Module, 16<<20), cmp.Or(l.Words, 600_000), cmp.Or(l.Files, 256<<20), cmp.Or(l.Packages, 16<<30)}
}

const (
	maxChain = 4_000  // tokens of all unfinished expressions, for each of which the parser may recurse; digits of a number, whose parser takes quadratic time
	maxWords = 50_000 // of an expression or template in a string, if it may nest deeply
)

// A lexer is one of the lexers of hclsyntax: the one of the mode in which the text will be parsed.
type lexer func(text []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// look returns an error for a text for which the parser would recurse too deeply. Most texts have too few symbols
// for that, wherever these are. In the mode with lines, a line ends an expression.
func look(text []byte, at hcl.Range, lex lexer, lines bool) error {
	if len(text) <= maxChain {
		return nil
	}
	symbols := bytes.Count(text, []byte("=="))
	for _, c := range []byte("([{!-?+*/%<>&|") {
		symbols += bytes.Count(text, []byte{c})
	}
	for window := range slices.Chunk(text, maxChain/2) {
		if len(bytes.Trim(window, "0123456789")) == 0 { // may be in a long number
			symbols = maxChain + 1
		}
	}
	if symbols <= maxChain {
		return nil
	}
	if !lines && countWords(text) > maxWords {
		return wrong(at, "too deep nesting, or an expression of more than %d words and symbols", maxWords)
	}
	tokens, _ := lex(text, at.Filename, at.Start)
	return lookAt(tokens, lines)
}

// countWords returns a number that the number of tokens does not exceed. It counts words and symbols also in
// strings and comments, so it needs no memory, and no text can mislead it.
func countWords(text []byte) (n int) {
	word := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		isWord := c == '_' || c == '-' && word || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			isWord = unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
			i += size - 1
		}
		if !isWord && c != ' ' && c != '\t' || isWord && !word {
			n++
		}
		word = isWord
	}
	return n
}

// isTemplate reports whether a string of JSON may have an interpolation or directive.
func isTemplate(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// lookJSON returns the number of words in a text, and an error for a text that is not JSON or has a string that
// cannot be parsed as a template. It stops at a number above max. The strings are exactly those of hcl/v2, which decodes them as encoding/json.
func lookJSON(text []byte, at hcl.Range, max int) (words int, err error) {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for depth := 0; ; words += 2 {
		token, err := decoder.Token()
		switch t := token.(type) {
		case stdjson.Delim:
			if depth--; t == '{' || t == '[' {
				depth += 2
			}
		case stdjson.Number:
			if len(t) > maxChain {
				err = fmt.Errorf("a number of more than %d digits", maxChain)
			}
		case string:
			if isTemplate(t) {
				words += countWords([]byte(t))
				err = look([]byte(t), at, hclsyntax.LexTemplate, false)
			}
		}
		if depth > maxChain {
			err = fmt.Errorf("nesting of more than %d levels", maxChain)
		}
		switch {
		case err == io.EOF || words > max:
			return words, nil
		case err == nil:
			continue
		}
		at.Start.Line = 1 + bytes.Count(text[:decoder.InputOffset()], []byte("\n"))
		if e, ok := err.(*ConfigError); ok {
			return words, wrong(at, "%s", e.Text)
		}
		return words, wrong(at, "%v", err)
	}
}

// closing has the token that ends what a token begins.
var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOBrace: hclsyntax.TokenCBrace,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// level is the text between two brackets, or the whole text.
type level struct {
	end   hclsyntax.TokenType
	begun bool // has a token
	lines bool // a line ends an expression
	chain int  // tokens of the unfinished expression
}

// lookAt follows the tokens as the parser does, and adds up what it would recurse for.
func lookAt(tokens hclsyntax.Tokens, lines bool) error {
	levels, unfinished := []level{{begun: true, lines: lines}}, 0
	for _, t := range tokens {
		at := &levels[len(levels)-1]
		end, opens := closing[t.Type]
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenComma:
			if t.Type == hclsyntax.TokenComma || at.lines && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				unfinished, at.chain = unfinished-at.chain, 0
			}
			continue
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			continue
		case hclsyntax.TokenEOF:
			if len(levels) > 1 {
				return wrong(t.Range, "the text ends within brackets or quotes")
			}
			continue
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) == 1 || t.Type != at.end {
				return wrong(t.Range, "unexpected %.20q", t.Bytes)
			}
			unfinished, levels = unfinished-at.chain, levels[:len(levels)-1]
			continue
		case hclsyntax.TokenNumberLit:
			if len(t.Bytes) > maxChain {
				return wrong(t.Range, "a number of more than %d digits", maxChain)
			}
		}
		if !at.begun && string(t.Bytes) == "for" {
			at.lines = false // lines do not matter in {for …}
		}
		at.begun = true
		if t.Type != hclsyntax.TokenTemplateInterp { // which is a sibling of those before it
			at.chain++
			unfinished++
		}
		if opens {
			levels = append(levels, level{end: end, lines: t.Type == hclsyntax.TokenOBrace})
		}
		if unfinished+len(levels) > maxChain {
			return wrong(t.Range, "too deep nesting, or an expression that is too long")
		}
	}
	return nil
}
