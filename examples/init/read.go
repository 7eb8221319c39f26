package main

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// maxFile is the maximum size of a file in bytes.
const maxFile = 4 << 20

// The parser recurses, so nesting is limited: brackets, operators in one file, and the bytes of a
// string that may be a template.
const (
	maxNesting   = 1_000
	maxOperators = 20_000
	maxText      = 64 << 10
)

// A ConfigError is an error in a configuration.
type ConfigError struct {
	Place string // FILE:LINE, or the file or directory
	Text  string
}

func (e *ConfigError) Error() string { return e.Place + ": " + e.Text }

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
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")})
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, &ConfigError{name, fmt.Sprintf("more than %d bytes", maxFile)}
	}
	if err := checkNesting(text, name); err != nil {
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

// checkNesting returns an error if the parser would recurse too deeply.
func checkNesting(text []byte, name string) error {
	if strings.HasSuffix(name, ".json") {
		var any any
		if err := stdjson.Unmarshal(text, &any); err != nil { // it limits the depth
			return &ConfigError{name, err.Error()}
		}
		return nil
	}
	depth, operators := 0, 0
	tokens, _ := hclsyntax.LexConfig(text, name, hcl.InitialPos) // the parser reports the errors
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
			operators++
		}
		if depth > maxNesting || operators > maxOperators {
			return wrong(t.Range, "too deep nesting, or too many operators in one file")
		}
	}
	return nil
}
