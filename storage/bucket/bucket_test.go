package bucket_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/verify/checksum"
)

var errList = errors.New("the list failed")

// pages returns a function for pages with objects, whose tokens count. After them the error is err, unless it is nil.
func pages(list [][]bucket.Object, err error) func(token string) (*bucket.Page, error) {
	return func(token string) (*bucket.Page, error) {
		n, _ := strconv.Atoi(token)
		if n == len(list) {
			return nil, err
		}
		return &bucket.Page{Objects: list[n], More: n+1 < len(list) || err != nil, Token: strconv.Itoa(n + 1)}, nil
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
		"250 pages":         {list: empty(249)},
		"251 pages":         {list: empty(250), want: failure.ErrTooLarge},
		"3 objects":         {list: [][]bucket.Object{{{Name: "m/"}, {Name: "m/sub/"}}, one}},
		"4 objects":         {list: [][]bucket.Object{{{Name: "m/"}, {Name: "m/sub/"}, {Name: "m/x/"}}, one}, want: failure.ErrTooLarge},
		"7 bytes":           {list: [][]bucket.Object{one, {{Name: "m/a.tf", Size: 4}}}, want: failure.ErrTooLarge},
		"a negative size":   {list: [][]bucket.Object{{{Name: "m/a.tf", Size: -1}}, one}, text: "size -1"},
		"another size":      {list: [][]bucket.Object{{{Name: "m/a.tf", Size: 2}}}, want: failure.ErrChanged},
		"another prefix":    {list: [][]bucket.Object{{{Name: "n/a.tf", Size: 3}}}, text: `the list of "m/" has the object "n/a.tf"`},
		"outside":           {list: [][]bucket.Object{{{Name: "m/../../a.tf", Size: 3}}}, want: failure.ErrArchive, text: `path element ".."`},
		"twice":             {list: [][]bucket.Object{one, one}, want: failure.ErrArchive},
		"3 directories":     {list: [][]bucket.Object{{{Name: "m/a/b/c.tf", Size: 3}}}},
		"4 directories":     {list: [][]bucket.Object{{{Name: "m/a/b/c/d.tf", Size: 3}}}, want: failure.ErrTooLarge},
		"only placeholders": {list: [][]bucket.Object{{{Name: "m/"}}}, want: failure.ErrNotFound},
		"no list":           {list: [][]bucket.Object{one}, err: errList, want: errList},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		must.Do(t, os.Mkdir(dir, 0o755))
		err := bucket.Download(t.Context(), dir, "m/", limits, nil, pages(test.list, test.err), func(bucket.Object) (io.ReadCloser, error) {
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
		var last progress.Event
		list := [][]bucket.Object{{{Name: "m/" + test.name, Size: 1}}}
		err := bucket.Download(t.Context(), dir, "m/", checksum.Limits{}.Effective(), func(e progress.Event) { last = e }, pages(list, nil), func(bucket.Object) (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader("a")), nil
		})
		entries := must.Get(os.ReadDir(dir))(t)
		if refused := test.want != nil; !errors.Is(err, test.want) || refused != (opened == 0) || refused != (len(entries) == 0) || !refused && (last.Kind != progress.Bytes || last.Bytes != 1 || last.Total != 1) {
			t.Errorf("%s: last event %+v, want 1 byte of 1; Download: %v, opened %d objects and made %v; want %v", name, last, err, opened, entries, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	list := [][]bucket.Object{{{Name: "m/a", Size: 1}, {Name: "m/b", Size: 1}}}
	dir := t.TempDir()
	err := bucket.Download(ctx, dir, "m/", checksum.Limits{}.Effective(), nil, pages(list, nil), func(bucket.Object) (io.ReadCloser, error) {
		cancel()
		return io.NopCloser(strings.NewReader("a")), nil
	})
	if _, exists := os.Stat(filepath.Join(dir, "b")); !errors.Is(err, context.Canceled) || exists == nil {
		t.Errorf("Download with a context that ends: %v, and the second object is there: %t", err, exists == nil)
	}
}

// TestList lists directories at the limits and beyond, and lists that lie.
func TestList(t *testing.T) {
	t.Parallel()
	objects := func(n int) []bucket.Object {
		list := make([]bucket.Object, n)
		for i := range list {
			list[i].Name = "m/" + strconv.Itoa(i)
		}
		return list
	}
	page := func(p bucket.Page) func(string) (*bucket.Page, error) {
		return func(string) (*bucket.Page, error) { return &p, nil }
	}
	named := func(name string) []bucket.Object { return []bucket.Object{{Name: name}} }
	long := strings.Repeat("x", 1022)
	for name, test := range map[string]struct {
		get  func(token string) (*bucket.Page, error)
		n    int // of entries
		want error
		text string
	}{
		"250 pages":         {get: pages(append(make([][]bucket.Object, 249), objects(1)), nil), n: 1},
		"251 pages":         {get: pages(append(make([][]bucket.Object, 250), objects(1)), nil), want: failure.ErrTooLarge},
		"100,000 entries":   {get: pages([][]bucket.Object{objects(100_000)}, nil), n: 100_000},
		"100,001 entries":   {get: pages([][]bucket.Object{objects(100_000), named("m/x")}, nil), want: failure.ErrTooLarge},
		"a failing page":    {get: pages([][]bucket.Object{objects(1)}, errList), want: errList},
		"no token":          {get: page(bucket.Page{More: true}), text: "no token"},
		"the same token":    {get: page(bucket.Page{Objects: objects(1), More: true, Token: "x"}), text: "same token"},
		"an unused token":   {get: page(bucket.Page{Objects: objects(1), Token: "x"}), n: 1},
		"a repeated prefix": {get: page(bucket.Page{Prefixes: []string{"m/a/", "m/a/", "m/b/"}}), n: 2},
		"placeholders":      {get: page(bucket.Page{Prefixes: []string{"m//"}, Objects: named("m/")})},
		"another object":    {get: page(bucket.Page{Objects: named("n/a")}), text: "object"},
		"another directory": {get: page(bucket.Page{Prefixes: []string{"n/"}}), text: "prefix"},
		"a deep object":     {get: page(bucket.Page{Objects: named("m/a/b")}), text: "below"},
		"a deep directory":  {get: page(bucket.Page{Prefixes: []string{"m/a/b/"}}), text: "below"},
		"a negative size":   {get: page(bucket.Page{Objects: []bucket.Object{{Name: "m/a", Size: -1}}}), text: "size -1"},
		"no file's name":    {get: page(bucket.Page{Objects: []bucket.Object{{Name: "m/."}, {Name: "m/.."}, {Name: "m/\xff"}}})},
		"1,024 bytes":       {get: page(bucket.Page{Objects: named("m/" + long)}), n: 1},
		"1,025 bytes":       {get: page(bucket.Page{Objects: named("m/x" + long)})},
	} {
		list, err := bucket.List(t.Context(), "m/", test.get)
		if ok := test.want == nil && test.text == ""; ok != (err == nil) || test.want != nil && !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) || len(list) != test.n {
			t.Errorf("%s: List: %d entries, %v, want %d, %v with %q", name, len(list), err, test.n, test.want, test.text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bucket.List(ctx, "m/", page(bucket.Page{})); !errors.Is(err, context.Canceled) {
		t.Errorf("List with an ended context: %v, want context.Canceled", err)
	}
}

// TestCacheControl: caches ask again for documents, unless the caller says otherwise.
func TestCacheControl(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"index.json": "no-cache", "1.0.0.json": "no-cache", "versions": "no-cache", "a_SHA256SUMS.sig": "no-cache", "zip": "no-cache",
		"a/b.zip": "", "m.tar.gz": "", "m.tgz": "", "m.tar.xz": "",
	} {
		if got := bucket.CacheControl(name, nil); got != want {
			t.Errorf("CacheControl(%q, nil) = %q, want %q", name, got, want)
		}
		if got := bucket.CacheControl(name, func(name string) string { return "of " + name }); got != "of "+name {
			t.Errorf("CacheControl(%q) = %q, want what the function returns", name, got)
		}
	}
}

// TestGuardLimits: an error and a list have 1 MiB at most, an object any size.
func TestGuardLimits(t *testing.T) {
	t.Parallel()
	var status, size int
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		w.Write(make([]byte, size))
	}))
	t.Cleanup(server.Close)
	guard := &bucket.Guard{Check: bucket.HTTPS(false), IsObject: func(r *http.Request) bool { return r.URL.Path == "/object" }}
	client := guard.Client(server.Client())
	for _, test := range casetest.Read[struct {
		Method, Path string
		Status, Size int
		Ok           bool
	}](t, "guard-limits.txt") {
		status, size = test.Status, test.Size
		resp := must.Get(client.Do(must.Get(http.NewRequestWithContext(t.Context(), test.Method, server.URL+test.Path, nil))(t)))(t)
		_, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if test.Ok != (err == nil) || !test.Ok && !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s %s, %d with %d bytes: %v, want an error: %t", test.Method, test.Path, test.Status, test.Size, err, !test.Ok)
		}
	}
}

// TestEnds: with a context that has ended, nothing is listed, written or requested.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	page := func(string) (*bucket.Page, error) {
		return &bucket.Page{Objects: []bucket.Object{{Name: "x", Size: 1}}}, nil
	}
	_, listed := bucket.List(ctx, "", page)
	downloaded := bucket.Download(ctx, t.TempDir(), "", checksum.Limits{}.Effective(), nil, page, func(bucket.Object) (io.ReadCloser, error) {
		t.Error("an object is opened")
		return nil, io.EOF
	})
	client := new(bucket.Guard).Client(nil)
	_, requested := client.Do(must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "https://registry.example.com/", nil))(t))
	for what, err := range map[string]error{"List": listed, "Download": downloaded, "RoundTrip": requested} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", what, err)
		}
	}
}
