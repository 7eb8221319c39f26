// Package mirrortest has what the tests of mirrors and registries of files share: a registry with one provider,
// mirrors of it, and a storage without files.
package mirrortest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// What most tests mirror.
var (
	Alpha   = addrs.MustParseProvider("registry.example.com/acme/alpha")
	V1      = addrs.MustParseVersion("1.0.0")
	V2      = addrs.MustParseVersion("2.0.0")
	Linux   = addrs.MustParsePlatform("linux_amd64")
	Darwin  = addrs.MustParsePlatform("darwin_arm64")
	Windows = addrs.MustParsePlatform("windows_amd64")
	Three   = []addrs.Platform{Linux, Darwin, Windows}
)

// Home is the directory of Alpha in a mirror.
const Home = "registry.example.com/acme/alpha"

// NewRegistry returns a registry that has Alpha in versions 1.0.0 and 2.0.0 for three
// platforms, and a client of it.
func NewRegistry(t testing.TB) (*regtest.Registry, *regclient.Client) {
	t.Helper()
	reg := regtest.New("registry.example.com")
	for _, v := range []string{"1.0.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: Names(Three)})
	}
	return reg, Client(reg)
}

// Client returns a client of a registry that does not repeat requests.
func Client(reg *regtest.Registry) *regclient.Client {
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
}

// Names returns the platforms as text.
func Names(platforms []addrs.Platform) []string {
	var list []string
	for _, p := range platforms {
		list = append(list, p.String())
	}
	return list
}

// Wants asks for versions of Alpha for platforms.
func Wants(platforms []addrs.Platform, versions ...addrs.Version) []mirrordir.Want {
	var list []mirrordir.Want
	for _, v := range versions {
		list = append(list, mirrordir.Want{Provider: Alpha, Version: v, Platforms: platforms})
	}
	return list
}

// PolicyOf returns a policy for all providers.
func PolicyOf(policy verify.Policy) func(addrs.Provider) verify.Policy {
	return func(addrs.Provider) verify.Policy { return policy }
}

// ManyVersions returns a registry with n versions of Alpha, and wants of them all.
func ManyVersions(n int) (*regtest.Registry, []mirrordir.Want) {
	reg := regtest.New("registry.example.com")
	var all []mirrordir.Want
	for i := range n {
		v := fmt.Sprintf("1.%d.0", i)
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: Names(Three)})
		all = append(all, Wants(Three, addrs.MustParseVersion(v))...)
	}
	return reg, all
}

// NewMirror returns an empty mirror and its directory.
func NewMirror(t testing.TB) (*mirrordir.Mirror, string) {
	t.Helper()
	dir := t.TempDir()
	return Open(t, dir), dir
}

// Open returns the mirror in a directory.
func Open(t testing.TB, dir string) *mirrordir.Mirror {
	t.Helper()
	m, err := mirrordir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Filled returns a mirror that has both versions of Alpha for three platforms, its
// directory, and the registry and client that it was filled from.
func Filled(t testing.TB) (*mirrordir.Mirror, string, *regtest.Registry, *regclient.Client) {
	t.Helper()
	reg, client := NewRegistry(t)
	m, dir := NewMirror(t)
	MustAdd(t, m, client, Wants(Three, V1, V2), mirrordir.AddOptions{})
	reg.Reset()
	return m, dir, reg, client
}

// MustAdd calls Add and checks its results. It returns the number of archives that were fetched.
func MustAdd(t testing.TB, m *mirrordir.Mirror, src provider.Source, w []mirrordir.Want, o mirrordir.AddOptions) (fetched int) {
	t.Helper()
	added, err := m.Add(t.Context(), src, w, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range added {
		if a.Fetched {
			fetched++
		}
		if a.Size == 0 || len(a.Hashes) == 0 || a.Fetched && a.Report == nil {
			t.Errorf("%s %s %s: incomplete result %+v", a.Provider, a.Version, a.Platform, a)
		}
	}
	return fetched
}

// MustCheck returns the report of Check.
func MustCheck(t testing.TB, m *mirrordir.Mirror, o mirrordir.CheckOptions) *mirrordir.CheckResult {
	t.Helper()
	report, err := m.Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Write makes a file below dir, and the directories above it. It returns its path.
func Write(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file below dir.
func Read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Files returns the names of all files below dir, except those below ".tofureg".
func Files(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err == nil && !d.IsDir() && !strings.HasPrefix(rel, ".tofureg") {
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// WantFiles compares the files below dir with those expected, in any order.
func WantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := Files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory contains\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Archive returns the name of an archive of Alpha in a mirror.
func Archive(v addrs.Version, platform addrs.Platform) string {
	return Home + "/terraform-provider-alpha_" + v.String() + "_" + platform.String() + ".zip"
}

// RecordOf returns the name of the record of an archive of Alpha.
func RecordOf(v addrs.Version, platform addrs.Platform) string {
	return Home + "/record_terraform-provider-alpha_" + v.String() + "_" + platform.String() + ".json"
}

// Document is the document of a version, as a client of the protocol reads it.
type Document struct {
	Archives map[string]struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
		Record string   `json:"record"`
	} `json:"archives"`
}

// Index is the document of a provider.
type Index struct {
	Versions map[string]struct{} `json:"versions"`
}

// Served returns a document of a mirror without what the protocol does not have, as a server writes it.
func Served(t testing.TB, text string) string {
	t.Helper()
	doc := Parse[map[string]any](t, text)
	delete(doc, "tofureg")
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Parse reads a document.
func Parse[T any](t testing.TB, text string) (doc T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return doc
}
