package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// maxText is the maximum size of a source or version in bytes.
const maxText = 4 << 10

// A ConfigError is an error in a configuration.
type ConfigError struct {
	Place string // FILE:LINE, or the file or directory
	Text  string
}

func (e *ConfigError) Error() string { return weburl.Clean(e.Place+": "+e.Text, 2000) }

func wrong(at hcl.Range, format string, args ...any) error {
	return &ConfigError{fmt.Sprintf("%s:%d", at.Filename, at.Start.Line), fmt.Sprintf(format, args...)}
}

func diagnosed(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return wrong(*d.Subject, "%s; %s", d.Summary, d.Detail)
		}
	}
	return &ConfigError{"configuration", diags.Error()}
}

// A source reads files below the directory of a configuration.
type source struct {
	root      *os.Root
	terraform bool
}

// names returns the configuration files in a directory: primary files and override files, each
// sorted.
func (s *source) names(dir string) (primary, overrides []string, err error) {
	d, err := s.root.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, nil, err
	}
	present := map[string]bool{}
	for _, e := range entries {
		present[e.Name()] = !e.IsDir()
	}
	for name, file := range present {
		stem, suffix, ok := s.stem(name)
		switch {
		case !ok || !file:
		case !s.terraform && strings.HasPrefix(suffix, ".tf") && present[stem+".tofu"+suffix[len(".tf"):]]:
			// OpenTofu reads a.tofu instead of a.tf.
		case stem == "override" || strings.HasSuffix(stem, "_override"):
			overrides = append(overrides, name)
		default:
			primary = append(primary, name)
		}
	}
	slices.Sort(primary)
	slices.Sort(overrides)
	return primary, overrides, nil
}

// stem returns the name of a configuration file without its suffix, and the suffix.
func (s *source) stem(name string) (stem, suffix string, ok bool) {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") {
		return "", "", false // written by an editor
	}
	for _, suffix := range []string{".tf", ".tf.json", ".tofu", ".tofu.json"} {
		if stem, ok := strings.CutSuffix(name, suffix); ok {
			return stem, suffix, !s.terraform || strings.HasPrefix(suffix, ".tf")
		}
	}
	return "", "", false
}

// parse reads one file.
func (s *source) parse(dir, name string) (hcl.Body, error) {
	name = path.Join(dir, name)
	text, err := readFile(s.root, name, maxFile)
	if err != nil {
		return nil, err
	}
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

// readFile reads a regular file. Of a file with more than max bytes, it reads one more.
func readFile(root *os.Root, name string, max int64) ([]byte, error) {
	f, err := fsx.OpenRegularIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max+1))
}
