package mirrorserve_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// What most tests mirror.
var (
	alpha   = addrs.MustParseProvider("registry.example.com/acme/alpha")
	v1      = addrs.MustParseVersion("1.0.0")
	v2      = addrs.MustParseVersion("2.0.0")
	linux   = addrs.MustParsePlatform("linux_amd64")
	darwin  = addrs.MustParsePlatform("darwin_arm64")
	windows = addrs.MustParsePlatform("windows_amd64")
	three   = []addrs.Platform{linux, darwin, windows}
)

// home is where alpha is in a mirror.
const home = "registry.example.com/acme/alpha"

// newRegistry returns a registry that has alpha in versions 1.0.0 and 2.0.0 for three
// platforms, and a client of it.
func newRegistry(t testing.TB) (*regtest.Registry, *regclient.Client) {
	t.Helper()
	reg := regtest.New("registry.example.com")
	for _, v := range []string{"1.0.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: names(three)})
	}
	return reg, client(reg)
}

func client(reg *regtest.Registry) *regclient.Client {
	return &regclient.Client{Transport: &transport.Client{HTTP: reg.Client(), Retries: -1}}
}

func names(platforms []addrs.Platform) []string {
	var list []string
	for _, p := range platforms {
		list = append(list, p.String())
	}
	return list
}

// wants asks for versions of alpha for platforms.
func wants(platforms []addrs.Platform, versions ...addrs.Version) []mirrordir.Want {
	var list []mirrordir.Want
	for _, v := range versions {
		list = append(list, mirrordir.Want{Provider: alpha, Version: v, Platforms: platforms})
	}
	return list
}

// newMirror returns an empty mirror and its directory.
func newMirror(t testing.TB) (*mirrordir.Mirror, string) {
	t.Helper()
	dir := t.TempDir()
	return open(t, dir), dir
}

func open(t testing.TB, dir string) *mirrordir.Mirror {
	t.Helper()
	m, err := mirrordir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// filled returns a mirror that has both versions of alpha for three platforms, its
// directory, and where it comes from.
func filled(t testing.TB) (*mirrordir.Mirror, string, *regtest.Registry, *regclient.Client) {
	t.Helper()
	reg, client := newRegistry(t)
	m, dir := newMirror(t)
	mustAdd(t, m, client, wants(three, v1, v2), mirrordir.Options{})
	reg.Reset()
	return m, dir, reg, client
}

// mustAdd adds and checks that all is there. It returns how many archives were fetched.
func mustAdd(t testing.TB, m *mirrordir.Mirror, src provider.Source, w []mirrordir.Want, o mirrordir.Options) (fetched int) {
	t.Helper()
	added, err := m.Add(t.Context(), src, w, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range added {
		if a.Fetched {
			fetched++
		}
		if a.Size == 0 || len(a.Hashes) == 0 || a.Report == nil {
			t.Errorf("%s %s %s: incomplete result %+v", a.Provider, a.Version, a.Platform, a)
		}
	}
	return fetched
}

// write makes a file below dir, and the directories above it.
func write(t testing.TB, dir, name, content string) string {
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

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files returns the names of all files below dir but those of the private directory.
func files(t testing.TB, dir string) []string {
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

// wantFiles compares the files below dir with those expected, in any order.
func wantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// archive returns the name of an archive of alpha in a mirror.
func archive(v addrs.Version, platform addrs.Platform) string {
	return home + "/terraform-provider-alpha_" + v.String() + "_" + platform.String() + ".zip"
}

func recordOf(v addrs.Version, platform addrs.Platform) string {
	return strings.TrimSuffix(archive(v, platform), ".zip") + ".record.json"
}

// document is the document of a version, as a client of the protocol reads it.
type document struct {
	Archives map[string]struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
	} `json:"archives"`
}

// index is the document of a provider.
type index struct {
	Versions map[string]struct{} `json:"versions"`
}

func parse[T any](t testing.TB, text string) (doc T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return doc
}

// bucket is a storage without locks and without files, as an object store is.
type bucket struct {
	mu    sync.Mutex
	files map[string]string
}

func (b *bucket) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &mirrordir.Object{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(data))), Size: int64(len(data)), Revision: mirrordir.Revision("v" + data)}, ctx.Err()
}

func (b *bucket) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, ok := b.files[name]
	if ok != (was != "") || ok && mirrordir.Revision("v"+old) != was {
		return fmt.Errorf("put %s: %w", name, mirrordir.ErrConflict)
	}
	if b.files == nil {
		b.files = map[string]string{}
	}
	b.files[name] = string(data)
	return ctx.Err()
}

func (b *bucket) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]mirrordir.Entry{}
	for name, data := range b.files {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, ok = name, true
		}
		if !ok {
			continue
		}
		first, _, below := strings.Cut(rest, "/")
		if below {
			seen[first] = mirrordir.Entry{Name: first, Dir: true}
		} else {
			seen[first] = mirrordir.Entry{Name: first, Size: int64(len(data))}
		}
	}
	var list []mirrordir.Entry
	for _, e := range seen {
		list = append(list, e)
	}
	return list, ctx.Err()
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.files, name)
	return ctx.Err()
}

// mustCheck returns the report of Check.
func mustCheck(t testing.TB, m *mirrordir.Mirror, o mirrordir.CheckOptions) *mirrordir.Report {
	t.Helper()
	report, err := m.Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// growing is a registry whose version 2.0.0 is much larger than 1.0.0.
func growing() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: names(three)})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "2.0.0", Platforms: names(three), Size: 1 << 20})
	return reg
}

// wantOnly fails if the mirror has not exactly version 1.0.0, or anything can be said
// against it, or if something unfinished is left.
func wantOnly(t *testing.T, m *mirrordir.Mirror, dir string) {
	t.Helper()
	list, err := m.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.List) != 1 || list.List[0].Version != v1 {
		t.Errorf("versions %+v, %v; want 1.0.0", list, err)
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("problems: %v", report.Problems)
	}
	entries, err := os.ReadDir(filepath.Join(dir, ".tofureg"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// all collects what a mirror says it holds, as text.
func all(t *testing.T, m *mirrordir.Mirror) (list []string) {
	t.Helper()
	for w, err := range m.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w.String()+" "+strings.Join(names(w.Platforms), " "))
	}
	return list
}

// manyVersions returns a registry with so many versions of alpha, and wants of them all.
func manyVersions(n int) (*regtest.Registry, []mirrordir.Want) {
	reg := regtest.New("registry.example.com")
	var all []mirrordir.Want
	for i := range n {
		v := fmt.Sprintf("1.%d.0", i)
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: names(three)})
		all = append(all, wants(three, addrs.MustParseVersion(v))...)
	}
	return reg, all
}

// mistaken is a source that answers every question as if it was about another version, or
// not at all.
type mistaken struct {
	provider.Source
	as addrs.Version // zero: no answer
}

func (m mistaken) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderVersions(ctx, p)
}

func (m mistaken) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderPackage(ctx, p, m.as, on)
}
