package mirrordir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, name, want string }{
		{"h.example/a/b", "h.example/a/b/terraform-provider-b_1.0.0_linux_amd64.zip", "terraform-provider-b_1.0.0_linux_amd64.zip"},
		{"bücher.example:8443/a/b", "bücher.example:8443/a/b/x 1.zip", "x%201.zip"},
		{"h/a/b", "h/a/b/x_1.0.0+m%41?#.zip", "x_1.0.0+m%2541%3F%23.zip"},
	}
	for _, test := range tests {
		got := mirrordir.EntryURL(test.name)
		if got != test.want {
			t.Errorf("from %s to %s: %q, want %q", test.from, test.name, got, test.want)
		}
		if back := mirrordir.Resolve(test.from, got); back != test.name {
			t.Errorf("%q resolves to %q, want %q", got, back, test.name)
		}
		// Resolve the URL like a client.
		base := &url.URL{Scheme: "https", Host: "mirror.example.com", Path: "/p/" + test.from + "/1.0.0.json"}
		u, err := base.Parse(got)
		if err != nil || u.Path != path.Join("/p", test.name) {
			t.Errorf("%q leads to %v, %v", got, u, err)
		}
	}
	for _, ref := range []string{"", "/x.zip", "//example.com/x.zip", "https://example.com/x.zip", "../../../../x.zip", "x.zip?y", "x/", "%zz", "a:b", "../../.."} {
		if got := mirrordir.Resolve("h/a/b", ref); got != "" {
			t.Errorf("%q resolves to %q", ref, got)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"x.zip", "../../../h/x", "%2e%2e/x", "..%2f..%2f..%2f..%2fx", `a\b`, "a//b"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if name := mirrordir.Resolve("h/a/b", ref); name != "" && !fs.ValidPath(name) {
			t.Errorf("%q leads out of the mirror: %q", ref, name)
		}
	})
}

// FuzzRender renders documents from documents of other programs. Rendering the result again changes
// nothing.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"versions":{"1.0.0":{},"x":null},"removing":{"2.0.0":{}}}`, `{"versions":[]}`, `{"archives":null}`,
		`{"archives":{"linux_amd64":{"url":"x.zip","hashes":["h1:","h9:x"]},"x":null}}`, `{"archives":{"a_b":{"url":""}}}`, `[`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		for name, render := range map[string]func([]byte) ([]byte, error){
			"index":   mirrordir.RenderIndex,
			"version": mirrordir.RenderVersion,
		} {
			text, err := render(old)
			if err != nil || text == nil {
				continue
			}
			if again, err := render(text); err != nil || !bytes.Equal(again, text) {
				t.Errorf("%s of %q is\n%s\nand made again\n%s, %v", name, old, text, again, err)
			}
		}
	})
}

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
	mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
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

// TestOnePackageListsNothing checks that an archive with a canonical name is found without a
// listing.
func TestOnePackageListsNothing(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	c := count(another(t, reg, wants(three, v1, v2)))
	m := &mirrordir.Mirror{Store: c, TempDir: t.TempDir()}
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	must.Get(m.Open(t.Context(), pkg))(t).Close()
	if ev, err := m.Evidence(t.Context(), pkg); err != nil || len(ev.Signature) == 0 {
		t.Errorf("Evidence = %v, %v, want a signature", ev, err)
	}
	if list, err := m.ListedVersions(t.Context(), alpha); err != nil || len(list) != 2 {
		t.Errorf("ListedVersions = %v, %v, want 2", list, err)
	}
	if list, err := m.ListedArchives(t.Context(), alpha, v1); err != nil || len(list) != 3 {
		t.Errorf("ListedArchives = %v, %v, want 3", list, err)
	}
	if n := c.lists.Load(); n != 0 {
		t.Errorf("%d listings, want 0", n)
	}
	must.Do(t, c.Delete(t.Context(), recordIn(t, c, pkg.Version, pkg.Platform)))
	if _, err := m.Evidence(t.Context(), pkg); !errors.Is(err, provider.ErrNoFile) {
		t.Errorf("Evidence without the record: %v, want ErrNoFile", err)
	}
}

// TestServedAsListed checks that ListedArchives returns the archives that the document lists.
func TestServedAsListed(t *testing.T) {
	t.Parallel()
	const doc = home + "/1.0.0.json"
	const other = home + "/Terraform-Provider-alpha_1.0.0_darwin_arm64.zip"
	tests := map[string]struct {
		change damage
		want   []string // nil if not found
	}{
		"all":                   {drop(), names(three)},
		"archive is gone":       {drop(archive(v1, darwin)), names(three)},
		"archive is elsewhere":  {edited(doc, `"url": "`, `"url": "https://example.com/`), []string{"linux_amd64", "windows_amd64"}},
		"archive is not listed": {edited(doc, `"darwin_arm64"`, `"plan9_mips"`), []string{"linux_amd64", "windows_amd64"}},
		"archive is spelled otherwise": {both(both(copied(other, archive(v1, darwin)), drop(archive(v1, darwin))),
			edited(doc, "terraform-provider-alpha_1.0.0_darwin", "Terraform-Provider-alpha_1.0.0_darwin")), names(three)},
		"nothing is listed": {replaced(doc, "{}"), nil},
		"no document":       {drop(doc), names(three)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, _, _ := filled(t)
			test.change(t, dir)
			list, err := m.ListedArchives(t.Context(), alpha, v1)
			if test.want == nil {
				if !errors.Is(err, failure.ErrNotFound) {
					t.Errorf("ListedArchives = %v, %v, want ErrNotFound", list, err)
				}
				return
			}
			must.Do(t, err)
			got := names(slices.Collect(maps.Keys(list)))
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("listed are %v, want %v", got, test.want)
			}
		})
	}
}
