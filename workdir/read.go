package workdir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/tofureg/tofureg/failure"
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
	Text  string `json:"text"` // one printable line
}

// Error returns printable text with the place.
func (e *ConfigError) Error() string { return failure.Printable(e.Place.String()+": "+e.Text, 2000) }

func wrong(at hcl.Range, format string, args ...any) error {
	return &ConfigError{place(at), failure.Printable(fmt.Sprintf(format, args...), 2000)}
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

// The limits of problems: of those of a module that are told, and of all modules of a walk, of which each tells one more.
const (
	maxProblems    = 100
	maxAllProblems = 1_000
)

// diagnosed returns the first error, or nil.
func diagnosed(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return wrong(*d.Subject, "%s; %s", d.Summary, d.Detail)
		}
	}
	return nil
}

// files are the files of one directory with a module.
type files struct {
	root *os.Root // the package, which limits what links lead to; nil for the user's own files
	base string   // absolute path of root
	dir  string   // in root, or absolute
	name string   // for people and for the manifest: relative to the working directory, or absolute
}

// The limits of directories: files of a configuration in one, and entries of all that are read.
const (
	maxFiles   = 10_000
	maxEntries = 500_000
)

// open opens a path for reading, and does not wait for a writer of a pipe.
func (f files) open(path string) (*os.File, error) {
	if f.root != nil {
		return f.root.OpenFile(path, os.O_RDONLY|noBlock, 0)
	}
	return os.OpenFile(path, os.O_RDONLY|noBlock, 0)
}

// find returns the path of a file. A link is followed here, because the system does not say how long it takes.
func (f files) find(b *budget, name string, isLink bool) (string, error) {
	path := filepath.Join(f.dir, name)
	work := pathWork + len(path) + elemWork*strings.Count(path, string(filepath.Separator))
	if f.root != nil { // which opens each element
		work = pathWork * (1 + strings.Count(path, string(filepath.Separator)))
	}
	switch {
	case !b.paths.spend(work):
		return "", &fs.PathError{Op: "open", Path: path, Err: errPaths}
	case !isLink:
		return path, nil
	case f.root != nil:
		return b.paths.resolve(b.ctx, f.base, path, true)
	}
	path, err := b.paths.resolve(b.ctx, f.dir, name, false)
	return abs(f.dir, path), err
}

// list returns the names of files of a configuration and of the tests in the directory, and their types. It does not wait
// for a pipe.
func (f files) list(b *budget) (map[string]fs.FileMode, error) {
	dir, err := f.open(f.dir + asDirectory)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names := map[string]fs.FileMode{}
	for err == nil && len(names) <= maxFiles && b.guard.entries >= 0 {
		if err = b.ctx.Err(); err != nil {
			return nil, err
		}
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(1_000)
		b.guard.entries -= len(entries)
		for _, e := range entries {
			if name := e.Name(); strings.Contains(name, ".tf") || strings.Contains(name, ".tofu") || name == "tests" {
				names[name] = e.Type()
			}
		}
	}
	switch {
	case b.guard.entries < 0:
		err = &ConfigError{Place{File: cmp.Or(f.name, ".")}, fmt.Sprintf("the directories that are read have more than %d files and directories", maxEntries)}
	case len(names) > maxFiles:
		err = &ConfigError{Place{File: cmp.Or(f.name, ".")}, fmt.Sprintf("the directory has more than %d files of a configuration", maxFiles)}
	case err == io.EOF:
		err = nil
	}
	return names, err
}

// names returns the names of the configuration files: primary files, override files and tests, each sorted, and which of
// them are links. The root has tests below too; if these cannot be read, the error is a ConfigError. OpenTofu reads a.tofu
// instead of a.tf.
func (f files) names(terraform, root bool, b *budget) (primary, overrides, tests []string, links map[string]bool, err error) {
	present, err := f.list(b)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	links = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(present)) {
		stem, program, syntax := splitName(name)
		links[name] = present[name]&fs.ModeSymlink != 0
		tofu, both := present[stem+".tofu"+syntax]
		switch {
		case program == "" || present[name].IsDir() || terraform && program == ".tofu":
		case !terraform && program == ".tf" && both && !tofu.IsDir():
		case strings.HasPrefix(syntax, "test"):
			tests = append(tests, name)
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			overrides = append(overrides, name)
		default:
			primary = append(primary, name)
		}
	}
	if mode, ok := present["tests"]; ok && root {
		var below []string
		var linked map[string]bool
		if _, _, below, linked, err = (files{dir: filepath.Join(f.dir, "tests"), name: "tests"}).names(terraform, false, b); errors.Is(err, fs.ErrNotExist) {
			err = nil // a link, as for the CLI
		} else if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = &ConfigError{Place{File: "tests"}, fmt.Sprintf("must be a directory with tests: %v", e.Err)}
		}
		for _, name := range below {
			tests = append(tests, "tests/"+name)
			links["tests/"+name] = linked[name] || mode&fs.ModeSymlink != 0
		}
	}
	return primary, overrides, tests, links, err
}

// splitName splits the name of a configuration file. The program is empty if name is not one.
func splitName(name string) (stem, program, syntax string) {
	for _, syntax := range []string{"test.hcl", "test.json", ".json", ""} {
		stem, ok := strings.CutSuffix(name, syntax)
		program := filepath.Ext(stem)
		if stem = strings.TrimSuffix(stem, program); ok && (program == ".tf" || program == ".tofu") && stem != "" && stem[0] != '.' {
			return stem, program, syntax
		}
	}
	return "", "", ""
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
func (f files) read(b *budget, name string, isLink bool, max int64) ([]byte, error) {
	path, err := f.find(b, name, isLink)
	if err != nil {
		return nil, err
	}
	file, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: filepath.Join(f.dir, name), Err: errors.New("exists and is not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // such as /proc/kmsg, which waits for more; other files have no deadlines, or do not wait
		start := time.Now()
		_ = file.SetReadDeadline(start.Add(b.guard.wait))
		defer func() { b.guard.wait -= time.Since(start) }()
	}
	text := bytes.NewBuffer(make([]byte, 0, min(info.Size(), max)+bytes.MinRead))
	_, err = text.ReadFrom(io.LimitReader(file, max+1))
	return text.Bytes(), err
}

// The limits of links: of those in one path, and of the work for all paths, which is about their bytes.
const (
	maxLinks = 255
	maxRest  = 64 << 10 // bytes of what is left of a path
	maxPaths = 128 << 20
	pathWork = 256 // for a path beside its bytes
	elemWork = 16  // and for each of its elements
)

// paths has the work for all paths of a walk.
type paths struct{ spent atomic.Int64 }

var errPaths = errors.New("the paths and links of all files and modules take too much work")

// spend takes work before it is done, and reports whether to do it.
func (p *paths) spend(work int) bool { return p.spent.Add(int64(work)) <= maxPaths }

// resolve returns the path to which name leads from the directory base: each element that is a symbolic link is
// replaced by its target before the next is looked at, as [filepath.EvalSymlinks] does. Below a package the path
// must not leave it.
func (p *paths) resolve(ctx context.Context, base, name string, inside bool) (string, error) {
	at, links := ".", 0
	for rest, elem := filepath.Clean(name), ""; rest != ""; {
		if filepath.IsAbs(rest) {
			at = filepath.VolumeName(rest) + string(filepath.Separator)
			rest = rest[len(filepath.VolumeName(rest)):]
		}
		elem, rest, _ = strings.Cut(rest, string(filepath.Separator))
		next := filepath.Join(at, elem)
		full := abs(base, next)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case inside && !filepath.IsLocal(next):
			return "", errOutside
		case links > maxLinks || len(elem)+len(rest) > maxRest:
			return "", fmt.Errorf("%s: too many links", full)
		case !p.spend(pathWork + len(full) + elemWork*strings.Count(full, string(filepath.Separator)) + len(rest)):
			return "", fmt.Errorf("%s: %w", full, errPaths)
		}
		info, err := os.Lstat(full)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			links++
			next = at
			elem, err = os.Readlink(full)
			rest = elem + string(filepath.Separator) + rest
		}
		if err != nil {
			return "", err
		}
		at = next
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

	// Words is the maximum number of words and symbols in these files. A string of JSON counts as one, and for each 250
	// bytes of a file's name a word counts once more. hcl/v2 needs about 700 bytes for each while it parses, and [Contents]
	// keep about 30. The files of all modules may have four times as many, with ReadTree twice as many. Files with values of
	// variables, and those that are parsed again to evaluate expressions, may have half as many, where 16 bytes count as
	// another word. The default is 400,000.
	Words int

	// Files is the maximum size of the files of all modules in bytes. The default is 24 MiB.
	Files int

	// Packages is the maximum size of all module packages on disk in bytes, each copy counted. Up to 16 packages are
	// fetched at the same time, each with what is left at its start. The default is 16 GiB.
	Packages int64

	// Providers is the maximum number of providers, each of which takes requests. The default is 1,000.
	Providers int
}

// orDefault returns the limits with the defaults of zero fields.
func (l Limits) orDefault() Limits {
	return Limits{cmp.Or(l.Module, 16<<20), cmp.Or(l.Words, 400_000), cmp.Or(l.Files, 24<<20), cmp.Or(l.Packages, 16<<30), cmp.Or(l.Providers, 1_000)}
}
