package workdir

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	Place Place
	Text  string // one line
}

// Error returns printable text with the place.
func (e *ConfigError) Error() string { return weburl.Clean(e.Place.String()+": "+e.Text, 2000) }

func wrong(at hcl.Range, format string, args ...any) error {
	return &ConfigError{place(at), fmt.Sprintf(format, args...)}
}

// diagnosed returns the first error, or nil.
func diagnosed(diags hcl.Diagnostics) error {
	if !diags.HasErrors() {
		return nil
	}
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return wrong(*d.Subject, "%s; %s", d.Summary, d.Detail)
		}
	}
	return &ConfigError{Place{File: "configuration"}, diags.Error()}
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

// names returns the names of the configuration files: primary files, override files and tests, each
// sorted.
func (f files) names(terraform bool) (primary, overrides, tests []string, err error) {
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

// parse reads one file, and returns its text too.
func (f files) parse(name string) (hcl.Body, []byte, error) {
	text, err := f.read(name, maxFile)
	if err != nil {
		return nil, nil, err
	}
	shown := filepath.ToSlash(filepath.Join(f.name, name))
	body, err := parse(text, shown)
	return body, text, err
}

// parse parses the text of a file.
func parse(text []byte, name string) (hcl.Body, error) {
	if err := look(text, name); err != nil {
		return nil, err
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if strings.HasSuffix(name, ".json") {
		file, diags = json.Parse(text, name)
	} else {
		file, diags = hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	}
	if diags.HasErrors() {
		return nil, diagnosed(diags)
	}
	return file.Body, nil
}

// read reads a regular file. Of a file with more than max bytes, it reads one more.
func (f files) read(name string, max int64) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, max+1))
}

// resolve returns the path to which name leads from the directory base: each element that is a symbolic link is
// replaced by its target before the next is looked at, as [filepath.EvalSymlinks] does. Below a package the path
// must not leave it.
func resolve(base, name string, inside bool) (string, error) {
	sep := string(filepath.Separator)
	at, links := ".", 0
	if filepath.IsAbs(name) {
		at = filepath.VolumeName(name) + sep
		name = name[len(filepath.VolumeName(name)):]
	}
	rest := strings.Split(filepath.Clean(name), sep)
	for len(rest) > 0 {
		elem := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, elem)
		if inside && !filepath.IsLocal(next) {
			return "", errOutside
		}
		full := next
		if !filepath.IsAbs(next) {
			full = filepath.Join(base, next)
		}
		info, err := os.Lstat(full)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(full)
		if err != nil {
			return "", err
		}
		if links++; links > 255 {
			return "", fmt.Errorf("%s: too many links", full)
		}
		if filepath.IsAbs(target) {
			if inside {
				return "", errOutside
			}
			at = filepath.VolumeName(target) + sep
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(strings.Split(target, sep), rest...)
	}
	return at, nil
}
