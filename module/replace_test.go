package module_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// earlier is another package than example.
var earlier = files{"main.tf": "# earlier\n", "old/": "", "old/gone.tf": "# gone\n"}

// replace downloads example to dir with Options.Replace.
func replace(t testing.TB, dir string, pin checksum.Hash) (*fake, *module.Report, error) {
	t.Helper()
	src := registry(t, archiveURL+".zip", example.zip(t))
	report, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc, Subdir: "modules/a"}, Version: v1, Dir: dir, H1: pin}, module.Options{Replace: true})
	return src, report, err
}

// opened returns how often a package was fetched.
func opened(src *fake) int { return len(src.opened) }

func TestReplace(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	write(t, elsewhere, earlier)
	for name, prepare := range map[string]func(dir string) error{
		"nothing":         func(string) error { return nil },
		"empty directory": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"package":         earlier.write,
		"repository":      func(dir string) error { return files{".git/config": "[core]\n"}.write(dir) },
		"link":            func(dir string) error { return os.Symlink(elsewhere, dir) },
		"dangling link":   func(dir string) error { return os.Symlink("none", dir) },
		"link inside":     func(dir string) error { return with(example, files{"link": "-> " + elsewhere}).write(dir) },
	} {
		if runtime.GOOS == "windows" && strings.Contains(name, "link") {
			continue // links need a privilege there
		}
		for _, pin := range []checksum.Hash{{}, h1(t, example)} {
			dir := target(t)
			must.Do(t, prepare(dir))
			src, report, err := replace(t, dir, pin)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if opened(src) != 1 || report.Reused {
				t.Errorf("%s: fetched %d times, report %+v; want one fetch", name, opened(src), report)
			}
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				t.Errorf("%s: %v, %v; want a directory", name, info, err)
			}
			wantTree(t, dir, example)
		}
	}
	if diff := cmp.Diff(earlier, tree(t, elsewhere)); diff != "" {
		t.Errorf("the target of a link was changed: %s", diff)
	}
}

// TestReplaceRefuses checks that files and pipes are not replaced.
func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	occupied := map[string]string{"file": target(t)}
	write(t, filepath.Dir(occupied["file"]), files{"module": "precious"})
	if pipe := target(t); disktest.Mkfifo(pipe) == nil {
		occupied["pipe"] = pipe
	}
	for name, dir := range occupied {
		src, _, err := replace(t, dir, checksum.Hash{})
		if !errors.Is(err, module.ErrOccupied) || len(src.asked) > 0 {
			t.Errorf("%s: %v, requests %q; want ErrOccupied without requests", name, err, src.asked)
		}
		alone(t, dir)
	}
	if data, err := os.ReadFile(occupied["file"]); err != nil || string(data) != "precious" {
		t.Errorf("file %q, %v; want it unchanged", data, err)
	}
	// Without the option, the error names it.
	dir := target(t)
	write(t, dir, earlier)
	_, err := place(t, packed(t, example.entries())["zip"], dir)
	if !errors.Is(err, module.ErrOccupied) || !strings.Contains(err.Error(), "Options.Replace") {
		t.Error(err)
	}
}

// TestReplaceFails checks that a failure leaves the old package unchanged.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx     context.Context
		subdir  string
		content []byte
		pin     checksum.Hash
		limit   int64
	}{
		"other hash":  {ctx: t.Context(), content: content, pin: h1(t, files{"x": ""})},
		"broken":      {ctx: t.Context(), content: content[:len(content)-1]},
		"no archive":  {ctx: t.Context(), content: []byte("none")},
		"no subdir":   {ctx: t.Context(), subdir: "none", content: content},
		"too large":   {ctx: t.Context(), content: content, limit: 10},
		"interrupted": {ctx: ended, content: content, pin: h1(t, earlier)},
	} {
		dir := target(t)
		write(t, dir, earlier)
		src := registry(t, archiveURL+".zip", test.content)
		_, err := module.Download(test.ctx, src, module.Request{Source: addrs.ModuleSource{Module: vpc, Subdir: test.subdir}, Version: v1, Dir: dir, H1: test.pin},
			module.Options{Replace: true, Limits: checksum.Limits{Package: test.limit}})
		if _, ok := errors.AsType[*failure.Error](err); !ok {
			t.Errorf("%s: %v, want a *failure.Error", name, err)
		}
		wantTree(t, dir, earlier)
	}
}

// TestReuse checks that a package that is already there is not fetched again.
func TestReuse(t *testing.T) {
	t.Parallel()
	wrapped := example.below("acme-vpc-0a1b2c")
	source := addrs.ModuleSource{Module: vpc, Subdir: "modules/a"}
	for name, text := range map[string]string{
		"archive":           archiveURL + ".tar.gz",
		"registry's subdir": archiveURL + "//acme-vpc-0a1b2c?archive=tar.gz",
		"pattern":           archiveURL + "//*?archive=tar.gz",
		"perhaps a page":    archiveURL + "//*",
	} {
		pack := wrapped
		if name == "archive" {
			pack = example
		}
		src := registry(t, text, pack.tgz(t))
		dir := target(t)
		first := must.Get(module.Download(t.Context(), src, module.Request{Source: source, Version: v1, Dir: dir}, module.Options{Replace: true}))(t)
		if runtime.GOOS != "windows" {
			// Modes are not part of the content.
			must.Do(t, os.Chmod(filepath.Join(first.ModuleDir(), "main.tf"), 0o600))
		}
		before := must.Get(os.Stat(dir))(t)
		src.opened = nil
		var events []progress.Kind
		o := module.Options{Replace: true, Progress: func(e progress.Event) { events = append(events, e.Kind) }}
		second, err := module.Download(t.Context(), src, module.Request{Source: source, Version: v1, Dir: dir, H1: first.H1}, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := *first
		want.Size, want.Reused = 0, true
		if diff := cmp.Diff(&want, second, cmpAddrs, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if mayBePage := name == "perhaps a page"; opened(src) != 0 != mayBePage || src.bodies != 0 {
			t.Errorf("%s: fetched %d times, %d bodies are open", name, opened(src), src.bodies)
		}
		if events[0] != progress.Located || events[len(events)-1] != progress.Reused {
			t.Errorf("%s: events %v, want located first and reused last", name, events)
		}
		if after, err := os.Stat(dir); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: the directory was replaced: %v", name, err)
		}
		wantTree(t, dir, pack)
	}
}

// TestReuseOfLocations checks that an archive is not fetched, but a page that may name it, and that reuse needs no git
// and no Fetcher. AllowLocal still holds.
func TestReuseOfLocations(t *testing.T) {
	t.Parallel()
	dir := target(t)
	write(t, dir, example)
	o, pin := module.Options{Replace: true}, h1(t, example)
	for text, pages := range map[string]int{
		"github.com/acme/vpc?ref=v1": 0, "s3::https://s3.amazonaws.com/modules/vpc.zip": 0, archiveURL + ".zip": 0, archiveURL + "//a": 1,
	} {
		src := serve(map[string][]byte{archiveURL: []byte(`<meta name="terraform-get" content="./vpc.zip//modules">`)})
		report, err := module.Download(t.Context(), src, module.Request{Location: at(t, text), Dir: dir, H1: pin}, o)
		if err != nil || !report.Reused || opened(src) != pages || len(report.Via) != pages || pages == 1 && report.Subdir != "modules/a" {
			t.Errorf("%s: %+v, %v, requests %q; want Reused after %d pages", text, report, err, src.asked, pages)
		}
	}
	if _, err := module.Download(t.Context(), nil, module.Request{Location: at(t, "/srv/vpc"), Dir: dir, H1: pin}, o); !errors.Is(err, module.ErrLocal) {
		t.Errorf("%v, want ErrLocal", err)
	}
	wantTree(t, dir, example)
}

// TestReuseIsProven checks that a changed package is fetched again.
func TestReuseIsProven(t *testing.T) {
	t.Parallel()
	pack := files{"main.tf": "x\n", "modules/a/": ""} // the module is an empty directory
	content := pack.zip(t)
	for name, change := range map[string]func(dir string) error{
		"file":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "main.tf"), []byte("y\n"), 0o644) },
		"new file":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "mine.tf"), nil, 0o644) },
		"less":      func(dir string) error { return os.Remove(filepath.Join(dir, "main.tf")) },
		"link":      func(dir string) error { return os.Symlink("main.tf", filepath.Join(dir, "mine.tf")) },
		"pipe":      func(dir string) error { return disktest.Mkfifo(filepath.Join(dir, "pipe")) },
		"no subdir": func(dir string) error { return os.Remove(filepath.Join(dir, "modules", "a")) },
	} {
		if runtime.GOOS == "windows" && (name == "link" || name == "pipe") {
			continue // links need a privilege there
		}
		dir := target(t)
		write(t, dir, pack)
		must.Do(t, change(dir))
		src := registry(t, archiveURL+".zip", content)
		report, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc, Subdir: "modules/a"}, Version: v1, Dir: dir, H1: h1(t, pack)}, module.Options{Replace: true})
		if err != nil || report.Reused || opened(src) != 1 {
			t.Errorf("%s: %+v, %v; fetched %d times", name, report, err, opened(src))
		}
		wantTree(t, dir, pack)
		if _, err := os.Stat(filepath.Join(dir, "modules", "a")); err != nil {
			t.Errorf("%s: directory of the module: %v", name, err)
		}
	}
}

// TestReuseRace checks that a directory that is replaced during a request is not reused.
func TestReuseRace(t *testing.T) {
	t.Parallel()
	dir := target(t)
	write(t, dir, example)
	src := registry(t, archiveURL+".zip", example.zip(t))
	answer := src.location
	src.location = func(m addrs.Module, v addrs.Version) (*module.Location, error) {
		if err := os.Rename(dir, filepath.Join(t.TempDir(), "away")); err != nil {
			t.Error(err)
		}
		write(t, dir, earlier)
		return answer(m, v)
	}
	report, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Version: v1, Dir: dir, H1: h1(t, example)}, module.Options{Replace: true})
	if err != nil || report.Reused || opened(src) != 1 {
		t.Errorf("report %+v, %v; want one fetch", report, err)
	}
	wantTree(t, dir, example)
}

// TestReuseUnpinned checks that a fetched package does not replace an equal one.
func TestReuseUnpinned(t *testing.T) {
	t.Parallel()
	dir := target(t)
	write(t, dir, example)
	before := must.Get(os.Stat(dir))(t)
	src, report, err := replace(t, dir, checksum.Hash{})
	if err != nil || !report.Reused || report.Size == 0 || opened(src) != 1 {
		t.Errorf("report %+v, %v; want Reused after one fetch", report, err)
	}
	if after, err := os.Stat(dir); err != nil || !os.SameFile(before, after) {
		t.Errorf("the directory was replaced: %v", err)
	}
	wantTree(t, dir, example)
}

// TestReuseLimits checks that a directory above the limits is not reused.
func TestReuseLimits(t *testing.T) {
	t.Parallel()
	two := files{"a": "1234", "b": "5678"}
	for _, test := range []struct {
		limits checksum.Limits
		reused bool
	}{
		{checksum.Limits{Entries: 2, Unpacked: 8}, true},
		{checksum.Limits{Entries: 1}, false},
		{checksum.Limits{Unpacked: 7}, false},
	} {
		dir := target(t)
		write(t, dir, two)
		report, err := module.Download(t.Context(), serve(nil), module.Request{Location: at(t, archiveURL+".zip"), Dir: dir, H1: h1(t, two)}, module.Options{Replace: true, Limits: test.limits})
		if test.reused != (err == nil) || err == nil && !report.Reused {
			t.Errorf("limits %+v: %+v, %v; want Reused: %v", test.limits, report, err, test.reused)
		}
		wantTree(t, dir, two)
	}
}

// TestReplaceTogether replaces one directory concurrently. Each call must succeed, and one
// package must be there as a whole.
func TestReplaceTogether(t *testing.T) {
	t.Parallel()
	dir := target(t)
	var wg sync.WaitGroup
	for i := range 8 {
		pack := example
		if i%2 == 0 {
			pack = earlier
		}
		content := pack.zip(t)
		pin := h1(t, pack)
		wg.Go(func() {
			for range 5 {
				src := only(content)
				report, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir, H1: pin}, module.Options{Replace: true})
				if err == nil && report.H1 != pin {
					t.Errorf("h1 %s, want %s", report.H1, pin)
				}
				if err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := tree(t, dir)
	if cmp.Diff(withDirs(example), got) != "" && cmp.Diff(withDirs(earlier), got) != "" {
		t.Errorf("a mixture of both packages, %d entries", len(got))
	}
	alone(t, dir)
}

// withDirs adds the directories of the files.
func withDirs(f files) files {
	out := files{}
	for name, content := range f {
		out[name] = content
		for i, c := range name {
			if c == '/' {
				out[name[:i+1]] = ""
			}
		}
	}
	return out
}

// TestReplaceReadOnly checks that nothing is fetched to a read-only disk, and that a package
// on it is reused.
func TestReplaceReadOnly(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		write(t, filepath.Join(dir, "module"), example)
	}, func(t *testing.T, dir string) {
		dir = filepath.Join(dir, "module")
		for _, name := range []string{"module", "new"} {
			src, err := place(t, packed(t, example.entries())["zip"], filepath.Join(filepath.Dir(dir), name))
			if err == nil || len(src.asked) > 0 {
				t.Errorf("%s without Replace: %v, requests %q; want an error without requests", name, err, src.asked)
			}
		}
		src, _, err := replace(t, dir, checksum.Hash{})
		if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "store" || !errors.Is(err, fs.ErrPermission) || len(src.asked) > 0 {
			t.Errorf("without H1: %v, requests %q; want ErrPermission without requests", err, src.asked)
		}
		src, _, err = replace(t, dir, h1(t, earlier))
		if !errors.Is(err, fs.ErrPermission) || len(src.asked) > 0 {
			t.Errorf("another H1: %v, requests %q; want ErrPermission without requests", err, src.asked)
		}
		src, report, err := replace(t, dir, h1(t, example))
		if err != nil || !report.Reused || opened(src) > 0 {
			t.Errorf("report %+v, %v; want Reused without a fetch", report, err)
		}
		wantTree(t, dir, example)
	})
}

// TestReplaceOtherFileSystem checks that a link to another file system is replaced by a
// directory, and that the target of the link is unchanged.
func TestReplaceOtherFileSystem(t *testing.T) {
	t.Parallel()
	other, link := disktest.Elsewhere(t)
	write(t, other, earlier)
	_, _, err := replace(t, link, checksum.Hash{})
	must.Do(t, err)
	wantTree(t, link, example)
	if diff := cmp.Diff(earlier, tree(t, other)); diff != "" {
		t.Error(diff)
	}
	// With a link above the target, the target is on the other file system.
	above := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(other, above))
	_, _, err = replace(t, filepath.Join(above, "old"), checksum.Hash{})
	must.Do(t, err)
	if got := tree(t, filepath.Join(other, "old")); got["README.md"] != example["README.md"] {
		t.Errorf("%d entries, want example", len(got))
	}
}

// TestMissingParents checks that missing directories above the target are created.
func TestMissingParents(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b", "module")
	must.Get(place(t, packed(t, example.entries())["zip"], dir))(t)
	wantTree(t, dir, example)

	file := target(t)
	write(t, filepath.Dir(file), files{"module": ""})
	for _, name := range []string{filepath.Join("a", "module"), "module"} {
		src, err := place(t, packed(t, example.entries())["zip"], filepath.Join(file, name))
		if err == nil || len(src.asked) != 0 || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), ".part") {
			t.Errorf("target below a file: %v, want an error that names the file", err)
		}
	}
}
