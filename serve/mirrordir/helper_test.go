package mirrordir_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// What the tests of mirrordir and mirrorserve share.
var (
	alpha, v1, v2              = mirrortest.Alpha, mirrortest.V1, mirrortest.V2
	linux, darwin, windows     = mirrortest.Linux, mirrortest.Darwin, mirrortest.Windows
	three                      = mirrortest.Three
	newRegistry, client, names = mirrortest.NewRegistry, mirrortest.Client, mirrortest.Names
	wants, manyVersions        = mirrortest.Wants, mirrortest.ManyVersions
	policyOf                   = mirrortest.PolicyOf
	newMirror, open, filled    = mirrortest.NewMirror, mirrortest.Open, mirrortest.Filled
	mustAdd, mustCheck         = mirrortest.MustAdd, mirrortest.MustCheck
	write, read                = mirrortest.Write, mirrortest.Read
	files, wantFiles           = mirrortest.Files, mirrortest.WantFiles
	archive, recordOf          = mirrortest.Archive, mirrortest.RecordOf
	growing, wantOnly          = mirrortest.Growing, mirrortest.WantOnly
)

const home = mirrortest.Home

type (
	document = mirrortest.Document
	index    = mirrortest.Index
	bucket   = mirrortest.Bucket
	failing  = mirrortest.Failing
	mistaken = mirrortest.Mistaken
)

func remove(t testing.TB, dir, name string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))))
}

// damage changes the files of a mirror.
type damage func(t *testing.T, dir string)

// drop removes files.
func drop(names ...string) damage {
	return func(t *testing.T, dir string) {
		for _, name := range names {
			remove(t, dir, name)
		}
	}
}

// replaced replaces the content of a file.
func replaced(name, text string) damage {
	return func(t *testing.T, dir string) { write(t, dir, name, text) }
}

// copied replaces the content of a file by that of another one.
func copied(name, from string) damage {
	return func(t *testing.T, dir string) { write(t, dir, name, read(t, dir, from)) }
}

// edited replaces a text of a file that must have it.
func edited(name, old, new string) damage {
	return func(t *testing.T, dir string) {
		text := read(t, dir, name)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %q:\n%s", name, old, text)
		}
		write(t, dir, name, strings.Replace(text, old, new, 1))
	}
}

// both does one after the other.
func both(first, second damage) damage {
	return func(t *testing.T, dir string) {
		first(t, dir)
		second(t, dir)
	}
}

// follow returns the path of the file for a URL in a document, like a client of a web server for
// the directory.
func follow(t testing.TB, dir, document, ref string) string {
	t.Helper()
	const top = "/mirror/"
	u := must.Get((&url.URL{Scheme: "https", Host: "mirror.example.com", Path: top + document}).Parse(ref))(t)
	name, ok := strings.CutPrefix(u.Path, top)
	if !ok || u.Host != "mirror.example.com" {
		t.Errorf("%s leads out of the mirror, to %v", document, u)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// regtestProvider is alpha in a version for three platforms.
func regtestProvider(version string) regtest.Provider {
	return regtest.Provider{Address: "acme/alpha", Version: version, Platforms: names(three)}
}

// otherContent returns a registry whose alpha has other files.
func otherContent() (*regtest.Registry, *regclient.Client) {
	reg := regtest.New("registry.example.com")
	p := regtestProvider("1.0.0")
	p.Files = map[string]string{"other": "content"}
	reg.AddProvider(p)
	return reg, client(reg)
}

// dropEvidence deletes the records of Alpha 1.0.0 and lets Reindex write them anew.
func dropEvidence(t *testing.T, m *mirrordir.Mirror) {
	t.Helper()
	for _, platform := range three {
		must.Do(t, m.Store.Delete(t.Context(), recordOf(v1, platform)))
	}
	must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
}
