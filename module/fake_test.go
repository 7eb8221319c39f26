package module_test

import (
	"bytes"
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
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/failure"

	"github.com/ulikunitz/xz"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	vpc = addrs.MustParseModule("registry.example.com/acme/vpc/aws")
	v1  = addrs.MustParseVersion("1.0.0")
)

// fake is a Source in memory. It answers after delay.
type fake struct {
	versions map[addrs.Module]*module.Versions
	location func(addrs.Module, addrs.Version) (*module.Location, error)
	open     map[string]func() (*module.Body, error) // by URL
	delay    time.Duration

	mu     sync.Mutex
	asked  []string          // in the order of the requests
	opened []module.Location // what OpenModule was called with
	bodies int               // that have not been closed
}

func (f *fake) ask(ctx context.Context, what string) error {
	f.mu.Lock()
	f.asked = append(f.asked, what)
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.delay):
		return nil
	}
}

func (f *fake) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	if err := f.ask(ctx, "versions of "+m.String()); err != nil {
		return nil, err
	}
	if v, ok := f.versions[m]; ok {
		return v.Clone(), nil
	}
	return nil, failure.ErrNotFound
}

func (f *fake) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*module.Location, error) {
	if err := f.ask(ctx, "location of "+m.String()+" "+v.String()); err != nil {
		return nil, err
	}
	return f.location(m, v)
}

func (f *fake) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	if err := f.ask(ctx, "open "+loc.URL); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = append(f.opened, *loc)
	open, ok := f.open[loc.URL]
	if !ok {
		return nil, fmt.Errorf("%s: %w", loc, failure.ErrNotFound)
	}
	body, err := open()
	if err != nil || body == nil || body.ReadCloser == nil {
		return body, err
	}
	f.bodies++
	body.ReadCloser = &closer{Reader: body.ReadCloser, f: f}
	return body, nil
}

// closer counts closed bodies.
type closer struct {
	io.Reader
	f    *fake
	done bool
}

func (c *closer) Close() error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if !c.done {
		c.f.bodies--
	}
	c.done = true
	return nil
}

// serve returns a fake with these contents by URL.
func serve(contents map[string][]byte) *fake {
	f := &fake{open: map[string]func() (*module.Body, error){}}
	for url, content := range contents {
		f.open[url] = func() (*module.Body, error) { return body(content), nil }
	}
	return f
}

// only returns a fake with this content at archiveURL.
func only(content []byte) *fake { return serve(map[string][]byte{archiveURL: content}) }

// opening returns a fake that calls open for each request for archiveURL.
func opening(open func() (*module.Body, error)) *fake {
	return &fake{open: map[string]func() (*module.Body, error){archiveURL: open}}
}

// reading returns a fake whose body at archiveURL is r, of this declared size.
func reading(r io.Reader, size int) *fake {
	return opening(func() (*module.Body, error) { return &module.Body{ReadCloser: io.NopCloser(r), Size: int64(size)}, nil })
}

func body(content []byte) *module.Body {
	return &module.Body{ReadCloser: io.NopCloser(bytes.NewReader(content)), Size: int64(len(content))}
}

// at parses a valid location.
func at(t testing.TB, text string) *module.Location {
	t.Helper()
	return must.Get(module.ParseLocation(text))(t)
}

// files are names and contents. A name that ends in a slash is a directory.
type files map[string]string

// example is a typical package.
var example = files{
	"main.tf":           "variable \"cidr\" {}\n",
	"README.md":         strings.Repeat("text ", 20_000),
	"modules/":          "",
	"modules/a/main.tf": "# a\n",
	"modules/b/main.tf": "# b\n",
}

// below returns the files in the directory dir.
func (f files) below(dir string) files {
	out := files{dir + "/": ""}
	for name, content := range f {
		out[dir+"/"+name] = content
	}
	return out
}

type entry = archivetest.Entry

func (f files) entries() []entry {
	var out []entry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, "/") {
			mode = 0o755 | fs.ModeDir
		}
		out = append(out, entry{Name: name, Content: f[name], Mode: mode})
	}
	return out
}

func (f files) zip(t testing.TB) []byte {
	t.Helper()
	return archivetest.Zip(t, f.entries()...)
}

func (f files) tgz(t testing.TB) []byte {
	t.Helper()
	return archivetest.Gzip(t, archivetest.Tar(t, f.entries()...))
}

func xzOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := must.Get(xz.NewWriter(&buf))(t)
	must.Get(w.Write(data))(t)
	must.Do(t, w.Close())
	return buf.Bytes()
}

// tree returns the files below dir.
func tree(t testing.TB, dir string) files {
	t.Helper()
	return archivetest.Tree(t, dir)
}

// wantTree fails unless dir contains exactly these files and their directories, and is alone
// in its parent directory.
func wantTree(t testing.TB, dir string, want files) {
	t.Helper()
	got := tree(t, dir)
	for name, content := range want {
		if g, ok := got[name]; !ok || g != content {
			t.Errorf("file %s has %d bytes (exists: %v), want %d", name, len(g), ok, len(content))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !strings.HasSuffix(name, "/") {
			t.Errorf("unexpected file %s", name)
		}
	}
	alone(t, dir)
}

// absent fails if dir exists, or if its parent directory is not empty.
func absent(t testing.TB, dir string) {
	t.Helper()
	if _, err := os.Lstat(dir); err == nil {
		t.Errorf("%s exists: %v", dir, tree(t, dir))
	}
	alone(t, dir)
}

// alone fails if the parent directory of dir contains other files.
func alone(t testing.TB, dir string) {
	t.Helper()
	for _, e := range must.Get(os.ReadDir(filepath.Dir(dir)))(t) {
		if e.Name() != filepath.Base(dir) {
			t.Errorf("unexpected file %s beside the target", e.Name())
		}
	}
}

// fileURL returns the URL of a path.
func fileURL(path string) string { return "file:///" + strings.TrimPrefix(filepath.ToSlash(path), "/") }

// target returns a path for a package in an empty directory.
func target(t testing.TB) string { return filepath.Join(t.TempDir(), "module") }

// get downloads the package at a location into a new directory.
func get(t testing.TB, src module.Source, location string, o module.Options) (dir string, report *module.Report, err error) {
	t.Helper()
	dir = target(t)
	report, err = module.Download(t.Context(), src, module.Request{Location: at(t, location), Dir: dir}, o)
	return dir, report, err
}

// wantPackage downloads the package at a location and fails unless it has these files.
func wantPackage(t testing.TB, src module.Source, location string, o module.Options, want files) *module.Report {
	t.Helper()
	dir, report, err := get(t, src, location, o)
	if err != nil || report.H1 != h1(t, want) {
		t.Errorf("%s: %+v, %v; want h1 %s", location, report, err, h1(t, want))
		return &module.Report{}
	}
	wantTree(t, dir, want)
	return report
}

// wantRefused fails unless the package at a location is refused with this error, and nothing is
// left.
func wantRefused(t testing.TB, src module.Source, location string, o module.Options, want error) error {
	t.Helper()
	dir, report, err := get(t, src, location, o)
	if !errors.Is(err, want) || report != nil {
		t.Errorf("%s: %+v, %v; want %v", location, report, err, want)
	}
	wellFormed(t, err)
	absent(t, dir)
	return err
}

// h1 returns the hash of files, computed from a directory.
func h1(t testing.TB, f files) checksum.Hash {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, f)
	return must.Get(checksum.H1Dir(t.Context(), os.DirFS(dir)))(t)
}

// write puts f into the directory dir.
func write(t testing.TB, dir string, f files) {
	t.Helper()
	must.Do(t, f.write(dir))
}

// write creates the files, and symbolic links for contents such as "-> TARGET".
func (f files) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			parent = path
		}
		err := os.MkdirAll(parent, 0o755)
		switch target, link := strings.CutPrefix(content, "-> "); {
		case err != nil || parent == path:
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
