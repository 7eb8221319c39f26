package mirrordir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// nasty steers terminals: a colour, a title, a new line, and what is written from right to
// left.
const nasty = "\x1b[31m\x1b]0;owned\x07\nok\u202e\u009b1m"

// printable checks that a text contains no control characters for terminals.
func printable(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%s: %q", what, text)
	}
}

// TestNastyNames checks that warnings, findings and errors with hostile names are printable, and
// that the number of warnings is limited.
func TestNastyNames(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, dir := newMirror(t)
	mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
	try := filepath.Join(dir, filepath.FromSlash(home), "terraform-provider-alpha_"+nasty+"_linux_amd64.zip")
	if err := os.WriteFile(try, nil, 0o600); err != nil {
		t.Skipf("skipped: no file can have such a name here: %v", err)
	}
	write(t, dir, home+"/terraform-provider-alpha_1.0.0_linux_"+nasty+".zip", "")
	write(t, dir, "registry.example.com/"+nasty+"/alpha/x.zip", "")
	quoted := must.Get(json.Marshal(nasty))(t)
	documents := []string{
		`{"versions":{"1.0.0":{},"` + strings.Trim(string(quoted), `"`) + `":{}}}`,
		`{"versions":{"1.0.0":` + string(quoted) + `}}`,
		`{"archives":{"linux_amd64":{"url":` + string(quoted) + `,"hashes":[` + string(quoted) + `]}}}`,
		`{"archives":{` + string(quoted) + `:{"url":"https://example.com/` + strings.Trim(string(quoted), `"`) + `"}}}`,
		nasty,
	}
	for _, name := range []string{"/index.json", "/1.0.0.json"} {
		was := read(t, dir, home+name)
		for _, doc := range documents {
			write(t, dir, home+name, doc)
			versions, err := m.ProviderVersions(t.Context(), alpha)
			if err != nil {
				printable(t, "an error", err.Error())
			} else if len(versions.Warnings) < 2 {
				t.Errorf("warnings %q", versions.Warnings)
			} else {
				for _, text := range versions.Warnings {
					printable(t, "a warning", text)
				}
			}
			if _, err := m.ProviderPackage(t.Context(), alpha, v1, linux); err != nil {
				printable(t, "an error", err.Error())
			}
			report := mustCheck(t, m, mirrordir.CheckOptions{})
			if len(report.Problems)+len(report.Notes) < 3 {
				t.Errorf("%s is %q: found %v, %v", name, doc, report.Problems, report.Notes)
			}
			for _, f := range append(report.Problems, report.Notes...) {
				printable(t, "a finding", f.String())
				printable(t, "the detail of a finding", f.Detail)
			}
		}
		write(t, dir, home+name, was)
	}
	for i := range 100 {
		write(t, dir, fmt.Sprintf("%s/terraform-provider-alpha_%d_linux_amd64.zip.zip", home, i), "")
	}
	if versions, err := m.ProviderVersions(t.Context(), alpha); err != nil || len(versions.Warnings) != 100 {
		t.Errorf("%d warnings, %v; want 100 of 102", len(versions.Warnings), err)
	}
}
