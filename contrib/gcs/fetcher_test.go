package gcs_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/contrib/gcs/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

const base = "gcs::https://www.googleapis.com/storage/v1/modules/"

// modules returns a server with objects in the bucket "modules", and a Fetcher for it.
func modules(t *testing.T, objects map[string]string) (server, *gcs.Fetcher) {
	t.Helper()
	s := start(t)
	s.bucket(t, "modules")
	for name, text := range objects {
		s.object(t, name, text)
	}
	return s, &gcs.Fetcher{Credentials: s.account, Endpoint: s.URL, Transport: s.transport()}
}

// object writes an object of any name.
func (s server) object(t *testing.T, name, text string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/upload/storage/v1/b/modules/o?uploadType=media", strings.NewReader(text)))(t)
	query := r.URL.Query()
	query.Set("name", name)
	r.URL.RawQuery = query.Encode()
	r.Header.Set("Authorization", "Bearer "+token)
	resp := must.Get(s.Client().Do(r))(t)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("write %q: %s", name, resp.Status)
	}
}

// download fetches a location as programs do.
func download(t *testing.T, f *gcs.Fetcher, text string, o module.Options) (*module.Report, error) {
	t.Helper()
	o.Fetcher = f
	loc := must.Get(module.ParseLocation(text))(t)
	return module.Download(t.Context(), &regclient.Client{}, module.Request{Location: loc, Dir: filepath.Join(t.TempDir(), "module")}, o)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	archive := string(zipOf(t, entry{"main.tf", "# main", false}, entry{"sub/main.tf", "# sub", false}))
	s, f := modules(t, map[string]string{
		"a b+c/ö.zip": archive, "a/plain": archive, "dir/main.tf": "# main", "dir/sub/main.tf": "# sub", "dir/": "", "dir/x y%2F+ö#?.tf": "#",
		"other": "x", "directory/main.tf": "no",
	})
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(archive)))
	for _, public := range []bool{false, true} {
		if s.proxy.public = public; public {
			f = &gcs.Fetcher{Endpoint: s.URL, Transport: f.Transport}
		}
		for _, text := range []string{
			base + "a%20b+c/%C3%B6.zip", base + "a/plain?archive=zip", base + "a%20b+c/%C3%B6.zip?checksum=" + sum, base + "dir", base + "dir/",
			"www.googleapis.com/storage/v1/modules/dir",
		} {
			report := must.Get(download(t, f, text, module.Options{}))(t)
			if data, err := os.ReadFile(filepath.Join(report.Dir, "sub", "main.tf")); err != nil || string(data) != "# sub" {
				t.Errorf("%s: sub/main.tf is %q, %v", text, data, err)
			}
			if entries := must.Get(os.ReadDir(report.Dir))(t); strings.Contains(text, "dir") && len(entries) != 3 {
				t.Errorf("%s: %v, want main.tf, sub and a file with an odd name", text, entries)
			}
		}
		if report, err := download(t, f, base+"a/plain//sub?archive=zip", module.Options{}); err != nil || report.Subdir != "sub" {
			t.Errorf("a directory of the archive: %+v, %v; want sub", report, err)
		}
	}
}

// TestGeneration downloads old content by its generation, which go-getter has as a fragment.
func TestGeneration(t *testing.T) {
	t.Parallel()
	s, f := modules(t, nil)
	var locations []string
	for _, text := range []string{"# one", "# two"} {
		s.object(t, "a.zip", string(zipOf(t, entry{"main.tf", text, false})))
		store := s.store("")
		store.Bucket = "modules"
		info := must.Get(store.Stat(t.Context(), "a.zip"))(t)
		locations = append(locations, base+"a.zip#"+string(info.Revision))
	}
	for text, want := range map[string]string{locations[0]: "# one", locations[1]: "# two", base + "a.zip": "# two"} {
		report := must.Get(download(t, f, text, module.Options{}))(t)
		if data, err := os.ReadFile(filepath.Join(report.Dir, "main.tf")); err != nil || string(data) != want {
			t.Errorf("%s: main.tf is %q, %v, want %q", text, data, err, want)
		}
	}
	if _, err := download(t, f, base+"a.zip#1", module.Options{}); !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("a generation that is missing: %v, want ErrNotFound", err)
	}
	if _, err := download(t, f, base+"dir#1", module.Options{}); err == nil || !strings.Contains(err.Error(), "generation") {
		t.Errorf("a generation of a directory: %v, want an error", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	link := entry{"link", "main.tf", true}
	archive := string(zipOf(t, entry{name: "main.tf"}))
	_, f := modules(t, map[string]string{
		"a.zip": archive, "evil/../../x": "x", "evil/a": "x", "large/a": "12345", "large/b": "12345", "dirs/": "", "dirs/a/": "", "dirs/b": "",
		"link.zip": string(zipOf(t, link, entry{name: "main.tf"})), "link.tar.gz": string(tarGz(t, entry{name: "main.tf"}, link)),
	})
	errBucket := errors.New("only ours")
	for _, c := range []struct {
		text   string
		change func(*gcs.Fetcher)
		want   error // nil: any error
		limits checksum.Limits
	}{
		{base + "nothing.zip", nil, failure.ErrNotFound, checksum.Limits{}},
		{base + "nothing", nil, failure.ErrNotFound, checksum.Limits{}},
		{"gcs::https://www.googleapis.com/storage/v1/unknown/nothing", nil, failure.ErrNotFound, checksum.Limits{}},
		{base + "a.zip?checksum=sha256:" + strings.Repeat("0", 64), nil, checksum.ErrMismatch, checksum.Limits{}},
		{base + "large?checksum=sha256:" + strings.Repeat("0", 64), nil, nil, checksum.Limits{}},
		{base + "a.zip", nil, failure.ErrTooLarge, checksum.Limits{Package: 10}},
		{base + "large", nil, failure.ErrTooLarge, checksum.Limits{Unpacked: 9}},
		{base + "large", nil, failure.ErrTooLarge, checksum.Limits{Entries: 1}},
		{base + "dirs", nil, failure.ErrTooLarge, checksum.Limits{Entries: 2}},
		{base + "link.zip", nil, module.ErrLink, checksum.Limits{}},
		{base + "evil", nil, nil, checksum.Limits{}},
		{base + "a.zip", func(f *gcs.Fetcher) { f.Buckets = func(string) error { return errBucket } }, errBucket, checksum.Limits{}},
		{base + "a.zip", func(f *gcs.Fetcher) { f.Credentials = account(t, "wr0ng-s3cr3t") }, failure.ErrUnauthorized, checksum.Limits{}},
		{base + "large", func(f *gcs.Fetcher) { f.Credentials = account(t, "wr0ng-s3cr3t") }, failure.ErrUnauthorized, checksum.Limits{}},
		{base + "large", func(f *gcs.Fetcher) { f.Credentials = nil }, failure.ErrUnauthorized, checksum.Limits{}},
		{base + "a.zip", func(f *gcs.Fetcher) { f.Transport.VetoHost = func(string) error { return errBucket } }, errBucket, checksum.Limits{}},
		{base + "a.zip?access_token=s3cr3t", nil, nil, checksum.Limits{}},
		{"gcs::http://www.googleapis.com/storage/v1/modules/a.zip", nil, failure.ErrInsecure, checksum.Limits{}},
		{"gcs::https://example.com/storage/v1/modules/a.zip", nil, nil, checksum.Limits{}},
		{"gcs::https://evilgoogleapis.com/storage/v1/modules/a.zip", nil, nil, checksum.Limits{}},
		{"gcs::https://u:s3cr3t@www.googleapis.com/storage/v1/modules/a.zip", nil, nil, checksum.Limits{}},
		{"gcs::https://www.googleapis.com/storage/v1/modules", nil, nil, checksum.Limits{}},
		{"gcs::https://www.googleapis.com/storage/v1//a.zip", nil, nil, checksum.Limits{}},
	} {
		changed := &gcs.Fetcher{Credentials: f.Credentials, Endpoint: f.Endpoint, Transport: &transport.Settings{HTTP: f.Transport.HTTP}}
		if c.change != nil {
			c.change(changed)
		}
		_, err := download(t, changed, c.text, module.Options{Limits: c.limits})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.text, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "alt=media")) {
			t.Errorf("%s: the error has a secret or a query: %v", c.text, err)
		}
	}
	// At the limits.
	for text, o := range map[string]module.Options{
		base + "large":       {Limits: checksum.Limits{Unpacked: 10, Entries: 2}},
		base + "dirs":        {Limits: checksum.Limits{Entries: 3}},
		base + "a.zip":       {Limits: checksum.Limits{Package: int64(len(archive))}},
		base + "link.zip":    {SkipLinks: true},
		base + "link.tar.gz": {KeepLinks: true},
	} {
		report, err := download(t, f, text, o)
		if err != nil || o.SkipLinks != slices.Equal(report.Skipped, []string{"link"}) {
			t.Errorf("%s with the options %+v: %+v, %v", text, o, report, err)
		}
	}
}

// TestOtherKinds: nothing of another kind is fetched, and a context that has ended is obeyed.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	_, f := modules(t, map[string]string{"a.zip": "x", "d/a": "x"})
	for _, text := range []string{"s3::https://s3.amazonaws.com/bucket/x.zip", "hg::https://example.com/x"} {
		_, err := f.FetchModule(t.Context(), must.Get(module.ParseLocation(text))(t), t.TempDir(), module.Options{})
		if _, ok := errors.AsType[*module.UnsupportedError](err); !ok {
			t.Errorf("%s: %v, want an UnsupportedError", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, object := range []string{"a.zip", "d"} {
		dir := t.TempDir()
		_, err := f.FetchModule(ctx, must.Get(module.ParseLocation(base+object))(t), dir, module.Options{})
		if entries := must.Get(os.ReadDir(dir))(t); !errors.Is(err, context.Canceled) || len(entries) != 0 {
			t.Errorf("%s with an ended context: %v and %v, want context.Canceled and nothing", object, err, entries)
		}
	}
}

// TestTokenStays: the token goes to the endpoint only, never over http, and lists and downloads follow no redirect.
func TestTokenStays(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s over http has the token", r.Method)
		}
		refuse(w, http.StatusForbidden, "no token")
	}))
	t.Cleanup(plain.Close)
	for _, code := range []int{301, 302, 307, 308} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, code) }))
		t.Cleanup(server.Close)
		for _, object := range []string{"dir", "a.zip"} {
			f := &gcs.Fetcher{Credentials: account(t, token), Endpoint: server.URL, Transport: &transport.Settings{HTTP: server.Client(), Retries: -1}}
			if _, err := download(t, f, base+object, module.Options{}); err == nil || elsewhere.Load() > 0 {
				t.Errorf("%s that redirects with %d: %v and %d requests elsewhere, want an error and none", object, code, err, elsewhere.Load())
			}
		}
	}
	for _, object := range []string{"dir", "a.zip"} {
		f := &gcs.Fetcher{Credentials: account(t, token), Endpoint: plain.URL, Transport: &transport.Settings{AllowHTTP: true, Retries: -1}}
		if _, err := download(t, f, base+object, module.Options{}); !errors.Is(err, failure.ErrUnauthorized) {
			t.Errorf("%s over http: %v, want ErrUnauthorized", object, err)
		}
	}
	for what, do := range calls {
		s := &gcs.Store{Bucket: "mirror", Credentials: account(t, token), Endpoint: plain.URL, Transport: &transport.Settings{AllowHTTP: true, Retries: -1}}
		if err := do(t.Context(), s, "x"); !errors.Is(err, failure.ErrUnauthorized) {
			t.Errorf("%s over http: %v, want ErrUnauthorized", what, err)
		}
	}
}

// TestListLimits: a list has limited pages, a page a limited size, and objects are where they are asked for.
func TestListLimits(t *testing.T) {
	t.Parallel()
	const more, object = `{"kind":"storage#objects","nextPageToken":"%d"}`, `{"kind":"storage#objects","items":[{"name":"%s","size":"%s","generation":"1"}]}`
	const empty = `{"kind":"storage#objects"}`
	var pages, endless, placeholders atomic.Int32
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  error // nil: any error
	}{
		"250 empty pages": {func(w http.ResponseWriter, _ *http.Request) {
			if n := pages.Add(1); n < 250 {
				fmt.Fprintf(w, more, n)
				return
			}
			fmt.Fprint(w, empty+strings.Repeat(" ", 1<<20-len(empty)))
		}, failure.ErrNotFound},
		"empty pages": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, more, endless.Add(1)) }, failure.ErrTooLarge},
		"same token":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, more, 1) }, nil},
		"large page": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, empty+strings.Repeat(" ", 1<<20+1-len(empty)))
		}, failure.ErrTooLarge},
		"placeholders": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"kind":"storage#objects","nextPageToken":"%d","items":[{"name":"dir/","size":"0"}]}`, placeholders.Add(1))
		}, failure.ErrTooLarge},
		"no JSON":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\u009b\x1b") }, nil},
		"another place": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, object, "a\u009b", "1") }, nil},
		"negative size": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("alt") {
				fmt.Fprint(w, "x")
				return
			}
			fmt.Fprintf(w, object, "dir/a", "-9223372036854775808")
		}, nil},
		"more than the size": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("alt") {
				fmt.Fprint(w, "xx")
				return
			}
			fmt.Fprintf(w, object, "dir/a", "1")
		}, failure.ErrChanged},
	} {
		server := httptest.NewTLSServer(c.serve)
		t.Cleanup(server.Close)
		f := &gcs.Fetcher{Endpoint: server.URL, Transport: &transport.Settings{HTTP: server.Client(), Retries: -1}}
		_, err := download(t, f, base+"dir", module.Options{Limits: checksum.Limits{Entries: 10}})
		if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.ContainsAny(err.Error(), "\u009b\x1b") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// FuzzLocation checks that no location makes the Fetcher panic, or ask for a bucket without a name.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{base + "key.zip", "gcs::https://www.googleapis.com/storage/v1//x", "www.googleapis.com/storage/v1/a/b//c?archive=zip"} {
		f.Add(text)
	}
	stop := errors.New("stop")
	f.Fuzz(func(t *testing.T, text string) {
		loc, err := module.ParseLocation(text)
		if err != nil {
			return
		}
		fetcher := &gcs.Fetcher{Buckets: func(bucket string) error {
			if bucket == "" {
				t.Errorf("%q has no bucket", text)
			}
			return stop
		}}
		if _, err := fetcher.FetchModule(t.Context(), loc, t.TempDir(), module.Options{}); err == nil {
			t.Errorf("%q was fetched", text)
		}
	})
}

// entry is an entry of an archive. The content of a symbolic link is its target.
type entry struct {
	name, content string
	link          bool
}

func zipOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.link {
			header.SetMode(fs.ModeSymlink | 0o777)
		}
		must.Get(io.WriteString(must.Get(w.CreateHeader(header))(t), e.content))(t)
	}
	must.Do(t, w.Close())
	return data.Bytes()
}

func tarGz(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	w := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content))}
		if e.link {
			header = &tar.Header{Name: e.name, Typeflag: tar.TypeSymlink, Linkname: e.content}
		}
		must.Do(t, w.WriteHeader(header))
		if !e.link {
			must.Get(io.WriteString(w, e.content))(t)
		}
	}
	must.Do(t, errors.Join(w.Close(), packed.Close()))
	return data.Bytes()
}
