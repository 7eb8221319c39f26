package workdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
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
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			p.add(wrong(*d.Subject, "%s; %s", d.Summary, d.Detail))
		}
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

func (f files) open(name string) (*os.File, error) {
	if f.root != nil {
		return fsx.OpenRegularIn(f.root, filepath.Join(f.dir, name))
	}
	return fsx.OpenRegular(filepath.Join(f.dir, name))
}

// list returns the names in a directory below, and which of them are not directories.
func (f files) list(below string) (map[string]bool, error) {
	var d *os.File
	var err error
	if dir := filepath.Join(f.dir, below); f.root != nil {
		d, err = fsx.OpenIn(f.root, dir)
	} else {
		d, err = os.Open(dir)
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = !e.IsDir()
	}
	return names, err
}

// names returns the names of the configuration files: primary files, override files and tests, each sorted. The root
// has tests below too.
func (f files) names(terraform, root bool) (primary, overrides, tests []string, err error) {
	present, err := f.list(".")
	if err != nil {
		return nil, nil, nil, err
	}
	for name, file := range present {
		stem, suffix, ok := stem(name, terraform)
		switch {
		case !ok || !file || hidden(present, stem, suffix, terraform):
		case strings.Contains(suffix, "test"):
			tests = append(tests, name)
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			overrides = append(overrides, name)
		default:
			primary = append(primary, name)
		}
	}
	slices.Sort(primary)
	slices.Sort(overrides)
	slices.Sort(tests)
	if _, ok := present["tests"]; ok && root {
		below := files{root: f.root, dir: path.Join(f.dir, "tests"), name: path.Join(f.name, "tests")}
		_, _, more, err := below.names(terraform, false)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, name := range more {
			tests = append(tests, "tests/"+name)
		}
	}
	return primary, overrides, tests, nil
}

// hidden reports whether OpenTofu reads another file instead: a.tofu instead of a.tf.
func hidden(present map[string]bool, stem, suffix string, terraform bool) bool {
	other, ok := strings.CutPrefix(suffix, ".tf")
	return ok && !terraform && present[stem+".tofu"+other]
}

// suffixes are those of configuration files. OpenTofu also reads them with "tofu" instead of "tf".
var suffixes = []string{".tftest.hcl", ".tftest.json", ".tf.json", ".tf"}

// stem returns the name of a configuration file without its suffix, and the suffix.
func stem(name string, terraform bool) (stem, suffix string, ok bool) {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return "", "", false // written by an editor
	}
	for _, suffix := range suffixes {
		if stem, ok := strings.CutSuffix(name, suffix); ok {
			return stem, suffix, true
		}
		suffix = ".tofu" + strings.TrimPrefix(suffix, ".tf")
		if stem, ok := strings.CutSuffix(name, suffix); ok && !terraform {
			return stem, suffix, true
		}
	}
	return "", "", false
}

// A file is a file of a configuration.
type file struct {
	name  string // for people
	text  []byte
	count int // of words and symbols
}

// words returns the number of words and symbols, and an error unless the text can be parsed within the limits. It stops
// at a number above max.
func (f file) words(max int) (n int, err error) {
	at := hcl.Range{Filename: f.name, Start: hcl.InitialPos}
	switch {
	case !utf8.Valid(f.text):
		return 0, &ConfigError{Place{File: f.name}, "invalid UTF-8"}
	case strings.HasSuffix(f.name, ".json"):
		return lookJSON(f.text, at, max)
	}
	if n = countWords(f.text); n <= max {
		err = look(f.text, at, hclsyntax.LexConfig, true)
	}
	return n, err
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
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	text.Grow(4 << 10) // as much as most files have
	_, err = text.ReadFrom(io.LimitReader(file, max+1))
	return text.Bytes(), err
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
	sep := string(filepath.Separator)
	if filepath.IsAbs(name) {
		if inside {
			return "", errOutside
		}
		at = filepath.VolumeName(name) + sep
		name = name[len(filepath.VolumeName(name)):]
	}
	for elem := range strings.SplitSeq(name, sep) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		next := filepath.Join(at, elem)
		if inside && !filepath.IsLocal(next) {
			return "", errOutside
		}
		if known, ok := l.known[step{base, next}]; ok {
			at = known
			continue
		}
		full := next
		if !filepath.IsAbs(next) {
			full = filepath.Join(base, next)
		}
		info, err := os.Lstat(full)
		if err != nil {
			return "", err
		}
		if depth > maxLinks || len(l.known) > maxSteps {
			return "", fmt.Errorf("%s: too many links", full)
		}
		to := next
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			if err == nil {
				to, err = l.follow(ctx, base, at, target, inside, depth+1)
			}
			if err != nil {
				return "", err
			}
		}
		if l.known == nil {
			l.known = map[step]string{}
		}
		l.known[step{base, next}] = to
		at = to
	}
	return at, nil
}
