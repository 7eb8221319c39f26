package module_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

const archiveURL = "https://files.example.com/vpc"

// registry returns a fake with version 1.0.0 of vpc at the location text.
func registry(t testing.TB, text string, content []byte) *fake {
	t.Helper()
	loc := at(t, text)
	f := serve(map[string][]byte{loc.URL: content})
	f.versions = map[addrs.Module]*module.Versions{vpc: {Module: vpc, Versions: []module.Release{{Version: v1}}}}
	f.location = func(addrs.Module, addrs.Version) (*module.Location, error) { c := *loc; return &c, nil }
	return f
}

func TestDownload(t *testing.T) {
	t.Parallel()
	src := registry(t, archiveURL+".zip?archive=zip", example.zip(t))
	dir := target(t)
	source := addrs.ModuleSource{Module: vpc, Subdir: "modules/a"}
	report := must.Get(module.Download(t.Context(), src, module.Request{Source: source, Version: v1, Dir: dir}, module.Options{}))(t)
	wantTree(t, dir, example)
	want := &module.Report{
		Module: vpc, Version: v1, Location: archiveURL + ".zip//modules/a", Dir: dir, Subdir: "modules/a",
		H1: h1(t, example), Size: report.Size,
	}
	if diff := cmp.Diff(want, report, cmpAddrs, cmp.Comparer(func(a, b checksum.Hash) bool { return a == b })); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if report.ModuleDir() != filepath.Join(dir, "modules", "a") {
		t.Errorf("ModuleDir is %s", report.ModuleDir())
	}
	if got, want := report.String(), "registry.example.com/acme/vpc/aws 1.0.0 in "+report.ModuleDir()+", "+report.H1.String(); got != want {
		t.Errorf("String: %q, want %q", got, want)
	}
	if report.Size == 0 || src.bodies != 0 {
		t.Errorf("size %d, %d bodies are open", report.Size, src.bodies)
	}
	if len(src.asked) != 2 {
		t.Errorf("requests %q, want 2", src.asked)
	}
	data := must.Get(json.Marshal(report))(t)
	var stored module.Report
	if err := json.Unmarshal(data, &stored); err != nil || stored.H1 != report.H1 || stored.Module != vpc {
		t.Errorf("JSON %s: %v", data, err)
	}
}

func TestDownloadNewest(t *testing.T) {
	t.Parallel()
	src := registry(t, archiveURL+".zip", example.zip(t))
	report, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Dir: target(t)}, module.Options{})
	if err != nil || report.Version != v1 {
		t.Errorf("Download = %+v, %v; want version %s", report, err, v1)
	}
	src.versions[vpc].Versions = nil
	_, err = module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Dir: target(t)}, module.Options{})
	if u, ok := errors.AsType[*module.UnavailableError](err); !ok || u.Module != vpc || !errors.Is(err, failure.ErrNoVersion) {
		t.Errorf("%v, want an *UnavailableError", err)
	}
	src.versions[vpc].Module = addrs.Module{}
	if _, err = module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Dir: target(t)}, module.Options{}); err == nil || !strings.Contains(err.Error(), vpc.String()) {
		t.Errorf("of a list that does not name the module: %v, want an error that does", err)
	}
	delete(src.versions, vpc)
	_, err = module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Dir: target(t)}, module.Options{})
	if !errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// packed returns archives of all formats with the same files.
func packed(t testing.TB, entries []entry) map[string][]byte {
	tar := archivetest.Tar(t, entries...)
	return map[string][]byte{"zip": archivetest.Zip(t, entries...), "tar.gz": archivetest.Gzip(t, tar), "tar.xz": xzOf(t, tar)}
}

// TestFormats checks that the content decides the format, not the location.
func TestFormats(t *testing.T) {
	t.Parallel()
	names := []string{"", ".zip", ".tgz", ".tar.xz", ".bz2", ".html", "?archive=zip", "?archive=tar.bz2"}
	for format, content := range packed(t, example.entries()) {
		for _, name := range names {
			t.Run(format+" as "+name, func(t *testing.T) {
				t.Parallel()
				loc := at(t, archiveURL+name)
				dir := target(t)
				report := must.Get(module.Download(t.Context(), serve(map[string][]byte{loc.URL: content}), module.Request{Location: loc, Dir: dir}, module.Options{}))(t)
				wantTree(t, dir, example)
				if report.H1 != h1(t, example) || report.Size != int64(len(content)) {
					t.Errorf("h1 %s, size %d; want %s, %d", report.H1, report.Size, h1(t, example), len(content))
				}
			})
		}
	}
	t.Run("tar.bz2", func(t *testing.T) {
		t.Parallel()
		content := must.Get(os.ReadFile("../internal/archive/testdata/tar/plain.tar.bz2"))(t)
		wantPackage(t, only(content), archiveURL, module.Options{}, files{"main.tf": "variable \"a\" {}\n", "sub/x.tf": "x\n"})
	})
}

// hostile are archives that must be refused. The tests of internal/archive have more.
var hostile = map[string][]entry{
	"traversal": {{Name: "main.tf", Content: "x"}, {Name: "../evil", Content: "x"}},
	"link":      {{Name: "main.tf", Content: "x"}, {Name: "link", Content: "../../etc/passwd", Mode: fs.ModeSymlink | 0o777}},
	"pipe":      {{Name: "pipe", Mode: fs.ModeNamedPipe | 0o644}},
	"empty":     {},
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for name, entries := range hostile {
		for format, content := range packed(t, entries) {
			t.Run(name+" "+format, func(t *testing.T) {
				t.Parallel()
				refused(t, content, module.Options{}, failure.ErrArchive)
			})
		}
	}
	for name, content := range map[string][]byte{
		"empty body": {}, "text": []byte("hello"), "gzip of text": archivetest.Gzip(t, []byte("hello")), "cut zip": example.zip(t)[:200],
		"cut tar": example.tgz(t)[:200],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, content, module.Options{}, failure.ErrArchive)
		})
	}
}

// TestNamesInAnyCase checks that names may differ in case only where the file system keeps them apart.
// Run it with TMPDIR in a file system that does not, too.
func TestNamesInAnyCase(t *testing.T) {
	t.Parallel()
	probe := t.TempDir()
	write(t, probe, files{"name": ""})
	_, err := os.Stat(filepath.Join(probe, "NAME"))
	apart := err != nil
	for name, want := range map[string]files{
		"files":              {".github/PULL_REQUEST_TEMPLATE.md": "x", ".github/pull_request_template.md": "y", ".github/Pull_request_template.md": "z"},
		"directories":        {"Docs/a": "x", "docs/b": "y"},
		"file and directory": {"main": "x", "MAIN/main.tf": "y"},
		"not in ASCII":       {"\u00c4rger": "x", "\u00e4rger": "y"},
	} {
		contents := packed(t, want.entries())
		sources := map[string]string{}
		src := serve(nil)
		for format, content := range contents {
			sources[format] = archiveURL + "?name=" + format
			src.open[at(t, sources[format]).URL] = func() (*module.Body, error) { return body(content), nil }
		}
		if apart {
			from := t.TempDir()
			write(t, from, want)
			sources["directory"] = from
		}
		for format, source := range sources {
			dir, report, err := get(t, src, source, module.Options{AllowLocal: true})
			if !apart {
				if !errors.Is(err, failure.ErrArchive) || !strings.Contains(err.Error(), "already has this name, possibly in another case") {
					t.Errorf("%s, %s: %v, want ErrArchive about case", name, format, err)
				}
				absent(t, dir)
				continue
			}
			if err != nil || report.H1 != h1(t, want) {
				t.Errorf("%s, %s: %v, %v, want both names", name, format, report, err)
				continue
			}
			wantTree(t, dir, want)
			again, err := module.Download(t.Context(), src, module.Request{Location: at(t, source), Dir: dir, H1: report.H1}, module.Options{AllowLocal: true, Replace: true})
			if err != nil || !again.Reused {
				t.Errorf("%s, %s again: %v, %v, want it reused", name, format, again, err)
			}
		}
	}
}

// refused fails unless content is refused with want, and leaves the target missing or empty.
func refused(t *testing.T, content []byte, o module.Options, want error) {
	t.Helper()
	src := only(content)
	wantRefused(t, src, archiveURL, o, want)
	dir := target(t)
	must.Do(t, os.Mkdir(dir, 0o755))
	if _, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir}, o); err == nil {
		t.Error("the second download was accepted")
	}
	wantTree(t, dir, files{})
	if src.bodies != 0 {
		t.Errorf("%d bodies are open", src.bodies)
	}
}

// wellFormed fails unless err is an *Error whose text is safe to print.
func wellFormed(t testing.TB, err error) {
	t.Helper()
	e, ok := err.(*failure.Error)
	if !ok || e.Op == "" || e.Subject == "" {
		t.Errorf("error %v, want an *Error with Op and Subject", err)
	}
	if err != nil && (strings.ContainsFunc(err.Error(), unicode.IsControl) || strings.Contains(err.Error(), "secret") || len(err.Error()) > 4000) {
		t.Errorf("error text %.4000q of %d bytes, want at most 4,000 printable characters without secrets", err, len(err.Error()))
	}
	if _, ok := errors.AsType[*failure.Error](err); !ok {
		t.Error("errors.As finds no *failure.Error")
	}
}

// linksTo returns a package with n links.
func linksTo(n int, target func(i int) string) []entry {
	entries := []entry{{Name: "a", Content: "x"}}
	for i := range n {
		entries = append(entries, entry{Name: fmt.Sprintf("l%d", i), Content: target(i), Mode: fs.ModeSymlink | 0o777})
	}
	return entries
}

// TestHostileLinks: targets that are long, lead over many elements, or control a terminal, take little memory and time, and are not
// part of an error.
func TestHostileLinks(t *testing.T) { // not parallel, because it measures memory
	const nasty = "\x1b[31m\x07\u009b1m"
	long := strings.Repeat(nasty+"/", 1<<17/len(nasty))
	before := func(i int) string { // on the way of link i are at most 38 others
		if i%38 == 0 {
			return "a"
		}
		return fmt.Sprintf("l%d", i-1)
	}
	for name, tt := range map[string]struct {
		entries []entry
		want    error
	}{
		"targets of 1 MB":           {linksTo(30, func(int) string { return strings.Repeat("x/", 500_000) }), failure.ErrArchive},
		"nasty targets of 128 KiB":  {linksTo(30, func(int) string { return long }), failure.ErrArchive},
		"a nasty target":            {linksTo(1, func(int) string { return nasty }), module.ErrLink},
		"many elements":             {linksTo(1000, func(i int) string { return strings.Repeat("./", 1995) + before(i) }), failure.ErrTooLarge},
		"many directories":          {linksTo(1000, func(i int) string { return strings.Repeat("d/../", 800) + before(i) }), failure.ErrTooLarge},
		"a long target that leaves": {linksTo(1, func(int) string { return strings.Repeat("../", 1300) }), module.ErrLink},
	} {
		content := archivetest.Gzip(t, archivetest.Tar(t, tt.entries...))
		var first, last runtime.MemStats
		runtime.ReadMemStats(&first)
		wantRefused(t, only(content), archiveURL, module.Options{KeepLinks: true}, tt.want)
		runtime.ReadMemStats(&last)
		if used := last.TotalAlloc - first.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: the download of %d bytes took %d bytes of memory, want less than 64 MiB", name, len(content), used)
		}
		if !errors.Is(tt.want, module.ErrLink) {
			continue
		}
		// They are omitted, too.
		if report := wantPackage(t, only(content), archiveURL, module.Options{KeepLinks: true, SkipLinks: true}, files{"a": "x"}); len(report.Skipped) != 1 {
			t.Errorf("%s: skipped %q, want the link", name, report.Skipped)
		}
	}
}

// looks is a context that counts the looks at it.
type looks struct {
	context.Context
	n atomic.Int64
}

func (l *looks) Err() error {
	l.n.Add(1)
	return l.Context.Err()
}

// TestLongSubdir: the context is looked at for each element of a directory that a location names.
func TestLongSubdir(t *testing.T) {
	t.Parallel()
	const depth = 200
	content := archivetest.Gzip(t, archivetest.Tar(t, entry{Name: strings.Repeat("d/", depth) + "a", Content: "x"}))
	count := func(subdir string) int64 {
		ctx := &looks{Context: t.Context()}
		must.Get(module.Download(ctx, only(content), module.Request{Location: at(t, archiveURL+"//"+subdir), Dir: target(t)}, module.Options{}))(t)
		return ctx.n.Load()
	}
	short, long := count("d"), count("d"+strings.Repeat("/d", depth-1))
	if long < short+depth-1 {
		t.Errorf("%d looks at the context for one element, %d for %d; want one more for each", short, long, depth)
	}
}

// TestNativeNames: names that only Windows reserves or changes are accepted where the system keeps them.
func TestNativeNames(t *testing.T) {
	t.Parallel()
	want := files{"aux/main.tf": "a", "space /main.tf": "b", "dot./x:y.tf": "c", "modules/C:/main.tf": "d"}
	for format, content := range packed(t, want.entries()) {
		if runtime.GOOS == "windows" {
			wantRefused(t, only(content), archiveURL, module.Options{}, failure.ErrArchive)
			continue
		}
		if report := wantPackage(t, only(content), archiveURL, module.Options{}, want); report.H1.IsZero() {
			t.Errorf("%s: no hash", format)
		}
	}
	if runtime.GOOS != "windows" {
		from := t.TempDir()
		write(t, from, want)
		wantPackage(t, nil, from, module.Options{AllowLocal: true}, want)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	entries := append(example.entries(), entry{Name: "modules/link", Content: "a", Mode: fs.ModeSymlink | 0o777},
		entry{Name: "evil", Content: "/etc/passwd", Mode: fs.ModeSymlink | 0o777})
	for format, content := range packed(t, entries) {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			if err := wantRefused(t, only(content), archiveURL, module.Options{}, module.ErrLink); !strings.Contains(err.Error(), "Options.SkipLinks") {
				t.Errorf("%v, want the option in it", err)
			}
			report := wantPackage(t, only(content), archiveURL, module.Options{SkipLinks: true}, example)
			if diff := cmp.Diff([]string{"evil", "modules/link"}, report.Skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	content := files{"a/b": strings.Repeat("x", 600), "c": strings.Repeat("y", 400)} // 3 entries
	for format, archive := range packed(t, content.entries()) {
		size := int64(len(archive))
		for _, test := range []struct {
			name           string
			fits, tooSmall checksum.Limits
		}{
			{"package", checksum.Limits{Package: size}, checksum.Limits{Package: size - 1}},
			{"unpacked", checksum.Limits{Unpacked: 1000}, checksum.Limits{Unpacked: 999}},
			{"entries", checksum.Limits{Entries: 3}, checksum.Limits{Entries: 2}},
			{"names", checksum.Limits{NameLen: 3}, checksum.Limits{NameLen: 2}},
		} {
			t.Run(format+" "+test.name, func(t *testing.T) {
				t.Parallel()
				wantPackage(t, only(archive), archiveURL, module.Options{Limits: test.fits}, content)
				refused(t, archive, module.Options{Limits: test.tooSmall}, failure.ErrTooLarge)
			})
		}
	}
	for _, src := range map[string]*fake{
		"body without end": reading(io.MultiReader(strings.NewReader("PK\x03\x04"), zeros{}), 0),
		"declared size":    reading(iotest.ErrReader(errors.New("read")), 1<<20+1),
	} {
		wantRefused(t, src, archiveURL, module.Options{Limits: checksum.Limits{Package: 1 << 20}}, failure.ErrTooLarge)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTargets(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	empty := target(t)
	must.Do(t, os.Mkdir(empty, 0o700))
	if _, err := place(t, content, empty+string(filepath.Separator)); err != nil {
		t.Errorf("empty directory: %v", err)
	}
	wantTree(t, empty, example)

	file := target(t)
	write(t, filepath.Dir(file), files{"module": "precious"})
	link, elsewhere := target(t), t.TempDir()
	linked := disktest.Symlink(elsewhere, link)
	for name, test := range map[string]struct {
		dir  string
		want error
	}{
		"full":       {empty, module.ErrOccupied},
		"file":       {file, module.ErrOccupied},
		"link":       {link, module.ErrOccupied},
		"empty name": {"", fs.ErrInvalid},
		"dot":        {".", fs.ErrInvalid},
		"parent":     {filepath.Join("x", ".."), fs.ErrInvalid},
		"root":       {string(filepath.Separator), fs.ErrInvalid},
	} {
		if name == "link" && linked != nil {
			t.Log(linked)
			continue
		}
		src, err := place(t, content, test.dir)
		if !errors.Is(err, test.want) || len(src.asked) != 0 {
			t.Errorf("%s: %v, requests %q; want %v before any request", name, err, src.asked, test.want)
		}
	}
	if got := tree(t, elsewhere); len(got) > 0 {
		t.Errorf("written through a link: %v", got)
	}
}

// TestTargetRace checks that a file, directory or link that appears at the target during the
// download is not changed. With Options.Replace a file stays: it is checked after the exchange of names,
// so it cannot appear unnoticed.
func TestTargetRace(t *testing.T) {
	t.Parallel()
	file := func(dir string) error {
		return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("precious"), 0o600))
	}
	for name, test := range map[string]struct {
		occupy  func(dir string) error
		replace bool
		before  files
	}{
		"directory":                   {occupy: func(dir string) error { return os.MkdirAll(filepath.Join(dir, "precious"), 0o755) }},
		"link":                        {occupy: func(dir string) error { return disktest.Symlink("precious", dir) }},
		"file":                        {occupy: file},
		"file, replacing nothing":     {file, true, nil},
		"file, replacing a directory": {file, true, earlier},
	} {
		dir := target(t)
		if err := disktest.Symlink("precious", filepath.Join(t.TempDir(), "link")); err != nil && name == "link" {
			t.Log(err)
			continue
		}
		if test.before != nil {
			write(t, dir, test.before)
		}
		src := opening(func() (*module.Body, error) { return body(example.zip(t)), test.occupy(dir) })
		_, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir}, module.Options{Replace: test.replace})
		if !errors.Is(err, module.ErrOccupied) {
			t.Errorf("%s: %v, want ErrOccupied", name, err)
		}
		data, _ := os.ReadFile(dir)
		if info, err := os.Lstat(dir); err != nil || info.Mode().IsRegular() != (string(data) == "precious") {
			t.Errorf("%s: it is now %v with %q, %v", name, info, data, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "main.tf")); err == nil {
			t.Errorf("%s: the package replaced it", name)
		}
		alone(t, dir)
	}
}

func TestSubdirs(t *testing.T) {
	t.Parallel()
	wrapped := example.below("acme-vpc-0a1b2c").tgz(t)
	two := archivetest.Gzip(t, archivetest.Tar(t, append(example.below("one").entries(), example.below("two").entries()...)...))
	for _, test := range []struct {
		content            []byte
		answer, user, want string // want "-": ErrNoSubdir
	}{
		{wrapped, "", "", ""},
		{wrapped, "*", "", "acme-vpc-0a1b2c"},
		{wrapped, "*", "modules/b", "acme-vpc-0a1b2c/modules/b"},
		{wrapped, "*/modules/a", "", "acme-vpc-0a1b2c/modules/a"},
		{wrapped, "acme-*/mod*s", "a", "acme-vpc-0a1b2c/modules/a"},
		{wrapped, "", "acme-vpc-0a1b2c", "acme-vpc-0a1b2c"},
		{wrapped, "*", "none", "-"},
		{wrapped, "x*", "", "-"},
		{wrapped, "*", "main.tf", "-"},
		{wrapped, "*/[a-z]*", "", "-"},
		{wrapped, "*/modules/*", "", "-"}, // two
		{two, "*", "", "-"},
		{two, "one", "", "one"},
		{two, "*e", "modules", "one/modules"},
	} {
		text := archiveURL + "?archive=tar.gz"
		if test.answer != "" {
			text = archiveURL + "//" + test.answer + "?archive=tar.gz"
		}
		dir := target(t)
		source := addrs.ModuleSource{Module: vpc, Subdir: test.user}
		report, err := module.Download(t.Context(), registry(t, text, test.content), module.Request{Source: source, Version: v1, Dir: dir}, module.Options{})
		if test.want == "-" {
			if !errors.Is(err, module.ErrNoSubdir) || !errors.Is(err, failure.ErrNotFound) {
				t.Errorf("%q, %q: %v, want ErrNoSubdir", test.answer, test.user, err)
			}
			absent(t, dir)
			continue
		}
		if err != nil || report.Subdir != test.want {
			t.Errorf("%q, %q: %+v, %v; want %q", test.answer, test.user, report, err, test.want)
			continue
		}
		if info, err := os.Stat(report.ModuleDir()); err != nil || !info.IsDir() {
			t.Errorf("ModuleDir %s: %v, want a directory", report.ModuleDir(), err)
		}
	}
	// Subdir is set by the caller, so addrs does not check it.
	_, err := module.Download(t.Context(), registry(t, archiveURL, wrapped), module.Request{Source: addrs.ModuleSource{Module: vpc, Subdir: "../.."}, Version: v1, Dir: target(t)}, module.Options{})
	if _, ok := errors.AsType[*addrs.ParseError](err); !ok {
		t.Errorf("Subdir ../..: %v, want a ParseError", err)
	}
}

// TestRequestNames: a request names a module or a location, not both.
func TestRequestNames(t *testing.T) {
	t.Parallel()
	src := registry(t, archiveURL, example.zip(t))
	source := addrs.ModuleSource{Module: vpc}
	for name, r := range map[string]module.Request{
		"neither": {},
		"both":    {Source: source, Version: v1, Location: at(t, archiveURL)},
	} {
		r.Dir = target(t)
		report, err := module.Download(t.Context(), src, r, module.Options{})
		if err == nil || !strings.Contains(err.Error(), "either a Source or a Location") {
			t.Errorf("Download of %s returned %v, %v; want an error that names Source and Location", name, report, err)
		}
		absent(t, r.Dir)
	}
}

func TestH1(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	src, other := only(content), h1(t, files{"main.tf": "other"})
	pinned := func(h checksum.Hash) (string, error) {
		dir := target(t)
		_, err := module.Download(t.Context(), src, module.Request{Location: at(t, archiveURL), Dir: dir, H1: h}, module.Options{})
		return dir, err
	}
	dir, err := pinned(h1(t, example))
	must.Do(t, err)
	wantTree(t, dir, example)
	dir, err = pinned(other)
	absent(t, dir)
	m, ok := errors.AsType[*checksum.MismatchError](err)
	if !errors.Is(err, checksum.ErrMismatch) || !ok || m.Want[0] != other || m.Got[0] != h1(t, example) {
		t.Errorf("%v, want a *MismatchError", err)
	}
	if _, err := pinned(checksum.ZHSum([32]byte{})); err == nil {
		t.Error("a zh hash was accepted as H1")
	}
}

func TestChecksums(t *testing.T) {
	t.Parallel()
	for format, content := range packed(t, example.entries()) {
		for name, sum := range map[string]string{
			"md5": fmt.Sprintf("%x", md5.Sum(content)), "sha1": fmt.Sprintf("%x", sha1.Sum(content)),
			"sha256": fmt.Sprintf("%x", sha256.Sum256(content)), "sha512": fmt.Sprintf("%X", sha512.Sum512(content)),
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				t.Parallel()
				text := archiveURL + "?archive=zip&checksum=" + name + ":" + sum
				wantPackage(t, only(content), text, module.Options{}, example)
				// For a change at any position, the error is ErrMismatch.
				for _, at := range []int{8, len(content) / 2, len(content) - 1} {
					changed := bytes.Clone(content)
					changed[at] ^= 1
					err := wantRefused(t, only(changed), text, module.Options{}, checksum.ErrMismatch)
					if !strings.Contains(err.Error(), "the location states "+name+" "+strings.ToLower(sum)) {
						t.Errorf("byte %d: %v, want the stated checksum in it", at, err)
					}
				}
			})
		}
	}
}

func TestBrokenTransfers(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for format, content := range packed(t, example.entries()) {
		for _, n := range []int{0, 3, len(content) / 2, len(content)} {
			src := reading(io.MultiReader(bytes.NewReader(content[:n]), iotest.ErrReader(broken)), 0)
			if err := wantRefused(t, src, archiveURL, module.Options{}, broken); errors.Is(err, failure.ErrArchive) {
				t.Errorf("%s, broken after %d bytes: %v, want the read error only", format, n, err)
			}
		}
		for _, size := range []int{len(content) - 1, len(content) + 1} {
			wantRefused(t, reading(bytes.NewReader(content), size), archiveURL, module.Options{}, io.ErrUnexpectedEOF)
		}
		// One byte at a time, without a declared size.
		wantPackage(t, reading(iotest.OneByteReader(bytes.NewReader(content)), 0), archiveURL, module.Options{}, example)
	}
	for name, b := range map[string]*module.Body{"no body": nil, "no reader": {}} {
		src := opening(func() (*module.Body, error) { return b, nil })
		if _, _, err := get(t, src, archiveURL, module.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	src := opening(func() (*module.Body, error) { return nil, broken })
	wantRefused(t, src, archiveURL, module.Options{}, broken)
}

func TestStartsOverOnce(t *testing.T) {
	t.Parallel()
	old, content := files{"old.tf": strings.Repeat("old", 50_000)}.tgz(t), example.tgz(t)
	changing := func(times int) *fake {
		n := 0
		return opening(func() (*module.Body, error) {
			if n++; n > times {
				return body(content), nil
			}
			changed := fmt.Errorf("reading: %w", failure.ErrChanged)
			return &module.Body{ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(old[:len(old)-8]), iotest.ErrReader(changed)))}, nil
		})
	}
	var events []progress.Event
	wantPackage(t, changing(1), archiveURL, module.Options{Progress: func(e progress.Event) { events = append(events, e) }}, example)
	restarts := 0
	for _, e := range events {
		if e.Kind == progress.Restarted && errors.Is(e.Err, failure.ErrChanged) && e.Bytes == 0 {
			restarts++
		}
	}
	if restarts != 1 {
		t.Errorf("%d restarts in %v, want 1", restarts, events)
	}
	wantRefused(t, changing(2), archiveURL, module.Options{}, failure.ErrChanged)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	content := example.zip(t)
	src := registry(t, "https://user:secret@files.example.com/page?sig=secret", nil)
	next := 0
	src.open = map[string]func() (*module.Body, error){
		"https://user:secret@files.example.com/page?sig=secret": func() (*module.Body, error) {
			b := body(nil)
			b.Next = "./vpc.zip?sig=secret"
			return b, nil
		},
		"https://user:secret@files.example.com/vpc.zip?sig=secret": func() (*module.Body, error) {
			b := body(content)
			b.Resumes = func() int { next++; return next / 2 }
			return b, nil
		},
	}
	var kinds []progress.Kind
	var last progress.Event
	dir := target(t)
	report, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Version: v1, Dir: dir}, module.Options{Progress: func(e progress.Event) {
		if e.Module != vpc || e.Version != v1 || e.Dir != dir || strings.Contains(e.Location, "secret") {
			t.Errorf("event %+v, want %s %s in %s, without secrets", e, vpc, v1, dir)
		}
		if e.Kind != progress.Bytes || last.Kind != progress.Bytes {
			kinds = append(kinds, e.Kind)
		}
		last = e
	}})
	must.Do(t, err)
	if last.Kind != progress.Stored || last.Bytes != int64(len(content)) || last.Total != last.Bytes {
		t.Errorf("last event %+v, want stored with %d bytes", last, len(content))
	}
	if kinds[0] != progress.Located || kinds[1] != progress.Located || kinds[2] != progress.Bytes || kinds[3] != progress.Resumed {
		t.Errorf("events %v, want located, located, bytes, resumed", kinds)
	}
	if report.Location != "https://files.example.com/vpc.zip?..." || len(report.Via) != 1 || report.Via[0] != "https://files.example.com/page?..." {
		t.Errorf("Location %s, Via %q; want redacted URLs", report.Location, report.Via)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	for format, content := range packed(t, example.entries()) {
		ctx, cancel := context.WithCancel(t.Context())
		src := reading(io.MultiReader(bytes.NewReader(content[:100]), readFunc(func([]byte) (int, error) { cancel(); return 0, nil }), bytes.NewReader(content[100:])), 0)
		dir := target(t)
		_, err := module.Download(ctx, src, module.Request{Location: at(t, archiveURL), Dir: dir}, module.Options{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", format, err)
		}
		absent(t, dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	late, dir := fetchFunc(func(loc *module.Location, dir string) error {
		cancel()
		return files(example).write(dir)
	}), target(t)
	if _, err := module.Download(ctx, nil, module.Request{Location: at(t, "s3::https://s3.amazonaws.com/b/a"), Dir: dir}, module.Options{Fetcher: module.Fetchers{"s3": late}}); !errors.Is(err, context.Canceled) {
		t.Errorf("fetcher: %v, want context.Canceled", err)
	}
	absent(t, dir)
	// The error wraps context.Canceled, although the context has another cause.
	caused, because := context.WithCancelCause(t.Context())
	because(errors.New("enough"))
	if _, err := module.Download(caused, serve(nil), module.Request{Location: at(t, archiveURL), Dir: target(t)}, module.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	src := registry(t, archiveURL, nil)
	if _, err := module.Download(ctx, src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Version: v1, Dir: target(t)}, module.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Download with an ended context: %v, want context.Canceled", err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestNoLocation(t *testing.T) {
	t.Parallel()
	src := registry(t, archiveURL, nil)
	src.location = func(addrs.Module, addrs.Version) (*module.Location, error) { return nil, nil }
	_, err := module.Download(t.Context(), src, module.Request{Source: addrs.ModuleSource{Module: vpc}, Version: v1, Dir: target(t)}, module.Options{})
	wellFormed(t, err)
	_, err = module.Download(t.Context(), src, module.Request{Dir: target(t)}, module.Options{})
	wellFormed(t, err)
	for name, loc := range map[string]module.Location{
		"empty":         {},
		"no kind":       {URL: archiveURL},
		"another kind":  {Kind: module.KindGit, URL: "oci://example.com/x"},
		"contradiction": {Kind: module.KindHTTP, URL: "file:///etc"},
		"bad ref":       {Kind: module.KindGit, URL: "https://example.com/x.git", Ref: "--upload-pack=x"},
		"hidden file":   {Kind: module.KindOther, Getter: "file", URL: "file:///etc"},
		"direct file":   {Kind: module.KindHTTP, URL: "file:///etc", Direct: true},
		"direct git":    {Kind: module.KindGit, URL: "https://example.com/x.git", Direct: true},
		"direct sum":    {Kind: module.KindHTTP, URL: archiveURL, Direct: true, Checksum: "sha256:00"},
		"direct ref":    {Kind: module.KindHTTP, URL: archiveURL, Direct: true, Ref: "v1"},
		"direct tag":    {Kind: module.KindHTTP, URL: archiveURL, Direct: true, Tag: "v1"},
		"direct digest": {Kind: module.KindHTTP, URL: archiveURL, Direct: true, Digest: "sha256:" + sum256},
		"direct getter": {Kind: module.KindHTTP, URL: archiveURL, Direct: true, Getter: "http"},
		"subdirectory":  {Kind: module.KindHTTP, URL: archiveURL, Subdir: "../.."},
	} {
		if _, err := module.Download(t.Context(), src, module.Request{Location: &loc, Dir: target(t)}, module.Options{AllowLocal: true}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if len(src.opened) != 0 {
		t.Errorf("requests for %v, want none", src.opened)
	}
	_, _, err = get(t, nil, archiveURL, module.Options{})
	wellFormed(t, err)
}

// TestControlDirectories checks that .git and .hg are omitted, and that the h1 is the h1 of
// the module without them.
func TestControlDirectories(t *testing.T) {
	t.Parallel()
	want := with(example, files{".gitignore": "x\n", ".github/CODEOWNERS": "x\n", "modules/a/git": "x"})
	controlled(t, with(want, files{
		".git/config": "[core]\n\tfsmonitor = touch /tmp/x\n", ".git/objects/": "", ".git/hooks/pre-commit": "x",
		"modules/a/.GIT/config": "x", "modules/b/.git": "gitdir: ../../elsewhere\n", "vendored/.hg/hgrc": "x",
	}), want)
	controlled(t, files{".git/config": "x", ".hg/": ""}, nil)
}

// controlled downloads f as archives and with a Fetcher, and fails unless the package is want, without
// directories of .git and .hg. If want is nil, the package must be refused.
func controlled(t *testing.T, f, want files) {
	t.Helper()
	check := func(src module.Source, location string, o module.Options) {
		t.Helper()
		if want == nil {
			wantRefused(t, src, location, o, failure.ErrArchive)
			return
		}
		for name := range tree(t, wantPackage(t, src, location, o, want).Dir) {
			if lower := strings.ToLower(name); strings.HasSuffix(lower, ".git/") || strings.HasSuffix(lower, ".hg/") {
				t.Errorf("%s: directory %s exists", location, name)
			}
		}
	}
	for _, content := range packed(t, f.entries()) {
		check(only(content), archiveURL, module.Options{})
	}
	check(nil, "s3::https://s3.amazonaws.com/b/a", module.Options{Fetcher: fetch(f)})
}

// File systems take other names for .git, too, see hasDotgit in "git help fsck".
func TestControlDirectoriesByOtherNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".g\u200cit", ".\ufeffgit", ".Gi\u200dT", "git~1", "GIT~1", ".h\u200cg", "hg~1"} {
		controlled(t, with(example, files{name + "/config": "x", "modules/a/" + name: "gitdir: x\n"}), example)
	}
}

// Git takes a directory with HEAD, objects and refs for a repository, and reads its config.
func TestPackageThatIsARepository(t *testing.T) {
	t.Parallel()
	for _, f := range map[string]files{
		"bare":              {"HEAD": "ref: refs/heads/main\n", "objects/": "", "refs/": "", "config": "[core]\n\tfsmonitor = touch /tmp/x\n"},
		"in other case":     {"head": "ref: refs/heads/main\n", "Objects/x": "", "re\u200cfs/": ""},
		"below":             {"modules/b/HEAD": "ref: refs/heads/main\n", "modules/b/objects/": "", "modules/b/refs/": ""},
		"parts are below x": {"HEAD": "ref: refs/heads/main\n", "commondir": "x\n", "x/objects/": "", "x/refs/": "", "config": ""},
	} {
		controlled(t, with(example, f), nil)
	}
	without := with(example, files{"HEAD": "x", "refs/x": "", "modules/a/objects/": ""})
	controlled(t, without, without)
}
