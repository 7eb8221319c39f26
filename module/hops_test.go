package module_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// header returns a page that names the next location in its header.
func header(next string) func() (*module.Body, error) {
	return func() (*module.Body, error) {
		b := body([]byte("<html>nothing here</html>"))
		b.Next = next
		return b, nil
	}
}

// meta returns a page that names the next location in its text.
func meta(next string) func() (*module.Body, error) {
	return func() (*module.Body, error) {
		return body(fmt.Appendf(nil, `<!doctype html><html><head><meta name="terraform-get" content="%s"></head></html>`, next)), nil
	}
}

func TestHops(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	archive := func() (*module.Body, error) { return body(content), nil }
	for name, test := range map[string]struct {
		open   map[string]func() (*module.Body, error)
		via    []string
		subdir string
	}{
		"header": {open: map[string]func() (*module.Body, error){
			"https://example.com/m": header("https://files.example.com/x.zip"), "https://files.example.com/x.zip": archive,
		}, via: []string{"https://example.com/m"}},
		"meta tag": {open: map[string]func() (*module.Body, error){
			"https://example.com/m": meta("https://files.example.com/x.zip?a=1&amp;b=2"), "https://files.example.com/x.zip?a=1&b=2": archive,
		}, via: []string{"https://example.com/m"}},
		"relative": {open: map[string]func() (*module.Body, error){
			"https://example.com/m": header("./n"), "https://example.com/n": meta("/o"), "https://example.com/o": header("../p"),
			"https://example.com/p": archive,
		}, via: []string{"https://example.com/m", "https://example.com/n", "https://example.com/o"}},
		"subdirectories": {open: map[string]func() (*module.Body, error){
			"https://example.com/m": header("https://files.example.com/x.zip//modules"), "https://files.example.com/x.zip": archive,
		}, via: []string{"https://example.com/m//a"}, subdir: "a"},
		"an archive may come with the header": {open: map[string]func() (*module.Body, error){
			"https://example.com/m": header("https://example.com/n?archive=zip"),
			"https://example.com/n": func() (*module.Body, error) { b := body(content); b.Next = "https://example.org/"; return b, nil },
		}, via: []string{"https://example.com/m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := must.Get(at(t, "https://example.com/m").WithSubdir(test.subdir))(t)
			src, dir := &fake{open: test.open}, target(t)
			report := must.Get(module.Download(t.Context(), src, module.Request{Location: loc, Dir: dir}, module.Options{}))(t)
			wantTree(t, dir, example)
			if diff := cmp.Diff(test.via, report.Via); diff != "" {
				t.Errorf("via (-want +got):\n%s", diff)
			}
			if test.subdir != "" && report.Subdir != "modules/"+test.subdir {
				t.Errorf("Subdir %q, want modules/%s", report.Subdir, test.subdir)
			}
			if src.bodies != 0 {
				t.Errorf("%d bodies are open", src.bodies)
			}
		})
	}
}

// maxHops is the limit.
const maxHops = 10

func TestHopLimit(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	chain := func(hops int) *fake {
		f := &fake{open: map[string]func() (*module.Body, error){}}
		for i := range hops {
			f.open[fmt.Sprintf("https://example.com/%d", i)] = header(fmt.Sprintf("./%d", i+1))
		}
		f.open[fmt.Sprintf("https://example.com/%d", hops)] = func() (*module.Body, error) { return body(content), nil }
		return f
	}
	_, report, err := get(t, chain(maxHops), "https://example.com/0", module.Options{})
	if err != nil || len(report.Via) != maxHops {
		t.Errorf("%d hops: %v", maxHops, err)
	}
	dir, _, err := get(t, chain(maxHops+1), "https://example.com/0", module.Options{})
	if err == nil {
		t.Errorf("%d hops: no error", maxHops+1)
	}
	absent(t, dir)
	loop := &fake{open: map[string]func() (*module.Body, error){"https://example.com/0": header("./0")}}
	if _, _, err := get(t, loop, "https://example.com/0", module.Options{}); err == nil || len(loop.opened) > maxHops+1 {
		t.Errorf("loop: %v after %d requests, want an error", err, len(loop.opened))
	}
}

func TestHopsRefused(t *testing.T) {
	t.Parallel()
	// An absolute path is relative to the server.
	wantRefused(t, opening(header("/etc/hosts")), archiveURL, module.Options{AllowLocal: true}, failure.ErrNotFound)
	for _, next := range []string{"acme/vpc/aws", "vpc.zip", "ext::sh", "git::https://example.com/x.git?ref=--x", "./x#y", "\x1b[2J"} {
		_, _, err := get(t, opening(header(next)), archiveURL, module.Options{})
		if _, ok := errors.AsType[*addrs.ParseError](err); !ok {
			t.Errorf("%q: %v, want a *ParseError", next, err)
		}
		wellFormed(t, err)
	}
	// A page cannot have a checksum.
	if _, _, err := get(t, opening(header("./x.zip")), archiveURL+"?checksum="+sumMD5, module.Options{}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("page with a checksum: %v, want an error about the checksum", err)
	}
}

// TestHopsAreNeverLocal checks that a registry, a page or a header cannot name a location on
// this machine, whether Options.AllowLocal is set or not.
func TestHopsAreNeverLocal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home, with(example, files{"private.zip": string(example.zip(t))}))
	home = fileURL(home)
	for _, next := range []string{
		home, "FILE://localhost" + strings.TrimPrefix(home, "file://"), home + "/private.zip", "git::" + home, "hg::" + home, "other::" + home, `C:\private.zip`,
	} {
		for _, allow := range []bool{false, true} {
			options := module.Options{Git: &module.Git{}, AllowLocal: allow, Fetcher: fetch(example)}
			for _, open := range []func(string) func() (*module.Body, error){header, meta} {
				wantRefused(t, opening(open(next)), archiveURL, options, module.ErrLocal)
			}
			src, dir := &fake{location: func(addrs.Module, addrs.Version) (*module.Location, error) { return at(t, next), nil }}, target(t)
			if _, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Version: v1, Dir: dir}, options); !errors.Is(err, module.ErrLocal) {
				t.Errorf("the registry names %s: %v, want ErrLocal", next, err)
			}
			absent(t, dir)
		}
	}
}

// TestDirect checks that a direct location is never a page, and that only it gets
// credentials.
func TestDirect(t *testing.T) {
	t.Parallel()
	const url = "https://registry.example.com/package"
	loc := must.Get(module.DirectLocation(parseURL(t, url), url))(t)
	loc.UseRegistryCredentials = true
	src, dir := serve(map[string][]byte{url: example.zip(t)}), target(t)
	must.Get(module.Download(t.Context(), src, module.Request{Location: loc, Dir: dir}, module.Options{}))(t)
	wantTree(t, dir, example)
	if len(src.opened) != 1 || !src.opened[0].UseRegistryCredentials || !src.opened[0].Direct {
		t.Errorf("opened %+v", src.opened)
	}

	for name, open := range map[string]func(string) func() (*module.Body, error){"header": header, "meta": meta} {
		src := &fake{open: map[string]func() (*module.Body, error){url: open("https://example.com/x.zip")}}
		if _, err := module.Download(t.Context(), src, module.Request{Location: loc, Dir: target(t)}, module.Options{}); !errors.Is(err, failure.ErrArchive) || len(src.opened) != 1 {
			t.Errorf("%s: %v after %d requests, want ErrArchive", name, err, len(src.opened))
		}
	}

	loc.Checksum = strings.ToUpper(sumMD5)
	if _, err := module.Download(t.Context(), src, module.Request{Location: loc, Dir: target(t)}, module.Options{}); !errors.Is(err, checksum.ErrMismatch) || src.opened[1].Checksum != "md5:"+sumMD5 {
		t.Errorf("wrong checksum: %v, opened %+v; want ErrMismatch", err, src.opened)
	}

	// Without Direct, UseRegistryCredentials is removed.
	stray := at(t, "https://registry.example.com/page")
	stray.UseRegistryCredentials = true
	src = &fake{open: map[string]func() (*module.Body, error){
		"https://registry.example.com/page": header("https://example.org/x.zip"),
		"https://example.org/x.zip":         func() (*module.Body, error) { return body(example.zip(t)), nil },
	}}
	must.Get(module.Download(t.Context(), src, module.Request{Location: stray, Dir: target(t)}, module.Options{}))(t)
	for _, l := range src.opened {
		if l.UseRegistryCredentials {
			t.Errorf("UseRegistryCredentials is set for %s", l)
		}
	}
}

// TestBytesOfAll: packages of git, of a directory and of a Fetcher report their bytes, with the names of the download.
func TestBytesOfAll(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	tree := t.TempDir()
	write(t, tree, example)
	for text, fetcher := range map[string]module.Fetcher{
		o.location(""): nil,
		fileURL(tree):  nil,
		"s3::https://s3.amazonaws.com/b/meter": fetcherFunc(func(dir string, o module.Options) error {
			write(t, dir, example)
			meter := progress.Meter{Report: o.Progress}
			meter.Start(0)
			must.Get(meter.Write(make([]byte, 5)))(t)
			meter.Finish()
			return nil
		}),
		"s3::https://s3.amazonaws.com/b/download": fetcherFunc(func(dir string, o module.Options) error {
			_, err := module.Download(t.Context(), reading(bytes.NewReader(example.zip(t)), 0), module.Request{Location: at(t, archiveURL), Dir: dir}, module.Options{Progress: o.Progress})
			return err
		}),
	} {
		options := allowed()
		options.Fetcher = fetcher
		var kinds []progress.Kind
		var last progress.Event
		dir := target(t)
		options.Progress = func(e progress.Event) {
			if e.Dir != dir || e.Location == "" || strings.Contains(e.Location, "files.example.com") {
				t.Errorf("%s: event %+v, want one of the directory %s", text, e, dir)
			}
			kinds, last = append(kinds, e.Kind), e
		}
		must.Get(module.Download(t.Context(), nil, module.Request{Location: at(t, text), Dir: dir}, options))(t)
		if last.Kind != progress.Stored || last.Bytes == 0 || last.Total != last.Bytes {
			t.Errorf("%s: last event %+v, want stored with bytes", text, last)
		}
		if kinds = slices.Compact(kinds); !slices.Equal(kinds, []progress.Kind{progress.Located, progress.Bytes, progress.Stored}) {
			t.Errorf("%s: events %v, want located, bytes, stored", text, kinds)
		}
	}
}

type fetcherFunc func(dir string, o module.Options) error

func (f fetcherFunc) FetchModule(_ context.Context, _ *module.Location, dir string, o module.Options) ([]string, error) {
	return nil, f(dir, o)
}

// fetch is a Fetcher that writes these files.
type fetch files

func (f fetch) FetchModule(_ context.Context, loc *module.Location, dir string, _ module.Options) ([]string, error) {
	if loc.Subdir != "" {
		return nil, errors.New("the location is not that of the whole package")
	}
	loc.URL = "changed"
	return nil, files(f).write(dir)
}

type fetchFunc func(loc *module.Location, dir string) error

func (f fetchFunc) FetchModule(_ context.Context, loc *module.Location, dir string, _ module.Options) ([]string, error) {
	return []string{"omitted"}, f(loc, dir)
}

// TestMercurial checks that the error about a Mercurial repository names ways out.
func TestMercurial(t *testing.T) {
	t.Parallel()
	_, err := module.Download(t.Context(), nil, module.Request{Location: at(t, "hg::https://example.com/x"), Dir: target(t)}, module.Options{})
	if err == nil || !strings.Contains(err.Error(), "needs Options.Fetcher; or publish the module in a registry") {
		t.Errorf("Download: %v, want an error with the ways out", err)
	}
}

func TestFetcher(t *testing.T) {
	t.Parallel()
	brought := fetch{".git/config": "x", "modules/b/.git": "gitdir: x"}
	for name, content := range example {
		brought[name] = content
	}
	for _, text := range []string{
		"git::https://example.com/x.git//modules/a?ref=v1", "hg::https://example.com/x", "s3::https://example.com/x.zip", "gcs::https://example.com/x",
		"oci://example.com/x?tag=1", "ftp://example.com/x",
	} {
		loc, dir := at(t, text), target(t)
		before := *loc
		report, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: dir}, module.Options{Fetcher: brought})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		wantTree(t, dir, example)
		if report.H1 != h1(t, example) || *loc != before || report.Location != loc.String() {
			t.Errorf("%s: report %+v, want the h1 of example and location %s", text, report, loc)
		}
		name := strings.TrimSuffix(strings.Split(text, "://")[0], "::https")
		if _, err := module.Download(t.Context(), nil, module.Request{Location: loc, Dir: target(t)}, module.Options{Fetcher: module.Fetchers{name: brought}}); err != nil {
			t.Errorf("%s with Fetchers for %s: %v", text, name, err)
		}
		_, err = module.Download(t.Context(), nil, module.Request{Location: loc, Dir: target(t)}, module.Options{Fetcher: module.Fetchers{"none": brought}})
		if u, ok := errors.AsType[*module.UnsupportedError](err); !ok || u.Kind != loc.Kind || !strings.Contains(err.Error(), `Options.Fetcher["`+name+`"]`) || (loc.Kind == module.KindGit) != slices.Contains(u.Options, "Git") {
			t.Errorf("%s with Fetchers for none: %v, want an *UnsupportedError with %s", text, err, name)
		}
		_, err = module.Download(t.Context(), nil, module.Request{Location: loc, Dir: target(t)}, module.Options{})
		u, ok := errors.AsType[*module.UnsupportedError](err)
		if !ok || u.Kind != loc.Kind || !strings.Contains(err.Error(), "Options.Fetcher") || (loc.Kind == module.KindGit) != strings.Contains(err.Error(), "Options.Git") {
			t.Errorf("%s: %v, want an *UnsupportedError", text, err)
		}
		wellFormed(t, err)
	}
}

func TestFetcherIsChecked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // links and pipes need more there
	}
	broken := errors.New("no such bucket")
	wrapped := fetchFunc(func(*module.Location, string) error {
		return fmt.Errorf("x: %w", &failure.Error{Op: "get", Err: broken})
	})
	pipe := fetchFunc(func(_ *module.Location, dir string) error { return disktest.Mkfifo(filepath.Join(dir, "pipe")) })
	for name, test := range map[string]struct {
		fetcher module.Fetcher
		o       module.Options
		want    error
	}{
		"error":       {fetcher: fetchFunc(func(*module.Location, string) error { return broken }), want: broken},
		"wrapped":     {fetcher: wrapped, want: broken},
		"nothing":     {fetcher: fetch{}, want: failure.ErrArchive},
		"only .git":   {fetcher: fetch{".git/config": "x"}, want: failure.ErrArchive},
		"link":        {fetcher: fetch{"main.tf": "x", "link": "-> /etc/passwd"}, want: module.ErrLink},
		"pipe":        {fetcher: pipe, want: failure.ErrArchive},
		"entries":     {fetcher: fetch(example), o: module.Options{Limits: checksum.Limits{Entries: 6}}, want: failure.ErrTooLarge},
		"bytes":       {fetcher: fetch{"a": "12345", "b": "6"}, o: module.Options{Limits: checksum.Limits{Unpacked: 5}}, want: failure.ErrTooLarge},
		"no such dir": {fetcher: fetch{"a/b": "x"}, want: module.ErrNoSubdir},
	} {
		text := "s3::https://example.com/x"
		if name == "no such dir" {
			text += "//b"
		}
		test.o.Fetcher = test.fetcher
		wantRefused(t, nil, text, test.o, test.want)
	}
	o := module.Options{SkipLinks: true, Limits: checksum.Limits{Entries: 2, Unpacked: 1}, Fetcher: fetch{"main.tf": "x", "link": "-> /etc/passwd"}}
	report := wantPackage(t, nil, "s3::https://example.com/x", o, files{"main.tf": "x"})
	if len(report.Skipped) != 1 || report.Skipped[0] != "link" {
		t.Errorf("report %+v, want the link in Skipped", report)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, "vpc"), with(example, files{".git/config": "x", "modules/a/.git": "gitdir: x"}))
	write(t, filepath.Join(home, "empty"), nil)
	for format, content := range packed(t, example.entries()) {
		write(t, home, files{"vpc." + format: string(content)})
	}
	allow := module.Options{AllowLocal: true}
	for _, name := range []string{"vpc", "vpc.zip", "vpc.tar.gz", "vpc.tar.xz"} {
		path := filepath.ToSlash(filepath.Join(home, name))
		for _, text := range []string{path, fileURL(path), path + "//modules/a"} {
			wantPackage(t, nil, text, allow, example)
			wantRefused(t, nil, text, module.Options{Fetcher: fetch(example)}, module.ErrLocal)
		}
	}
	for name, want := range map[string]error{"none": failure.ErrNotFound, "empty": failure.ErrArchive, "vpc/main.tf": failure.ErrArchive} {
		wantRefused(t, nil, filepath.ToSlash(filepath.Join(home, name)), allow, want)
	}
	limited := module.Options{AllowLocal: true, Limits: checksum.Limits{Entries: 3}}
	wantRefused(t, nil, filepath.ToSlash(filepath.Join(home, "vpc")), limited, failure.ErrTooLarge)
	if runtime.GOOS == "windows" {
		return
	}
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(home, "vpc", "link")))
	wantRefused(t, nil, home+"/vpc", allow, module.ErrLink)
	report := wantPackage(t, nil, home+"/vpc", module.Options{AllowLocal: true, SkipLinks: true}, example)
	if len(report.Skipped) != 1 {
		t.Errorf("report %+v, want the link in Skipped", report)
	}
}

// TestFetcherReplacesDirectory checks that a Fetcher may create the directory again, but may
// not replace it by a link or a file, or remove it.
func TestFetcherReplacesDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where an open directory cannot be replaced
	}
	other := t.TempDir()
	for name, test := range map[string]struct {
		replace func(dir string) error
		want    error
	}{
		"anew": {replace: func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), example.write(dir))
		}},
		"nothing": {func(string) error { return nil }, failure.ErrArchive},
		"link":    {func(dir string) error { return os.Symlink(other, dir) }, failure.ErrArchive},
		"file":    {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, failure.ErrArchive},
	} {
		fetcher := fetchFunc(func(_ *module.Location, dir string) error {
			return errors.Join(os.Remove(dir), test.replace(dir))
		})
		dir, report, err := get(t, nil, "s3::https://example.com/x", module.Options{Fetcher: fetcher})
		if err == nil && !slices.Equal(report.Skipped, []string{"omitted"}) {
			t.Errorf("%s: Skipped %q, want the name that the Fetcher omitted", name, report.Skipped)
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if test.want != nil {
			absent(t, dir)
			continue
		}
		wantTree(t, dir, example)
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o055 == 0 {
			t.Errorf("%s: mode %v, %v; want it readable for others", name, info.Mode(), err)
		}
	}
}

// TestFetcherModes checks that files of a Fetcher get the modes of files from archives.
func TestFetcherModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // where there are no modes
	}
	modes := map[string]os.FileMode{
		"a": 0o666, "b": 0o777, "c": 0o755 | os.ModeSetuid | os.ModeSetgid, "d": 0o600, "e": 0o700, "dir": os.ModeDir | 0o777 | os.ModeSticky | os.ModeSetgid,
	}
	want := map[string]os.FileMode{"a": 0o644, "b": 0o755, "c": 0o755, "d": 0o644, "e": 0o755, "dir": os.ModeDir | 0o755}
	fetcher := fetchFunc(func(_ *module.Location, dir string) error {
		for name, mode := range modes {
			path := filepath.Join(dir, name)
			content := files{name: "x"}
			if mode.IsDir() {
				content = files{name + "/": ""}
			}
			if err := errors.Join(content.write(dir), os.Chmod(path, mode)); err != nil {
				return err
			}
		}
		return nil
	})
	dir, _, err := get(t, nil, "s3::https://example.com/x", module.Options{Fetcher: fetcher})
	must.Do(t, err)
	mask := umask(t)
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode&^mask {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, mode&^mask)
		}
	}
}

// umask returns the umask.
func umask(t *testing.T) os.FileMode {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	must.Do(t, os.Mkdir(dir, 0o777))
	info := must.Get(os.Stat(dir))(t)
	return 0o777 &^ info.Mode().Perm()
}

// TestLocalAround checks that a directory is not copied into itself.
func TestLocalAround(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	content := files{"main.tf": "x\n", ".git/config": "[core]\n"}
	write(t, home, content)
	for _, dir := range []string{filepath.Join(home, "m"), filepath.Join(home, ".cache", "m"), home} {
		report, err := module.Download(t.Context(), nil, module.Request{Location: at(t, filepath.ToSlash(home)), Dir: dir}, module.Options{AllowLocal: true, Replace: true})
		if err == nil || !strings.Contains(err.Error(), "is in the directory to copy") {
			t.Errorf("target %s: %+v, %v; want an error", dir, report, err)
		}
	}
	wantTree(t, home, content)
	// A target beside the directory, with the same start of the name, is permitted.
	dir := home + "m"
	if _, err := module.Download(t.Context(), nil, module.Request{Location: at(t, filepath.ToSlash(home)), Dir: dir}, module.Options{AllowLocal: true}); err != nil {
		t.Error(err)
	}
}
