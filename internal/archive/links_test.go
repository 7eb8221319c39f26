package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// link is a symbolic link of a tar, whose target may be long.
func link(name, target string) item { return special(tar.TypeSymlink, name, target) }

// keepLinks unpacks a tar with its links, and returns the names that were omitted.
func keepLinks(t *testing.T, items ...item) (dir string, out []string, err error) {
	t.Helper()
	dir, _, err = untar(t, archivetest.Gzip(t, roll(t, items...)), archive.Options{KeepLinks: true, Native: true, Omit: func(name string, link bool) bool {
		if link {
			out = append(out, name)
		}
		return link
	}})
	return dir, out, err
}

// TestKeepLinksAsOnAnySystem: a link that another system would resolve in another way leads out.
func TestKeepLinksAsOnAnySystem(t *testing.T) {
	t.Parallel()
	const up = "deep/er/up" // leads to the top directory
	for _, test := range casetest.Read[struct {
		Target string
		Stays  bool
	}](t, "links.txt") {
		if test.Target == "" && runtime.GOOS == "windows" {
			continue
		}
		l := link("l", test.Target)
		dir, out, err := keepLinks(t, regular("a", "x"), link(up, "../.."), l)
		if err != nil || slices.Contains(out, "l") == test.Stays {
			t.Errorf("UnpackTar with a link to %.60q: %v, omitted %q; want the link kept: %v", test.Target, err, out, test.Stays)
			continue
		}
		if _, err := os.Lstat(dir + "/l"); (err == nil) != test.Stays {
			t.Errorf("the link to %.60q: %v; want it made: %v", test.Target, err, test.Stays)
		}
	}
}

// TestLinksOnTheWay: 39 other links may be on the way of a link, as on Linux.
func TestLinksOnTheWay(t *testing.T) {
	t.Parallel()
	items := []item{regular("l0", "x")}
	for i := range 41 {
		items = append(items, link(fmt.Sprintf("l%d", i+1), fmt.Sprintf("l%d", i)))
	}
	if dir, out, err := keepLinks(t, items...); err != nil || !slices.Equal(out, []string{"l41"}) {
		t.Errorf("UnpackTar with a chain of links: %v, omitted %q; want that l41 alone leads nowhere", err, out)
	} else if runtime.GOOS == "linux" {
		must.Get(os.Stat(dir + "/l40"))(t)
	}
}

// TestLinkTargetLimits: targets have a limit each, and together one that is charged as they arrive.
func TestLinkTargetLimits(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("./", 2047) + "a"
	if _, _, err := keepLinks(t, regular("a", ""), link("l", fits)); err != nil {
		t.Errorf("UnpackTar with a target of %d bytes: %v", len(fits), err)
	}
	if _, _, err := keepLinks(t, regular("a", ""), link("l", "."+fits)); !errors.Is(err, failure.ErrArchive) {
		t.Errorf("UnpackTar with a target of %d bytes: %v, want ErrArchive", len(fits)+1, err)
	}
	items := []item{regular("a", "")}
	for i := range 300 {
		items = append(items, link(fmt.Sprintf("l%03d", i), fits))
	}
	names := 1 + 300*int64(len("l000")+len(fits)) // more than the least limit
	data := roll(t, items...)
	unpack := func(entries int) error {
		_, _, err := untar(t, archivetest.Gzip(t, data), archive.Options{KeepLinks: true, Limits: archive.Limits{Entries: entries}})
		return err
	}
	if err := unpack(int(names/160) + 1); err != nil {
		t.Errorf("UnpackTar with names and targets of %d bytes: %v", names, err)
	}
	if err := unpack(int(names / 160)); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("UnpackTar with names and targets of %d bytes: %v, want ErrTooLarge", names, err)
	}
}

// tangle is a tar whose links lead over many others, each with as many elements as fit.
func tangle(t *testing.T, links int) []byte {
	t.Helper()
	items := []item{regular("a", "")}
	before := "a"
	for i := range links {
		target := strings.Repeat("./", (4090-len(before))/2) + before
		before = fmt.Sprintf("l%05d", i)
		items = append(items, link(before, target))
		if i%38 == 37 {
			before = "a"
		}
	}
	return roll(t, items...)
}

// TestLinksTogether: all links of an archive may lead over 16 MiB of targets together, with those on their way.
func TestLinksTogether(t *testing.T) {
	t.Parallel()
	if _, _, err := untar(t, archivetest.Gzip(t, tangle(t, 190)), archive.Options{KeepLinks: true}); err != nil { // 5*38*39/2 targets
		t.Errorf("UnpackTar with links that lead over 15 MB: %v", err)
	}
	_, _, err := untar(t, archivetest.Gzip(t, tangle(t, 300)), archive.Options{KeepLinks: true})
	if !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("UnpackTar with links that lead over 23 MB: %v, want ErrTooLarge", err)
	}
}

// TestLinksEndWithTheContext: no link is resolved or made after the end of the context.
func TestLinksEndWithTheContext(t *testing.T) {
	t.Parallel()
	var items []item
	for i := range 1000 {
		items = append(items, link(fmt.Sprintf("l%d", i), "../x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	judged := 0
	root := openRoot(t, t.TempDir())
	_, err := archive.UnpackTar(ctx, bytes.NewReader(roll(t, items...)), archive.FormatTar, root, archive.Options{KeepLinks: true, Omit: func(_ string, link bool) bool {
		if link {
			judged++
			cancel()
		}
		return link
	}})
	if !errors.Is(err, context.Canceled) || judged != 1 {
		t.Errorf("UnpackTar: %v after %d links, want context.Canceled after one", err, judged)
	}
}

// TestNativeNames: names that only Windows reserves or changes are kept where the system keeps them.
func TestNativeNames(t *testing.T) {
	t.Parallel()
	names := []string{"space /a", "dot./b", "a:b", "c:/d", "aux/e", "nul.txt", "x/y. ", "deep/x:/CON/z"}
	for _, name := range names {
		_, _, err := untar(t, archivetest.Gzip(t, roll(t, regular(name, "x"))), archive.Options{})
		if !errors.Is(err, failure.ErrArchive) {
			t.Errorf("UnpackTar with %q: %v, want ErrArchive", name, err)
		}
	}
	zipped, rolled := pack(t, files(names...)...), archivetest.Gzip(t, roll(t, regulars(names...)...))
	zipDir, tarDir := t.TempDir(), t.TempDir()
	z, zipErr := archive.OpenZip(t.Context(), bytes.NewReader(zipped), int64(len(zipped)), archive.Options{Native: true})
	if zipErr == nil {
		_, zipErr = z.Unpack(t.Context(), openRoot(t, zipDir))
	}
	_, tarErr := untarInto(t, tarDir, bytes.NewReader(rolled), archive.FormatTarGzip, archive.Options{Native: true})
	if runtime.GOOS == "windows" {
		if !errors.Is(zipErr, failure.ErrArchive) || !errors.Is(tarErr, failure.ErrArchive) {
			t.Errorf("unpacking such names on Windows: %v, %v; want ErrArchive", zipErr, tarErr)
		}
		return
	}
	for dir, err := range map[string]error{zipDir: zipErr, tarDir: tarErr} {
		if err != nil {
			t.Errorf("unpacking names that this system keeps: %v", err)
			continue
		}
		got := tree(t, dir)
		for _, name := range names {
			if got[name] != "content of "+name {
				t.Errorf("%q has the content %q", name, got[name])
			}
		}
	}
}

// TestNamesThatAreNotKept: a file system that changes a name, as FAT drops dots, is found out. Here another program renames the file.
func TestNamesThatAreNotKept(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // refused before
	}
	for name, after := range map[string]string{"sub./main.tf": "sub", "main.tf.": "main.tf", "a:b": "a"} {
		dir := t.TempDir()
		o := archive.Options{Native: true, Exec: func(file string) bool {
			if file == "last" {
				element, _, _ := strings.Cut(name, "/")
				must.Do(t, os.Rename(dir+"/"+element, dir+"/"+after))
			}
			return false
		}}
		_, err := untarInto(t, dir, bytes.NewReader(roll(t, regulars(name, "last")...)), archive.FormatTar, o)
		if !errors.Is(err, failure.ErrArchive) || !strings.Contains(err.Error(), "does not keep the name") {
			t.Errorf("UnpackTar with %q, which becomes %q: %v; want ErrArchive", name, after, err)
		}
	}
}
