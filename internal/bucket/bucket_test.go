package bucket_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/bucket"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

var errList = errors.New("the list failed")

// pages yields pages, then err unless it is nil.
func pages(list [][]bucket.Object, err error) iter.Seq2[[]bucket.Object, error] {
	return func(yield func([]bucket.Object, error) bool) {
		for _, page := range list {
			if !yield(page, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// TestDownload downloads lists at their limits and beyond, and lists that lie.
func TestDownload(t *testing.T) {
	t.Parallel()
	one := []bucket.Object{{Name: "m/main.tf", Size: 3}}
	empty := func(n int) [][]bucket.Object { return append(slices.Repeat([][]bucket.Object{nil}, n), one) }
	limits := checksum.Limits{Unpacked: 6, Entries: 3}
	for name, test := range map[string]struct {
		list [][]bucket.Object
		err  error
		want error
		text string
	}{
		"two files":         {list: [][]bucket.Object{one, {{Name: "m/sub/a.tf", Size: 3}}}},
		"100 empty pages":   {list: empty(100)},
		"101 empty pages":   {list: empty(101), want: failure.ErrTooLarge},
		"3 objects":         {list: [][]bucket.Object{{{Name: "m/"}, {Name: "m/sub/"}}, one}},
		"4 objects":         {list: [][]bucket.Object{{{Name: "m/"}, {Name: "m/sub/"}, {Name: "m/x/"}}, one}, want: failure.ErrTooLarge},
		"7 bytes":           {list: [][]bucket.Object{one, {{Name: "m/a.tf", Size: 4}}}, want: failure.ErrTooLarge},
		"a negative size":   {list: [][]bucket.Object{{{Name: "m/a.tf", Size: -9}}, one}, want: module.ErrChanged},
		"another size":      {list: [][]bucket.Object{{{Name: "m/a.tf", Size: 2}}}, want: module.ErrChanged},
		"another prefix":    {list: [][]bucket.Object{{{Name: "n/a.tf", Size: 3}}}, text: `the list of "m/" has the object "n/a.tf"`},
		"outside":           {list: [][]bucket.Object{{{Name: "m/../../a.tf", Size: 3}}}, want: failure.ErrArchive, text: `path element ".."`},
		"twice":             {list: [][]bucket.Object{one, one}, want: failure.ErrArchive},
		"3 directories":     {list: [][]bucket.Object{{{Name: "m/a/b/c.tf", Size: 3}}}},
		"4 directories":     {list: [][]bucket.Object{{{Name: "m/a/b/c/d.tf", Size: 3}}}, want: failure.ErrTooLarge},
		"only placeholders": {list: [][]bucket.Object{{{Name: "m/"}}}, want: module.ErrNotFound},
		"no list":           {list: [][]bucket.Object{one}, err: errList, want: errList},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		must.Do(t, os.Mkdir(dir, 0o755))
		err := bucket.Download(t.Context(), dir, "m/", limits, pages(test.list, test.err), func(bucket.Object) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("abc")), nil
		})
		if ok := test.want == nil && test.text == ""; ok != (err == nil) || test.want != nil && !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: Download: %v, want %v with %q", name, err, test.want, test.text)
		}
		if entries := must.Get(os.ReadDir(filepath.Dir(dir)))(t); len(entries) != 1 {
			t.Errorf("%s: Download has written outside of its directory: %v", name, entries)
		}
	}
}

// TestDownloadNames: names are checked before an object is opened and before directories are made for it, and a download
// ends with its context.
func TestDownloadNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name string
		want error
	}{
		"1,024 bytes":       {strings.Repeat("a/", 511) + "bb", nil},
		"1,025 bytes":       {strings.Repeat("a/", 512) + "b", failure.ErrTooLarge},
		"8,000 directories": {strings.Repeat("a/", 8000) + "b", failure.ErrTooLarge},
		"255 bytes":         {"a/" + strings.Repeat("b", 255), nil},
		"256 bytes":         {"a/" + strings.Repeat("b", 256), failure.ErrArchive},
		"empty element":     {"a//b", failure.ErrArchive},
		"absolute":          {"/a", failure.ErrArchive},
		"control character": {"a/b\n", failure.ErrArchive},
		"backslash":         {`a\b`, failure.ErrArchive},
		"a placeholder":     {"a/../", failure.ErrArchive},
	} {
		dir, opened := t.TempDir(), 0
		list := [][]bucket.Object{{{Name: "m/" + test.name, Size: 1}}}
		err := bucket.Download(t.Context(), dir, "m/", checksum.Limits{}.Effective(), pages(list, nil), func(bucket.Object) (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader("a")), nil
		})
		entries := must.Get(os.ReadDir(dir))(t)
		if refused := test.want != nil; !errors.Is(err, test.want) || refused != (opened == 0) || refused != (len(entries) == 0) {
			t.Errorf("%s: Download: %v, opened %d objects and made %v; want %v", name, err, opened, entries, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	list := [][]bucket.Object{{{Name: "m/a", Size: 1}, {Name: "m/b", Size: 1}}}
	dir := t.TempDir()
	err := bucket.Download(ctx, dir, "m/", checksum.Limits{}.Effective(), pages(list, nil), func(bucket.Object) (io.ReadCloser, error) {
		cancel()
		return io.NopCloser(strings.NewReader("a")), nil
	})
	if _, exists := os.Stat(filepath.Join(dir, "b")); !errors.Is(err, context.Canceled) || exists == nil {
		t.Errorf("Download with a context that ends: %v, and the second object is there: %t", err, exists == nil)
	}
}
