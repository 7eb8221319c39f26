package bucket_test

import (
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
		"outside":           {list: [][]bucket.Object{{{Name: "m/../../a.tf", Size: 3}}}, text: "escapes"},
		"twice":             {list: [][]bucket.Object{one, one}, want: os.ErrExist},
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
